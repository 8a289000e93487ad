"""One Python file of a program and the modules of its package that it imports.

Each module stands in it once, as it is written: those that it imports come before it, the program
is the last. The imports of other packages are gathered at the top. A module begins with a docstring
and all its imports, and has another one's names by `from jobgen.… import NAME, NAME`.
"""

import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

# Patterns: to parse the longest program as Python takes 20 ms.
MODULE = re.compile(r'"""(.*?)"""\n((?:(?:import |from |    |\))[^\n]*\n|\n)*)(.*)', re.DOTALL)
PLAIN = re.compile(r"import ((\w+)[\w.]*)(?: as (\w+))?(?:  # .*)?")
FROM = re.compile(r"from (\w[\w.]*) import (?:\((\s+\w+,(?:\s+\w+,)*)\s+\)|(\w+(?:, \w+)*))")
DEFINITION = re.compile(r"^(?:(?:def|class) (?=\w+[(:])|(?=\w+(?:: .+)? = ))(\w+)", re.MULTILINE)


class Module(NamedTuple):
    """The parts of a module."""

    docstring: str
    plain: list[str]  # lines such as `import torch`
    names: list[tuple[str, str]]  # of `from torch import nn`: torch and nn
    meanings: list[tuple[str, str]]  # of each name that is defined or imported: nn is torch.nn
    body: str


def one_file(name: str, folder: Path) -> str:
    """The text of the program a.b, which is a/b.py in the folder, with modules of the package a.

    Raises ValueError for what cannot be in one file, such as a name that means two things.
    """
    modules: dict[str, Module] = {}
    _add(name, folder, modules, ())
    meanings: dict[str, str] = {}
    for own, meaning in (pair for module in modules.values() for pair in module.meanings):
        if meanings.setdefault(own, meaning) != meaning:
            raise ValueError(f"{name}: `{own}` is {meanings[own]} and {meaning}")
    *parts, program = modules.values()
    imports = _imports(modules.values(), name.split(".")[0])
    titles = [part.docstring.split("\n")[0] for part in parts]
    texts = [f"# {title}{_space(part.body)}" for title, part in zip(titles, parts, strict=True)]
    code = "\n\n\n".join([*texts, program.body])
    return f'"""{program.docstring}"""\n\n{imports}{_space(code)}\n'


def _space(text: str) -> str:
    """The text below as many blank lines as ruff puts there."""
    return ("\n\n\n" if text.startswith(("def ", "class ", "@")) else "\n\n") + text


def _add(name: str, folder: Path, modules: dict[str, Module], importers: tuple[str, ...]) -> None:
    """Add what a module imports, and then the module, unless it is there."""
    if name in importers:
        raise ValueError(f"{name} imports itself, by way of {importers[-1]}")
    if name in modules:
        return
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    module = _read(name, path.read_text(encoding="utf-8"))
    for origin, _ in module.names:
        if origin.split(".")[0] == name.split(".")[0]:
            _add(origin, folder, modules, (*importers, name))
    modules[name] = module


def _read(name: str, text: str) -> Module:
    parts = MODULE.fullmatch(text)
    if not parts:
        raise ValueError(f"{name}: it has no docstring")
    docstring, imports, body = parts.groups()
    package = name.split(".")[0]
    for words in ("\nimport ", "\nfrom ", f"import {package}.", f"from {package}."):
        if words in body:
            raise ValueError(f"{name}: `{words.strip()}` is below its imports")
    module = Module(docstring, [], [], [], body.rstrip("\n"))
    for statement in filter(None, re.split(r"\n(?![ )])", imports)):
        _add_import(statement, module, name)
    module.meanings.extend((own, f"{name}.{own}") for own in DEFINITION.findall(body))
    return module


def _add_import(statement: str, module: Module, name: str) -> None:
    """Add a statement of the module of this name to its parts."""
    package = name.split(".")[0]
    if (match := PLAIN.fullmatch(statement)) and match[2] != package:
        module.plain.append(statement)
        module.meanings.append((match[3], match[1]) if match[3] else (match[2], match[2]))
    elif (match := FROM.fullmatch(statement)) and match[1] not in ("__future__", package):
        for own in re.findall(r"\w+", match[2] or match[3]):
            module.names.append((match[1], own))
            module.meanings.append((own, f"{match[1]}.{own}"))
    else:
        raise ValueError(f"{name}: `{statement}` cannot be gathered with other imports")


def _imports(modules: Collection[Module], package: str) -> str:
    """The lines, as ruff sorts them: of the standard library, a blank line, of other packages."""
    plain = sorted(line for module in modules for line in module.plain)
    unique = {line.partition("  #")[0]: line for line in plain}  # with a comment, if one has it
    names: dict[str, set[str]] = {}
    for origin, own in (pair for module in modules for pair in module.names):
        names.setdefault(origin, set()).add(own)
    lines = [*unique.values()] + [
        f"from {origin} import {', '.join(sorted(names[origin], key=_by_kind))}"
        for origin in sorted(names)
        if origin.split(".")[0] != package
    ]
    groups: dict[bool, list[str]] = {True: [], False: []}
    for line in lines:
        groups[re.split(r"[ .]", line)[1] in sys.stdlib_module_names].append(line)
    return "\n\n".join("\n".join(group) for group in groups.values() if group)


def _by_kind(name: str) -> tuple[bool, bool, str]:
    """Constants, then classes, then functions."""
    return not (name.isupper() and len(name) > 1), not name[0].isupper(), name
