"""The page in a browser: the same bytes as the command line, and nothing that a person types runs.

It is served as any web server would do, by `python3 -m http.server`.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobgen.lint.rules import rules
from tests.browser import served
from tests.golden_cases import script_of
from tests.page_browser import CommandLine, Page, public_folder
from tests.page_forms import VALUES, random_form

pytestmark = pytest.mark.slow
# More than lint trusts without a process of its own.
LONG = script_of("aws-nvidia")
HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>\"'></textarea><svg onload=alert(3)>"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return public_folder(tmp_path_factory)


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


def test_it_starts_with_no_cluster_chosen(chromium: Any, folder: Path) -> None:
    """And a search that leaves one chooses it, while one without it ends that choice."""
    with served(folder) as address:
        page = Page(chromium.new_context(), address)
        assert (page.chosen(), page.tab.is_hidden("#script")) == ([], True)
        assert page.tab.is_visible("#start")
        assert page.tab.is_disabled("#download")
        assert page.tab.input_value("#program") == "train.py"
        page.fill("search", "Polaris")
        assert page.chosen() == ["sites/polaris"]
        assert page.text("line") == "jobgen qsub --profile sites/polaris -- train.py"
        assert page.tab.is_enabled("#download")
        page.tab.fill("#search", "a100")
        assert page.chosen() == ["sites/polaris"]  # it is one of those that are left
        page.tab.fill("#search", "gh200")
        assert page.chosen() == []
        assert page.tab.is_hidden("#script")
        assert page.tab.is_disabled("#copy-script")
        page.until(lambda: page.tab.evaluate("location.hash") == "")
        page.fill("search", "")  # as before the search
        assert page.chosen() == ["sites/polaris"]
        assert page.tab.is_visible("#script")
        page.tab.fill("#search", "no such cluster")
        assert page.tab.locator(".choice:visible b").all_inner_texts() == ["Paste its profile"]
        page.tab.context.close()


def test_the_name_of_no_cluster_is_cut(page: Page) -> None:
    for width in (360, 768, 1280):
        page.tab.set_viewport_size({"width": width, "height": 800})
        page.tab.focus("#search")
        cut = (
            "[...document.querySelectorAll('.choice, .choice *')]"
            ".filter(each => each.clientWidth && each.scrollWidth > each.clientWidth + 1).length"
        )
        assert page.tab.evaluate(cut) == 0, width


def test_nothing_can_be_taken_while_a_refusal_stands(page: Page) -> None:
    buttons = ("download", "copy-script", "copy-line", "copy-link")
    page.link({"profile": "mi210", "nodes": "2"})
    assert all(page.tab.is_enabled(f"#{each}") for each in buttons)
    page.link({"profile": "mi210", "nodes": "0"})
    assert all(page.tab.is_disabled(f"#{each}") for each in buttons)
    described = str(page.tab.get_attribute("#actions", "aria-describedby"))
    assert page.text(described) == "Nothing can be copied: a field has a problem."
    assert page.tab.is_hidden("#line")
    # From the first key on, since what is shown is of an older form.
    page.fill("nodes", "2")
    change = (
        "(() => { const box = document.getElementById('nodes'); box.value = '0';"
        " box.dispatchEvent(new Event('input', { bubbles: true }));"
        " return document.getElementById('actions').disabled; })()"
    )
    assert page.tab.evaluate(change)


def test_what_can_be_taken_is_always_of_the_form(page: Page) -> None:
    """Also if an answer comes after the next key and before its question."""
    page.link({"profile": "mi210", "nodes": "1"})
    pairs = page.tab.evaluate(
        "async () => { const pairs = []; const [box, actions, line] ="
        " ['nodes', 'actions', 'line'].map(id => document.getElementById(id));"
        " const note = () => actions.disabled || pairs.push([box.value, line.textContent]);"
        " new MutationObserver(note).observe(actions, { attributes: true });"
        " for (let number = 2; number < 42; number++) {"
        "  box.value = number; box.dispatchEvent(new Event('input', { bubbles: true }));"
        "  await new Promise(done => setTimeout(done, 120 + 8 * number)); }"
        " while (actions.disabled) await new Promise(done => setTimeout(done, 50));"
        " return pairs; }"
    )
    page.until(lambda: "-N 41" in page.text("line"))
    assert pairs
    assert [pair for pair in pairs if f"-N {pair[0]}" not in pair[1]] == []


def test_a_link_with_a_profile_that_the_page_lacks_makes_no_script(page: Page) -> None:
    page.tab.evaluate("location.hash = 'profile=nothere&nodes=4'")
    page.until(lambda: "nothere" in page.tab.locator("#profile-messages").inner_text())
    assert not page.tab.locator("#script").is_visible()
    assert page.tab.is_disabled("#download")
    page.choose("mi210")
    assert page.tab.locator("#script").is_visible()
    assert "-N 4" in page.tab.locator("#line").inner_text()
    assert page.tab.locator("#profile-messages").inner_text() == ""


def test_what_lint_finds_is_what_the_command_line_finds(
    page: Page, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a machine without bash: JG001 asks `bash -n`."""
    pytest.importorskip("tree_sitter_bash")
    monkeypatch.setenv("PATH", "")
    scripts = [rule.bad for rule in rules().values()]
    scripts += ["", "if", "#!/bin/bash\n#SBATCH -N 2\nécho '€ 😀' && torchrun ü.py # 😀\n"]
    scripts.append(LONG)
    for text in scripts:
        expected = command_line.ask("lint", text=text)
        assert page.lint(text) == (expected["findings"], expected["summary"]), text


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
    assert page.text("heading-result") == "8 nodes × 8 GPUs = 64 ranks"
    texts = page.tab.evaluate(
        "[...document.querySelectorAll('#drawing svg text')].map(each => each.textContent)"
    )
    nodes = [text for text in texts if "node" in text]
    assert nodes == ["node 0, the head", "node 1", "… 5 more nodes …", "node 7"]
    assert texts[1:17] == [text for n in range(8) for text in (str(n), f"GPU {n}")]
    assert texts[-4] == "63"
    interfaces = "interface: hsn0 or hsn1 or hsn2 or hsn3"
    assert texts[-2:] == [interfaces, "port: from the job's id"]
    page.tab.set_viewport_size({"width": 360, "height": 640})
    page.until(lambda: page.tab.locator("#drawing svg text").count() < len(texts))
    assert page.tab.evaluate("document.documentElement.scrollWidth") == 360
    described = page.tab.locator("#drawing svg").get_attribute("aria-describedby")
    assert page.text(str(described)).startswith("8 nodes with 8 ranks each on 8 GPUs: 64 ranks")


