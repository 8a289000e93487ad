"""Where profiles are found, by name or by path, and the list of their names."""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from jobgen.errors import JobgenError, Mark, Problem, nearest_hint, report
from jobgen.limits import PROFILE_NAMES
from jobgen.paths import (
    WORKING_FOLDER,
    bundled,
    is_file,
    is_outside,
    is_plain_name,
    is_same_file,
    outside_error,
    project_folder,
    settings_folder,
    to_path,
    walk,
    with_home,
)

OWN, SITES, BASES = (
    "Your own",
    "Public sites, from their documentation, not run there",
    "Bases, to extend",
)
# The folders of the bundled profiles, with their headings.
_BUNDLED = {"": "Tutorials' systems", "sites": SITES, "fabrics": BASES}
HEADINGS = (OWN, *_BUNDLED.values())
# How the description of a public site ends; its heading says the same of all.
NOT_RUN = "; from its documentation, not run there"


def heading_of(file: Path) -> str:
    """Which of HEADINGS a profile is listed under, by its file."""
    folder, file = bundled("profiles").resolve(), file.resolve()  # here, both may be ./profiles
    if not file.is_relative_to(folder):
        return OWN
    return _BUNDLED.get(file.parent.relative_to(folder).as_posix().removeprefix("."), _BUNDLED[""])


def profile_folders(project: Path, environ: Mapping[str, str] | None = None) -> list[Path]:
    """The folders that are searched for profiles in the folder of a project, in order.

    The variables that add folders are those of `environ`, or of the process.
    """
    variables = os.environ if environ is None else environ
    listed = [Path(p) for p in variables.get("JOBGEN_PROFILES", "").split(os.pathsep) if p]
    own = settings_folder(environ) / "profiles"
    return [project / "profiles", *listed, own, bundled("profiles")]


def profile_files(
    within: Path = WORKING_FOLDER,
    confined: bool = False,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Path]:
    """Every profile's name with its file, also those in folders such as fabrics/.

    With `confined`, the project's folder is skipped if it is a link out of `within`: a hint would
    show the names there.
    """
    found: dict[str, Path] = {}
    folders = profile_folders(project_folder(within, confined or environ is not None), environ)
    if confined and is_outside(folders[0], within):
        del folders[0]
    for folder in folders:
        for file in sorted(filter(is_file, _yaml_files(folder))):  # a link to nothing is not a file
            found.setdefault(file.relative_to(folder).with_suffix("").as_posix(), file)
    return found


def _yaml_files(top: Path) -> list[Path]:
    """The YAML files below a folder, until PROFILE_NAMES files were seen."""
    found: list[Path] = []
    seen = 0
    for folder, folders, files in walk(top, lambda _: None):
        found += [Path(folder, file) for file in files if file.endswith(".yaml")]
        seen += len(folders) + len(files)
        if seen > PROFILE_NAMES:
            break
    return found


def is_profile_path(name: str) -> bool:
    """Whether the name of a profile is the path of its file."""
    return name.endswith((".yaml", ".yml"))


def find_by_path(
    name: str,
    mark: Mark,
    folder: Path,
    inside: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """The file of a profile that is named by its path from a folder; `~` is the user's home.

    The home is that of `environ`, or of the process. Raises JobgenError, also for a file outside
    the folder `inside`.
    """
    path = folder / with_home(to_path(name), environ)
    if inside and is_outside(path, inside):
        raise outside_error(str(mark), name, inside)
    if is_file(path):
        return path
    if path.is_relative_to(os.devnull):
        hint = "`~` is HOME of `environ`, an absolute path"
        raise JobgenError([Problem(mark, f"no file {name:.80}", "no-profile", hint)])
    hint = f"a packaged one has no .yaml: {bare}" if (bare := name[:-5]) in profile_files() else ""
    raise JobgenError([Problem(mark, f"no file {path}", "no-profile", hint)])


def find_by_name(
    name: str,
    mark: Mark,
    here: Path,
    folders: Iterable[Path],
    after: Path | None,
    names: Callable[[], Iterable[str]],
    on_replacement: Callable[[Path], None],
) -> Path:
    """The first file of that name in the folders; if `after` is one of that name, the next one.

    `on_replacement` is called with the project's file if it replaces a bundled profile. Raises
    JobgenError with the nearest one of `names`.
    """
    if not is_plain_name(name):
        text = f"`{name:.80}` is a path, and no name"
        hint = "the path of a file ends in .yaml"
        raise JobgenError([Problem(mark, text, "no-profile", hint)])
    candidates = [folder / to_path(f"{name}.yaml") for folder in folders]
    files = [path for path in candidates if is_file(path)]
    same = [number for number, path in enumerate(files) if after and is_same_file(path, after)]
    remaining = files[same[0] + 1 :] if same else files
    if not remaining:
        hint = _profile_hint(name, sorted(names()))
        if "," in name:
            joined = ", ".join(name.replace(",", " ").split())
            hint = f"name one; a file of yours with `extends: [{joined}]` joins them"
        if os.path.isdir(here / to_path(name)):
            hint = "it is a folder: write the path of a file in it, which ends in .yaml"
        if is_file(here / to_path(f"{name}.yaml")):
            hint = f"the file here is {name}.yaml: write that, or move it to profiles/"
        raise JobgenError([Problem(mark, f"no profile `{name:.80}`", "no-profile", hint)])
    first, last = remaining[0], remaining[-1]
    replaces_bundled = first == candidates[0] and last == candidates[-1]
    if replaces_bundled and not _same_bytes(first, last):
        on_replacement(first)
    return first


def _profile_hint(wanted: str, names: list[str]) -> str:
    """The profile that is probably meant: a site is not proposed for another one."""
    if "$" in wanted:
        return "write the name itself: nobody replaces a variable here"
    last = wanted.rpartition("/")[2].lower()
    if found := [name for name in names if last and last in name.lower()]:
        return f"did you mean {' or '.join(f'`{name}`' for name in found[:3])}?"
    if wanted.startswith("sites/"):
        return "no profile of this site comes with jobgen: run `jobgen detect` on its login node"
    hint = nearest_hint(wanted, names)
    if hint.startswith("did you mean"):
        return hint
    return "`jobgen profiles list` shows all; `jobgen detect` writes one for the cluster here"


def _same_bytes(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other) or one.read_bytes() == other.read_bytes()
    except OSError:
        return False


@cache  # once in a run
def report_replacement(path: Path) -> None:
    """Report that a project's file is used instead of jobgen's: who cloned it may not know."""
    report(f"{path} is used instead of jobgen's own {path.stem.partition('.')[0]}")
