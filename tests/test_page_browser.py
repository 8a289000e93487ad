"""The page in a browser: the same bytes as the command line, and nothing that a person types runs.

It is served as any web server would do, by `python3 -m http.server`.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pytest

from jobgen.__main__ import run
from jobgen.lint.rules import rules
from jobgen.page.browser.session import Session
from jobgen.page.folder import page_files, write_folder
from jobgen.paths import bundled
from tests.page_forms import VALUES, packages_or_skip, random_form
from tests.test_doctor_browser import reason_to_skip

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
pytestmark = pytest.mark.slow
HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>\"'></textarea><svg onload=alert(3)>"
)
PATIENCE = 120  # seconds for an answer; the machine may be busy


class Page:
    """A tab with the page, and all that it wrote to the console and requested."""

    def __init__(self, context: Any, address: str) -> None:
        self.tab = context.new_page()
        self.console: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda message: self.console.append(message.text))
        self.tab.on("pageerror", lambda error: self.console.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.console.append(dialog.message))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.address = address
        self.tab.goto(address)
        self.wait(0)

    def answers(self) -> int:
        return int(self.tab.evaluate("document.body.dataset.answers ?? 0"))

    def wait(self, answers: int) -> None:
        """Until there are more answers with a script than before, and no question is open."""
        self.until(lambda: self.answers() > answers)

    def until(self, condition: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.console
            time.sleep(0.02)

    def link(self, form: dict[str, str]) -> None:
        """Open a link with a form."""
        before = self.answers()
        self.tab.evaluate("fragment => { location.hash = fragment; }", urlencode(form))
        self.wait(before)

    def fill(self, name: str, text: str) -> None:
        before = self.answers()
        self.tab.evaluate(
            "([id, text]) => { const box = document.getElementById(id); box.value = text;"
            " box.dispatchEvent(new Event('input', { bubbles: true })); }",
            [name, text],
        )
        self.wait(before)

    def text(self, name: str) -> str:
        """The text of an element, with what is folded."""
        return str(self.tab.evaluate("id => document.getElementById(id).textContent", name))

    def shown(self) -> dict[str, Any]:
        """What the page shows of an answer: the command, the script, and messages by field."""
        boxes = self.tab.evaluate(
            "[...document.querySelectorAll('.message')]"
            ".map(box => [box.parentElement.id.replace(/-messages$/, ''), box.textContent])"
        )
        return {
            "line": self.text("line"),
            "script": "" if self.tab.is_hidden("#script") else self.script(),
            "messages": sorted(map(tuple, boxes)),
        }

    def script(self) -> str:
        return self.text("upper") + self.text("machinery")

    def lint(self, text: str) -> tuple[str, str]:
        """The findings in a file, and the last line."""
        self.tab.evaluate("document.getElementById('lint-status').textContent = '…'")
        file = {"name": "x.sh", "mimeType": "text/plain", "buffer": text.encode()}
        self.tab.set_input_files("#lint-file", file)
        self.until(lambda: self.text("lint-status") != "…")
        findings = self.tab.evaluate(
            "[...document.querySelectorAll('#findings li')].map(each => each.textContent + '\\n')"
        )
        return "".join(findings), self.text("lint-status")


class CommandLine:
    """The same answers, by the Python of the tests."""

    def __init__(self) -> None:
        self.session = Session(run)

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(
            self.session.answer(json.dumps({"kind": kind, **fields}))
        )
        assert "fault" not in answer, answer
        return answer

    def shown(self, form: dict[str, str]) -> dict[str, Any]:
        answer = self.ask("script", form=form)
        paths = (str(bundled("profiles")), "/app/jobgen/bundled/profiles")
        return {
            "line": answer["line"],
            "script": answer["upper"] + answer["machinery"],
            "messages": sorted(
                (each["field"] or "other", each["text"].replace(*paths))
                for each in answer["messages"]
            ),
        }


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a web server with a folder."""

    class Quiet(SimpleHTTPRequestHandler):
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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if reason := reason_to_skip():
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "public"
    write_folder(str(path), page_files(str(packages_or_skip())))
    return path


@pytest.fixture(scope="module")
def loaded(chromium: Any, folder: Path) -> Iterator[Page]:
    with served(folder) as address:
        yield Page(chromium.new_context(), address)


