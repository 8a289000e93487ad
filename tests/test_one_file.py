"""One file of a program and its modules: what it has, what is refused, and that of each trainer."""

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


TWO_MEANINGS = {
    "def f() -> int:\n    return 1\n": "room.leaf.f and room.main.f",
    "class f:\n    pass\n": "room.leaf.f and room.main.f",
    "f = 1\n": "room.leaf.f and room.main.f",
    "f: int = 1\n": "room.leaf.f and room.main.f",
    "from os import f\n": "room.leaf.f and os.f",
    "import os as f\n": "room.leaf.f and os",
    "import f\n": "room.leaf.f and f",
}


@pytest.mark.parametrize("line", TWO_MEANINGS)
def test_a_name_with_two_meanings_is_refused(tmp_path: Path, line: str) -> None:
    leaf = "def f() -> int:\n    return 2\n\n\ndef g() -> int:\n    return 3\n"
    first, code = (line, "") if "import" in line else ("", line)
    with pytest.raises(ValueError, match=rf"^room\.main: `f` is {TWO_MEANINGS[line]}$"):
        make(tmp_path, leaf=leaf, main=f"{first}from room.leaf import g\n\nprint(g())\n{code}")


def test_two_imports_of_one_name_are_refused(tmp_path: Path) -> None:
    leaf, main = (
        "import time\n\nX = time.time()\n",
        "from time import time\n\nfrom room.leaf import X\n",
    )
    with pytest.raises(ValueError, match=r"^room\.main: `time` is time and time\.time$"):
        make(tmp_path, leaf=leaf, main=main)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from room.leaf import f as g\n", "`from room.leaf import f as g` cannot be gathered"),
        ("from room.leaf import *\n", r"`from room.leaf import \*` cannot be gathered"),
        ("import room.leaf\n", "`import room.leaf` cannot be gathered"),
        ("from room import leaf\n", "`from room import leaf` cannot be gathered"),
        ("from .leaf import f\n", "`from .leaf import f` cannot be gathered"),
        ("from os import sep  # why\n", "`from os import sep  # why` cannot be gathered"),
        ("from __future__ import annotations\n", "`from __future__ import .*` cannot be gathered"),
        ("import os, sys\n", "`import os, sys` cannot be gathered"),
        ("X = 1\nimport os\n", "`import` is below its imports"),
        ("X = 1\nfrom room.leaf import f\n", "`from` is below its imports"),
        ("if 1:\n    from room.leaf import f\n", "`from room.` is below its imports"),
        ("from room.other import f\n", "room.main imports itself, by way of room.other"),
    ],
)
def test_what_cannot_be_in_one_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(tmp_path, leaf="f = 1\n", other="from room.main import f\n", main=text)


def test_a_module_without_docstring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room/main.py").write_text("X = 1\n")
    with pytest.raises(ValueError, match=r"^room\.main: it has no docstring$"):
        one_file("room.main", tmp_path)


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
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Import):
            imported.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert {each.split(".")[0] for each in imported} - sys.stdlib_module_names == {"torch"}
    definitions = [
        node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ] + [name.id for node in body for name in ast.walk(node) if is_assigned(node, name)]
    assert len(definitions) == len(set(definitions))
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
