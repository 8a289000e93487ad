"""`jobgen mcp`, as a coding agent calls it: by the client of the protocol's SDK."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen.agents.answers import answer_of, process_words
from jobgen.agents.tools import ScriptTool, Tool, read_texts
from jobgen.bounds import ANSWER_CHARACTERS
from jobgen.cli.app import main
from jobgen.errors import JobgenError
from jobgen.planning.job_options import OPTIONS

pytest.importorskip("mcp", reason="the SDK is not installed: pip install '.[mcp]'")

from tests.agent_client import SECRET, Call, Reply, ask, make_secrets, make_traps
from tests.helpers import jobgen

ROOT = Path(__file__).parent.parent
TOOLS: Mapping[str, Tool] = read_texts(allow_submit=True)["tools"]
pytestmark = pytest.mark.slow  # each answer starts a process

LINT = "jobgen lint --format=json"
ONE_NODE = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH -t 1:00:00\n#SBATCH --exclusive\ntorchrun train.py\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    made.mkdir()
    (tmp_path / ".git").mkdir()  # what is above the folder is not read: lint would refuse this
    (tmp_path / "pyproject.toml").write_text('[tool.jobgen.lint]\nselect = ["nothing"]\n')
    (made / "a.sh").write_text(ONE_NODE)
    (made / "job.out").write_text("step 1\nValueError: no data\n")
    (made / "train.py").write_text("")
    return made


def one(folder: Path, name: str, *options: str, **arguments: Any) -> Reply:
    (reply,) = ask(folder, (name, arguments), options=options)
    return reply


def test_each_tool_is_a_command_with_these_options() -> None:
    """No tool has a word that the command line does not have."""
    for name, tool in TOOLS.items():
        is_script = isinstance(tool, ScriptTool)
        group, *words = f"{'sbatch ' * is_script}{tool.command}".split()
        command = main.get_command(click.Context(main), group)
        while isinstance(command, click.Group):
            command = command.commands[words.pop(0)]
        assert command, name
        flags = {flag for each in command.params for flag in each.opts}
        used = {word.partition("=")[0] for word in words} | {f"--{each}" for each in tool.options}
        assert used <= flags, name


def test_what_an_agent_asks(folder: Path) -> None:
    profiles, profile, script, lint, why, check, rule, key = ask(
        folder,
        ("list_profiles", {}),
        ("show_profile", {"profile": "mi210"}),
        ("write_script", {"profile": "mi210", "nodes": 2, "program": ["train.py", "--lr", 0.1]}),
        ("lint", {}),
        ("why", {"names": ["job.out"]}),
        ("check", {"files": ["a.sh"]}),
        ("show_rule", {"code": "jg101"}),
        ("show_key", {"key": "request.nodes"}),
    )
    assert "  mi210 " in profiles.result
    assert "profiles/mi210.yaml:6:12" in profile.result
    command = "jobgen sbatch --profile=mi210 --nodes=2 -- train.py --lr 0.1"
    assert script.content["command"] == command
    words = [sys.executable, "-m", *command.split()]
    whole = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert whole.stdout.startswith(f"{script.result}\n")
    assert "torchrun" in script.result
    assert "# ==== machinery" not in script.result
    found = {each["code"]: each for each in lint.result}
    assert found["JG101"]["place"] == "./a.sh:5:1"
    assert found["JG101"]["cure"]
    assert why.result["code"] == "python-exception"
    assert why.result["evidence"][0]["place"] == "job.out:2"
    assert json.loads(why.text) == why.content
    assert check.content["messages"][0].startswith("no script; 1 other file")
    assert rule.result.startswith("JG101: ")
    assert key.result.startswith("request.nodes\n")
    assert not any(each.is_error for each in (profiles, script, lint, why, check, rule, key))


def test_an_answer_is_of_the_files_as_they_are_now(folder: Path) -> None:
    """The server keeps nothing: an agent edits a profile, and asks again."""
    from tests import agent_client

    async def edits() -> list[Any]:
        words = [sys.executable, "-m", "jobgen", "mcp", "--folder", str(folder)]
        found: list[Any] = []

        def calls() -> Any:
            for gpus in (2, 4):
                (folder / "own.yaml").write_text(f"node: {{gpus: {gpus}, gpu: nvidia}}\n")
                yield "show_profile", {"profile": "own.yaml"}

        for each in await agent_client.dialogue(calls(), words, os.environ):
            found += [
                line
                for line in each.result.splitlines()
                if line.startswith("  gpus: ") and "null" not in line
            ]
        return found

    import anyio

    assert [line.split()[1] for line in anyio.run(edits)] == ["2", "4"]


WRONG: list[tuple[Call, str]] = [
    (("write_script", {"profile": "mi211"}), "no profile `mi211`; did you mean `mi210`?"),
    (("write_script", {"profil": "mi210"}), "profil: no such argument; did you mean `profile`?"),
    (("write_script", {"profile": "mi210", "nodes": [1]}), "nodes: expected text or a number"),
    (("write_script", {"profile": "mi210", "command": "build"}), "one of: local, qsub, sbatch"),
    (("write_script", {"profile": "mi210", "command": ["lint"]}), "one of: local, qsub, sbatch"),
    (("write_script", {"profile": "mi210", "program": "train.py"}), "expected a list of words"),
    (
        ("write_script", {"profile": "mi210", "output": "job.sh"}),
        "output: no such argument; start `jobgen mcp` with --allow-submit",
    ),
    (("write_script", {"profile": "mi210", "code": "."}), "start `jobgen mcp` with --allow-submit"),
    (("list_profiles", {"x": 1}), "x: no such argument; it takes none"),
    (("write_script", {"profile": "mi210", "time": "x"}), "time: "),
    (
        ("write_script", {"profile": "mi210", "partition": "x\ny"}),
        "partition: expected text",
    ),
    (("show_profile", {}), "profile: it is missing"),
    (("lint", {"files": ["--fix"]}), "--fix: cannot be read: No such file"),
    (("lint", {"files": [{"a": 1}]}), "{'a': 1}: cannot be read: No such file"),
    (("show_key", {"key": "a\0b"}), "show_key: it cannot be asked: embedded null byte"),
    (("lint", {"files": ["a"] * 10**6}), "lint: it cannot be asked: [Errno 7] Argument list too"),
    (("why", {"names": ["-"]}), "names: - is outside of"),
    (("why", {"names": ["a\0b"]}), "is outside of"),
    (("why", {"names": ["nothing.out"]}), "nothing.out: no such file"),
    (("show_rule", {"code": "JG999"}), "no rule `JG999`"),
    (("show_key", {"key": "request.node"}), "did you mean `request.nodes`"),
    (("submit", {"profile": "mi210"}), "start it with --allow-submit"),
    (("linter", {}), "did you mean `lint`?"),
]


def test_a_mistake_is_an_answer_with_the_right_words(folder: Path) -> None:
    replies = ask(folder, *(call for call, _ in WRONG))
    for (call, text), reply in zip(WRONG, replies, strict=True):
        assert reply.is_error, call
        assert text in reply.text, call
        assert "Traceback" not in reply.text
        assert reply.content["exit_status"] == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = sorted({name for tool in TOOLS.values() for name in tool.properties})


@given(
    name=st.sampled_from(sorted(TOOLS)),
    arguments=st.dictionaries(st.sampled_from(ARGUMENTS) | st.text(), JSON, max_size=4),
)
def test_any_arguments_become_words_or_a_problem(name: str, arguments: dict[str, Any]) -> None:
    """The words of another command or option never come from a value."""
    try:
        words = process_words(TOOLS[name], arguments, ROOT)[5:]
    except (JobgenError, UnicodeEncodeError):
        return
    own = TOOLS[name].command.split()
    if isinstance(TOOLS[name], ScriptTool):
        assert words[0] in ("sbatch", "qsub", "local")
        words = words[1:]
    assert words[: len(own)] == own
    options = words[len(own) : words.index("--") if "--" in words else None]
    flags = {flag for row in OPTIONS.values() for flag in row.flags}
    flags |= {f"--{each}" for each in (*TOOLS[name].options, "output")}
    assert {word.partition("=")[0] for word in options} <= flags


def test_a_fault_of_jobgen_is_an_answer() -> None:
    code = (
        "import runpy; runpy.run_module = lambda *_, **more: {}['x']\n"
        "from jobgen.agents.limit import main; main('limited', '/', 'lint')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "jobgen: a fault of jobgen: KeyError: 'x'\n"


def test_each_description_is_a_text() -> None:
    """In YAML's braces, a comma ends a text that is not quoted."""
    fields = read_texts(allow_submit=True)["answer"]["properties"]
    assert all({*field} <= {"type", "items", "description"} for field in fields.values())
    for tool in TOOLS.values():
        for field in tool.properties.values():
            assert isinstance(field["description"], str)
            assert "repeatable" not in field["description"]