def test_a_field_shows_what_holds_without_a_choice(page: Page) -> None:
    assert page.text("exclusive-default") == "(default)"
    page.link({"profile": "sites/lumi-g"})
    assert page.text("exclusive-default") == ""
    assert page.text("nodes-limit") == "at most 1024 on standard-g"
    assert page.tab.get_attribute("#partition", "placeholder") == "standard-g"
    assert page.tab.get_attribute("#gpus_per_node", "placeholder") == "8"
    assert page.tab.text_content("#launcher option >> nth=0") == "torchrun (default)"


def test_the_script_can_be_copied_and_downloaded(page: Page) -> None:
    page.link({"profile": "mi210", "program": "train.py ü"})
    script = page.script()
    page.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for button, text in (("script", script), ("line", page.text("line"))):
        page.tab.click(f"#copy-{button}")
        page.until(lambda: page.tab.evaluate("navigator.clipboard.readText()") == text)  # noqa: B023
    with page.tab.expect_download() as waiting:
        page.tab.click("#download")
    assert waiting.value.suggested_filename == "job.sh"
    assert waiting.value.path().read_bytes() == script.encode()


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


def test_a_profile_without_an_end_is_refused(page: Page, command_line: CommandLine) -> None:
    for text in ("a: " + "[" * 5000, "a: &a [1]\n" + "b: [*a, *a]\n" * 5000, "x" * 300_000):
        form = {"profile": "-", "profile_text": text}
        page.link(form)
        assert page.shown() == command_line.shown(form)


