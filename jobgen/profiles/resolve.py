"""Profiles with all that they extend and that options override, and the origin of each value."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import JobgenError, Mark, Problem
from jobgen.limits import OPTION_VALUES, YAML_BYTES
from jobgen.paths import WORKING_FOLDER
from jobgen.profiles.conflicts import Check, conflicts
from jobgen.profiles.inheritance import Inheritance
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT, Profile
from jobgen.profiles.records import kind_at
from jobgen.profiles.search import (
    find_by_name,
    find_by_path,
    is_profile_path,
    profile_files,
    profile_folders,
    report_replacement,
)
from jobgen.profiles.yaml_tree import (
    Map,
    Node,
    Scalar,
    is_null,
    marks_by_path,
    merge,
    parse,
    plain_value,
    tree_at,
)

CACHED = 256  # files, profiles, and profiles with overrides, so that memory does not grow

Overrides = tuple[tuple[str, str, str], ...]


class Resolved(NamedTuple):
    """A profile with all that it extends; `origins` has the place of every value by its path."""

    name: str
    profile: Profile
    fingerprint: str  # of the profile without overrides
    origins: Mapping[str, Mark]

    def __hash__(self) -> int:
        """It equals itself alone, so that results for it can be cached."""
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def origin(self, path: str) -> str:
        """Where the value at `path` comes from, for a message: a place, or "jobgen's default"."""
        mark = self.origins.get(path)
        return str(mark) if mark else "jobgen's default"


class Profiles:
    """The profiles visible from the folder `within`; each is read once.

    With `confined`, a profile of that folder may not be a link out of it, and may extend no file
    outside it, except by name: messages about a file quote it. `checks` find the conflicts that the
    schedulers know. With `environ`, its variables are read instead of those of the process, and
    nothing is reported.
    """

    def __init__(
        self,
        within: Path = WORKING_FOLDER,
        confined: bool = False,
        checks: tuple[Check, ...] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.within = within
        self.confined = confined
        self.checks = checks
        self.environ = environ
        self._given: dict[Path, Node] = {}  # files that exist in memory only
        self._trees: dict[str, tuple[Node, list[Problem], str]] = {}
        self._files: dict[Path, tuple[Node | None, list[Problem]]] = {}
        self._resolved: dict[tuple[str, Overrides], Resolved] = {}
        self._names: list[str] = []

    def add(self, name: str, tree: Node) -> None:
        """From now on, the file `name` is read as if it had this tree."""
        self._given[self.within / name] = tree

    def load(self, name: str, overrides: Iterable[tuple[str, str, str]] = ()) -> Resolved:
        """The profile `name` (a file, if it ends in .yaml) with the values that options override.

        `overrides` are (option, path, value); a later one wins. Raises JobgenError with all
        problems of all files that the profile is made of.
        """
        key = name, tuple(overrides)
        if len(key[1]) > OPTION_VALUES:
            text = f"{len(key[1])} values, more than {OPTION_VALUES}"
            raise JobgenError([Problem(Mark("--set"), text, "limit", "put them in a profile")])
        if key not in self._resolved:
            if len(self._resolved) >= CACHED:
                self._resolved.clear()
            self._resolved[key] = self._resolve(name, key[1])
        return self._resolved[key]

    def _resolve(self, name: str, overrides: Overrides) -> Resolved:
        tree, file_problems, fingerprint = self._tree(name)
        problems = ProblemList()
        problems.found += file_problems
        for option, path, value in overrides:
            if override := _override(option, path, value, problems):
                tree = merge(tree, override)
        if problems.found:
            raise JobgenError(problems.found)
        profile = ROOT.read(tree, problems)
        origins = dict(marks_by_path(tree))
        if found := problems.found + conflicts(profile, origins, self.checks):
            raise JobgenError(found)
        short_name = Path(name).stem if is_profile_path(name) else name
        return Resolved(short_name, profile, fingerprint, origins)

    def _tree(self, name: str) -> tuple[Node, list[Problem], str]:
        """The merged tree of a profile's files, their problems, and the tree's fingerprint."""
        if name not in self._trees:
            if len(self._trees) >= CACHED:
                self._trees.clear()
            problems = ProblemList()
            file = self.find(name, Mark("--profile"), self.within)
            tree = Inheritance(problems, self).tree(file)
            self._trees[name] = tree, problems.found, _fingerprint(tree)
        return self._trees[name]

    def find(self, name: str, mark: Mark, folder: Path, after: Path | None = None) -> Path:
        """The file of a profile, by its name or by its path from `folder`.

        `after` is the file that extends it: if it has that name, the next one of that name is
        found. Raises JobgenError.
        """
        if is_profile_path(name) and folder / name in self._given:
            return folder / name
        if is_profile_path(name):
            inside = self.within if self.confined and not after else None
            return find_by_path(name, mark, folder, inside, self.environ)
        folders = profile_folders(self.within, self.environ)
        report = report_replacement if self.environ is None else _no_report
        return find_by_name(name, mark, folders, after, self._all_names, report)

    def _all_names(self) -> list[str]:
        """The names for a hint; the folders may be large, and are listed once."""
        self._names = self._names or list(profile_files(self.within, self.confined, self.environ))
        return self._names

    def read(self, file: Path, problems: ProblemList) -> Node | None:
        """The tree of one file, checked by itself; notes its problems."""
        if file in self._given:
            ROOT.read(self._given[file], problems)
            return self._given[file]
        if file not in self._files:
            if len(self._files) >= CACHED:
                self._files.clear()
            file_problems = ProblemList()
            self._files[file] = read_profile(file, file_problems), file_problems.found
        tree, found = self._files[file]
        problems.found += found
        return tree


def _no_report(path: Path) -> None:
    """For a caller who names the folders: it is no news that one replaces another's file."""


def read_profile(file: Path, problems: ProblemList) -> Node | None:
    """The tree of one file, checked by itself; notes its problems."""
    try:
        with file.open("rb") as stream:
            data = stream.read(YAML_BYTES + 1)
        tree = parse(data, str(file))
    except OSError as error:
        problems.note(Mark(str(file)), f"cannot be read: {error.strerror}", "unreadable")
        return None
    except JobgenError as error:
        problems.found += error.problems
        return None
    ROOT.read(tree, problems)
    return tree


def _fingerprint(tree: Node) -> str:
    """A checksum of the values of a tree, which says whether a profile has changed."""
    text = repr(plain_value(tree))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _override(option: str, path: str, value: str, problems: ProblemList) -> Map | None:
    """The tree with the one value that an option overrides; notes what is wrong with it."""
    mark = Mark(option)
    keys = path.split(".")
    kind = kind_at(ROOT, keys, mark, problems)
    if kind is None:
        return None
    if path == "extends":
        hint = "name the profile with --profile"
        problems.note(mark, "`extends` belongs in a file", "usage", hint)
        return None
    try:
        # Only --set can remove a value; `-A null` is an account of that name.
        node = kind.parse_option(value, mark)
        if is_null(node) and not option.startswith("--set"):
            node = Scalar(mark, value, value)
        override = tree_at(keys, node, mark)
    except JobgenError as error:
        problems.found += error.problems
        return None
    ROOT.read(override, problems)
    return override
