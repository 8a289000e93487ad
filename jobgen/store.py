"""Finds profiles, merges what they extend, and keeps where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jobgen import names
from jobgen.errors import JobgenError, Mark, Problem
from jobgen.paths import HERE, is_file, is_name, leads_out, native
from jobgen.profile import ROOT, Profile, conflicts
from jobgen.schema import Reading, is_null, kind_at, merged, nearest, placed, places
from jobgen.yamltree import LARGEST_FILE, Map, Node, Scalar, Seq, parse

MOST_BASES = 32
MOST_MERGES = 128  # of bases, and theirs, for one profile; each can have thousands of values
MOST_LAYERS = 512  # of options, each merged by itself; a job has some ten
MOST_KEPT = 256  # files, profiles, and these with what options say on top: memory stays flat


class Resolved(NamedTuple):
    """A profile with all that it extends; `origins` has the place of every value by its path."""

    name: str
    profile: Profile
    tree: Map
    origins: Mapping[str, Mark]

    def __hash__(self) -> int:
        """It is the same as itself alone: what is made of it can be kept."""
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def origin(self, path: str) -> str:
        """Where the value at `path` was said, for a message: a place, or "jobgen's default"."""
        mark = self.origins.get(path)
        return str(mark) if mark else "jobgen's default"


def load(name: str, layers: Iterable[tuple[str, str, str]] = ()) -> Resolved:
    """The profile `name`, as a jobgen that runs here finds it; see `Profiles.load`."""
    return Profiles().load(name, layers)


class Profiles:
    """The profiles that a jobgen finds that runs in the folder `within`; each is read once.

    With `confined`, those of that folder are no links out of it, and build on nothing there, unless
    it is found by name: what is wrong with a file, and so what is in it, would be shown.
    """

    def __init__(self, within: Path = HERE, confined: bool = False) -> None:
        self.within = within
        self.confined = confined
        self._trees: dict[str, tuple[Node, list[Problem]]] = {}
        self._files: dict[Path, tuple[Node | None, list[Problem]]] = {}
        self._names: dict[str, Path] | None = None
        self._resolved: dict[tuple[str, tuple[tuple[str, str, str], ...]], Resolved] = {}

    def load(self, name: str, layers: Iterable[tuple[str, str, str]] = ()) -> Resolved:
        """The profile `name` (or the file, if it ends in .yaml), with what options say on top.

        `layers` are (option, path, value); a later one wins.

        Raises JobgenError with all problems of all files it is made of.
        """
        key = name, tuple(layers)
        if len(key[1]) > MOST_LAYERS:
            text = f"{len(key[1])} values, more than {MOST_LAYERS}"
            raise JobgenError([Problem(Mark("--set"), text, "limit", "say them in a profile")])
        if key not in self._resolved:
            if len(self._resolved) >= MOST_KEPT:
                self._resolved.clear()
            self._resolved[key] = _resolved(name, *self._tree(name), key[1])
        return self._resolved[key]

    def _tree(self, name: str) -> tuple[Node, list[Problem]]:
        if name not in self._trees:
            if len(self._trees) >= MOST_KEPT:
                self._trees.clear()
            to = Reading()
            file = self.find(name, Mark("--profile"), self.within)
            self._trees[name] = _Bases(to, self).tree(file), to.problems
        return self._trees[name]

    def find(self, name: str, mark: Mark, beside: Path, after: Path | None = None) -> Path:
        """The file of a profile, by its name or by its path from the folder `beside`.

        Where `after` is one of that name, the next one of it.
        """
        if is_path(name):
            path = beside / os.path.expanduser(native(name))
            if is_file(path):
                return path
            raise JobgenError([Problem(mark, f"no file {path}", "no-profile")])
        if not is_name(name):
            text = f"`{name:.80}` is a path, and no name"
            raise JobgenError(
                [Problem(mark, text, "no-profile", "of a file, with .yaml at its end")]
            )
        candidates = [folder / native(f"{name}.yaml") for folder in names.folders(self.within)]
        there = [path for path in candidates if is_file(path)]
        seen = [number for number, path in enumerate(there) if after and path.samefile(after)]
        if rest := there[seen[0] + 1 :] if seen else there:
            if (
                rest[0] == candidates[0]
                and not rest[0].samefile(rest[-1])
                and rest[-1] == candidates[-1]
            ):
                names.say_hidden(rest[0])
            return rest[0]
        if self._names is None:
            self._names = names.profiles(self.within, self.confined)
        hint = nearest(name, self._names)
        raise JobgenError([Problem(mark, f"no profile `{name:.80}`", "no-profile", hint)])

    def read(self, file: Path, to: Reading) -> Node | None:
        """The tree of one file, checked by itself; notes its problems."""
        if file not in self._files:
            if len(self._files) >= MOST_KEPT:
                self._files.clear()
            own = Reading()
            self._files[file] = read(file, own), own.problems
        tree, problems = self._files[file]
        to.problems += problems
        return tree


def _resolved(
    name: str, tree: Node, problems: list[Problem], layers: Iterable[tuple[str, str, str]]
) -> Resolved:
    to = Reading()
    to.problems += problems
    for option, path, value in layers:
        if layer := _layer(option, path, value, to):
            tree = merged(tree, layer)
    if to.problems:
        raise JobgenError(to.problems)
    assert isinstance(tree, Map)
    profile = ROOT.read(tree, to)
    origins = dict(places(tree))
    if problems := to.problems + conflicts(profile, origins):
        raise JobgenError(problems)
    return Resolved(_short(name), profile, tree, origins)


def _short(name: str) -> str:
    return Path(name).stem if is_path(name) else name


def is_path(name: str) -> bool:
    """Whether a profile's name is the path of its file."""
    return name.endswith((".yaml", ".yml"))