def test_a_refusal_is_tied_to_its_field(page: Page) -> None:
    page.link({"profile": "mi210", "nodes": "0", "stall": "soon"})
    assert page.text("status") == "Nothing can be copied: 2 problems."
    for name, text in (("nodes", "-N: 0 is out of range"), ("stall", "--stall: expected")):
        box = page.tab.locator(f"#{name}")
        assert box.get_attribute("aria-invalid") == "true"
        messages = str(box.get_attribute("aria-describedby")).split()[-1]
        assert page.text(messages).startswith(text)
        assert page.tab.is_visible(f"#{messages}")
    page.tab.click("#problems button >> nth=1")
    assert page.tab.evaluate("document.activeElement.id") == "stall"
    assert page.tab.locator("#problems li >> nth=1").inner_text().startswith("End a job that hangs")
    page.link({"profile": "mi210", "nodes": "2"})
    assert page.tab.locator("[aria-invalid]").count() == 0


def test_the_keyboard_is_enough(page: Page) -> None:
    keys = page.tab.keyboard
    page.tab.focus("#search")
    keys.type("nersc")
    keys.press("Tab")  # to the list, in which one cluster is left and chosen
    assert page.tab.evaluate("document.activeElement.value") == "sites/perlmutter"
    keys.press("Tab")
    assert page.tab.evaluate("document.activeElement.id") == "program"
    answers = page.answers()
    keys.press("Tab")
    keys.type("3")
    page.until(lambda: "-N 3" in page.text("line"))
    assert page.answers() > answers
    assert "--profile sites/perlmutter" in page.text("line")
    page.tab.fill("#search", "no such cluster")
    page.tab.fill("#search", "juwels")  # it is chosen, and Enter keeps it
    page.tab.focus("#search")
    keys.press("Enter")
    assert page.chosen() == ["sites/juwels-booster"]
    page.tab.click("#change")
    assert page.tab.evaluate("document.activeElement.id") == "search"
    keys.press("Tab")
    keys.press("ArrowDown")  # the next one, while the list stays open
    page.until(lambda: page.text("line").startswith("jobgen sbatch --profile sites/karolina"))
    assert page.tab.is_visible(".choice:has([value='sites/alps'])")
    page.tab.focus(".skip")
    order = []
    for _ in range(80):
        keys.press("Tab")
        order.append(page.tab.evaluate("document.activeElement.id"))
    wanted = ["search", "program", "nodes", "copy-script", "upper", "line", "lint-text"]
    assert [each for each in order if each in wanted][: len(wanted)] == wanted
    unnamed = (
        "[...document.querySelectorAll('input, select, textarea')].filter(e => !e.labels.length)"
    )
    assert page.tab.evaluate(f"{unnamed}.length") == 0


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_it_fits_a_phone_and_a_desk(width: int, page: Page) -> None:
    page.tab.set_viewport_size({"width": width, "height": 900})
    for form in (
        {"profile": "sites/aurora", "nodes": "40"},
        {"profile": "mi210", "nodes": "x" * 90},
    ):
        page.link(form)
        assert page.tab.evaluate("document.documentElement.scrollWidth") == width
    covered = (
        "(() => { const box = document.getElementById('lint-text');"
        " box.scrollIntoView({ block: 'nearest' });"
        " const { top, right, bottom } = box.getBoundingClientRect();"
        " return document.elementFromPoint(right - 20, (top + bottom) / 2).id; })()"
    )
    assert page.tab.evaluate(covered) == "lint-text"


