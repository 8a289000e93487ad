"""The page in a browser: the time to its first script, and from a change to the next script.

Both are what a person waits, the page's pause after the last key included. How much of the first is
Pyodide's own is measured, too: jobgen can change only the rest. The processor time of the thread
with Python is what the first script takes at least, on a machine that does nothing else. It
needs the packages of npm in .cache/npm, chromium and playwright (see tests/test_page_browser.py).

    python bench/page.py [RUNS]
"""

from __future__ import annotations

import os
import re
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


def worker_time() -> float:
    """Seconds of a processor that all workers of this program's browser have taken."""
    total = 0
    for file in Path("/proc").glob("[0-9]*/task/*/stat"):
        try:
            name, after = file.read_text().rsplit(")", 1)
        except OSError:  # it has just ended
            continue
        if "(DedicatedWorker" in name and _is_ours(int(file.parts[2])):
            total += sum(map(int, after.split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def _is_ours(process: int) -> bool:
    while process not in (0, os.getpid()):
        status = Path(f"/proc/{process}/status").read_text()
        process = int(re.search(r"^PPid:\s+(\d+)", status, re.M)[1])  # type: ignore[index]
    return process == os.getpid()


def following(page: Page) -> list[float]:
    """Seconds from each of some changes to its script."""
    seconds = []
    for number in range(CHANGES):
        start = time.perf_counter()
        page.fill("nodes", str(number % 4 + 2))
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    names = ("Pyodide alone", "first script", "its thread", "next script")
    rows: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        write_folder(f"{folder}/page", page_files(str(ROOT / ".cache/npm")))
        Path(folder, "page/alone.html").write_text(ALONE, encoding="utf-8")
        with served(Path(folder, "page")) as address:
            for _ in range(RUNS):
                seconds, page = first(chromium, f"{address}alone.html")
                rows["Pyodide alone"].append(seconds)
                page.tab.context.close()
                seconds, page = first(chromium, f"{address}#profile=mi210")
                rows["first script"].append(seconds)
                rows["its thread"].append(worker_time())
                rows["next script"] += following(page)
                page.tab.context.close()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, values in rows.items():
        print(f"{name:<14} {median(values):6.2f} s, from {min(values):.2f} to {max(values):.2f}")


main()
