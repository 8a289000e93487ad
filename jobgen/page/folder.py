"""The page's folder: makes its files, with the same bytes each time, and replaces it as a whole."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from jobgen import __version__
from jobgen.errors import JobgenError, problem
from jobgen.page.browser.fields import OWN_PROFILE, sections
from jobgen.page.browser.form import DEFAULT_FILE
from jobgen.page.packages import FIRST, archive, licences, runtime, versions
from jobgen.page.site import profile_choices, site_files
from jobgen.paths import to_path
from jobgen.profiles.search import MACHINES, OWN, SITES
from jobgen.schedulers import COMMANDS
from jobgen.scripts.jinja_environments import html_environment

ASSETS = Path(__file__).parent / "assets"
TEMPLATE = "index.html.j2"
# index.html preloads the other modules; main.js is in a tag there, the two others are needed later.
_LATER = ("main.js", "parse.js", "service-worker.js")
# The page may load only files of its own folder, and no inline scripts or styles. Workers are made
# from a blob: unlike a worker from a file, such a worker is under this policy, too.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:;"
    " connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
)
MARK = "files.json"  # checksums of the other files, for the service worker and the next writing
FORMAT = {"jobgen page": 1}  # the start of MARK: other programs may write a files.json, too
ARCHIVE = "python.zip"


def page_files(
    packages: str,
    profiles: str | None = None,
    title: str | None = None,
    notes: str = "",
    docs: str = "",
) -> dict[str, bytes]:
    """The files of the page by their paths.

    `notes` is plain text, in which an empty line ends a paragraph; `docs` is the address of the
    documentation, or "". Raises JobgenError for wrong profiles or packages.
    """
    own_profiles = site_files(profiles)
    choices = profile_choices(own_profiles, profiles)
    npm_files, npm_licences = runtime(packages)
    files = {each.name: each.read_bytes() for each in ASSETS.iterdir() if each.name != TEMPLATE}
    files |= {ARCHIVE: archive(own_profiles), **npm_files}
    files["licences.txt"] = f"{licences()}\n{npm_licences}".encode()
    template = html_environment(ASSETS).get_template(TEMPLATE)
    document = template.render(
        version=__version__,
        policy=POLICY,
        title=title or "Make a script for a PyTorch job",
        paragraphs=[text.strip() for text in re.split(r"\n\s*\n", notes) if text.strip()],
        choices={"This site" if name == OWN else name: rows for name, rows in choices.items()},
        commands=COMMANDS,
        docs=docs,
        documented=(SITES, MACHINES),
        # The files that Python in the browser needs before the first script.
        downloads={name: len(files[name]) for name in (*FIRST, ARCHIVE)},
        modules=sorted(each.name for each in ASSETS.glob("*.js") if each.name not in _LATER),
        sections=sections(),
        own_profile=OWN_PROFILE,
        default_file=DEFAULT_FILE,
        libraries=versions(),
    )
    files["index.html"] = document.encode("utf-8")
    return {**files, MARK: mark_of(files)}


def mark_of(files: Mapping[str, bytes]) -> bytes:
    """The content of MARK for the other files."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    return f"{json.dumps({**FORMAT, 'files': sums}, indent=1)}\n".encode()


def write_folder(output: str, files: Mapping[str, bytes]) -> None:
    """Write the files as a folder, which replaces an empty folder or one that jobgen made.

    Raises JobgenError if the folder cannot be written, or has other files; then the old folder is
    unchanged.
    """
    folder = Path(os.path.realpath(to_path(output)))
    _check_replaceable(output, folder)
    suffix = os.urandom(8).hex()
    new, old = (folder.with_name(f".{folder.name}.{word}-{suffix}") for word in ("new", "old"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            file = new / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        if folder.is_dir():
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        hint = f"the page before is in {old}" if old.is_dir() and not folder.exists() else ""
        raise _output_error(output, f"cannot be written: {error.strerror}", hint) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _check_replaceable(output: str, folder: Path) -> None:
    """Raise JobgenError if the folder has a file that is edited, or that jobgen did not write."""
    hint = "name a new folder, or an empty one"
    for path in (folder, *folder.parents):
        if os.path.lexists(path) and not path.is_dir():
            raise _output_error(output, f"{path.name} is a file, not a folder", hint)
    sums = _sums(folder)
    for file in folder.rglob("*"):
        name, is_link = file.relative_to(folder).as_posix(), file.is_symlink()
        if file.is_dir() and not is_link:
            continue
        # Only regular files are read, never links or devices.
        is_own = name in sums and not is_link and file.is_file()
        if not is_own or sums[name] not in ("", hashlib.sha256(file.read_bytes()).hexdigest()):
            text = f"it has a file that is not of such a page, or was edited: {name!r:.80}"
            raise _output_error(output, text, hint)


def _sums(folder: Path) -> dict[str, str]:
    """The checksums of the files that jobgen wrote into the folder; "" for MARK itself."""
    try:
        mark = json.loads((folder / MARK).read_bytes())
        is_own = mark == {**FORMAT, "files": mark["files"]}
        return {**mark["files"], MARK: ""} if is_own else {}
    except (OSError, ValueError, KeyError, TypeError):  # no MARK, or another program's
        return {}


def _output_error(output: str, text: str, hint: str = "") -> JobgenError:
    return problem(f"-o {output}", text, "output", hint)
