"""The archive of all Python that the page runs: jobgen, what it imports, and a site's profiles."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

from jobgen.errors import problem
from jobgen.paths import bundled

SITE_PROFILES = "site/profiles"  # in the archive; worker.js names it, too
# What jobgen imports, with the names of the packages that have the licences.
_LIBRARIES = {
    "click": "click",
    "hostlist": "python-hostlist",
    "jinja2": "jinja2",
    "markupsafe": "markupsafe",
    "yaml": "pyyaml",
}
_LICENCES = ("LICENSE", "LICENCE", "COPYING")  # how the names of their files begin
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # of a ZIP; every file has this time


def archive(site_profiles: Mapping[str, bytes]) -> bytes:
    """The archive, the same bytes each time; `site_profiles` by their paths below their folder."""
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
    """The versions of the libraries, by the names of their packages. Raises JobgenError."""
    return {name: _distribution(name).version for name in _LIBRARIES.values()}


def _jobgen() -> Iterator[tuple[str, bytes]]:
    """jobgen with its bundled files; a wheel and a checkout give the same paths."""
    package = Path(__file__).parent.parent
    data = (*(package / "other_words").glob("*.yaml"), *(package / "lint/rules").rglob("*.txt"))
    for file in (*package.rglob("*.py"), *data):
        yield f"jobgen/{file.relative_to(package).as_posix()}", file.read_bytes()
    for kind in ("profiles", "templates"):
        folder = bundled(kind)
        for file in filter(Path.is_file, folder.rglob("*")):
            yield f"jobgen/bundled/{kind}/{file.relative_to(folder).as_posix()}", file.read_bytes()


def _libraries() -> Iterator[tuple[str, bytes]]:
    """The Python files of the libraries: each works without its compiled part."""
    for name in _LIBRARIES:
        spec = find_spec(name)
        origin = Path(str(spec and spec.origin))  # this jobgen runs with it
        is_package = bool(spec and spec.submodule_search_locations)
        for file in origin.parent.rglob("*.py") if is_package else [origin]:
            path = file.relative_to(origin.parent).as_posix()
            yield f"{name}/{path}" if is_package else path, file.read_bytes()


def licences() -> str:
    """The licences of jobgen and the libraries: in full, if they are installed with them."""
    own = [("jobgen", each) for each in distributions(name="jobgen")][:1]  # none: not installed
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
