"""The server of `jobgen mcp`: speaks the Model Context Protocol by its SDK for Python."""

import signal
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types  # since 2.0 of the SDK
from mcp.server import Server
from mcp.server.stdio import stdio_server

from jobgen import __version__
from jobgen.agents.answers import Answer, answer_of, process_words
from jobgen.agents.limit import LIMITED
from jobgen.agents.tools import Tool, read_texts
from jobgen.bounds import ANSWER_SECONDS
from jobgen.errors import USAGE, JobgenError, nearest_hint, problem


def serve(folder: Path, allow_submit: bool) -> None:
    """Answer calls on stdin until it ends; meanwhile, stdout of this process is the protocol's."""
    texts = read_texts(allow_submit)
    server = Server(
        "jobgen",
        version=__version__,
        instructions=texts["instructions"],
        on_list_tools=partial(_list, texts["tools"], texts["answer"]),
        on_call_tool=partial(_call, texts["tools"], folder),
    )

    async def run() -> None:
        async with stdio_server() as (read_stream, write_stream):
            options = server.create_initialization_options()
            await server.run(read_stream, write_stream, options)

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's would wait for the end of stdin
    anyio.run(run)


async def _list(tools: Mapping[str, Tool], answer: Any, *_: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=tool.description,
                input_schema=tool.schema,
                output_schema=answer,
                annotations=types.ToolAnnotations(read_only_hint=tool.mode == LIMITED),
            )
            for name, tool in tools.items()
        ]
    )


async def _call(
    tools: Mapping[str, Tool], folder: Path, _: Any, call: types.CallToolRequestParams
) -> types.CallToolResult:
    try:
        answer = await answered(tools, folder, call.name, call.arguments or {})
    except JobgenError as error:
        answer = Answer(f"the tool {call.name:.80}", USAGE, None, str(error).split("\n"))
    return types.CallToolResult(
        content=[types.TextContent(text=answer.text)],
        structured_content=answer._asdict(),
        is_error=answer.is_error,
    )


async def answered(
    tools: Mapping[str, Tool], folder: Path, name: str, given: Mapping[str, Any]
) -> Answer:
    """The answer to a call, by a process of its own. Raises JobgenError."""
    if name not in tools:
        hint = "start it with --allow-submit" if name == "submit" else nearest_hint(name, tools)
        raise problem(f"{name:.80}", "`jobgen mcp` has no such tool", "usage", hint)
    done: subprocess.CompletedProcess[bytes] | None = None
    try:
        words = process_words(tools[name], given, folder)
        with anyio.move_on_after(ANSWER_SECONDS):  # then it is killed, as if the agent cancels
            done = await anyio.run_process(words, stdin=subprocess.DEVNULL, check=False, cwd="/")
    except (OSError, ValueError) as error:  # a zero byte, or too many words
        raise problem(name, f"it cannot be asked: {error}", "usage") from None
    if done is None:
        raise problem(name, f"no answer within {ANSWER_SECONDS} s", "limit", "ask for less")
    return answer_of(tools[name], given, done, folder)
