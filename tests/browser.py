"""A headless Chromium that tests talk to: what a page requests, logs and looks like.

The protocol is that of the DevTools, over two pipes (--remote-debugging-pipe): messages in JSON
with a zero byte after each. https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OPTIONS = """--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run
  --disable-extensions --disable-background-networking --disable-component-update
  --allow-file-access-from-files --remote-debugging-pipe"""
# Events that a page's errors come in, and those of its requests.
ERRORS = {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}


class Browser:
    """A tab of the browser: `requests` has the URLs that it requested, `errors` what it logged."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._number, self._session = to, back, 0, ""
        self._rest = b""
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._loaded = False

    def start(self) -> None:
        """Open the tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = session["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method and wait for its result; RuntimeError if the browser refuses it."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._back, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._rest += data
        raw, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        name, values = event.get("method", ""), event.get("params", {})
        if name == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif name == "Page.loadEventFired":
            self._loaded = True
        elif name in ERRORS:
            self.errors.append(json.dumps(values)[:2000])

    def open(self, url: str) -> None:
        """Open a page and wait until it has loaded."""
        self._loaded = False
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._note(self._next())

    def value(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screen(self, width: int, height: int, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the screen in pixels, and the colours that the person prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key and release it."""
        for kind in ("keyDown", "keyUp"):
            words = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **words,
            )

    def screenshot(self, file: Path) -> None:
        """Write what the screen shows as a PNG."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser that keeps its files in `folder`; it is ended in the end."""
    (read_to, to), (back, write_back) = os.pipe(), os.pipe()

    def take_pipes() -> None:
        """The browser reads from 3 and writes to 4."""
        first, second = os.dup(read_to), os.dup(write_back)
        os.dup2(first, 3)
        os.dup2(second, 4)

    process = subprocess.Popen(
        ["chromium", *OPTIONS.split(), f"--user-data-dir={folder}"],
        preexec_fn=take_pipes,
        pass_fds=(3, 4),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_to)
    os.close(write_back)
    try:
        tab = Browser(to, back)
        tab.start()
        yield tab
    finally:
        process.terminate()
        process.wait(timeout=60)
        os.close(to)
        os.close(back)
