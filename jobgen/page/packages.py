"""The files of three npm packages that the page runs on: Pyodide, and the parser of bash for lint.

jobgen requests nothing from a network. A person gets the packages by npm, or copies them.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import JobgenError, Mark, Problem

FOLDER = "runtime"  # in the page's folder


class Package(NamedTuple):
    """A package of npm in the version that is tested; `files` has their new names in the page.

    Not every web server knows the type of .mjs. `integrity` is what `npm view` prints as
    dist.integrity, the SHA-512 of the file.
    """

    name: str
    version: str
    license: str
    integrity: str
    files: dict[str, str]
    source: str

    @property
    def archive(self) -> str:
        """The file that `npm pack` makes."""
        return f"{self.name}-{self.version}.tgz"


PACKAGES = (
    Package(
        "pyodide",
        "314.0.7",
        "MPL-2.0",
        "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
        {
            "pyodide.mjs": "pyodide.js",
            "pyodide.asm.mjs": "pyodide.asm.js",
            "pyodide.asm.wasm": "pyodide.asm.wasm",
            "python_stdlib.zip": "python_stdlib.zip",
            "pyodide-lock.json": "pyodide-lock.json",
        },
        "https://github.com/pyodide/pyodide",
    ),
    Package(
        "web-tree-sitter",
        "0.26.13",
        "MIT",
        "sha512-5bUZ7vbQ1kcondet96wzP974+JfCZDeQ7bTpacICm2nnvHpa5cO0ByRsoMcAhUP+743vpkb4m0BFlVSm+Ye9VA==",
        {
            "web-tree-sitter.js": "web-tree-sitter.js",
            "web-tree-sitter.wasm": "web-tree-sitter.wasm",
        },
        "https://github.com/tree-sitter/tree-sitter",
    ),
    Package(
        "tree-sitter-bash",
        "0.25.1",
        "MIT",
        "sha512-7hMytuYIMoXOq24yRulgIxthE9YmggZIOHCyPTTuJcu6EU54tYD+4G39cUb28kxC6jMf/AbPfWGLQtgPTdh3xw==",
        {"tree-sitter-bash.wasm": "tree-sitter-bash.wasm"},
        "https://github.com/tree-sitter/tree-sitter-bash",
    ),
)


def licences() -> str:
    """Which licences the packages have, and where their source is."""
    lines = (f"{each.name} {each.version}: {each.license}; {each.source}" for each in PACKAGES)
    return "\n".join(lines) + "\n"


def npm_command(folder: str) -> str:
    """The command line that gets the packages into a folder."""
    from jobgen.quoting import quote

    names = " ".join(f"{each.name}@{each.version}" for each in PACKAGES)
    where = "" if folder == "." else f" --pack-destination {quote(folder)}"
    return f"npm pack{where} {names}"


def runtime_files(folder: str) -> dict[str, bytes]:
    """The files of all packages by their paths in the page; `folder` has what `npm pack` made.

    Raises JobgenError with each package that is missing, or is not what was tested.
    """
    found: dict[str, bytes] = {}
    problems: list[Problem] = []
    for package in PACKAGES:
        try:
            found.update(_files(package, Path(folder, package.archive)))
        except OSError as error:
            text = f"cannot be read: {error.strerror}"
            problems.append(_problem(folder, package, text, npm_command(folder)))
        except ValueError as error:
            hint = f"remove it, and then: {npm_command(folder)}"
            problems.append(_problem(folder, package, str(error), hint))
    if problems:
        raise JobgenError(problems)
    return found


def _problem(folder: str, package: Package, text: str, hint: str) -> Problem:
    return Problem(Mark(str(Path(folder, package.archive))), text, "package", hint)


def _files(package: Package, archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a package. Raises OSError, or ValueError if it is another one."""
    data = archive.read_bytes()
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")
    if f"sha512-{digest}" != package.integrity:
        raise ValueError(f"it is not the package that npm has: {package.integrity:.24}…")
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as members:
        for name, new_name in package.files.items():
            member = members.extractfile(f"package/{name}")
            assert member, name  # its checksum is right
            yield f"{FOLDER}/{new_name}", member.read()