def test_what_changes_files_is_offered_only_with_leave() -> None:
    limited = read_texts(allow_submit=False)["tools"]["write_script"].properties
    assert {*TOOLS["write_script"].properties} - {*limited} == {"code", "output"}


def test_a_clone_has_an_address_that_each_pip_takes() -> None:
    """Before 24, pip takes `NAME @ git+file:///PATH` for a path."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    clones = [
        line for page in pages for line in page.read_text().splitlines() if "of a clone" in line
    ]
    addresses = [line for line in clones if "file:" in line]
    assert addresses
    assert all("file://localhost/PATH" in line for line in addresses)


def test_a_verdict_without_a_cause_is_no_error(folder: Path) -> None:
    (folder / "good.out").write_text("step 1\nstep 2\n")
    reply = one(folder, "why", names=["good.out"])
    assert (reply.is_error, reply.result) == (False, {"code": None})


def test_stdout_is_the_protocols(folder: Path, tmp_path: Path) -> None:
    """Neither commands that write, nor broken messages, come between the lines of the protocol."""
    for name in ("sinfo", "scontrol", "sacctmgr", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\necho on stdout; echo on stderr >&2; exit 1\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    words = [sys.executable, "-m", "jobgen", "mcp", "--folder", str(folder)]
    first = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    messages = [
        {"id": 1, "method": "initialize", "params": first},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "detect", "arguments": {}}},
        {"id": 3, "method": "tools/call", "params": {"name": "why", "arguments": {"names": ["7"]}}},
        {"id": 4, "method": "tools/list"},
    ]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PATH": path},
    ) as server:  # fmt: skip
        assert server.stdin
        assert server.stdout
        server.stdin.write("no json\n")
        for each in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
        server.stdin.flush()
        answers: dict[int, Any] = {}
        while len(answers) < 4:
            line = json.loads(server.stdout.readline())
            assert line["jsonrpc"] == "2.0"
            if line.get("id") in (1, 2, 3, 4):
                answers[line["id"]] = line["result"]
        server.stdin.close()
        assert server.wait(30) == 0
        assert server.stdout.read() == ""
    assert answers[2]["isError"]
    assert "on stderr" in answers[2]["content"][0]["text"]


CALLS: list[Call] = [
    ("list_profiles", {}),
    *(
        ("show_profile", {"profile": name})
        for name in ("link", "base", "up", "absolute", "by_link", "profiles/link.yaml",
                     "all/p.yaml", "../secrets/p.yaml", "../secrets/p", "~/p.yaml")
    ),
    *(
        ("write_script", {"profile": name, "program": ["train.py"]})
        for name in ("base", "up", "absolute", "code", "lock")
    ),
    *(
        ("write_script", {"profile": "plain", "program": ["train.py"], **more})
        for more in (
            {"template": "templates/up.j2"}, {"template": "templates/by_link.j2"},
            {"template": "templates/link.j2"}, {"template": "../secrets/t.j2"},
            {"code": "../secrets"}, {"code": "all"}, {"code": "."},
            {"set_values": ["extends=../secrets/base.yaml"]},
            {"set_values": ["software.code=../secrets", "software.store=$PWD/store"]},
            {"set_values": ["software.lock=all/uv.lock", "software.store=$PWD/store"]},
        )
    ),
    ("lint", {}),
    *(
        ("lint", {"files": [name]})
        for name in ("a.sh", "scripts", "all", "all/a.sh", "../secrets", "logs/../../secrets/a.sh",
                     "/proc/self/environ", "/dev/stdin", "~", "/")
    ),
    *(("lint", {"files": ["own.sh"], "profile": name}) for name in ("link", "up", "absolute")),
    *(
        ("why", {"names": [name]})
        for name in ("log.out", "logs", ".", "logs/4", "4", "jobgen-logs/4", "all", "../secrets",
                     "../secrets/log.out", "/proc/self/environ")
    ),
    ("check", {}),
    *(("check", {"files": [name]}) for name in ("made.sh", "header.sh", "scripts", "../secrets")),
]  # fmt: skip


@pytest.mark.slow
def test_a_folder_that_leads_elsewhere_shows_nothing_of_it(tmp_path: Path) -> None:
    secrets, folder = tmp_path / "secrets", tmp_path / "folder"
    make_secrets(secrets)
    make_traps(folder, secrets)
    (tmp_path / "pyproject.toml").write_text(f'[tool.jobgen.lint]\nselect = ["{SECRET}"]\n')
    (tmp_path / "jobgen.yaml").write_text(f"{SECRET}: 1\n")  # the folder's is no higher repository
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/above.yaml").write_text(f"description: {SECRET}\nscheduler: slurm\n")
    before = snapshot(tmp_path)
    for call, reply in zip(CALLS, ask(folder, *CALLS, HOME=str(secrets)), strict=True):
        assert SECRET not in json.dumps(reply.content), call
        assert "Traceback" not in reply.text, call
    assert snapshot(tmp_path) == before
    own = one(folder, "why", names=["logs/own.out"])
    assert own.result["what"] == "ValueError: own"


def snapshot(folder: Path) -> dict[str, object]:
    """All files with their times: what nobody changes."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_mode, path.lstat().st_size)
        for path in folder.rglob("*")
        if "cache" not in path.parts
    }


