"""`jobgen profiles update`: shows how a release differs, and takes it if the user says so."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from jobgen.doctor.proof import read_proof
from jobgen.errors import JobgenError, Problem, printable, problem, report
from jobgen.generator import Generator
from jobgen.paths import bundled, registry_folder
from jobgen.registry.difference import Difference, ReleaseProfiles, difference
from jobgen.registry.layout import is_profile
from jobgen.registry.page import page
from jobgen.registry.place import release_in_use, remove_registry, take, write_files
from jobgen.registry.release import Release, read_release
from jobgen.registry.validation import check_profile
from jobgen.scripts.write import write


def update(source: str, checksum: str | None, only_shows: bool, is_sure: bool) -> int:
    """Show how a release differs from the profiles in use, and take it; returns the exit code."""
    release = read_release(source, checksum)
    with _unpacked(release) as folder:
        _check_files(release, folder)
        found = difference(folder)
        _show(found, f"of {release.name}")
        _warn_of_older(release.name)
    if only_shows or not found:
        return _without_change(found)
    if not _is_wanted(f"take {release.name}", is_sure):
        return 1
    take(release)
    report(f"the registry's profiles are those of {release_in_use()}")
    return 0


def remove_release(only_shows: bool, is_sure: bool) -> int:
    """Show how the profiles in use differ from the bundled ones, and go back to these."""
    if not registry_folder().is_dir():
        report("no release of the registry is in use: the profiles are those of jobgen")
        if not only_shows:
            remove_registry()
        return 0
    found = difference(None)
    _show(found, "of jobgen")
    if only_shows:
        return _without_change(found)
    taken = release_in_use()
    if not _is_wanted(f"remove {taken.name if taken else 'the release'}", is_sure):
        return 1
    remove_registry()
    report("the profiles are those that come with jobgen")
    return 0


@contextmanager
def _unpacked(release: Release) -> Iterator[Path]:
    """A folder with the files of a release, which is not in use."""
    with TemporaryDirectory(prefix="jobgen-") as temporary:
        folder = Path(os.path.realpath(temporary), "release")
        folder.mkdir()
        write_files(folder, release)
        yield folder


def _check_files(release: Release, folder: Path) -> None:
    """Raise JobgenError with what is wrong with all profiles and proofs of a release."""
    top = folder / "profiles"
    generator = Generator(top, confined=True, environ={})
    generator.profiles = ReleaseProfiles(top, bundled("profiles"))
    problems: list[Problem] = []
    for path in sorted(release.files):
        try:
            if is_profile(path):
                check_profile(generator, path.removeprefix("profiles/"))
            else:
                read_proof(folder / path)
        except JobgenError as error:
            problems += error.problems
    if any(each.code == "unknown-key" for each in problems):
        report("the release may be for a newer jobgen than this one, which knows more keys")
    if problems:
        raise JobgenError([_in_release(each, folder, release.name) for each in problems])


def _in_release(each: Problem, folder: Path, name: str) -> Problem:
    """A problem with paths in the release, instead of those of the copy that was checked."""

    def placed(text: str) -> str:
        return text.replace(str(folder), name)

    mark = each.mark._replace(file=placed(each.mark.file))
    return each._replace(mark=mark, text=placed(each.text), hint=placed(each.hint))


def _show(found: Difference, change: str) -> None:
    for part in page(found, printable(change)):
        write(part)


def _warn_of_older(name: str) -> None:
    """Say so if the day in a release's name is before that of the one in use."""
    taken = release_in_use()
    parts, parts_in_use = (_day_parts(each) for each in (name, taken.name if taken else ""))
    if taken and parts and parts < parts_in_use:
        report(f"warning: {name:.200} is older than {taken.name}, which is in use")


def _day_parts(name: str) -> list[int]:
    """The numbers of a release's tag, such as 2026-11-29 or 2026-11-29.2; none without a day."""
    found = re.search(r"20\d\d-\d\d-\d\d(?:[.-]\d+)*", name)
    return [int(part) for part in re.findall(r"\d+", found[0])] if found else []


def _without_change(found: Difference) -> int:
    if not found:
        report("nothing differs from the profiles in use")
    return int(bool(found))


def _is_wanted(action: str, is_sure: bool) -> bool:
    """Whether the user says so: by --yes, or to a question. Raises JobgenError without both."""
    if is_sure:
        return True
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        text = f"nobody can be asked here whether to {action:.200}; nothing was changed"
        raise problem("--yes", text, "usage", "read the difference above, then add --yes")
    sys.stderr.write(printable(f"Shall jobgen {action}? [y/N] "))
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    report("nothing was changed")
    return False
