"""Scalars have the values of YAML 1.2, and every node and key knows its place."""

from __future__ import annotations

import pytest

from jobgen.bounds import YAML_BYTES
from jobgen.errors import JobgenError, Mark
from jobgen.profiles.yaml_tree import Map, Scalar, Seq, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30:00", "12:30:00"),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("08", 8),
        ("-3", -3),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1.5", 1.5),
        ("1e3", "1e3"),
        ("=mlx5_0", "=mlx5_0"),
        ("2026-11-21", "2026-11-21"),
        ("'12'", "12"),
        ('"null"', "null"),
        ("9" * 30, "9" * 30),
    ],
)
def test_a_scalar_has_the_value_of_yaml_1_2(text: str, value: object) -> None:
    tree = parse(f"key: {text}\n".encode(), "f")
    assert isinstance(tree, Map)
    node = tree.items["key"]
    assert isinstance(node, Scalar)
    assert (node.value, type(node.value)) == (value, type(value))


def test_nodes_and_keys_know_their_places() -> None:
    tree = parse(b"a:\n  - x\n  - {b: y}\n", "f")
    assert isinstance(tree, Map)
    seq = tree.items["a"]
    assert isinstance(seq, Seq)
    assert tree.keys["a"] == Mark("f", 1, 1)
    assert [item.mark for item in seq.items] == [Mark("f", 2, 5), Mark("f", 3, 5)]


@pytest.mark.parametrize("data", [b"", b"# only a comment\n", b"---\n", b"\xef\xbb\xbf"])
def test_an_empty_document_is_an_empty_map(data: bytes) -> None:
    tree = parse(data, "f")
    assert isinstance(tree, Map)
    assert tree.items == {}


@pytest.mark.parametrize(
    "data", [b"a: b\x00", b"a: [", b"x" * (YAML_BYTES + 1), b"a: \xed\xa0\x80", b"%YAML 3\n"]
)
def test_a_file_that_is_not_yaml_is_refused_with_its_place(data: bytes) -> None:
    with pytest.raises(JobgenError) as error:
        parse(data, "f")
    assert all(str(problem).startswith("f") for problem in error.value.problems)
    assert error.value.problems
