"""The page of `jobgen doctor --report`: sound HTML that needs nothing else, true to its data."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen.doctor import html_report, results_of
from jobgen.doctor.charts import round_step
from jobgen.doctor.numbers import bytes_text, fitness, number_text, seconds_text, short_names
from jobgen.doctor.page import time_text
from jobgen.doctor.pairs import CELLS, ITSELF, class_paths, worst_of_blocks
from jobgen.errors import printable
from tests.doctor_results import example_results
from tests.hostile import HOSTILE
from tests.html_page import Element, cells_of, page_of, rows_of, table_with

pytestmark = pytest.mark.slow

COUNTS = (1, 2, 3, 8, 16, 17, 30, 64, 512)


def page_with(raw: dict[str, Any]) -> Element:
    return page_of(html_report(results_of(raw)))


@cache
def example_html(count: int) -> str:
    return html_report(results_of(example_results(count)))


@cache
def example_page(count: int) -> Element:
    return page_of(example_html(count))


@pytest.mark.parametrize("count", COUNTS)
def test_the_page_is_sound_and_refers_to_nothing_elsewhere(count: int) -> None:
    html, page = example_html(count), example_page(count)
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in page.all():
        assert element.name not in {"script", "link", "img", "iframe", "object", "base", "a", "use"}
        for key, value in element.attributes.items():
            assert not key.startswith("on")
            assert key not in {"src", "href", "style", "data", "action"}
            if key == "aria-labelledby":
                assert set(value.split()) <= set(ids)
    assert "://" not in html
    style = page.first("style").text
    assert not re.search(r"url\(|@import|@font-face", style)
    policy = page.first("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert len(html.encode()) < 3_000_000


@pytest.mark.parametrize("count", COUNTS)
def test_those_who_cannot_see_it_get_titles_and_tables(count: int) -> None:
    page = example_page(count)
    for drawing in page.all("svg"):
        assert drawing.attributes["role"] == "img"
        assert all(drawing.first(name).text for name in ("title", "desc"))
    for table in page.all("table"):
        assert table.first("caption").text
        assert all(cell.attributes["scope"] in ("row", "col") for cell in table.all("th"))
        lengths = {len(row) for row in rows_of(table)}
        assert len(lengths) == 1
    levels = [int(h.name[1]) for h in page.all() if re.fullmatch("h[1-6]", h.name)]
    assert levels == sorted(levels)
    assert levels.count(1) == 1


def test_no_pair_of_512_nodes_makes_the_page_large() -> None:
    """The worst case: each pair is of another class than the next."""
    raw = example_results(512)
    for values in raw["pairs"].values():
        for a, row in enumerate(values):
            row[:] = [None if a == b else (1.0, 9.0, 2.0, 9.5)[(a + b) % 4] for b in range(512)]
    assert len(html_report(results_of(raw)).encode()) < 3_000_000


# ---- the verdict ----


def test_the_verdict_comes_first_with_the_line_to_paste() -> None:
    page = example_page(16)
    header = page.first("header")
    assert header.first("h1").text == "✕2 of 16 nodes are slow"
    assert header.first("code").text == "--set request.exclude=smc-r07-09,smc-r07-15"
    assert header.first("p", class_="names").text == "smc-r07-09, smc-r07-15"
    assert len(list(header.first("ul", class_="findings").all("li"))) == 4
    assert page.first("title").text == "2 of 16 nodes are slow – mi210, job 123"


def verdict(raw: dict[str, Any]) -> str:
    header = page_with(raw).first("header")
    assert bool(list(header.all("code"))) == bool(raw["verdict"]["exclude"])
    return header.first("h1").text


def test_each_kind_of_verdict() -> None:
    good = example_results(8, with_faults=False)
    assert verdict(good) == "✓No node is slower than the others"
    assert verdict(example_results(1)) == "✓Nothing is wrong with this node"
    assert verdict(example_results(2)) == "!1 pair of nodes is slow"
    good["network"]["problem"] = "NCCL took Socket, but the job promises IB"
    assert verdict(good) == "✕The job did not use the network it was promised"
    assert "NCCL took Socket" in page_with(good).first("header").text
    good["network"]["problem"] = ""
    finding = {
        "node": "",
        "measure": "sum",
        "text": "a sum is wrong",
        "value": None,
        "median": None,
    }
    good["verdict"]["findings"] = [finding]
    assert verdict(good) == "!1 thing to look at"
    good["verdict"]["findings"] = [{**finding, "node": "smc-r07-03"}]
    good["verdict"]["exclude"] = ["smc-r07-03"]
    assert verdict(good) == "✕1 of 8 nodes is not fit"
    assert "smc-r07-03: a sum is wrong" in page_with(good).first("header").text


# ---- what the file has is what the page shows ----


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\"'&lt;</style></title>", "a\x1b\0"]
)
def test_hostile_text_is_only_text(text: str) -> None:
    check_hostile_text(text)


@settings(max_examples=30)
@given(HOSTILE)
def test_any_text_is_only_text(text: str) -> None:
    check_hostile_text(text)


def check_hostile_text(text: str) -> None:
    raw = example_results(4)
    names = {node["name"]: node["name"] + text for node in raw["nodes"]}
    raw = with_texts(raw, names, text)
    page, plain = page_with(raw), example_page(4)
    assert {e.name for e in page.all()} == {e.name for e in plain.all()}
    assert printable(raw["nodes"][0]["name"].expandtabs()) in [h.text for h in page.all("th")]
    assert printable(f"note{text}".expandtabs()) in page.text
    assert printable(f"c{text}".expandtabs()) in page.first("title").text


def with_texts(value: Any, names: dict[str, str], text: str) -> Any:
    """The results with other names of nodes, and `text` in many places."""
    if isinstance(value, dict):
        changed = {key: with_texts(each, names, text) for key, each in value.items()}
        changed |= {"notes": [f"note{text}"]} if "notes" in value else {}
        return {**changed, "cluster": f"c{text}"} if "cluster" in value else changed
    if isinstance(value, list):
        return [with_texts(each, names, text) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize("count", [4, 9, 16])
def test_the_map_agrees_with_the_table(count: int) -> None:
    page = example_page(count)
    for name, title, is_higher in (("bandwidth", "Bandwidth", True), ("latency", "Latency", False)):
        rows = table_with(page, f"{title} of each pair")[1:]
        values = [[float(cell) if cell != "–" else None for cell in row[1:]] for row in rows]
        below = sorted(v for a, row in enumerate(values) for v in row[:a] if v is not None)
        middle = (below[len(below) // 2] + below[(len(below) - 1) // 2]) / 2
        drawn = cells_by_class(page, name)
        for a, b in ((a, b) for a in range(count) for b in range(count)):
            value = values[a][b]
            if value is None:
                assert (a, b) in drawn["runitself"]
                continue
            share = fitness(value, middle, is_higher)
            kind = sum(share < bound for bound in (0.9, 0.75, 0.5, 0.25))
            if min(abs(share - bound) for bound in (0.9, 0.75, 0.5, 0.25)) > 0.004:
                assert [k for k, cells in drawn.items() if (a, b) in cells] == (
                    [f"run{kind}"] if kind else []
                )


def cells_by_class(page: Element, name: str) -> dict[str, set[tuple[int, int]]]:
    svg = next(
        svg for svg in page.all("svg") if svg.attributes["aria-labelledby"].startswith(f"{name}-t")
    )
    return {
        path.attributes["class"].split()[1]: cells_of(path.attributes["d"])
        for path in svg.all("path", class_="cells")
    }


@pytest.mark.parametrize("count", COUNTS[2:])
def test_the_legend_counts_every_pair(count: int) -> None:
    page = example_page(count)
    for legend in page.all("ul", class_="legend"):
        counts = [int(small.text.split()[0].replace(",", "")) for small in legend.all("small")]
        assert sum(counts) == count * (count - 1) // 2
        assert counts[4] >= 1


def test_the_slow_node_and_the_slow_pair_of_512_are_marked_by_shape_and_name() -> None:
    page = example_page(512)
    bandwidth = page.first("figure", class_="map")
    assert len(list(bandwidth.all("path", class_="mark"))) == 2  # of the row, and of the column
    assert len(list(bandwidth.all("rect", class_="ring"))) == 2
    text = bandwidth.first("p", class_="marked").text
    assert text == "▶ smc-r21-05 (row 257), ▢ smc-r07-02 – smc-r35-08"
    drawn = cells_by_class(page, "bandwidth")
    assert drawn["run3"] >= {(128, column) for column in range(CELLS) if column != 128}
    assert drawn["run4"] == {(0, 255), (255, 0)}
    slow = table_with(page, "Bandwidth: 512 pairs below 75% of the median, the worst 200")
    assert slow[1] == ["smc-r07-02", "smc-r35-08", "4.2", "18%"]
    assert len(slow) == 201


def test_bars_are_as_high_as_the_table_says() -> None:
    page = example_page(16)
    rows = table_with(page, "The values of each node")
    column = next(i for i, title in enumerate(rows[0]) if title.startswith("memory bandwidth"))
    values = [float(row[column].replace("▶ ", "").replace(",", "")) for row in rows[1:]]
    figure = next(f for f in page.all("figure") if f.text.startswith("memory bandwidth"))
    paths = [path.attributes["d"] for path in figure.all("path", class_="bars")]
    bars = re.findall(r"M([\d.]+) [\d.]+v-([\d.]+)", "".join(paths))
    heights = [float(height) for _, height in sorted(bars, key=lambda bar: float(bar[0]))]
    assert heights == pytest.approx([84 * value / max(values) for value in values], rel=0.01)
    assert rows[15][column] == "▶ 702"
    assert re.findall(r"▼ (.*?) of the median", figure.text) == ["smc-r07-15: 0.54"]
    assert len(re.findall("M", paths[1])) == len(list(figure.all("path", class_="mark"))) == 1


def test_a_limit_far_above_all_values_does_not_make_them_flat() -> None:
    raw = example_results(3)
    for tolerance, is_drawn in ((0.3, True), (0.9, False)):
        raw["measures"]["small_files"]["tolerance"] = tolerance
        figure = next(f for f in page_with(raw).all("figure") if f.text.startswith("small files"))
        assert bool(list(figure.all("line", class_="limit"))) == is_drawn
        heights = re.findall(r"v-([\d.]+)", figure.first("path", class_="bars").attributes["d"])
        assert max(map(float, heights)) > 84 / 1.7


def test_a_colour_without_a_mark_is_no_fault_and_the_page_says_from_where_on_one_is() -> None:
    raw = example_results(3, with_faults=False)
    raw["measures"]["network"]["tolerance"], raw["measures"]["latency"]["tolerance"] = 0.4, 0.6
    begin, end = "A colour without a mark is no fault", "and is far from the others."
    assert reasons(raw) == [
        f"{begin}: a fault has less than 60 % of the median, {end}",
        f"{begin}: a fault has more than 2.5 × the median, {end}",
    ]
    del raw["measures"]["latency"]
    assert reasons(raw)[1] == f"{begin}."


def reasons(raw: dict[str, Any]) -> list[str]:
    return [reason.text for reason in page_with(raw).all("p", class_="unmarked")]


def test_the_curve_and_the_table_have_the_same_sizes() -> None:
    raw = example_results(4)
    page = page_with(raw)
    rows = table_with(page, "Time and bus bandwidth")
    assert [row[0] for row in rows[1:]] == [bytes_text(p[0]) for p in raw["allreduce"]["all"]]
    figure = next(f for f in page.all("figure") if f.text.startswith("Bus bandwidth"))
    heights = [196 - float(dot.attributes["cy"]) for dot in figure.all("circle")]
    rates = [float(row[2]) for row in rows[1:]]
    scale = heights[-1] / rates[-1]
    assert heights == pytest.approx([rate * scale for rate in rates], abs=0.2)
    assert len(list(figure.all("rect", class_="square"))) == len(rows) - 1


def test_an_unusual_measure_and_values_that_are_missing_are_shown() -> None:
    raw = example_results(5)
    for i, node in enumerate(raw["nodes"]):
        node["values"] = {"odd": float(i)} if i else {}
        node["ranks"] = {"odd": [1.0, None]}
    raw["pairs"]["latency"][0][1] = raw["pairs"]["latency"][1][0] = None
    page = page_with(raw)
    assert "5 nodes without a value" in page.text
    assert "not measured 1 pair" in page.text
    assert [row[-3] for row in table_with(page, "The values of each node")] == [
        *("odd", "–", "1", "2", "3", "4")
    ]
    assert table_with(page, "The values of each rank")[1] == ["smc-r07-01", "odd", "1, –", "–"]


def test_what_changed_is_told_or_that_nothing_did() -> None:
    raw = example_results(3)
    assert "Compared with job 100 of 2026-11-16 06:12 UTC:" in page_with(raw).text
    raw["compared"]["changes"] = []
    assert "job 100 of 2026-11-16 06:12 UTC: nothing changed." in page_with(raw).text
    raw["compared"]["changes"] = [f"change {i}" for i in range(120)]
    assert "change 99and 20 more" in page_with(raw).text
    raw["compared"] = None
    assert "No earlier results of this cluster" in page_with(raw).text


# ---- numbers, names and cells ----


def test_numbers_are_short() -> None:
    values = (None, 0.0, 0.00001234, 0.01234, 1.2, 999.4, 999.6, 12345.6, 3.2e12)
    assert [number_text(value) for value in values] == [
        *("–", "0", "1.23e-05", "0.0123", "1.2", "999", "1,000", "12,346", "3.20e+12")
    ]
    assert [bytes_text(size) for size in (8, 4096, 1 << 30)] == ["8 bytes", "4 KiB", "1 GiB"]
    assert [seconds_text(s) for s in (2e-5, 0.0123, 4.0)] == ["20 µs", "12.3 ms", "4 s"]
    assert (time_text("2026-11-23T06:10:00Z"), time_text("now")) == ("2026-11-23 06:10 UTC", "now")


def test_names_lose_what_all_have() -> None:
    assert short_names(["smc-r07-08.site", "smc-r07-11.site"]) == ["08", "11"]
    assert short_names(["gpu7", "gpu8"]) == ["gpu7", "gpu8"]
    assert short_names(["a", "a-1"]) == ["a", "a-1"]
    assert short_names(["n" * 40]) == ["nnnnnnn…nnnnnn"]
    assert short_names(["a.x", "b.y.x"]) == ["a", "b.y"]


@given(st.lists(st.text("ab.-", min_size=1), min_size=1, unique=True))
def test_short_names_are_never_empty(names: list[str]) -> None:
    assert all(short_names(names))


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=n, max_size=n
        )
    )
)
def test_paths_cover_exactly_the_cells_of_their_class(rows: list[list[int]]) -> None:
    paths = class_paths(rows)
    for kind in range(1, 5):
        expected = {(y, x) for y, row in enumerate(rows) for x, k in enumerate(row) if k == kind}
        assert cells_of(paths.get(kind, "")) == expected


def test_a_block_is_as_bad_as_its_worst_cell() -> None:
    rows: list[list[int | str]] = [[ITSELF, 1, 0], [1, ITSELF, "missing"], [0, "missing", ITSELF]]
    assert worst_of_blocks(rows, 2) == [[1, 0], [0, ITSELF]]


@given(st.floats(1e-9, 1e15))
def test_an_axis_has_a_few_round_steps(top: float) -> None:
    step = round_step(top)
    assert 2.9 < top / step < 7.6
    assert f"{step:e}"[0] in "125"


def test_every_colour_has_the_same_order_of_lightness_as_its_class() -> None:
    """In light and in dark, so that it stays in order in greyscale; values in cells are legible."""
    style = page_with(example_results(3)).first("style").text
    starts = [found.start() for found in re.finditer("--fill0:", style)]
    assert len(starts) == 2
    for start in starts:
        colours = dict(re.findall(r"--(\w+):(#\w+);", style[start : start + 260]))
        shades = [lightness(colours[f"fill{i}"]) for i in range(5)]
        steps = [b - a for a, b in pairwise(shades)]
        assert all(step > 0.03 for step in steps) or all(step < -0.03 for step in steps)
        for i in range(5):
            pair = sorted((shades[i], lightness(colours[f"on{i}"])))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5


def lightness(colour: str) -> float:
    """The relative luminance that WCAG defines."""
    digits = (
        colour[1:]
        if len(colour) == 7
        else "".join(chain(*zip(colour[1:], colour[1:], strict=True)))
    )
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
