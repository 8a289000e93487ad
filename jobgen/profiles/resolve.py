"""Resolves profiles: merges bases and the values of options, and keeps each value's origin."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import BASES, MERGES, OPTION_VALUES, YAML_BYTES
from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.paths import WORKING_FOLDER, is_outside, is_same_file
from jobgen.profiles.conflicts import Check, at_origin, conflicts
from jobgen.profiles.keys.request import asks_for_whole_nodes
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT, Profile
from jobgen.profiles.records import kind_at
from jobgen.profiles.search import ProfileSearch, is_profile_path
from jobgen.profiles.yaml_tree import (
    Map,
    Node,
    Scalar,
    Seq,
    is_null,
    marks_by_path,
    merge,
    parse,
    plain_value,
    tree_at,
)
from jobgen.quoting import quote

ABOUT = ("state", "ends", "successor", "contact", "hosts", "needs")  # no script depends on them
NO_VALUES = {*ABOUT, "description", "sources"}  # nor do jobs on these
CACHED = 256  # the most files, profiles, and profiles with overrides in memory


class Resolved(NamedTuple):
    """A profile, merged with its bases; `origins` has the place of every value by its path."""

    name: str
    profile: Profile
    fingerprint: str  # a checksum that shows whether the profile, without overrides, has changed
    origins: Mapping[str, Mark]

    def origin(self, path: str) -> str:
        """Returns the place where a value was set, for a message, or "jobgen's default"."""
        return str(self.place(path) or "jobgen's default")

    def place(self, path: str) -> Mark | None:
        """The place where a value was set; also of one that stands for a map (`Record.short`)."""
        group, _, name = path.rpartition(".")
        if path not in self.origins and group in self.origins and name:
            kind = kind_at(ROOT, group.split("."), Mark(group), ProblemList()) if group else ROOT
            path = group if getattr(kind, "short", "") == name else path
        return self.origins.get(path)

    def conflict(self, path: str, text: str, hint: str) -> JobgenError:
        """Returns the error, at the value's origin, for a value that other values exclude."""
        mark = Mark(path if path in self.origins else "jobgen's default")
        return JobgenError([at_origin(Problem(mark, text, "conflict", hint), self.origins)])


