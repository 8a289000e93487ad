"""Any file is a tree, or problems with their places, with either YAML loader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobgen.errors import JobgenError
from jobgen.paths import bundled
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, parse

BITS = [
    *(
        "a",
        "b: ",
        "node:",
        "gpus",
        "- ",
        "  ",
        "\n",
        "\n  ",
        ": ",
        "? ",
        "&x ",
        "*x",
        "!!int ",
        "! ",
    ),
    *(
        "[",
        "]",
        "{",
        "}",
        ", ",
        "'",
        '"',
        "# ",
        "|\n",
        ">-\n",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "~",
    ),
    *("<<: ", "\t", "\r\n", "é", "😀", "\x00", "\x07", "\x85", "\u2028", "\ufeff", "\\", "null"),
    "1.5",
]
ANY = st.lists(st.sampled_from(BITS), max_size=14).map(lambda bits: "".join(bits).encode())


@contextmanager
def pure_python() -> Iterator[None]:
    """As if PyYAML was installed without libyaml."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader")
        yield


def outcome(data: bytes) -> Node | list[str]:
    """The tree, or the files that the problems are in."""
    try:
        return parse(data, "f")
    except JobgenError as error:
        return [problem.mark.file for problem in error.problems]


@settings(max_examples=500)
@given(st.one_of(ANY, st.binary(max_size=20)))
@example(b"a: \xff")
@example(b"{a: 1, a: 2}")
def test_a_file_is_a_tree_or_problems(data: bytes) -> None:
    outcomes = [outcome(data)]
    with pure_python():  # which refuses a few more, such as a tab before a line's end
        outcomes.append(outcome(data))
    for result in outcomes:
        if isinstance(result, list):
            assert set(result) == {"f"}
        else:
            ROOT.read(result, ProblemList())


def plain(node: Node) -> Any:
    if isinstance(node, Map):
        return {name: plain(child) for name, child in node.items.items()}
    return [plain(child) for child in node.items] if isinstance(node, Seq) else node.value


def flow(data: Any) -> str:
    """Data as YAML in one line, each text in double quotes."""
    if isinstance(data, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(value)}" for key, value in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(flow, data)) + "]"
    if isinstance(data, str):
        width = 1 << 30
        return str(yaml.dump(data, default_style='"', width=width, allow_unicode=True)).strip()
    words = {"None": "null", "True": "true", "False": "false"}
    return words.get(str(data), str(data))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
LEAVES = st.one_of(
    TEXTS,
    st.none(),
    st.booleans(),
    st.integers(-(10**15), 10**15),
    st.integers().map(lambda n: n / 8),
).filter(lambda leaf: "e" not in str(leaf) or isinstance(leaf, str | bool) or leaf is None)
DATA = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


@settings(max_examples=200)
@given(st.dictionaries(TEXTS, DATA, max_size=3))
def test_data_written_as_yaml_is_read_back(data: dict[str, Any]) -> None:
    text = flow(data).encode()
    assert plain(parse(text, "f")) == data
    with pure_python():
        assert plain(parse(text, "f")) == data


@pytest.mark.parametrize("file", sorted(bundled("profiles").rglob("*.yaml")), ids=lambda f: f.stem)
def test_both_loaders_give_the_same_places(file: Path) -> None:
    data = file.read_bytes()
    tree = parse(data, "f")
    with pure_python():
        assert parse(data, "f") == tree


@pytest.mark.parametrize("case", sorted((Path(__file__).parent / "errors").glob("*.yaml")), ids=str)
def test_both_loaders_refuse_the_same_files(case: Path) -> None:
    """Their words for what is no YAML differ; the codes and the lines do not."""

    def problems() -> list[tuple[str, int]]:
        try:
            parse(case.read_bytes(), "f")
        except JobgenError as error:
            return [(problem.code, problem.mark.line) for problem in error.problems]
        return []

    with pure_python():
        of_pure_python = problems()
    assert problems() == of_pure_python


@pytest.mark.parametrize(
    "start",
    ["plain\n\n\n", "é" * 30 + "\n\n\n"],
)
def test_a_control_character_is_reported_with_its_line(start: str) -> None:
    with pytest.raises(JobgenError) as error:
        parse(f"description: {start}x: \x01\n\n\n\n\n\n".encode(), "f")
    assert [problem.mark.line for problem in error.value.problems] == [4]


def test_numbers_and_dates_of_yaml_1_1_stay_text() -> None:
    tree = parse(b"a: 0o17\nb: 0x1F\nc: 1_000\nd: .inf\ne: 2026-01-01\nf: yes\ng: '1'\n", "f")
    assert isinstance(tree, Map)
    texts = {name: node.value for name, node in tree.items.items() if isinstance(node, Scalar)}
    assert " ".join(map(str, texts.values())) == "0o17 0x1F 1_000 .inf 2026-01-01 yes 1"
    assert {type(value) for value in texts.values()} == {str}
