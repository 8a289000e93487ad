"""Makes one Python file of a program and the modules of its package that it imports.

The file has each module once, unchanged, behind the modules that it imports; the program is last.
The imports of other packages are gathered at the top. A module begins with a docstring and all its
imports, and imports names of other modules by `from jobgen.… import NAME, NAME`; a name means the
same in all modules. `tests/test_one_file.py` checks the files of all trainers.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

# A pattern, since parsing the longest program as Python takes 20 ms.
_MODULE = re.compile(r'"""(.*?)"""\n((?:(?:import |from |    |\))[^\n]*\n|\n)*)(.*)', re.DOTALL)
Modules = dict[str, tuple[str, str, str]]  # the docstring, the imports and the rest of each


def one_file(name: str, folder: Path) -> str:
    """Returns the program a.b (a/b.py in the folder) with all that it imports from package a."""
    modules: Modules = {}
    _add(name, folder, modules)
    imports = _imports((imports for _, imports, _ in modules.values()), name.split(".")[0])
    docstring, _, program = modules.pop(name)
    texts = [f"# {text.splitlines()[0]}{_space(body)}" for text, _, body in modules.values()]
    code = "\n\n\n".join([*texts, program])
    return f'"""{docstring}"""\n\n{imports}{_space(code)}\n'


def _space(text: str) -> str:
    """Returns the text behind as many blank lines as ruff puts before it."""
    return ("\n\n\n" if text.startswith(("def ", "class ", "@")) else "\n\n") + text


def _add(name: str, folder: Path, modules: Modules) -> None:
    """Add the modules that a module imports from its package, and then the module, each once."""
    if name in modules:
        return
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    docstring, imports, body = _MODULE.findall(path.read_text(encoding="utf-8"))[0]
    for origin in re.findall(rf"(?m)^from ({name.split('.')[0]}\.[\w.]+) import", imports):
        _add(origin, folder, modules)
    modules[name] = (docstring, imports, body.rstrip("\n"))


def _imports(texts: Iterable[str], package: str) -> str:
    """Returns the imports as ruff sorts them: standard library, a blank line, other packages."""
    plain: dict[str, str] = {}  # a module's line, with a comment if any module has one
    names: dict[str, set[str]] = {}
    for statement in sorted(line for text in texts for line in re.split(r"\n(?![ )])", text)):
        if statement.startswith("import "):
            plain[statement.partition("  #")[0]] = statement
        elif statement and not statement.startswith(f"from {package}."):
            _, origin, _, listed = statement.split(maxsplit=3)
            names.setdefault(origin, set()).update(re.findall(r"\w+", listed))
    lines = [*plain.values()] + [
        f"from {origin} import {', '.join(sorted(names[origin], key=_by_kind))}"
        for origin in sorted(names)
    ]
    groups: dict[bool, list[str]] = {True: [], False: []}
    for line in lines:
        groups[re.split(r"[ .]", line)[1] in sys.stdlib_module_names].append(line)
    return "\n\n".join("\n".join(group) for group in groups.values() if group)


def _by_kind(name: str) -> tuple[bool, bool, str]:
    """Returns a key that sorts constants first, then classes, then functions."""
    return not (name.isupper() and len(name) > 1), not name[0].isupper(), name