@pytest.mark.parametrize("profile", ["sites/lumi-g", "sites/aurora", "aws-cpu"])
def test_a_laptop_shows_the_script_without_scrolling(profile: str, page: Page) -> None:
    page.tab.set_viewport_size({"width": 1280, "height": 800})
    page.link({"profile": profile, "nodes": "2", "program": "train.py"})
    page.tab.evaluate("scrollTo(0, 0)")
    last = page.tab.locator("#upper .directive").last.bounding_box()
    assert last["y"] + last["height"] < 800


def test_on_a_phone_the_bar_covers_neither_the_focus_nor_a_message(page: Page) -> None:
    page.tab.set_viewport_size({"width": 360, "height": 640})
    page.link({"profile": "mi210", "stall": "30"})
    page.tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    bar = page.tab.evaluate("document.querySelector('.bar').getBoundingClientRect().top")
    assert 500 < bar < 640

    def bottom(name: str) -> float:
        box = f"document.getElementById('{name}').getBoundingClientRect()"
        return float(page.tab.evaluate(f"{box}.height < {bar} ? {box}.bottom : {box}.top"))

    page.tab.focus("#search")
    names = []
    while (name := page.tab.evaluate("document.activeElement.id")) != "lint":
        names.append(name)
        assert not name or bottom(name) <= bar, name
        page.tab.keyboard.press("Tab")
    assert len(names) > 40
    place = "document.getElementById('stall').getBoundingClientRect().bottom"
    page.tab.evaluate(f"scrollBy(0, {place} - {bar} + 5)")
    page.tab.evaluate("document.getElementById('stall').focus({ preventScroll: true })")
    page.tab.keyboard.type("x")
    page.until(lambda: page.text("stall-messages") != "")
    assert bottom("stall-messages") <= bar
    page.link({"profile": "mi210", "stall": "soon"})
    page.tab.evaluate("scrollTo(0, 0)")
    page.tab.click("#problems button")
    assert 0 < bottom("stall") < bottom("stall-messages") <= bar
    page.tab.fill("#lint-text", "x")
    page.tab.click("#lint")
    page.until(lambda: "finding" in page.text("lint-status"))
    assert bottom("lint-status") <= bar


def test_it_works_without_a_network_and_sends_nothing(
    chromium: Any, folder: Path, tmp_path: Path
) -> None:
    public = shutil.copytree(folder, tmp_path / "public")
    context = chromium.new_context()
    with served(public) as address:
        page = Page(context, f"{address}#profile=mi210&nodes=3")
        shown = page.shown()
        elsewhere = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"
        (worker,) = page.tab.workers
        assert [each.evaluate(elsewhere) for each in (page.tab, worker)] == ["refused"] * 2
        assert "Content Security Policy" in page.console[0]
        page.console.clear()
        until_all_is_cached(page, len(list(public.rglob("*.*"))))
        other = context.new_page()
        other.goto(f"{address}runtime")  # the server redirects
        assert other.url == f"{address}runtime/"
        other.close()
        index = public / "index.html"
        index.write_text(index.read_text().replace("<title>", "<title>New: "))
        page.tab.reload()
        assert page.tab.title().startswith("New: ")
    page.tab.reload()
    page.until(lambda: page.answers() > 0)
    assert page.tab.title().startswith("New: ")
    assert page.shown() == shown
    assert page.lint("#!/bin/bash\n#SBATCH -N 2\n")[1].startswith("0 findings")
    context.close()


def until_all_is_cached(page: Page, files: int) -> None:
    """Wait for the service worker, which has `./`, but not its own list."""
    cache = "caches.keys().then(names => names.length && caches.open(names[0]))"
    count = f"{cache}.then(cache => cache ? cache.keys() : []).then(keys => keys.length)"
    page.until(lambda: page.tab.evaluate(count) >= files)
    page.tab.evaluate("navigator.serviceWorker.ready.then(() => 1)")