def test_without_leave_no_code_is_copied_and_no_filter_of_git_runs(folder: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.email=a@b", "-c", "user.name=a"]
    (folder / ".gitattributes").write_text("*.py filter=x\n")
    (folder / "train.py").write_text("print()\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    store = folder / "store"
    values = {"set_values": ["software.code=.", f"software.store={store}"]}
    job = {"profile": "dgx-a100", "program": ["train.py"], **values}
    refused = one(folder, "write_script", **job)
    assert refused.is_error
    assert refused.text.endswith("`jobgen mcp` changes no file without --allow-submit")
    assert not store.exists()
    command = ["sbatch", "--profile", "dgx-a100", "--code", ".", "--set", f"software.store={store}"]
    assert jobgen(*command, "--", "train.py", cwd=folder).returncode == 0
    subprocess.run([*git, "config", "filter.x.clean", f"touch {folder}/ran; cat"], check=True)
    os.utime(folder / "train.py", (1, 1))  # for `git status`, it may have changed
    for note in (store / "code").glob("*.json"):
        note.unlink()  # else jobgen knows already what `git status` says
    before = snapshot(folder)
    answer = one(folder, "write_script", **job)
    assert not (folder / "ran").exists()
    assert snapshot(folder) == before
    assert answer.is_error or answer.result


def test_with_leave_a_script_is_written_in_the_folder_alone(folder: Path) -> None:
    job = {"profile": "mi210", "program": ["train.py"]}
    written, outside = ask(
        folder,
        ("write_script", {**job, "output": "jobs/a.sh"}),
        ("write_script", {**job, "output": "../a.sh"}),
        options=["--allow-submit"],
    )
    assert not written.is_error
    assert written.result.startswith("written: jobs/a.sh\n\n#!/bin/bash\n")
    assert "# ==== machinery" not in written.result
    assert written.content["command"].startswith("jobgen sbatch --output=jobs/a.sh ")
    current = one(folder, "check", files=["jobs/a.sh"])
    assert current.result == "jobs/a.sh: current"
    assert outside.is_error
    assert "output: ../a.sh is outside of" in outside.text


def test_a_job_is_submitted_as_by_the_command_line(folder: Path, tmp_path: Path) -> None:
    sbatch = tmp_path / "bin/sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text("#!/bin/bash\ncat > submitted; echo 12\n")
    sbatch.chmod(0o755)
    job = {"profile": "dgx-a100", "nodes": 2, "time": 60, "requeue": True, "program": ["train.py"]}
    path = f"{sbatch.parent}:{os.environ['PATH']}"
    (reply,) = ask(folder, ("submit", job), options=["--allow-submit"], PATH=path)
    assert not reply.is_error, reply.text
    assert reply.result == "12"
    words = [
        "sbatch",
        "--profile",
        "dgx-a100",
        "-N",
        "2",
        "-t",
        "60",
        "--requeue",
        "--",
        "train.py",
    ]
    command = [sys.executable, "-m", "jobgen", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert (folder / "submitted").read_text() == done.stdout
    assert (folder / "jobgen-logs/12.json").is_file()
    lost = {**job, "program": ["nothing.py"]}
    (reply,) = ask(folder, ("submit", lost), options=["--allow-submit"], PATH=path)
    assert reply.content["messages"][0].startswith(
        "warning: program: there is no file 'nothing.py'"
    )


def test_an_answer_is_bounded_in_size(folder: Path) -> None:
    done = subprocess.CompletedProcess([], 0, b"x" * 3 * ANSWER_CHARACTERS, b"m\n" * 5000)
    answer = answer_of(TOOLS["check"], {}, done, folder)
    assert len(answer.text) < ANSWER_CHARACTERS + 2000
    assert answer.messages[-1].endswith("`jobgen check` shows all")
    listed = json.dumps([{"file": "a.sh", "line": n, "message": "m"} for n in range(9999)]).encode()
    answer = answer_of(TOOLS["lint"], {}, subprocess.CompletedProcess([], 1, listed, b""), folder)
    assert len(answer.text) < ANSWER_CHARACTERS * 1.3
    entries = len(answer.result)
    assert answer.result[-1] == {"place": f"a.sh:{entries - 1}", "message": "m"}
    left_out = f"the last {9999 - entries} of 9999 entries are left out"
    assert answer.messages == [f"{left_out}; `{LINT}` shows all"]
    verdict = json.dumps({"code": "import", "evidence": json.loads(listed)}).encode()
    done = subprocess.CompletedProcess([], 1, verdict, b"")
    answer = answer_of(TOOLS["why"], {"names": ["a.out"]}, done, folder)
    assert answer.result["code"] == "import"
    assert 100 < len(answer.result["evidence"]) < entries


def test_many_messages_are_counted(folder: Path) -> None:
    done = subprocess.CompletedProcess([], 2, b"", b"jobgen: m\n" * 50)
    assert answer_of(TOOLS["check"], {}, done, folder).messages == [
        *["m"] * 20,
        "and 30 more lines",
    ]


def test_an_answer_is_bounded_in_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio

    from jobgen.agents import server

    (folder / "templates").mkdir()
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    (folder / "templates/sbatch.sh.j2").write_text(loop)
    monkeypatch.setattr(server, "ANSWER_SECONDS", 2)
    call = {"profile": "dgx-a100", "program": ["train.py"]}
    with pytest.raises(JobgenError, match="no answer within 2 s; ask for less"):
        anyio.run(server.answered, TOOLS, folder, "write_script", call)


def test_without_the_sdk_the_message_says_what_to_install(folder: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from jobgen.__main__ import run; run()"
    words = [sys.executable, "-c", code, "mcp", "--folder", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'mcp>=2,<3'" in done.stderr


@pytest.mark.parametrize(
    ("folder", "text"),
    [("nothing", "nothing is no folder"), ("~", "has all your files"), ("/", "has all your files")],
)
def test_a_folder_that_is_no_limit(folder: str, text: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    named = folder.replace("~", str(home))
    done = jobgen("mcp", "--folder", named, cwd=tmp_path, env={"HOME": str(home)})
    assert (done.returncode, done.stdout) == (2, b"")
    assert text in done.stderr.decode()


def test_a_call_that_is_cancelled_leaves_no_process(folder: Path) -> None:
    """The agent gives up; the process of this call ends, and the server answers the next one."""
    import anyio
    from mcp import MCPError, StdioServerParameters, stdio_client
    from mcp.client import Client

    (folder / "templates").mkdir()
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    (folder / "templates/sbatch.sh.j2").write_text(loop)

    async def talk() -> None:
        words = ["-m", "jobgen", "mcp", "--folder", str(folder)]
        server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            job = {"profile": "dgx-a100", "program": ["train.py"]}
            with pytest.raises(MCPError):
                await client.call_tool("write_script", job, read_timeout_seconds=2)
            reply = await client.call_tool("show_rule", {"code": "JG101"})
            assert not reply.is_error
            with anyio.fail_after(120):
                while processes_of(folder):
                    await anyio.sleep(0.1)

    anyio.run(talk)


def processes_of(folder: Path) -> list[str]:
    """The processes that answer calls about a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = each.read_bytes().decode(errors="replace").split("\0")
            found += [each.parent.name] * ("jobgen.agents.limit" in words and str(folder) in words)
    return found


def test_a_person_who_types_it_gets_the_line_for_an_agent(folder: Path) -> None:
    ours, terminal = os.openpty()
    words = [sys.executable, "-m", "jobgen", "mcp"]
    done = subprocess.run(words, cwd=folder, stdin=terminal, capture_output=True, check=False)
    os.close(ours)
    os.close(terminal)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"such as: claude mcp add jobgen -- jobgen mcp" in done.stderr


def test_ctrl_c_ends_the_server(folder: Path) -> None:
    words = [sys.executable, "-m", "jobgen", "mcp", "--folder", str(folder)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        assert server.stdout.readline()  # it is ready
        server.send_signal(signal.SIGINT)
        assert server.wait() == -signal.SIGINT