@pytest.fixture
def page(loaded: Page) -> Iterator[Page]:
    """The page, empty; afterwards, nothing was wrong and nothing came from elsewhere."""
    loaded.console.clear()
    loaded.tab.set_viewport_size({"width": 1280, "height": 900})
    loaded.link({"profile": "mi210", "name": f"test-{random.random()}"})
    yield loaded
    assert loaded.console == []
    own = (loaded.address, f"blob:{loaded.address}")
    assert [each for each in loaded.requests if not each.startswith(own)] == []


@pytest.fixture
def command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine()


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.thorough)])
def test_the_bytes_are_those_of_the_command_line(
    count: int, page: Page, command_line: CommandLine
) -> None:
    source = random.Random(count)
    scripts = 0
    for _ in range(count):
        form = random_form(source)
        page.link(form)
        expected = command_line.shown(form)
        assert page.shown() == expected, form
        scripts += bool(expected["script"])
    print(f"{scripts} scripts and {count - scripts} refusals")
    assert count / 4 < scripts < count


def test_what_lint_finds_is_what_the_command_line_finds(
    page: Page, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a machine without bash: JG001 asks `bash -n`."""
    pytest.importorskip("tree_sitter_bash")
    monkeypatch.setenv("PATH", "")
    scripts = [rule.module.BAD for rule in rules().values()]
    scripts += ["", "if", "#!/bin/bash\n#SBATCH -N 2\nécho '€ 😀' && torchrun ü.py # 😀\n"]
    for script in scripts:
        expected = command_line.ask("lint", text=script)
        assert page.lint(script) == (expected["findings"], expected["summary"]), script


def test_a_link_restores_the_form(page: Page) -> None:
    form = {"profile": "eap", "nodes": "3", "program": "train.py --x 'ü & #'", "queue": "gpu"}
    page.link({**form, "environment": "A=1\nB=2", "requeue": "on"})
    shown = page.shown()
    assert "jobgen qsub --profile eap -N 3 -q gpu -e A=1 -e B=2 --requeue" in shown["line"]
    page.fill("nodes", "4")
    fragment = page.tab.evaluate("location.hash")
    changed = page.shown()
    assert changed["line"] == shown["line"].replace("-N 3", "-N 4")
    page.link({"profile": "mi210"})
    assert page.shown()["line"] == "jobgen sbatch --profile mi210"
    assert not page.tab.is_checked("#requeue")
    answers = page.answers()
    page.tab.evaluate("fragment => { location.hash = fragment; }", fragment)
    page.wait(answers)
    assert page.shown() == changed
    assert page.tab.is_checked("#requeue")


def test_the_drawing_has_the_nodes_the_ranks_and_how_they_meet(page: Page) -> None:
    page.link({"profile": "sites/lumi-g", "nodes": "8", "rendezvous": "static"})
    page.until(lambda: "64 ranks in all" in page.text("drawing-text"))
    texts = page.tab.evaluate(
        "[...document.querySelectorAll('#drawing svg text')].map(each => each.textContent)"
    )
    nodes = [text for text in texts if "node" in text]
    assert nodes == ["node 0, the head", "node 1", "node 2", "node 3", "… 3 more nodes …", "node 7"]
    assert texts[1:17] == [text for n in range(8) for text in (str(n), f"GPU {n}")]
    assert texts[-4] == "63"
    assert texts[-2:] == ["interface: hsn0 or hsn1 or hs…", "port: from the job's id"]
    described = page.tab.locator("#drawing svg").get_attribute("aria-describedby")
    assert page.text(str(described)).startswith("8 nodes with 8 ranks each on 8 GPUs: 64 ranks")


def test_hostile_values_stay_text(page: Page) -> None:
    count = "document.querySelectorAll('img, iframe, svg[onload], script, form').length"
    before = page.tab.evaluate(count)
    for name in VALUES:
        page.link({"profile": "mi210", name: HOSTILE, "unknown": HOSTILE})
        assert page.tab.evaluate(count) == before, name
    for text in (f"description: {HOSTILE}", f"extends: mi210\npartition: {json.dumps(HOSTILE)}\n"):
        page.link({"profile": "-", "profile_text": text, "profile_file": HOSTILE})
        page.link({"profile": "-", "profile_text": text})
        assert page.tab.evaluate(count) == before
    page.tab.fill("#lint-text", HOSTILE)
    page.tab.click("#lint")
    page.lint(f"#!/bin/bash\n#SBATCH {HOSTILE}\n{HOSTILE}\n")
    assert page.tab.evaluate(count) == before


@pytest.mark.thorough
def test_a_script_that_is_too_much_for_the_parser_is_no_end_of_the_page(page: Page) -> None:
    """It takes gigabytes of memory, or 30 s: then Python starts anew."""
    assert page.lint("a|" * 50_000)[1].startswith("This cannot be parsed here: ")
    page.console.clear()
    assert page.lint("#!/bin/bash\n#SBATCH -N 2\n")[1] == "0 findings in 0 of 1 scripts\n"
    page.fill("nodes", "2")
    assert "-N 2" in page.text("line")


def test_a_refusal_is_tied_to_its_field(page: Page) -> None:
    page.link({"profile": "mi210", "nodes": "0", "stall": "soon"})
    assert page.text("status") == "No script: 2 problems, each at its field."
    for name, text in (("nodes", "-N: 0 is out of range"), ("stall", "--stall: expected")):
        box = page.tab.locator(f"#{name}")
        assert box.get_attribute("aria-invalid") == "true"
        messages = str(box.get_attribute("aria-describedby")).split()[-1]
        assert page.text(messages).startswith(text)
        assert page.tab.is_visible(f"#{messages}")
    page.tab.click("#problems button >> nth=1")
    assert page.tab.evaluate("document.activeElement.id") == "stall"
    page.link({"profile": "mi210", "nodes": "2"})
    assert page.tab.locator("[aria-invalid]").count() == 0


def test_the_keyboard_is_enough(page: Page) -> None:
    keys = page.tab.keyboard
    page.tab.focus("#search")
    keys.type("perlmutter")
    keys.press("Tab")
    keys.press("End")  # the chosen profile stays in the list, and the last entry
    keys.press("ArrowUp")
    keys.press("Tab")
    answers = page.answers()
    keys.type("3")
    page.until(lambda: "-N 3" in page.text("line"))
    assert page.answers() > answers
    assert "--profile sites/perlmutter" in page.text("line")
    page.tab.focus(".skip")
    order = []
    for _ in range(80):
        keys.press("Tab")
        order.append(page.tab.evaluate("document.activeElement.id"))
    wanted = ["search", "profile", "nodes", "program", "line", "copy-script", "upper", "lint-text"]
    assert [each for each in order if each in wanted][: len(wanted)] == wanted
    unnamed = (
        "[...document.querySelectorAll('input, select, textarea')].filter(e => !e.labels.length)"
    )
    assert page.tab.evaluate(f"{unnamed}.length") == 0


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_it_fits_a_phone_and_a_desk(width: int, page: Page) -> None:
    page.tab.set_viewport_size({"width": width, "height": 900})
    for form in (
        {"profile": "sites/aurora", "nodes": "40"},
        {"profile": "mi210", "nodes": "x" * 90},
    ):
        page.link(form)
        assert page.tab.evaluate("document.documentElement.scrollWidth") == width
    page.tab.locator("#lint-text").scroll_into_view_if_needed()
    covered = (
        "(() => { const box = document.getElementById('lint-text').getBoundingClientRect();"
        " const found = document.elementFromPoint(box.right - 20, (box.top + box.bottom) / 2);"
        " return found.id; })()"
    )
    assert page.tab.evaluate(covered) == "lint-text"


def test_it_works_without_a_network_and_sends_nothing(chromium: Any, folder: Path) -> None:
    context = chromium.new_context()
    with served(folder) as address:
        page = Page(context, f"{address}#profile=mi210&nodes=3")
        shown = page.shown()
        elsewhere = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"
        (worker,) = page.tab.workers
        assert [each.evaluate(elsewhere) for each in (page.tab, worker)] == ["refused"] * 2
        assert "Content Security Policy" in page.console[0]
        page.console.clear()
        kept = "caches.keys().then(names => names.length && caches.open(names[0]))"
        count = f"{kept}.then(cache => cache ? cache.keys() : []).then(keys => keys.length)"
        files = len(json.loads((folder / "files.json").read_bytes()))
        page.until(lambda: page.tab.evaluate(count) > files)
        page.tab.evaluate("navigator.serviceWorker.ready.then(() => 1)")
    page.tab.reload()
    page.until(lambda: page.answers() > 0)
    assert page.shown() == shown
    assert page.lint("#!/bin/bash\n#SBATCH -N 2\n")[1].startswith("0 findings")
    context.close()
