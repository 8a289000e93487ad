"""One file of a program and its modules: what it has, and that of each trainer."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from jobgen import trainers
from jobgen.one_file import one_file

SOURCES = sorted(trainers.FOLDER.rglob("*.py"))
OLDEST = (3, 10)  # the Python that the trainers need, as jobgen does


def make(folder: Path, **modules: str) -> str:
    """The file of `room.main`, of modules with these texts; a text needs no docstring."""
    (folder / "room").mkdir()
    for name, text in modules.items():
        docstring = "" if text.startswith('"""') else f'"""About {name}."""\n\n'
        (folder / f"room/{name}.py").write_text(docstring + text)
    return one_file("room.main", folder)


LEAF = """import sys
from typing import Any, NamedTuple

import torch.distributed.nn  # a comment stays

LIMIT: int = 3  # so does this one


# and a line of its own
def show(what: Any) -> None:
    print(what, file=sys.stderr)
"""
MIDDLE = """import torch
import torch.distributed.nn
from torch.utils.data import (
    DataLoader,
    Dataset,
)

from room.leaf import LIMIT, show


class Shown:
    show(LIMIT)
"""
MAIN = '''"""A program. It has

two lines.
"""

import torch.distributed as dist
from typing import NamedTuple, NoReturn, TYPE_CHECKING

from room.middle import Shown
from room.leaf import show

show(Shown)
'''
ALL = '''"""A program. It has

two lines.
"""

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import torch
import torch.distributed as dist
import torch.distributed.nn  # a comment stays
from torch.utils.data import DataLoader, Dataset

# About leaf.

LIMIT: int = 3  # so does this one


# and a line of its own
def show(what: Any) -> None:
    print(what, file=sys.stderr)


# About middle.


class Shown:
    show(LIMIT)


show(Shown)
'''


def test_modules_stand_once_below_what_they_import(tmp_path: Path) -> None:
    assert make(tmp_path, leaf=LEAF, middle=MIDDLE, main=MAIN) == ALL


def test_a_program_without_modules_stays_as_it_is(tmp_path: Path) -> None:
    text = '"""A program."""\n\nimport os\n\n\ndef main() -> None:\n    print(os.name)\n'
    assert make(tmp_path, main=text) == text


def test_nothing_is_written_twice_in_the_trainers() -> None:
    """No function of six or more lines is in two modules, under whatever name."""
    bodies: Counter[str] = Counter()
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 6:
                bodies["\n".join(ast.unparse(line) for line in node.body)] += 1
    assert len(bodies) > 50
    assert [body for body, count in bodies.items() if count > 1] == []


@pytest.mark.parametrize("name", trainers.names())
def test_a_trainer_is_one_file_that_needs_torch_alone(name: str) -> None:
    text = trainers.source(name)
    body = ast.parse(text, feature_version=OLDEST).body
    imported: set[str] = set()
    meanings: set[tuple[str, str]] = set()  # of each name that is imported
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Import):
            imported.update(each.name for each in node.names)
            wholes = [(each.asname or each.name.split(".")[0], each) for each in node.names]
            meanings.update((own, each.name if each.asname else own) for own, each in wholes)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
            meanings.update((each.name, f"{node.module}.{each.name}") for each in node.names)
            assert not any(each.asname for each in node.names)
    assert {each.split(".")[0] for each in imported} - sys.stdlib_module_names == {"torch"}
    names = [own for own, _ in meanings]
    definitions = [
        node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ] + [name.id for node in body for name in ast.walk(node) if is_assigned(node, name)]
    assert len(definitions + names) == len({*definitions, *names})
    assert text.startswith(f'"""{trainers.summary(name)}\n')
    assert text.endswith('\n\n\nif __name__ == "__main__":\n    main()\n')


def is_assigned(statement: ast.stmt, name: ast.AST) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return isinstance(name, ast.Name) and name in targets


@pytest.mark.parametrize("name", trainers.names())
def test_a_trainer_has_all_of_its_modules_as_they_are_written(name: str) -> None:
    """And no others: of each module it has all functions, or none."""
    text, whole = trainers.source(name), 0
    for file in SOURCES:
        source = file.read_text(encoding="utf-8")
        functions = [
            ast.get_source_segment(source, node) or ""
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != "main"
        ]
        present = {f"\n{function}" in text for function in functions if "\n" in function}
        assert len(present) < 2
        whole += present == {True}
    assert whole >= 3


def test_ruff_finds_nothing_in_the_files(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="ruff is in jobgen's extra `test`")
    for name in trainers.names():
        (tmp_path / f"{name}.py").write_text(trainers.source(name), encoding="utf-8")
    config = Path(__file__).parent.parent / "pyproject.toml"
    for words in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *words, "--no-cache", "--config", str(config), "."]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_every_process_carries_the_same_and_exports_it(tmp_path: Path) -> None:
    for seed, name in enumerate(trainers.names()):
        subprocess.run(
            [sys.executable, "-m", "jobgen", "trainers", "export", name],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": str(seed + 1)},
            check=True,
        )
        assert (tmp_path / f"{name}.py").read_text(encoding="utf-8") == trainers.source(name)
