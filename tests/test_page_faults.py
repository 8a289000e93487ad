"""The page in a browser after a fault of its Python or its start, and on a plainer server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobgen.page.folder import page_files, write_folder
from tests.browser import served
from tests.page_browser import Page, public_folder
from tests.page_forms import packages_or_skip

pytestmark = pytest.mark.slow
BROKEN = '() => { self.onmessage = () => self.postMessage(\'{"fault": "broken <b>"}\'); }'
SILENT = "if (data.form?.nodes === '13') return;"
FILES = ("runtime/pyodide.asm.wasm", "runtime/python_stdlib.zip", "python.zip")
ENDLESS = "a|" * 50_000  # for the parser


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return public_folder(tmp_path_factory)


@pytest.fixture
def page(chromium: Any, public: Path) -> Iterator[Page]:
    with served(public) as address:
        yield Page(chromium.new_context(), f"{address}#profile=mi210")


@pytest.mark.thorough
def test_after_a_fault_nothing_of_an_older_form_is_shown(page: Page) -> None:
    assert page.tab.is_visible("#job")
    page.fill("nodes", "0")
    assert page.tab.is_hidden("#job")
    assert page.shown()["messages"]
    (worker,) = page.tab.workers
    worker.evaluate(BROKEN)
    page.fill("nodes", "x")
    assert page.text("other-messages") == "This page has failed: broken <b>"
    assert page.shown() == {"line": "", "script": "", "messages": []}
    assert page.text("problems") == ""
    assert page.tab.locator("[aria-invalid]").count() == 0
    assert page.tab.is_disabled("#copy-line")
    page.fill("nodes", "2")
    assert "-N 2" in page.text("line")
    assert page.text("other-messages") == ""


def test_the_bytes_of_python_are_counted_while_it_loads(chromium: Any, public: Path) -> None:
    context = chromium.new_context()
    context.add_init_script(
        "addEventListener('DOMContentLoaded', () => { window.seen = [];"
        " const box = document.getElementById('loading');"
        " new MutationObserver(() => seen.push(box.textContent))"
        ".observe(box, { childList: true }); })"
    )
    with served(public) as address:
        page = Page(context, f"{address}#profile=mi210")
        seen = page.tab.evaluate("seen")
        assert page.tab.is_hidden("#progress")
        page.lint("#!/bin/bash\n#SBATCH -N 2\n")  # its parser loads bytes, too
        assert page.tab.is_hidden("#progress")
    numbers = [float(text.split(": ")[1].split()[0]) for text in seen if " of " in text]
    total = sum((public / name).stat().st_size for name in FILES) / 1e6
    assert numbers == sorted(numbers)
    assert len(numbers) > 10
    assert all(text.endswith(f" of {total:.1f} MB") for text in seen[:-1] if " of " in text)
    assert seen[-1] == "Python is loaded, and starts …"


def test_a_server_need_not_know_the_type_of_wasm(chromium: Any, public: Path) -> None:
    with served(public, wasm="application/octet-stream") as address:
        page = Page(chromium.new_context(), f"{address}#profile=mi210")
        assert page.script()
        assert page.lint("#!/bin/bash\n#SBATCH -N 2\n")[1].startswith("0 findings")


def test_a_start_that_fails_is_reported_and_not_tried_again(chromium: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    files = page_files(str(packages_or_skip()))
    write_folder(str(broken), {name: files[name] for name in files if name != "python.zip"})
    with served(broken) as address:
        page = Page(chromium.new_context(), f"{address}#profile=mi210")
        for nodes in ("2", "3"):
            page.fill("nodes", nodes)
            assert "python.zip: 404" in page.text("other-messages")
    starts = [each for each in page.requests if each.endswith("/python.zip")]
    assert len(starts) == 1


@pytest.mark.thorough
def test_python_starts_anew_after_each_time_out(chromium: Any, tmp_path: Path) -> None:
    """Neither the script nor the drawing of one form is ever answered: 30 s for each."""
    silent = tmp_path / "silent"
    files = page_files(str(packages_or_skip()))
    begin = b"async ({ data }) => {"
    assert begin in files["worker.js"]
    files["worker.js"] = files["worker.js"].replace(begin, begin + SILENT.encode())
    write_folder(str(silent), files)
    with served(silent) as address:
        page = Page(chromium.new_context(), f"{address}#profile=mi210")
        page.fill("nodes", "13")
        assert page.text("other-messages") == "This page has failed: no answer after 30 s"
        page.fill("nodes", "2")
        assert "-N 2" in page.text("line")


@pytest.mark.thorough
def test_a_script_that_is_too_much_for_the_parser_is_no_end_of_the_page(page: Page) -> None:
    """It takes gigabytes of memory, or 30 s: then Python starts anew, the second time, too."""
    for _ in range(2):
        assert page.lint(ENDLESS)[1].startswith("This cannot be parsed here: ")
    assert page.lint("#!/bin/bash\n#SBATCH -N 2\n")[1] == "0 findings in 0 of 1 scripts\n"
    page.fill("nodes", "2")
    assert "-N 2" in page.text("line")
