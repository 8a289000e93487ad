"""Are generated scripts still what jobgen makes? `jobgen check` tells, and `--fix` mends."""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobgen import shell
from jobgen.errors import USAGE, JobgenError, printable, problem, tell
from jobgen.header import LARGEST, NEAR, Head, head
from jobgen.job import asked
from jobgen.maker import Maker, Makers, repository
from jobgen.paths import leads_out, native, walked
from jobgen.write import rewrite, write

CURRENT = "current"
EDITED = "edited by hand"
STALE = "stale"
UNKNOWN = "stale, or edited by hand"
IMPOSSIBLE = "no longer possible"
AROUND = 16  # lines around all changes; a diff shows three, and may shift a change among its like
MOST_COMPARED = 2000  # lines; a script has some hundreds
_WHY = {
    STALE: "the profile, a template, the trainer or jobgen has changed",
    UNKNOWN: "there is no checksum, as in scripts of older versions",
}


@dataclass(frozen=True)
class Verdict:
    """What was found out about a script; `wanted` is what it would be now."""

    states: tuple[str, ...]
    why: str = ""
    wanted: bytes = b""

    @property
    def current(self) -> bool:
        return self.states == (CURRENT,)

    @property
    def loses(self) -> bool:
        """Whether an edit would be lost if the script was made again."""
        return EDITED in self.states or UNKNOWN in self.states

    def __str__(self) -> str:
        states = ", and ".join(self.states)
        why = self.why or "; ".join(_WHY[state] for state in self.states if state in _WHY)
        return f"{states}: {why}" if why else states


def check_all(paths: Sequence[str], fix: bool, force: bool) -> int:
    """Say of every script what it is; 0 if all are current (in the end, with `fix`), else 1.

    Raises JobgenError for wrong usage; a path that cannot be read is told, and gives exit code 2.
    """
    if force and not fix:
        raise problem("--force", "it is for --fix alone", "usage")
    makers, counts, code = Makers(), Counter[str](), 0

    def skipped(error: OSError) -> None:
        unreadable(error)
        counts["unreadable"] += 1

    for path, real in _files(paths, skipped):
        try:
            data = read(path)
            found = verdict(path, data, makers) if data else None
            if not data or not found:
                counts["other files"] += 1
                continue
            fixed = fix and bool(found.wanted) and not found.current and (force or not found.loses)
            if fixed:
                if read(path) != data:
                    raise problem(str(path), "it has changed meanwhile", "edited", "check again")
                # A stranger's link to a script of the user's; its profiles are not for that.
                within = repository(Path(os.path.abspath(path)).parent)
                if within and leads_out(Path(real), within):
                    text = f"a link out of {within}, behind which nothing is written"
                    raise problem(str(path), text, "outside", "fix the file itself")
                rewrite(path, real, found.wanted)
        except JobgenError as error:
            tell(str(error))
            counts["unreadable"] += 1
            continue
        write(_said(path, data, found, fixed, fix))
        for state in ("fixed",) if fixed else found.states:
            counts[state] += 1
        code = max(code, int(not (found.current or fixed)))
    tell(_summary(counts))
    return USAGE if counts["unreadable"] else code


def verdict(path: Path, data: bytes, makers: Makers) -> Verdict | None:
    """What is to be said of a file's bytes; None if jobgen has not made them."""
    top = head(data)
    if top is None:
        return None
    try:
        wanted = _again(top, makers.of(path))
    except JobgenError as error:
        edited = (EDITED,) if top.edited else ()
        return Verdict((*edited, IMPOSSIBLE), str(error).replace("\n", "\n  "))
    return compared(top, data, wanted)


def compared(top: Head, data: bytes, wanted: bytes) -> Verdict:
    """What is to be said of a file's bytes, where now they would be `wanted`."""
    if wanted == data:
        return Verdict((CURRENT,))
    edited = (EDITED,) if top.edited else ()
    now = head(wanted)
    if not top.said:  # nothing but the checksum may be missing
        state = STALE if now and now.said == top.true else UNKNOWN
        return Verdict((state,), _WHY[UNKNOWN], wanted)
    if edited and now and (now.said == top.said or now.rest == top.rest):
        return Verdict((EDITED,), "", wanted)
    return Verdict(
        (*edited, STALE), f"its command was edited, or {_WHY[STALE]}" if edited else "", wanted
    )


