"""Compares a kept script with the one that its command makes now."""

from dataclasses import dataclass
from pathlib import Path

from jobgen.errors import JobgenError, problem
from jobgen.generator import Generator, Generators
from jobgen.planning.parser import parse_command
from jobgen.quoting import split_words
from jobgen.scripts.header import FIRST_VERSION, Header, read_header

CURRENT = "current"
EDITED = "edited by hand"
STALE = "stale"
UNKNOWN = "stale, or edited by hand"
IMPOSSIBLE = "no longer possible"
UNTRUSTED = "not checked"
NO_CHECKSUM = "it has no checksum, like the scripts of older versions"


@dataclass(frozen=True)
class Verdict:
    """The states of a script, and why; `generated` is what its command makes now."""

    states: tuple[str, ...]
    reason: str = ""
    generated: bytes = b""

    @property
    def is_current(self) -> bool:
        return self.states == (CURRENT,)

    @property
    def loses_edit(self) -> bool:
        """Whether an edit would be lost if the script was generated again."""
        return EDITED in self.states or UNKNOWN in self.states

    def __str__(self) -> str:
        states = ", and ".join(self.states)
        return f"{states}: {self.reason}" if self.reason else states


def judge(path: Path, header: Header, generators: Generators) -> Verdict:
    """The verdict on the script with that header at a path."""
    try:
        generated = _generate_again(header, generators.of(path))
    except JobgenError as error:
        edited = (EDITED,) if header.is_edited else ()
        is_untrusted = any(each.code == "untrusted" for each in error.problems)
        state = UNTRUSTED if is_untrusted else IMPOSSIBLE
        return Verdict((*edited, state), str(error).replace("\n", "\n  "))
    return compare(header, generated)


def _generate_again(header: Header, generator: Generator) -> bytes:
    """The script that the command in a header makes; no shell ever sees that command."""
    try:
        words = split_words(header.command)
    except ValueError as error:
        raise problem("the command in its header", str(error), "usage") from None
    return generator.script_bytes(parse_command(words[1:]), header.manifest)


def compare(header: Header, generated: bytes) -> Verdict:
    """The verdict on a script with that header, if its command makes `generated` now."""
    new = read_header(generated)
    same_body = new is not None and header.body == new.body and header.manifest == new.manifest
    if same_body and new and header.checksum == new.checksum:
        return Verdict((CURRENT,))
    if not header.checksum:
        state = STALE if same_body else UNKNOWN  # only the checksum may be missing
        return Verdict((state,), NO_CHECKSUM, generated)
    if header.is_edited and new and (same_body or header.checksum == new.checksum):
        return Verdict((EDITED,), "", generated)
    reason = _changes(header, new)
    if header.is_edited:
        why = f"its command was edited, or {reason}" if reason else "its command was edited"
        return Verdict((EDITED, STALE), why, generated)
    return Verdict((STALE,), reason or "jobgen changed", generated)


def _changes(old: Header, new: Header | None) -> str:
    """What has changed since a script was made: its profile, its template, …; "" if nothing."""
    new_parts = new.parts if new else {}
    if not old.parts:
        made_by = f"it was made by jobgen {FIRST_VERSION}"
        if "machinery" in new_parts:  # which that version did not have
            return f"the machinery changed, and perhaps more; {made_by}"
        return f"{made_by}, whose scripts were different"
    changed = [
        name
        for name in ("profile", "template", "trainer", "machinery")
        if old.parts.get(name) != new_parts.get(name)
    ]
    sentences = [f"the {' and the '.join(changed)} changed"] if changed else []
    versions = old.parts.get("jobgen"), new_parts.get("jobgen")
    if versions[0] != versions[1]:
        sentences.append(f"it was made by jobgen {versions[0]}")
    if old.manifest != (new.manifest if new else ""):
        sentences.append("it belongs to a different manifest")
    return "; ".join(sentences)
