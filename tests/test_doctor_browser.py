"""The doctor's page in a browser: it fits every width, logs no error, and shows its colours."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jobgen.doctor import html_report, results_of
from tests.browser import Tab
from tests.doctor_results import example_results

pytestmark = pytest.mark.slow
PIXEL = tuple[int, int, int]
FACTS = """(() => {
  const root = document.documentElement, all = words => [...document.querySelectorAll(words)];
  const size = text => {
    const matrix = text.getScreenCTM();
    return Math.hypot(matrix.a, matrix.b) * parseFloat(getComputedStyle(text).fontSize);
  };
  return {
    width: root.scrollWidth,
    height: root.scrollHeight,
    outside: all("svg, p, h1, h2, li, summary, .scroll, pre, code")
      .filter(box => box.getBoundingClientRect().right > innerWidth + 1).length,
    paper: getComputedStyle(document.body).backgroundColor,
    bad: all(".bars.bad").map(bars => getComputedStyle(bars).fill)[0],
    smallest: Math.min(...all("svg text").map(size)),
    milliseconds: Math.round(performance.getEntriesByType("navigation")[0].domComplete),
  };
})()"""
# The bytes of a picture, four for each pixel.
BYTES = """fetch("data:image/png;base64,%s").then(got => got.blob()).then(createImageBitmap)
  .then(picture => {
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    canvas.drawImage(picture, 0, 0);
    const bytes = canvas.getImageData(0, 0, picture.width, picture.height).data;
    return bytes.toBase64 ? bytes.toBase64() : btoa(Array.from(bytes, each =>
      String.fromCharCode(each)).join(""));
  })"""


def written_page(folder: Path, count: int) -> str:
    page = html_report(results_of(example_results(count)))
    (folder / "page.html").write_text(page, encoding="utf-8")
    return page


def facts_of(tab: Tab, folder: Path, dark: bool = False) -> list[dict[str, Any]]:
    """What a phone's width and a desk's make of the page."""
    facts = []
    for width in (360, 1280):
        tab.screen(width, 900, dark)
        tab.open((folder / "page.html").as_uri())
        facts.append(tab.value(FACTS))
    assert tab.console == []
    return facts


@pytest.mark.parametrize("count", [1, 2, 16, 512])
def test_it_fits_a_phone_and_a_desk(count: int, tmp_path: Path, tab: Tab) -> None:
    written_page(tmp_path, count)
    phone, desk = facts_of(tab, tmp_path)
    print(f"{count} nodes: complete after {phone['milliseconds']} ms, {desk['milliseconds']} ms")
    assert (phone["width"], phone["outside"]) == (360, 0)
    assert (desk["width"], desk["outside"]) == (1280, 0)
    assert 1500 < desk["height"] < phone["height"] < 8000
    assert min(phone["smallest"], desk["smallest"]) > 7
    assert desk.get("bad") == (None if count < 4 else "rgb(163, 33, 15)")


def test_a_dark_screen_has_colours_of_its_own(tmp_path: Path, tab: Tab) -> None:
    written_page(tmp_path, 4)
    for facts in facts_of(tab, tmp_path, dark=True):
        assert facts["paper"] == "rgb(21, 24, 27)"
        assert facts["bad"] == "rgb(255, 173, 102)"


def test_hostile_names_run_nothing_and_move_nothing(tmp_path: Path, tab: Tab) -> None:
    raw = json.dumps(example_results(16))
    name = "<img src=x onerror=document.title=1>" + "w" * 200
    page = html_report(results_of(json.loads(raw.replace("smc-r07-09", name))))
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert [facts["width"] for facts in facts_of(tab, tmp_path)] == [360, 1280]


def test_the_policy_of_the_page_stops_a_script(tmp_path: Path, tab: Tab) -> None:
    """The counter-proof: what the page forbids is in the console, which the other tests read."""
    page = written_page(tmp_path, 2)
    script = "<script>document.title='ran'</script><img src='https://example.org/x.png'></main>"
    (tmp_path / "page.html").write_text(page.replace("</main>", script), encoding="utf-8")
    tab.open((tmp_path / "page.html").as_uri())
    assert len(tab.console) == 2
    assert tab.tab.title() != "ran"


@pytest.mark.parametrize("count", [16, 512])
def test_the_slow_node_is_a_row_of_its_colour(count: int, tmp_path: Path, tab: Tab) -> None:
    page = written_page(tmp_path, count)
    only = "header,footer,.lead,h2,section:not([aria-labelledby=pairs]){display:none}"
    (tmp_path / "page.html").write_text(
        page.replace("</style>", f"{only}</style>"), encoding="utf-8"
    )
    tab.screen(1000, 700)
    tab.open((tmp_path / "page.html").as_uri())
    rows = pixels(tab)
    assert len({pixel for row in rows for pixel in row}) > 20
    # The map of bandwidths is the left one; its slow row is that of the middle node.
    good, slow = (0xE9, 0xED, 0xF0), (0xB2, 0x3C, 0x25)
    lengths = [sum(is_near(pixel, slow) for pixel in row[:490]) for row in rows]
    middles = [y for y, row in enumerate(rows) if Counter(row[:490])[good] > 150]
    slow_row = lengths.index(max(lengths))
    assert max(lengths) > 200
    share = (slow_row - middles[0]) / (middles[-1] - middles[0])
    assert share == pytest.approx((count // 2 + 0.5) / count, abs=0.04)


def is_near(pixel: PIXEL, colour: PIXEL) -> bool:
    return all(abs(a - b) < 40 for a, b in zip(pixel, colour, strict=True))


def pixels(tab: Tab) -> list[list[PIXEL]]:
    """The rows of what the screen shows, as the browser itself reads them."""
    picture = base64.b64encode(tab.tab.screenshot()).decode()
    tab.open("about:blank")
    width, data = 1000, base64.b64decode(tab.value(BYTES % picture))
    each = [(data[at], data[at + 1], data[at + 2]) for at in range(0, len(data), 4)]
    return [each[start : start + width] for start in range(0, len(each), width)]


@pytest.mark.parametrize(("count", "most"), [(2, 4), (16, 6), (512, 8)])
def test_it_prints_on_a_few_pages(count: int, most: int, tmp_path: Path, tab: Tab) -> None:
    written_page(tmp_path, count)
    tab.open((tmp_path / "page.html").as_uri())
    data = tab.tab.pdf(margin=dict.fromkeys(("top", "right", "bottom", "left"), "1cm"))
    assert data.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type /Page\b(?!s)", data)) <= most
