"""The JSON Schema and the checker come from the same rows, and accept the same files.

The schema cannot see two kinds of mistake: what is wrong as YAML (duplicates, anchors), and what
only a profile with all its bases shows (missing bases, values that exclude each other).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen.errors import JobgenError, Mark
from jobgen.paths import bundled
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Record, rows_of
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, parse

VALIDATOR = jsonschema.Draft202012Validator(ROOT.schema())
BAD = Path(__file__).parent / "errors"
STRUCTURE_IS_RIGHT = {
    "bad-extends",
    "bad-base",
    "cycle-a",
    "cycle-b",
    "conflicts",
    "ce",
    "engines",
    "good",
    "pyxis",
}


def plain(node: Node) -> Any:
    """The data that a YAML reader of the same rules would give."""
    if isinstance(node, Map):
        return {name: plain(child) for name, child in node.items.items()}
    return [plain(child) for child in node.items] if isinstance(node, Seq) else node.value


def accepted(tree: Node) -> bool:
    problems = ProblemList()
    ROOT.read(tree, problems)
    return not problems.found


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(ROOT.schema())


@pytest.mark.parametrize("file", sorted(bundled("profiles").rglob("*.yaml")), ids=lambda f: f.stem)
def test_both_accept_the_bundled_profiles(file: Path) -> None:
    tree = parse(file.read_bytes(), file.name)
    assert (accepted(tree), VALIDATOR.is_valid(plain(tree))) == (True, True)


@pytest.mark.parametrize("file", sorted(BAD.glob("*.yaml")), ids=lambda f: f.stem)
def test_both_refuse_wrong_profiles(file: Path) -> None:
    try:
        tree = parse(file.read_bytes(), file.name)
    except JobgenError:
        return  # wrong as YAML: the schema gets no data
    is_right = file.stem in STRUCTURE_IS_RIGHT
    assert (accepted(tree), VALIDATOR.is_valid(plain(tree))) == (is_right, is_right)


def test_every_row_is_documented() -> None:
    def walk(cls: type) -> None:
        for name, row in rows_of(cls):
            assert row.doc.endswith("."), (cls, name)
            if isinstance(row.kind, Record):
                walk(row.kind.cls)

    walk(ROOT.cls)


WORDS = ["slurm", "local", "nvidia", "none", "gres", "all", "440G", "1:30:00", "90", "2-12", "x/y"]
WORDS += [
    "-x",
    "a b",
    "",
    "null",
    "c10d",
    "/a:/b",
    "a\nb",
    "a\n",
    "hsn0",
    "0",
    "1-2-3",
    "é",
    "\x00",
]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 70000), st.sampled_from(WORDS)),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=2)
    ),
    max_leaves=4,
)


def data_like(kind: Any) -> st.SearchStrategy[Any]:
    """Data that a kind may take, or nearly."""
    if isinstance(kind, Record):
        rows = {name: data_like(row.kind) for name, row in rows_of(kind.cls)}
        return st.fixed_dictionaries({}, optional={**rows, "unknown": VALUES}) | VALUES
    if inner := getattr(kind, "item", None):
        return st.lists(data_like(inner), max_size=3) | VALUES
    if inner := getattr(kind, "value", None):
        return st.dictionaries(
            st.sampled_from(["A", "NCCL_NET", "a-b"]), data_like(inner), max_size=2
        )
    words = getattr(kind, "words", None)
    return st.sampled_from(words) | VALUES if words else VALUES


def tree_of(data: Any) -> Node:
    mark = Mark("generated")
    if isinstance(data, dict):
        return Map(mark, {k: tree_of(v) for k, v in data.items()}, dict.fromkeys(data, mark))
    if isinstance(data, list):
        return Seq(mark, [tree_of(item) for item in data])
    words = {None: "null", True: "true", False: "false"}
    special = data is None or isinstance(data, bool)
    return Scalar(mark, words[data] if special else str(data), data)


@pytest.mark.slow
@settings(max_examples=400)
@given(data_like(ROOT))
def test_both_agree_on_any_data(data: Any) -> None:
    assert accepted(tree_of(data)) == VALIDATOR.is_valid(data)
