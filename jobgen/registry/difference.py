"""What differs between the profiles in use, without the user's own, and those of a release."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.errors import JobgenError
from jobgen.paths import bundled, registry_folder
from jobgen.profiles.resolve import NO_VALUES, Profiles
from jobgen.schedulers import profile_conflicts
from jobgen.sources.table import leaves

VARIABLES = "network.environment."


class Change(NamedTuple):
    """A profile that differs. `values` are old and new ones by their keys, those of bases too."""

    name: str
    old: bytes | None  # the text of its own file; None if there is no such profile
    new: bytes | None
    values: Mapping[str, tuple[Any, Any]]


class Difference(NamedTuple):
    """All that differs; `proofs` are the old and the new text of those that do, by their names."""

    changes: Sequence[Change]
    proofs: Mapping[str, tuple[bytes | None, bytes | None]]

    def __bool__(self) -> bool:
        return bool(self.changes or self.proofs)

    def names(self, is_old: bool, is_new: bool) -> list[str]:
        """The names of profiles that were, or were not, and that are, or are not."""
        return [
            each.name
            for each in self.changes
            if (each.old is not None) == is_old and (each.new is not None) == is_new
        ]

    def proof_names(self, is_old: bool, is_new: bool) -> list[str]:
        """The same of the proofs that differ."""
        wanted = (is_old, is_new)
        texts = self.proofs.items()
        return [name for name, (old, new) in texts if (old is not None, new is not None) == wanted]


class ReleaseProfiles(Profiles):
    """The profiles of folders of the registry alone, the first one before the others.

    Files in the first folder name no file outside of it, and nothing is reported.
    """

    def __init__(self, *folders: Path) -> None:
        super().__init__(folders[0], confined=True, checks=(profile_conflicts,), environ={})
        self._folders = folders

    @property
    def folders(self) -> list[Path]:
        """The folders that are searched, in order."""
        return [*self._folders]


def difference(release: Path | None) -> Difference:
    """What differs if the release in a folder is taken or, without one, the registry is removed."""
    present = [*_existing(registry_folder()), bundled("profiles")]
    future = [*_existing(release), bundled("profiles")]
    proofs = _changed_values(_proofs(present), _proofs(future))
    return Difference([*_changes(present, future)], proofs)


def _existing(release: Path | None) -> Iterator[Path]:
    if release is not None and (folder := release / "profiles").is_dir():
        yield folder


def _changes(present: Sequence[Path], future: Sequence[Path]) -> Iterator[Change]:
    before, after = ReleaseProfiles(*present), ReleaseProfiles(*future)
    old_files, new_files = before.files(), after.files()
    for name in sorted({*old_files, *new_files}):
        old, new = _text(old_files.get(name)), _text(new_files.get(name))
        values = _changed_values(_values(before, name), _values(after, name))
        if old != new or values:
            yield Change(name, old, new, values)


def _text(file: Path | None) -> bytes | None:
    return file.read_bytes() if file else None


def _values(profiles: Profiles, name: str) -> dict[str, Any]:
    """The values of a profile, with those of its bases; none if it is wrong or not there.

    A variable is one value, without the reason for it.
    """
    try:
        profile = profiles.load(name).profile
    except JobgenError:
        return {}
    network = profile.network._replace(environment={})
    variables = {
        VARIABLES + name: value if nodes == "any" else {"value": value, "nodes": nodes}
        for name, (value, _, nodes) in profile.network.environment.items()
    }
    found = {**dict(leaves(profile._replace(network=network))), **variables}
    return {path: value for path, value in found.items() if path.partition(".")[0] not in NO_VALUES}


def _changed_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    paths = dict.fromkeys([*old, *new])  # in the order of the keys
    return {
        path: (old.get(path), new.get(path)) for path in paths if old.get(path) != new.get(path)
    }


def _proofs(folders: Sequence[Path]) -> dict[str, bytes]:
    return {
        file.relative_to(folder / "proofs").as_posix().removesuffix(".json"): file.read_bytes()
        for folder in reversed(folders)
        for file in sorted(folder.glob("proofs/**/*.json"))
    }
