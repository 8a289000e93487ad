"""The doctor's page in a browser: it fits every width, logs no error, and shows its colours."""

from __future__ import annotations

import html
import json
import re
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jobgen.doctor import html_report, results_of
from tests.doctor_results import example_results

PIXEL = tuple[int, int, int]
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-extensions"
)
# The page itself forbids scripts, so another page frames it, and reads it when it has loaded.
FRAMES = """<!DOCTYPE html><body style="margin:0">
<iframe src="page.html" width="360" height="900"></iframe>
<iframe src="page.html" width="1280" height="900"></iframe>
<script>
const facts = frame => {
  const view = frame.contentWindow, page = view.document, root = page.documentElement;
  const all = words => [...page.querySelectorAll(words)];
  const size = text => {
    const matrix = text.getScreenCTM();
    return Math.hypot(matrix.a, matrix.b) * parseFloat(view.getComputedStyle(text).fontSize);
  };
  return {
    width: root.scrollWidth,
    height: root.scrollHeight,
    outside: all("svg, p, h1, h2, li, summary, .scroll, pre, code")
      .filter(box => box.getBoundingClientRect().right > view.innerWidth + 1).length,
    paper: view.getComputedStyle(page.body).backgroundColor,
    bad: all(".bars.bad").map(bars => view.getComputedStyle(bars).fill)[0],
    smallest: Math.min(...all("svg text").map(size)),
    milliseconds: Math.round(view.performance.getEntriesByType("navigation")[0].domComplete),
  };
};
addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")];
  document.body.innerHTML = "<pre>" + JSON.stringify(frames.map(facts));
});
</script>"""


@cache
def reason_to_skip() -> str:
    """Why there is no browser; "" if there is one."""
    program = shutil.which("chromium")
    if not program:
        return "no chromium: apt-get install chromium"
    done = subprocess.run([program, "--version"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "chromium does not start here"


def browser(folder: Path, page: str, *words: str) -> subprocess.CompletedProcess[str]:
    """chromium with a page, after which it ends; `folder` is all that it writes to."""
    if reason := reason_to_skip():
        pytest.skip(reason)
    words = ("chromium", *OPTIONS.split(), f"--user-data-dir={folder / 'profile'}", *words)
    return subprocess.run(
        [*words, (folder / page).as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=folder,
    )


def errors_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What the page wrote to the browser's console."""
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def written_page(folder: Path, count: int) -> str:
    page = html_report(results_of(example_results(count)))
    (folder / "page.html").write_text(page, encoding="utf-8")
    return page


def facts_of(folder: Path, *words: str) -> list[dict[str, Any]]:
    """What a phone's width and a desk's make of the page."""
    (folder / "frames.html").write_text(FRAMES, encoding="utf-8")
    words += ("--dump-dom", "--allow-file-access-from-files", "--enable-logging=stderr")
    done = browser(folder, "frames.html", *words)
    assert errors_of(done) == []
    found = re.search("<pre>(.*?)</pre>", done.stdout)
    assert found, done.stdout[-2000:]
    facts: list[dict[str, Any]] = json.loads(html.unescape(found[1]))
    return facts


@pytest.mark.parametrize("count", [1, 2, 16, 512])
def test_it_fits_a_phone_and_a_desk(count: int, tmp_path: Path) -> None:
    written_page(tmp_path, count)
    phone, desk = facts_of(tmp_path)
    print(f"{count} nodes: complete after {phone['milliseconds']} ms, {desk['milliseconds']} ms")
    assert (phone["width"], phone["outside"]) == (360, 0)
    assert (desk["width"], desk["outside"]) == (1280, 0)
    assert 1500 < desk["height"] < phone["height"] < 8000
    assert min(phone["smallest"], desk["smallest"]) > 7
    assert desk.get("bad") == (None if count < 4 else "rgb(163, 33, 15)")


def test_a_dark_screen_has_colours_of_its_own(tmp_path: Path) -> None:
    written_page(tmp_path, 4)
    for facts in facts_of(tmp_path, "--blink-settings=preferredColorScheme=0"):
        assert facts["paper"] == "rgb(21, 24, 27)"
        assert facts["bad"] == "rgb(255, 173, 102)"


def test_hostile_names_run_nothing_and_move_nothing(tmp_path: Path) -> None:
    raw = json.dumps(example_results(16))
    name = "<img src=x onerror=document.title=1>" + "w" * 200
    page = html_report(results_of(json.loads(raw.replace("smc-r07-09", name))))
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert [facts["width"] for facts in facts_of(tmp_path)] == [360, 1280]


def test_the_policy_of_the_page_stops_a_script(tmp_path: Path) -> None:
    """The counter-proof: what the page forbids is in the console, which the other tests read."""
    page = written_page(tmp_path, 2)
    script = "<script>document.title='ran'</script><img src='https://example.org/x.png'></main>"
    (tmp_path / "page.html").write_text(page.replace("</main>", script), encoding="utf-8")
    done = browser(tmp_path, "page.html", "--dump-dom", "--enable-logging=stderr")
    assert len(errors_of(done)) == 2
    assert "<title>ran" not in done.stdout


@pytest.mark.parametrize("count", [16, 512])
def test_the_slow_node_is_a_row_of_its_colour(count: int, tmp_path: Path) -> None:
    page = written_page(tmp_path, count)
    only = "header,footer,.lead,h2,section:not([aria-labelledby=pairs]){display:none}"
    (tmp_path / "page.html").write_text(
        page.replace("</style>", f"{only}</style>"), encoding="utf-8"
    )
    browser(tmp_path, "page.html", "--window-size=1000,700", "--screenshot=shot.png")
    rows = pixels(tmp_path / "shot.png")
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


def pixels(file: Path) -> list[list[PIXEL]]:
    """The rows of a PNG as chromium writes it: eight bits for each colour, not interlaced."""
    data = file.read_bytes()
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    assert (depth, interlaced) == (8, 0)
    size, at, packed = {2: 3, 6: 4}[kind], 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        packed += data[at + 8 : at + 8 + length] if data[at + 4 : at + 8] == b"IDAT" else b""
        at += length + 12
    raw, above, rows = zlib.decompress(packed), bytearray(width * size), []
    for y in range(height):
        start = y * (width * size + 1)
        above = unfiltered(
            raw[start], bytearray(raw[start + 1 : start + 1 + width * size]), above, size
        )
        rows.append([(above[x], above[x + 1], above[x + 2]) for x in range(0, width * size, size)])
    return rows


def unfiltered(kind: int, row: bytearray, above: bytearray, size: int) -> bytearray:
    """A row with the difference to its neighbours added: PNG's five filters."""
    for i in range(len(row)) if kind else ():
        a, b, c = (row[i - size], above[i], above[i - size]) if i >= size else (0, above[i], 0)
        if kind == 4:  # Paeth's: the nearest to a + b - c, of which min takes the first
            near = min((a, b, c), key=lambda each: abs(a + b - c - each))
        else:
            near = (a, b, (a + b) // 2)[kind - 1]
        row[i] = (row[i] + near) % 256
    return row


@pytest.mark.parametrize(("count", "most"), [(2, 4), (16, 6), (512, 8)])
def test_it_prints_on_a_few_pages(count: int, most: int, tmp_path: Path) -> None:
    written_page(tmp_path, count)
    browser(tmp_path, "page.html", "--print-to-pdf=page.pdf", "--no-pdf-header-footer")
    data = (tmp_path / "page.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type /Page\b(?!s)", data)) <= most
