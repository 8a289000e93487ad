"""A headless Chromium that tests talk to: what a page requests, logs and looks like."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

PATIENCE = 120  # seconds for an answer; the machine may be busy
OPTIONS = ["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]


@cache
def reason_to_skip() -> str:
    """Why there is no browser; "" if there is one."""
    program = shutil.which("chromium")
    if not program:
        return "no chromium: apt-get install chromium"
    done = subprocess.run([program, "--version"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "chromium does not start here"


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium; without it, the test is skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
    if reason := reason_to_skip():
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=shutil.which("chromium"), args=OPTIONS)
        yield made
        made.close()


class Tab:
    """A tab of its own context: `console` has all that its page wrote there and could not load."""

    def __init__(self, context: Any) -> None:
        self.tab = context.new_page()
        self.tab.set_default_timeout(PATIENCE * 1000)
        self.console: list[str] = []
        self.requests: list[str] = []  # URLs
        self.tab.on("console", lambda message: self.console.append(message.text))
        self.tab.on("pageerror", lambda error: self.console.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.console.append(dialog.message))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self._devtools = context.new_cdp_session(self.tab)

    def open(self, url: str) -> None:
        """Open a page and wait until it has loaded."""
        self.tab.goto(url)

    def value(self, script: str) -> Any:
        """The value of an expression in the page, whatever its policy; a promise is awaited."""
        result = self._devtools.send(
            "Runtime.evaluate",
            {"expression": script, "returnByValue": True, "awaitPromise": True},
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screen(self, width: int, height: int, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the screen in pixels, and the colours that the person prefers."""
        size = {"width": width, "height": height}
        self._devtools.send("Emulation.clearDeviceMetricsOverride")
        self.tab.set_viewport_size(size)
        if phone:  # Playwright has this for whole contexts alone
            size |= {"deviceScaleFactor": 1, "mobile": True}
            self._devtools.send("Emulation.setDeviceMetricsOverride", size)
        self.tab.emulate_media(color_scheme="dark" if dark else "light")


@contextmanager
def served(folder: Path, wasm: str = "application/wasm") -> Iterator[str]:
    """The address of a web server with a folder; `wasm` is the type that it sends for .wasm."""

    class Quiet(SimpleHTTPRequestHandler):
        extensions_map: ClassVar = {**SimpleHTTPRequestHandler.extensions_map, ".wasm": wasm}

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
