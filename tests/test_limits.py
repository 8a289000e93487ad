"""The table of bounds is complete: each has a test that exists, and its number is written once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from jobgen import limits

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "jobgen"

# Numbers of the table that mean something else where they stand.
OTHER_MEANINGS = {
    ("diagnosis/files.py", 4096): "bytes that show what a file is",
    ("diagnosis/lines/census.py", 1 << 17): "bytes at the end of a block that are searched",
    ("diagnosis/lines/file_events.py", 10_000): "streams of lines that are followed",
    ("diagnosis/lines/labels.py", 2000): "a leap year",
    ("diagnosis/reader.py", 1 << 20): "bytes that are read at once",
    ("diagnosis/reader.py", 1 << 16): "bytes of a line, and of a sample",
    ("diagnosis/reader.py", 2000): "characters of a line's shape",
    ("keeper/lead.py", 1 << 16): "bytes that are read at once, and of a line",
    ("profiles/kinds.py", 4096): "characters of Linux's longest path",
    ("profiles/kinds.py", 1 << 16): "cores that Slurm can count",
    ("profiles/kinds.py", 1 << 20): "nodes that Slurm can count",
    ("quoting.py", 4096): "words in a cache",
    ("trainers/checkup/node.py", 64 << 20): "bytes that are copied",
    ("trainers/checkup/exchanges.py", 256 << 20): "bytes that a pair of nodes exchanges",
    ("repository/script_paths.py", 4096): "bytes of Linux's longest path",
    ("schedulers/slurm_options.py", 4096): "bytes of a path that Slurm takes",
    ("schedulers/slurm_options.py", 1 << 16): "bytes of a value that Slurm takes",
}
UNUSUAL = {limit.value for limit in limits.TABLE.values() if limit.value >= 2000}


@cache
def functions(file: str) -> frozenset[str]:
    """The names of the test functions of a file."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("name", limits.TABLE)
def test_a_bound_names_what_it_bounds_the_harm_and_its_test(name: str) -> None:
    limit = limits.TABLE[name]
    assert limit.value > 0
    assert limit.bounds
    assert limit.harm
    file, _, function = limit.test.partition("::")
    assert function.startswith("test_")
    assert function in functions(file)


def test_every_constant_is_in_the_table_with_its_value() -> None:
    constants = {name: value for name, value in vars(limits).items() if isinstance(value, int)}
    assert constants == {name: limit.value for name, limit in limits.TABLE.items()}


def numbers(tree: ast.AST) -> Iterator[int]:
    """The whole numbers of a module, those of expressions such as 1 << 20, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.BinOp):
            try:
                value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
            except (NameError, TypeError):  # it is no number
                continue
            if isinstance(value, int):
                yield value


def test_the_number_of_a_bound_is_written_once() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(PACKAGE).as_posix()
        found |= {(name, number) for number in UNUSUAL.intersection(numbers(module))}
    assert {place for place in found if place[0] != "limits.py"} == OTHER_MEANINGS.keys()
