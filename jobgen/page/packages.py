"""The software in the page: files of three npm packages, and an archive of all Python code.

The packages are Pyodide, and the parser of bash for lint. jobgen uses no network: a person
downloads the packages by npm, or copies them. The archive has jobgen, its libraries, and a site's
profiles.
"""

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import JobgenError, Problem, problem
from jobgen.paths import bundled
from jobgen.quoting import quote

SITE_PROFILES = "site/profiles"  # a folder of the archive; worker.js has the same path
# The modules that jobgen imports, with the names of their packages, which have the licences.
_LIBRARIES = {
    "click": "click",
    "hostlist": "python-hostlist",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "yaml": "pyyaml",
}
_LICENCES = ("LICENSE", "LICENCE", "COPYING")  # the names of licence files begin so
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time in a ZIP file; every entry has this time
FOLDER = "runtime"  # for the files of the packages, in the page's folder
FIRST = (f"{FOLDER}/pyodide.asm.wasm", f"{FOLDER}/python_stdlib.zip")  # needed for any script


class Package(NamedTuple):
    """An npm package in the tested version; `files` are its files that the page needs.

    `integrity` is the SHA-512 of the archive, which `npm view` prints as dist.integrity. If the
    package has no file LICENSE, `license_note` says where the licence's text is.
    """

    name: str
    version: str
    license: str
    integrity: str
    files: tuple[str, ...]
    source: str
    license_note: str = ""

    @property
    def archive(self) -> str:
        """The name of the file that `npm pack` writes."""
        return f"{self.name}-{self.version}.tgz"


PACKAGES = (
    Package(
        "pyodide",
        "314.0.7",
        "MPL-2.0",
        "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
        (
            *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
            *("python_stdlib.zip", "pyodide-lock.json"),
        ),
        "https://github.com/pyodide/pyodide",
        "The package has no text of its licence: https://www.mozilla.org/MPL/2.0/\n"
        "It contains Python (PSF-2.0, https://docs.python.org/3/license.html).\n",
    ),
    Package(
        "web-tree-sitter",
        "0.26.13",
        "MIT",
        "sha512-5bUZ7vbQ1kcondet96wzP974+JfCZDeQ7bTpacICm2nnvHpa5cO0ByRsoMcAhUP+743vpkb4m0BFlVSm+Ye9VA==",
        ("web-tree-sitter.js", "web-tree-sitter.wasm"),
        "https://github.com/tree-sitter/tree-sitter",
    ),
    Package(
        "tree-sitter-bash",
        "0.25.1",
        "MIT",
        "sha512-7hMytuYIMoXOq24yRulgIxthE9YmggZIOHCyPTTuJcu6EU54tYD+4G39cUb28kxC6jMf/AbPfWGLQtgPTdh3xw==",
        ("tree-sitter-bash.wasm",),
        "https://github.com/tree-sitter/tree-sitter-bash",
    ),
)


def npm_command(folder: str) -> str:
    """The command line that downloads the packages into a folder."""
    names = " ".join(f"{each.name}@{each.version}" for each in PACKAGES)
    destination = "" if folder == "." else f" --pack-destination {quote(folder)}"
    return f"npm pack{destination} {names}"


def runtime(folder: str) -> tuple[dict[str, bytes], str]:
    """The packages' files by their paths in the page, and the texts of the packages' licences.

    `folder` has the files of `npm pack`. Raises JobgenError with each package that is missing, or
    differs from the tested one.
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
            for name in package.files:  # some web servers do not know the type of .mjs
                files[f"{FOLDER}/{name.replace('.mjs', '.js')}"] = _content(members, name)
            text = package.license_note or _content(members, "LICENSE").decode("utf-8")
        heading = f"==== {package.name} {package.version} ===="
        licences.append(f"{heading}\n\n{package.license}; {package.source}\n\n{text}")
    if problems:
        raise JobgenError(problems)
    return files, "\n".join(licences)


def _checked(package: Package, folder: str) -> bytes:
    """The bytes of a package's archive. Raises JobgenError without it, or for a wrong checksum."""
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
    assert member, name  # true for each archive with the right checksum
    return member.read()


def archive(site_profiles: Mapping[str, bytes]) -> bytes:
    """The archive, a ZIP with the same bytes each time; `site_profiles` are files by path."""
    files = {f"{SITE_PROFILES}/{name}": data for name, data in site_profiles.items()}
    for part in (_jobgen(), _libraries()):
        files.update(part)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            made.writestr(entry, content)
    return data.getvalue()


def versions() -> dict[str, str]:
    """The versions of the libraries and the npm packages, by name. Raises JobgenError."""
    libraries = {name: _distribution(name).version for name in _LIBRARIES.values()}
    return {**libraries, **{each.name: each.version for each in PACKAGES}}


def _jobgen() -> Iterator[tuple[str, bytes]]:
    """jobgen's code and bundled files by path; a wheel and a checkout give the same paths."""
    package = Path(__file__).parent.parent
    data = (*(package / "other_words").glob("*.yaml"), *(package / "lint").rglob("*.txt"))
    for file in (*package.rglob("*.py"), *data):
        yield f"jobgen/{file.relative_to(package).as_posix()}", file.read_bytes()
    for kind in ("profiles", "templates"):
        folder = bundled(kind)
        for file in filter(Path.is_file, folder.rglob("*")):
            yield f"jobgen/bundled/{kind}/{file.relative_to(folder).as_posix()}", file.read_bytes()


def _libraries() -> Iterator[tuple[str, bytes]]:
    """The Python files of the libraries, all of which work without their compiled parts."""
    for name in _LIBRARIES:
        spec = find_spec(name)
        origin = Path(str(spec and spec.origin))  # found: jobgen imports it
        is_package = bool(spec and spec.submodule_search_locations)
        for file in origin.parent.rglob("*.py") if is_package else [origin]:
            path = file.relative_to(origin.parent).as_posix()
            yield f"{name}/{path}" if is_package else path, file.read_bytes()


def licences() -> str:
    """The licences of jobgen and the libraries: the full text of each licence that is installed."""
    own = [("jobgen", each) for each in distributions(name="jobgen")][:1]  # [] if not installed
    found = own + [(name, _distribution(name)) for name in _LIBRARIES.values()]
    return "\n".join(f"==== {name} {each.version} ====\n\n{_text(each)}" for name, each in found)


def _text(library: Distribution) -> str:
    names = [each for each in library.files or () if each.name.upper().startswith(_LICENCES)]
    files = filter(Path.is_file, (Path(str(each.locate())) for each in names))
    texts = [file.read_text(encoding="utf-8") for file in files]
    if not texts and "License" in library.metadata:
        texts = [library.metadata["License"]]
    return "\n".join(texts)


def _distribution(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        text = f"{name} is here without its metadata, such as its licence"
        raise problem("page", text, "missing", f"pip install {name}") from None
