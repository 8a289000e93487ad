"""Scalars as YAML 1.2 reads them; places of everything."""

from __future__ import annotations

import pytest

from jobgen.errors import JobgenError, Mark
from jobgen.yamltree import LARGEST_FILE, Map, Scalar, Seq, parse


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
def test_scalars(text: str, value: object) -> None:
    tree = parse(f"key: {text}\n".encode(), "f")
    assert isinstance(tree, Map)
    found = tree.items["key"]
    assert isinstance(found, Scalar)
    assert (found.value, type(found.value)) == (value, type(value))


def test_places() -> None:
    tree = parse(b"a:\n  - x\n  - {b: y}\n", "f")
    assert isinstance(tree, Map)
    seq = tree.items["a"]
    assert isinstance(seq, Seq)
    assert tree.keys["a"] == Mark("f", 1, 1)
    assert [item.mark for item in seq.items] == [Mark("f", 2, 5), Mark("f", 3, 5)]


@pytest.mark.parametrize("data", [b"", b"# only a comment\n", b"---\n", b"\xef\xbb\xbf"])
def test_nothing_is_an_empty_map(data: bytes) -> None:
    tree = parse(data, "f")
    assert isinstance(tree, Map)
    assert tree.items == {}


@pytest.mark.parametrize(
    "data", [b"a: b\x00", b"a: [", b"x" * (LARGEST_FILE + 1), b"a: \xed\xa0\x80", b"%YAML 3\n"]
)
def test_what_is_no_profile_is_a_clear_error(data: bytes) -> None:
    with pytest.raises(JobgenError) as error:
        parse(data, "f")
    assert all(str(problem).startswith("f") for problem in error.value.problems)
    assert error.value.problems
