"""The reader of what `jobgen doctor` wrote: a damaged or hostile file is one clear line."""

from __future__ import annotations

import copy
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen.doctor import html_report, read_results, results_of
from jobgen.doctor.results import MOST_BYTES
from jobgen.errors import JobgenError
from tests.doctor_results import example_results
from tests.html_page import page_of


def message(raw: Any) -> str:
    with pytest.raises(JobgenError) as caught:
        results_of(raw, "r.json")
    return str(caught.value)


def message_for_file(file: Path) -> str:
    with pytest.raises(JobgenError) as caught:
        read_results(str(file))
    return str(caught.value).replace(str(file), "r.json")


def test_all_values_are_read(tmp_path: Path) -> None:
    raw = example_results(4)
    file = tmp_path / "r.json"
    file.write_text(json.dumps(raw), encoding="utf-8")
    results = read_results(str(file))
    assert results == results_of(raw)
    assert [node.name for node in results.nodes] == [node["name"] for node in raw["nodes"]]
    assert results.nodes[2].values == raw["nodes"][2]["values"]
    assert [list(row) for row in results.pairs.bandwidth] == raw["pairs"]["bandwidth"]
    assert [list(point) for point in results.allreduce.all] == raw["allreduce"]["all"]
    assert results.verdict.findings[-1].pair == ("smc-r07-02", "smc-r07-04")


def test_what_may_be_absent() -> None:
    raw = example_results(1, with_faults=False)
    raw["compared"] = None
    raw["allreduce"] = {"all": [], "node": []}
    for key in ("network", "lines"):
        del raw[key]
    for key in ("address", "clock_offset", "ranks", "notes"):
        del raw["nodes"][0][key]
    raw["nodes"][0]["values"] = {"compute": None}
    results = results_of(raw)
    assert results.nodes[0].values == {"compute": None}
    assert results.pairs.bandwidth == ()
    assert page_of(html_report(results))


def test_a_measure_without_a_description_is_read_like_the_others() -> None:
    raw = example_results(3)
    raw["nodes"][1]["values"]["new_one"] = 7.5
    raw["new key"] = {"nobody": "reads it"}
    assert [(m.name, m.title) for m in results_of(raw).measures.values()][-1] == (
        "new_one",
        "new_one",
    )


MISTAKES = {
    "format": (2, "format: this version of jobgen reads format 1 only; use the version of jobgen"),
    "nodes": ([], "nodes: the list is empty"),
    "nodes.0": (7, r"nodes\[0\]: is the number 7, not a map"),
    "nodes.0.values.compute": (-1, r"nodes\[0\].values.compute: is the number -1, not from 0 to"),
    "nodes.0.values.memory": ("a lot", r"nodes\[0\].values.memory: is text, not a number"),
    "nodes.0.values.network": (True, "is true or false, not a number"),
    "nodes.0.values.latency": (1e300, r"is the number 1e\+300, not from 0 to 1e\+15"),
    "nodes.0.ranks.compute": ({}, r"nodes\[0\].ranks.compute: is a map, not a list"),
    "measures.memory": (None, "measures.memory: is null, not a map"),
    "measures.memory.higher_is_better": (1, "is the number 1, not true or false"),
    "pairs.bandwidth": ([[None]], r"pairs.bandwidth: has 1 values; right is 3, one for each node"),
    "pairs.bandwidth.1": ([None], "pairs.bandwidth: has 1 values; right is 3"),
    "allreduce.all.0": ([1, 2], r"allreduce.all\[0\]: has 2 values; right is 3"),
    "allreduce.node.3.0": (0, r"allreduce.node\[3\]\[0\]: is the number 0, not from 1 to"),
    "verdict.exclude": (["n9"], "verdict: `n9` is none of the nodes; name nodes as"),
    "verdict.findings.0.node": ("n9", "verdict: `n9` is none of the nodes"),
    "verdict.findings.0.pair": (["smc-r07-01"], "has 1 values; right is 2"),
    "compared": ([], "compared: is a list, not a map"),
    "lines.0": ([], r"lines\[0\]: is a list, not text"),
    "time": (4, "time: is the number 4, not text"),
}


@pytest.mark.parametrize("place", MISTAKES)
def test_what_is_wrong_and_where_is_named(place: str) -> None:
    value, expected = MISTAKES[place]
    raw = example_results(3)
    assert results_of(raw)
    put(raw, place.split("."), value)
    text = message(raw)
    assert re.match(rf"r\.json: .*{expected}", text)
    assert text.endswith("[doctor-results]")
    assert "\n" not in text


def put(raw: Any, place: list[str], value: Any) -> None:
    for key in place[:-1]:
        raw = raw[int(key) if isinstance(raw, list) else key]
    raw[int(place[-1]) if isinstance(raw, list) else place[-1]] = value


@pytest.mark.parametrize("key", sorted(set(example_results(1)) - {"lines", "network", "compared"}))
def test_a_missing_key_is_named(key: str) -> None:
    raw = example_results(1)
    del raw[key]
    assert message(raw).startswith(f"r.json: has no `{key}`; give the .json file that")


DAMAGED = {
    "": "Expecting value",
    "{": "Expecting property name",
    "[": "Expecting value",
    "[" * 100_000: "maximum recursion depth exceeded",
    "\udcff": "'utf-8' codec can't decode byte 0xff",
}


@pytest.mark.parametrize("text", DAMAGED, ids=DAMAGED.values())
def test_what_is_not_json(text: str, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert message_for_file(file).startswith(
        f"r.json: is not JSON that jobgen can read: {DAMAGED[text]}"
    )


@pytest.mark.parametrize("number", ["1e999", "9" * 5000, "Infinity", "-Infinity", "NaN"])
def test_a_number_that_is_not_finite_is_refused(number: str, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    text = json.dumps(example_results(2))
    file.write_text(re.sub('"clock_offset": [^,]*', f'"clock_offset": {number}', text))
    assert re.search("clock_offset: is the number (-?inf|nan), not from", message_for_file(file))


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    with file.open("wb") as written:
        written.truncate(MOST_BYTES + 1)
    assert message_for_file(file).startswith(f"r.json: has more than {MOST_BYTES} bytes")


def test_what_is_no_file(tmp_path: Path) -> None:
    assert message_for_file(tmp_path / "r.json").startswith("r.json: cannot be read: No such file")
    assert message_for_file(tmp_path).startswith(f"{'r.json'}: ")
    os.mkfifo(tmp_path / "pipe")
    assert message_for_file(tmp_path / "pipe").startswith("r.json: is not a regular file")
    assert "cannot be read: embedded null byte" in message_for_file(Path("a\0b"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data(), st.integers(1, 4))
def test_any_other_value_anywhere_is_an_error_or_a_page(data: st.DataObject, count: int) -> None:
    raw = copy.deepcopy(example_results(count))
    for _ in range(data.draw(st.integers(1, 2))):
        spot: Any = raw
        while True:
            keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
            key = data.draw(st.sampled_from(keys))
            if not (isinstance(spot[key], (dict, list)) and spot[key] and data.draw(st.booleans())):
                break
            spot = spot[key]
        spot[key] = data.draw(JSON)
    try:
        results = results_of(raw)
    except JobgenError:
        return
    page_of(html_report(results)).text.encode()
