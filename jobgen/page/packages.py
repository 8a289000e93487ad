"""The files of three npm packages that the page runs on: Pyodide, and the parser of bash for lint.

jobgen requests nothing from a network. A person gets the packages by npm, or copies them.
"""

import base64
import hashlib
import io
import tarfile
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import JobgenError, Problem, problem
from jobgen.quoting import quote

FOLDER = "runtime"  # in the page's folder
FIRST = (f"{FOLDER}/pyodide.asm.wasm", f"{FOLDER}/python_stdlib.zip")  # before a script is made


class Package(NamedTuple):
    """A package of npm in the version that is tested; `files` has their new names in the page.

    Not every web server knows the type of .mjs. `integrity` is what `npm view` prints as
    dist.integrity, the SHA-512 of the file. `license_file` is "" if the package has none; then
    `license_note` says where its text is.
    """

    name: str
    version: str
    license: str
    integrity: str
    files: dict[str, str]
    source: str
    license_file: str = ""
    license_note: str = ""

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
        license_note="The package has no text of its licence: https://www.mozilla.org/MPL/2.0/\n"
        "It contains Python (PSF-2.0, https://docs.python.org/3/license.html).\n",
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
        "LICENSE",
    ),
    Package(
        "tree-sitter-bash",
        "0.25.1",
        "MIT",
        "sha512-7hMytuYIMoXOq24yRulgIxthE9YmggZIOHCyPTTuJcu6EU54tYD+4G39cUb28kxC6jMf/AbPfWGLQtgPTdh3xw==",
        {"tree-sitter-bash.wasm": "tree-sitter-bash.wasm"},
        "https://github.com/tree-sitter/tree-sitter-bash",
        "LICENSE",
    ),
)


class Runtime(NamedTuple):
    """The files of all packages by their paths in the page, and the texts of their licences."""

    files: dict[str, bytes]
    licences: str


def npm_command(folder: str) -> str:
    """The command line that gets the packages into a folder."""
    names = " ".join(f"{each.name}@{each.version}" for each in PACKAGES)
    destination = "" if folder == "." else f" --pack-destination {quote(folder)}"
    return f"npm pack{destination} {names}"


def runtime(folder: str) -> Runtime:
    """What the page takes from the packages; `folder` has what `npm pack` made.

    Raises JobgenError with each package that is missing, or is not what was tested.
    """
    files: dict[str, bytes] = {}
    licences: list[str] = []
    problems: list[Problem] = []
    for package in PACKAGES:
        try:
            data = _checked(package, folder)
        except JobgenError as error:
            problems += error.problems
            continue
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as members:
            for name, new in package.files.items():
                files[f"{FOLDER}/{new}"] = _content(members, name)
            named = package.license_file
            text = _content(members, named).decode("utf-8") if named else package.license_note
        heading = f"==== {package.name} {package.version} ===="
        licences.append(f"{heading}\n\n{package.license}; {package.source}\n\n{text}")
    if problems:
        raise JobgenError(problems)
    return Runtime(files, "\n".join(licences))


def _checked(package: Package, folder: str) -> bytes:
    """The archive of a package. Raises JobgenError if it is missing, or is another one."""
    archive, get = Path(folder, package.archive), npm_command(folder)
    try:
        data = archive.read_bytes()
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise problem(str(archive), text, "package", get) from None
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")
    if f"sha512-{digest}" != package.integrity:
        text = f"it is not the package that npm has: {package.integrity:.24}…"
        raise problem(str(archive), text, "package", f"remove it, and then: {get}")
    return data


def _content(members: tarfile.TarFile, name: str) -> bytes:
    member = members.extractfile(f"package/{name}")
    assert member, name  # the checksum of the archive is right
    return member.read()
