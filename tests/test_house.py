"""The shape of the package: small rooms, files and functions, and names that say what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jobgen"
FILES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({file.parent for file in FILES} - {PACKAGE})
# Rooms with one file for each trainer.
ONE_FILE_EACH = {"trainers"}
VAGUE = {"said", "told", "there", "known", "what", "asked", "kept", "late"}


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno
    return function.end_lineno - function.lineno + 1


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_room_says_what_is_in_it_and_has_few_modules(folder: Path) -> None:
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert docstring
    modules = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= 10 or folder.name in ONE_FILE_EACH


def test_files_and_functions_are_short() -> None:
    long_files = {
        str(file.relative_to(ROOT)): count
        for file in FILES
        if (count := len(file.read_text(encoding="utf-8").splitlines())) >= 300
    }
    assert long_files == {}
    lengths = {f"{file.name}:{f.name}": length(f) for file in FILES for f in functions(file)}
    assert {name: count for name, count in lengths.items() if count >= 40} == {}
    assert median(lengths.values()) <= 10


def test_names_say_what_they_hold() -> None:
    """A variable `said` or `there` makes its reader search for what it is."""
    found = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node, "id", None) or getattr(node, "arg", None) or ""
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                name = node.name
            if name.lower() in VAGUE:
                found.add(f"{file.relative_to(ROOT)}: {name}")
    assert found == set()
