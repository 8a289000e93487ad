"""An editor, as far as a language server sees one: it opens a text, and gets messages about it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SETTINGS = {"validate": True, "hover": True, "schemaStore": {"enable": False}}


class Editor:
    """Speaks the Language Server Protocol with a program on its stdin and stdout."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.folder = folder
        self.server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.requests = 0

    def __enter__(self) -> Editor:
        self._ask(
            "initialize",
            processId=None,
            rootUri=self.folder.as_uri(),
            capabilities={"workspace": {"configuration": True}},
        )
        self._send(method="initialized", params={})
        return self

    def __exit__(self, *_: object) -> None:
        self.server.kill()
        self.server.communicate()

    def messages(self, name: str, text: str) -> list[str]:
        """What the server says about a text that is opened under this name."""
        document = {"uri": self._uri(name), "languageId": "yaml", "version": 1, "text": text}
        self._send(method="textDocument/didOpen", params={"textDocument": document})
        while True:
            message = self._receive()
            is_answer = message.get("method") == "textDocument/publishDiagnostics"
            if is_answer and message["params"]["uri"] == document["uri"]:
                return [each["message"] for each in message["params"]["diagnostics"]]

    def hover(self, name: str, line: int, column: int) -> str:
        """What is shown at a place of an opened text; line and column begin at 0."""
        place = {"line": line, "character": column}
        answer = self._ask(
            "textDocument/hover", textDocument={"uri": self._uri(name)}, position=place
        )
        return str(answer["contents"]["value"])

    def _uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def _ask(self, method: str, **params: Any) -> Any:
        self.requests += 1
        self._send(id=self.requests, method=method, params=params)
        while True:
            message = self._receive()
            if message.get("id") == self.requests and "method" not in message:
                return message["result"]

    def _send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.server.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        """The next message; a request for settings is answered on the way."""
        assert self.server.stdout
        length = 0
        while line := self.server.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        assert length, "the server has ended"
        message: dict[str, Any] = json.loads(self.server.stdout.read(length))
        if "id" in message and "method" in message:
            items = message.get("params", {}).get("items", ())
            settings = [SETTINGS if item.get("section") == "yaml" else {} for item in items]
            self._send(id=message["id"], result=settings or None)
        return message
