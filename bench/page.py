"""The page in a browser: the time to its first script, and from a change to the next script.

Both are what a person waits, the page's pause after the last key included. How much of the first is
Pyodide's own is measured, too: jobgen can change only the rest. It needs the packages of npm in
.cache/npm, chromium and playwright (see tests/test_page_browser.py).

    python bench/page.py [RUNS]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from turns import ROOT

sys.path.insert(0, str(ROOT))


from jobgen.page.folder import page_files, write_folder
from tests.browser import browser, served
from tests.page_browser import Page

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
CHANGES = 20
ALONE = """<!DOCTYPE html><script type="module">
import { loadPyodide } from "./runtime/pyodide.js";
import createPyodideModule from "./runtime/pyodide.asm.js";
const indexURL = new URL("runtime/", location.href).href;
await loadPyodide({ indexURL, createPyodideModule });
document.body.dataset.answers = 1;
</script>"""


def first(chromium: Any, address: str) -> tuple[float, Page]:
    """Seconds until a new visitor has a script, and the page."""
    start = time.perf_counter()
    page = Page(chromium.new_context(), address)
    return time.perf_counter() - start, page


def following(page: Page) -> list[float]:
    """Seconds from each of some changes to its script."""
    seconds = []
    for number in range(CHANGES):
        start = time.perf_counter()
        page.fill("nodes", str(number % 4 + 2))
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    rows: dict[str, list[float]] = {"Pyodide alone": [], "first script": [], "next script": []}
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        write_folder(f"{folder}/page", page_files(str(ROOT / ".cache/npm")))
        Path(folder, "page/alone.html").write_text(ALONE, encoding="utf-8")
        with served(Path(folder, "page")) as address:
            for _ in range(RUNS):
                seconds, page = first(chromium, f"{address}alone.html")
                rows["Pyodide alone"].append(seconds)
                page.tab.context.close()
                seconds, page = first(chromium, address)
                rows["first script"].append(seconds)
                rows["next script"] += following(page)
                page.tab.context.close()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, values in rows.items():
        print(f"{name:<14} {median(values):6.2f} s, from {min(values):.2f} to {max(values):.2f}")


main()