class Profiles(ProfileSearch):
    """The profiles visible from the folder `within`; each is read once.

    With `confined`, a profile of that folder may not be a link out of the folder, and may extend a
    file outside the folder only by name: messages about a file quote it. `checks` find the
    conflicts that the schedulers know.
    """

    def __init__(
        self,
        within: Path = WORKING_FOLDER,
        confined: bool = False,
        checks: tuple[Check, ...] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(within, confined, environ)
        self.checks = checks
        self._given: dict[Path, Node] = {}  # files that exist in memory only
        self._resolved = lru_cache(CACHED)(self._resolve)
        self._trees = lru_cache(CACHED)(self._merged_tree)
        self._files = lru_cache(CACHED)(_read_file)

    def add(self, name: str, tree: Node) -> None:
        """Make all later calls read the file `name` as if it had this tree."""
        self._given[self.within / name] = tree

    def load(self, name: str, overrides: Iterable[tuple[str, str, str]] = ()) -> Resolved:
        """The profile `name` (a file, if it ends in .yaml) with the values that options override.

        `overrides` are (option, path, value); a later one wins. Raises JobgenError with all
        problems of all files that the profile is made of.
        """
        values = tuple(overrides)
        if len(values) > OPTION_VALUES:
            text = f"{len(values)} values, more than {OPTION_VALUES}"
            raise problem("--set", text, "limit", "put them in a profile")
        return self._resolved(name, values)

    def _resolve(self, name: str, overrides: tuple[tuple[str, str, str], ...]) -> Resolved:
        tree, file_problems, fingerprint = self._trees(name)
        problems = ProblemList()
        problems.found += file_problems
        problems.file = tree  # hints for options name values of it
        file = tree.mark
        for option, path, value in overrides:
            if override := _override(option, path, value, problems):
                tree = merge(tree, override)
        if problems.found:
            raise JobgenError(problems.found)
        profile = ROOT.read(tree, problems)
        origins = {**marks_by_path(tree), "": file}
        place = profile.request.place
        if place and asks_for_whole_nodes(place) and "request.exclusive" not in origins:
            origins["request.exclusive"] = origins["request.place"]
            profile = profile._replace(request=profile.request._replace(exclusive=True))
        if found := problems.found + conflicts(profile, origins, self.checks):
            raise JobgenError(found)
        short_name = Path(name).stem if is_profile_path(name) else name
        return Resolved(short_name, profile, fingerprint, origins)

    def _merged_tree(self, name: str) -> tuple[Node, list[Problem], str]:
        """The merged tree of a profile's files, their problems, and the tree's fingerprint."""
        problems = ProblemList()
        tree = _Inheritance(problems, self).tree(self.find(name, Mark("--profile"), self.within))
        counted = _without(tree, ABOUT) if isinstance(tree, Map) else tree
        values = repr(plain_value(counted)).encode("utf-8", "surrogateescape")
        return tree, problems.found, hashlib.sha256(values).hexdigest()[:8]

    def find(self, name: str, mark: Mark, folder: Path, after: Path | None = None) -> Path:
        given = is_profile_path(name) and folder / name in self._given
        return folder / name if given else super().find(name, mark, folder, after)

    def tree_of(self, name: str) -> Node | None:
        """The tree of a profile's own file, without its bases; None if it has none."""
        return self.read(self.find(name, Mark("--profile"), self.within), ProblemList())

    def read(self, file: Path, problems: ProblemList) -> Node | None:
        """The tree of one file, checked by itself; notes its problems."""
        if file in self._given:
            ROOT.read(self._given[file], problems)
            return self._given[file]
        tree, found = self._files(file)
        problems.found += found
        return tree


class _Inheritance:
    """Merges files with their bases; each file is merged once, however many files extend it."""

    def __init__(self, problems: ProblemList, profiles: Profiles) -> None:
        self.problems = problems
        self.profiles = profiles
        self.trees: dict[Path, Node] = {}
        self.merges = 0

    def tree(self, file: Path, chain: tuple[Path, ...] = ()) -> Node:
        """Returns the tree of a file, merged over its bases' trees; notes the problems of all."""
        key = file.resolve()
        if key not in self.trees:
            self.trees[key] = self._merged(file, (*chain, file))
        return self.trees[key]

    def _check_inside(self, file: Path, named_by: Path, mark: Mark) -> None:
        """Raise JobgenError if a confined profile is, or names, a file outside its folder."""
        within = self.profiles.within
        below = os.path.abspath(named_by).startswith(os.path.join(os.path.abspath(within), ""))
        if self.profiles.confined and below and is_outside(file, within):
            raise problem(mark, f"{file} is outside {within}", "outside", "keep a copy")

    def _merged(self, file: Path, chain: tuple[Path, ...]) -> Node:
        whole: Node = Map(Mark(str(file)), {}, {})
        try:
            if chain == (file,):
                self._check_inside(file, file, whole.mark)
            tree = self.profiles.read(file, self.problems)
        except JobgenError as error:
            self.problems.found += error.problems
            return whole
        if not isinstance(tree, Map):
            return whole
        tree = _without(tree, ("sources",))  # they are of this file alone
        for base in self._bases(tree):
            try:
                whole = merge(whole, self.tree(self._find_base(base, chain), chain))
            except JobgenError as error:
                self.problems.found += error.problems
        whole = merge(whole, tree)
        if isinstance(whole, Map) and "extends" not in tree.items:
            whole.items.pop("extends", None)
        return whole

    def _bases(self, tree: Map) -> Iterator[Scalar]:
        """Yields the bases, until MERGES bases were merged; notes the first base after that."""
        extends = tree.items.get("extends")
        items = extends.items if isinstance(extends, Seq) else [extends]
        bases = [each for each in items if isinstance(each, Scalar) and isinstance(each.value, str)]
        for base in bases:
            self.merges += 1
            if self.merges == MERGES + 1:
                text = f"more than {MERGES} merges of bases and their bases"
                self.problems.note(base.mark, text, "limit", "one base of your own that has them")
            if self.merges > MERGES:
                return
            yield base

    def _find_base(self, base: Scalar, chain: tuple[Path, ...]) -> Path:
        file = chain[-1]
        path = self.profiles.find(base.text, base.mark, file.parent, file)
        self._check_inside(path, file if is_profile_path(base.text) else path, base.mark)
        if any(is_same_file(path, other) for other in chain):
            names = " → ".join(p.stem for p in (*chain, path))
            raise problem(base.mark, f"`extends` forms a circle: {names}", "cycle")
        if len(chain) > BASES:
            raise problem(base.mark, f"a chain of more than {BASES} profiles", "cycle")
        return path


def _without(tree: Map, names: Iterable[str]) -> Map:
    """A tree without some keys of its top level."""
    items = {name: each for name, each in tree.items.items() if name not in names}
    return tree._replace(items=items)


def _read_file(file: Path) -> tuple[Node | None, list[Problem]]:
    """Returns the tree of one file, or None, and the problems of the file by itself."""
    problems = ProblemList()
    try:
        with file.open("rb") as stream:
            data = stream.read(YAML_BYTES + 1)
        tree = parse(data, str(file))
    except OSError as error:
        problems.note(Mark(str(file)), f"cannot be read: {error.strerror}", "unreadable")
        return None, problems.found
    except JobgenError as error:
        return None, error.problems
    if isinstance(tree, Map) and "jobs" in tree.items and {*tree.items} <= {"defaults", "jobs"}:
        hint = f"write: jobgen build {quote(str(file))}"
        problems.note(tree.keys["jobs"], "a manifest of jobs, and no profile", "usage", hint)
        return None, problems.found
    ROOT.read(tree, problems)
    return tree, problems.found


def _override(option: str, path: str, value: str, problems: ProblemList) -> Map | None:
    """Returns a tree with only the value of an option, or None; notes the problems of the value."""
    mark = Mark(option)
    keys = path.split(".")
    kind = kind_at(ROOT, keys, mark, problems, value)
    if kind is None:
        return None
    if path == "extends":
        hint = "name the profile with --profile"
        problems.note(mark, "`extends` belongs in a file", "usage", hint)
        return None
    try:
        # Only --set can remove a value; `-A null` is an account with that name.
        node = kind.parse_option(value, mark)
        if is_null(node) and not option.startswith("--set"):
            node = Scalar(mark, value, value)
        override = tree_at(keys, node, mark)
    except JobgenError as error:
        problems.found += error.problems
        return None
    ROOT.read(override, problems)
    return override