def read(path: Path) -> bytes:
    """The bytes of a script; none of a file that cannot be one. Raises JobgenError."""
    try:
        # It would wait for who writes to a pipe.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            state = os.fstat(file)
            if not stat.S_ISREG(state.st_mode):
                raise problem(str(path), "no regular file", "unreadable")
            data = os.read(file, NEAR)
            if b"jobgen" not in data:
                return b""
            if state.st_size > LARGEST:
                if head(data):
                    text = f"a script of {state.st_size} bytes"
                    raise problem(str(path), text, "unreadable", f"jobgen makes at most {LARGEST}")
                return b""
            while more := os.read(file, LARGEST):
                data += more
            return data
        finally:
            os.close(file)
    except OSError as error:
        raise problem(str(path), f"cannot be read: {error.strerror}", "unreadable") from None


def _again(top: Head, maker: Maker) -> bytes:
    """The script that the command in a head asks for: it is parsed here, and given to no shell."""
    try:
        words = shell.words(top.command)
    except ValueError as error:
        raise problem("the command in its head", str(error), "usage") from None
    job = asked(words[1:])
    return maker.script(job, top.manifest).encode("utf-8")


def _files(paths: Iterable[str], skipped: Callable[[OSError], None]) -> Iterator[tuple[Path, str]]:
    """The files that are named, and those in folders but hidden ones and links; each once.

    With their paths without links. `skipped` is told of folders that cannot be read.
    """
    seen: set[str] = set()
    for text in paths:
        if not text:
            raise problem("jobgen check", "an empty path", "usage", "`.` is the folder you are in")
        top = native(text)
        found = walk(top, skipped) if os.path.isdir(top) else [(top, os.path.realpath(top))]
        for path, real in found:
            if real not in seen:
                seen.add(real)
                yield path, real


def unreadable(error: OSError) -> None:
    """Say which folder cannot be read."""
    tell(f"{error.filename}: cannot be read: {error.strerror} [unreadable]")


def walk(top: Path, skipped: Callable[[OSError], None]) -> Iterator[tuple[Path, str]]:
    """The files below a folder, but hidden ones and links, and their paths without links.

    `skipped` is told of folders that cannot be read.
    """
    for folder, folders, names in walked(top, skipped):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        real = os.path.realpath(folder)
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and _may_be_script(path):
                yield path, f"{real}/{name}"


def _may_be_script(path: Path) -> bool:
    """Whether it is a file, and no link to one; Path asks the system twice."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:  # of a folder that lists its files and lets nobody at them: `read` says so
        return True


def _said(path: Path, data: bytes, found: Verdict, fixed: bool, fix: bool) -> str:
    line = f"{path}: {'fixed: it was ' if fixed else ''}{found}"
    lost = fix and not fixed and found.wanted and not found.current
    if lost:
        line += "; --fix --force would lose the edit"
    text = "\n".join(map(printable, line.split("\n"))) + "\n"
    if found.wanted and not fixed:
        text += "".join(_diff(str(path), data, found.wanted))
    return text


def _diff(name: str, old: bytes, new: bytes) -> Iterator[str]:
    """A unified diff, coloured on a terminal; what would move its cursor is shown as escapes."""
    from click import style

    colours = {"-": "red", "+": "green", "@": "cyan"}
    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for line in _changes(name, *(_lines(data.decode("utf-8", "replace")) for data in (old, new))):
        shown = line[:1] + "\t".join(map(printable, line[1:].split("\t")))
        colour = colours.get(line[:1]) if coloured else None
        yield (style(shown, fg=colour) if colour else shown) + "\n"


def _changes(name: str, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The lines of a unified diff; difflib takes the square of what it looks at in time."""
    least = min(len(before), len(after))
    head = next((n for n in range(least) if before[n] != after[n]), least)
    most = range(least - head)
    tail = next((n for n in most if before[~n] != after[~n]), least - head)
    if max(len(before), len(after)) - head - tail > MOST_COMPARED:
        yield f"  it differs from line {head + 1} on, in more than {MOST_COMPARED} lines"
        return
    first, last = max(head - AROUND, 0), max(tail - AROUND, 0)
    old, new = (lines[first : len(lines) - last] for lines in (before, after))
    for line in difflib.unified_diff(old, new, name, f"{name}, made now", lineterm=""):
        if line.startswith("@"):  # the places; a line of a text has another mark before it
            line = re.sub(r"(?<=[-+])\d+", lambda found: str(int(found[0]) + first), line)
        yield line


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*lines, f"{last}  (no newline at the end)"] if last else lines


def _summary(counts: Counter[str]) -> str:
    states = (CURRENT, "fixed", EDITED, STALE, UNKNOWN, IMPOSSIBLE, "unreadable")
    said = [f"{counts[state]} {state}" for state in states if counts[state]]
    return f"{', '.join(said) or 'no script'}; {counts['other files']} other files passed over"