class _Bases:
    """Merges a file with its bases; each file is read once, however many build on it."""

    def __init__(self, to: Reading, profiles: Profiles) -> None:
        self.to = to
        self.profiles = profiles
        self.done: dict[Path, Node] = {}
        self.merges = 0

    def tree(self, file: Path, chain: tuple[Path, ...] = ()) -> Node:
        """The tree of a file on top of its bases' trees; notes problems of all of them."""
        key = file.resolve()
        if key not in self.done and not chain and self._leaves(file, file, Mark(str(file))):
            return Map(Mark(str(file)), {}, {})
        if key not in self.done:
            self.done[key] = self._merged(file, (*chain, file))
        return self.done[key]

    def _leaves(self, file: Path, whose: Path, mark: Mark) -> bool:
        """Whether a file is outside of the folder that it is confined to; notes it."""
        within = self.profiles.within
        below = os.path.abspath(whose).startswith(os.path.join(os.path.abspath(within), ""))
        if self.profiles.confined and below and leads_out(file, within):
            self.to.note(mark, f"{file} is outside of {within}", "outside", "keep a copy")
            return True
        return False

    def _merged(self, file: Path, chain: tuple[Path, ...]) -> Node:
        tree = self.profiles.read(file, self.to)
        if not isinstance(tree, Map):
            return Map(Mark(str(file)), {}, {})
        whole: Node = Map(tree.mark, {}, {})
        bases = list(_bases(tree))
        if len(bases) > MOST_BASES:
            text = f"{len(bases)} profiles, more than {MOST_BASES}"
            self.to.note(bases[MOST_BASES].mark, text, "limit", "a base of your own that has them")
        for base in bases[:MOST_BASES]:
            self.merges += 1
            if self.merges == MOST_MERGES + 1:
                text = f"it builds on others, and they on others, more than {MOST_MERGES} times"
                self.to.note(base.mark, text, "limit", "a base of your own that has them")
            if self.merges > MOST_MERGES:
                break
            if found := self._base(base, chain):
                whole = merged(whole, self.tree(found, chain))
        whole = merged(whole, tree)
        if isinstance(whole, Map) and "extends" not in tree.items:
            whole.items.pop("extends", None)
        return whole

    def _base(self, base: Scalar, chain: tuple[Path, ...]) -> Path | None:
        try:
            path = self.profiles.find(base.text, base.mark, chain[-1].parent, chain[-1])
        except JobgenError as error:
            self.to.problems += error.problems
            return None
        if self._leaves(path, chain[-1] if is_path(base.text) else path, base.mark):
            return None
        if any(path.samefile(other) for other in chain):
            links = " → ".join(p.stem for p in (*chain, path))
            self.to.note(base.mark, f"`extends` goes round: {links}", "cycle")
            return None
        if len(chain) > MOST_BASES:
            self.to.note(
                base.mark, f"more than {MOST_BASES} profiles on top of each other", "cycle"
            )
            return None
        return path


def _bases(tree: Map) -> Iterator[Scalar]:
    extends = tree.items.get("extends")
    items = extends.items if isinstance(extends, Seq) else [extends]
    for item in items:
        if isinstance(item, Scalar) and isinstance(item.value, str):
            yield item


def read(file: Path, to: Reading) -> Node | None:
    """The tree of one file, checked by itself; notes its problems."""
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
        tree = parse(data, str(file))
    except OSError as error:
        to.note(Mark(str(file)), f"cannot be read: {error.strerror}", "unreadable")
        return None
    except JobgenError as error:
        to.problems += error.problems
        return None
    ROOT.read(tree, to)
    return tree


def _layer(option: str, path: str, value: str, to: Reading) -> Map | None:
    """The tree in which an option says one value; notes what is wrong with it."""
    mark = Mark(option)
    keys = path.split(".")
    kind = kind_at(ROOT, keys, mark, to)
    if kind is None:
        return None
    if path == "extends":
        to.note(mark, "`extends` is for files", "usage", "name the profile with --profile")
        return None
    try:
        # Only --set can take a value away; -A null is an account of that name.
        node = kind.given(value, mark)
        if is_null(node) and not option.startswith("--set"):
            node = Scalar(mark, value, value)
        layer = placed(keys, node, mark)
    except JobgenError as error:
        to.problems += error.problems
        return None
    ROOT.read(layer, to)
    return layer
