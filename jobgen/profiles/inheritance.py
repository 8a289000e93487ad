"""Merges a profile with the profiles that it extends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from jobgen.errors import JobgenError, Mark
from jobgen.limits import BASES, MERGES
from jobgen.paths import is_outside, is_same_file
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.search import is_profile_path
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, merge


class Library(Protocol):
    """What finds and reads the files of profiles."""

    within: Path
    confined: bool

    def find(self, name: str, mark: Mark, folder: Path, after: Path | None = None) -> Path: ...
    def read(self, file: Path, problems: ProblemList) -> Node | None: ...


class Inheritance:
    """Merges files with their bases; each file is merged once, however many files extend it."""

    def __init__(self, problems: ProblemList, library: Library) -> None:
        self.problems = problems
        self.library = library
        self.trees: dict[Path, Node] = {}
        self.merges = 0

    def tree(self, file: Path, chain: tuple[Path, ...] = ()) -> Node:
        """The tree of a file, merged over its bases' trees; the problems of all are noted."""
        key = file.resolve()
        if key not in self.trees and not chain and self._is_forbidden(file, file, Mark(str(file))):
            return Map(Mark(str(file)), {}, {})
        if key not in self.trees:
            self.trees[key] = self._merged(file, (*chain, file))
        return self.trees[key]

    def _is_forbidden(self, file: Path, named_by: Path, mark: Mark) -> bool:
        """Whether a file is outside the folder that it is confined to; notes it."""
        within = self.library.within
        below = os.path.abspath(named_by).startswith(os.path.join(os.path.abspath(within), ""))
        if self.library.confined and below and is_outside(file, within):
            text = f"{file} is outside {within}"
            self.problems.note(mark, text, "outside", "keep a copy")
            return True
        return False

    def _merged(self, file: Path, chain: tuple[Path, ...]) -> Node:
        tree = self.library.read(file, self.problems)
        if not isinstance(tree, Map):
            return Map(Mark(str(file)), {}, {})
        whole: Node = Map(tree.mark, {}, {})
        for base in self._bounded(list(_bases(tree))):
            if found := self._find_base(base, chain):
                whole = merge(whole, self.tree(found, chain))
        whole = merge(whole, tree)
        if isinstance(whole, Map) and "extends" not in tree.items:
            whole.items.pop("extends", None)
        return whole

    def _bounded(self, bases: list[Scalar]) -> Iterator[Scalar]:
        """The bases, as far as BASES and MERGES go; notes the first one beyond."""
        hint = "one base of your own that has them"
        if len(bases) > BASES:
            text = f"{len(bases)} profiles, more than {BASES}"
            self.problems.note(bases[BASES].mark, text, "limit", hint)
        for base in bases[:BASES]:
            self.merges += 1
            if self.merges == MERGES + 1:
                text = f"more than {MERGES} merges of bases and their bases"
                self.problems.note(base.mark, text, "limit", hint)
            if self.merges > MERGES:
                return
            yield base

    def _find_base(self, base: Scalar, chain: tuple[Path, ...]) -> Path | None:
        file = chain[-1]
        try:
            path = self.library.find(base.text, base.mark, file.parent, file)
        except JobgenError as error:
            self.problems.found += error.problems
            return None
        if self._is_forbidden(path, file if is_profile_path(base.text) else path, base.mark):
            return None
        if any(is_same_file(path, other) for other in chain):
            names = " → ".join(p.stem for p in (*chain, path))
            self.problems.note(base.mark, f"`extends` forms a circle: {names}", "cycle")
            return None
        if len(chain) > BASES:
            text = f"a chain of more than {BASES} profiles"
            self.problems.note(base.mark, text, "cycle")
            return None
        return path


def _bases(tree: Map) -> Iterator[Scalar]:
    extends = tree.items.get("extends")
    items = extends.items if isinstance(extends, Seq) else [extends]
    for item in items:
        if isinstance(item, Scalar) and isinstance(item.value, str):
            yield item
