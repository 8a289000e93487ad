"""Finds profiles, by name or by path, and lists their names."""

import os
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

from jobgen.bounds import PROFILE_NAMES
from jobgen.errors import Mark, nearest_hint, problem, report
from jobgen.paths import (
    WORKING_FOLDER,
    bundled,
    is_file,
    is_outside,
    is_plain_name,
    is_same_file,
    outside_error,
    project_folder,
    registry_folder,
    settings_folder,
    to_path,
    walk,
    with_home,
)

OWN, SITES, MACHINES, BASES = (
    "Your own",
    "Public sites, from their documents",
    "Machine types of clouds, from their documents",
    "Bases, to extend",
)
# The folders of the profiles of jobgen and its registry, with their headings.
_BUNDLED = {"": "Tutorials' systems", "sites": SITES, "machines": MACHINES, "fabrics": BASES}
HEADINGS = (OWN, *_BUNDLED.values())


def heading_of(file: Path) -> str:
    """Returns that one of HEADINGS under which a profile is listed, by its file."""
    file = file.resolve()  # here, it may be in ./profiles
    for folder in (registry_folder() / "profiles", bundled("profiles").resolve()):
        if file.is_relative_to(folder):
            place = file.parent.relative_to(folder).as_posix().removeprefix(".")
            return _BUNDLED.get(place, _BUNDLED[""])
    return OWN


class ProfileSearch:
    """Finds profiles from the folder `within`.

    The project's profiles are in that folder or, without `confined` and `environ`, in the folder's
    repository. With `confined`, a profile that is named by its path may not be outside the folder.
    With `environ`, its variables are read instead of the variables of the process, and nothing is
    reported.
    """

    def __init__(
        self,
        within: Path = WORKING_FOLDER,
        confined: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.within = within
        self.confined = confined
        self.environ = environ
        self.project = project_folder(within, confined or environ is not None)
        self.registry = registry_folder(environ) / "profiles"

    @property
    def folders(self) -> list[Path]:
        """The folders that are searched, in order."""
        variables = os.environ if self.environ is None else self.environ
        listed = [Path(p) for p in variables.get("JOBGEN_PROFILES", "").split(os.pathsep) if p]
        own = settings_folder(self.environ) / "profiles"
        return [self.project / "profiles", *listed, own, self.registry, bundled("profiles")]

    def files(self) -> dict[str, Path]:
        """Returns the file of every profile by its name, also in folders such as fabrics/.

        With `confined`, the project's folder is skipped if it is a link out of `within`: a hint
        would show the names there.
        """
        found: dict[str, Path] = {}
        folders = self.folders
        if self.confined and is_outside(folders[0], self.within):
            del folders[0]
        for folder in folders:
            for file in sorted(filter(is_file, _yaml_files(folder))):  # no broken links
                found.setdefault(file.relative_to(folder).with_suffix("").as_posix(), file)
        return found

    @cached_property
    def listed_files(self) -> dict[str, Path]:
        """The same, as it was when it was first needed: large folders are listed only once."""
        return self.files()

    @cached_property
    def _names(self) -> list[str]:
        """Returns the names for a hint."""
        return sorted(self.listed_files)

    def find(self, name: str, mark: Mark, folder: Path, after: Path | None = None) -> Path:
        """Returns the file of a profile, by its name or by its path from `folder`.

        `after` is the file that extends the profile: if `after` has the same name, the next file of
        this name is found. Raises JobgenError if there is no such file.
        """
        if is_profile_path(name):
            return self._by_path(name, mark, folder, is_own=not after)
        return self._by_name(name, mark, after)

    def _by_path(self, name: str, mark: Mark, folder: Path, is_own: bool) -> Path:
        path = folder / with_home(to_path(name), self.environ)
        if is_own and self.confined and is_outside(path, self.within):
            raise outside_error(str(mark), name, self.within)
        if is_file(path):
            return path
        text, hint = f"no file {path}", ""
        if path.is_relative_to(os.devnull):
            text, hint = f"no file {name:.80}", "`~` is HOME of `environ`, an absolute path"
        elif is_file(other := path.with_suffix(".yml" if path.suffix == ".yaml" else ".yaml")):
            hint = f"the file there is {other.name}"
        elif (bare := name[:-5]) in profile_files():
            hint = f"a packaged one has no .yaml: {bare}"
        raise problem(mark, text, "no-profile", hint)

    def _by_name(self, name: str, mark: Mark, after: Path | None) -> Path:
        if not is_plain_name(name):
            text = f"`{name:.80}` is a path, and no name"
            raise problem(mark, text, "no-profile", "the path of a file ends in .yaml")
        candidates = [folder / to_path(f"{name}.yaml") for folder in self.folders]
        files = [path for path in candidates if is_file(path)]
        same = [number for number, path in enumerate(files) if after and is_same_file(path, after)]
        remaining = files[same[0] + 1 :] if same else files
        if not remaining:
            raise problem(mark, f"no profile `{name:.80}`", "no-profile", self._hint(name))
        first, *others = remaining
        theirs = [path for path in others if path in candidates[-2:]]  # the registry's, jobgen's
        # The caller with `environ` has named the folders, and knows that a file replaces another.
        may_report = self.environ is None and first == candidates[0]
        if may_report and theirs and not _same_bytes(first, theirs[0]):
            report_replacement(first)
        return first

    def _hint(self, name: str) -> str:
        if is_file(self.within / to_path(f"{name}.yaml")):
            return f"the file here is {name}.yaml: write that, or move it to profiles/"
        if os.path.isdir(self.within / to_path(name)):
            return "it is a folder: write the path of a file in it, which ends in .yaml"
        if "," in name:
            joined = ", ".join(name.replace(",", " ").split())
            return f"name one; a file of yours with `extends: [{joined}]` joins them"
        if "$" in name:
            return "write the name itself: nobody replaces a variable here"
        last = name.rpartition("/")[2].lower()
        if found := [each for each in self._names if last and last in each.lower()]:
            return f"did you mean {' or '.join(f'`{each}`' for each in found[:3])}?"
        if name.startswith("sites/"):  # a site is not proposed for another one
            from difflib import get_close_matches  # it takes a while to import

            if close := get_close_matches(name, self._names, n=1, cutoff=0.9):
                return f"did you mean `{close[0]}`?"
            return (
                "no profile of this site comes with jobgen: run `jobgen detect` on its login node"
            )
        hint = nearest_hint(name, self._names)
        if hint.startswith("did you mean"):
            return hint
        return "`jobgen profiles list` shows all; `jobgen detect` writes one for the cluster here"


def profile_files(
    within: Path = WORKING_FOLDER, environ: Mapping[str, str] | None = None
) -> dict[str, Path]:
    """Every profile's name with its file, in the order of the search."""
    return ProfileSearch(within, environ=environ).files()


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


def _same_bytes(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other) or one.read_bytes() == other.read_bytes()
    except OSError:
        return False


@cache  # once in a run
def report_replacement(path: Path) -> None:
    """Report that a project's file replaces jobgen's: a person who cloned it may not know that."""
    report(f"{path} is used instead of jobgen's own {path.stem.partition('.')[0]}")
