"""How a job's standing is shown on stderr: one line in place on a terminal, else one a change."""

from __future__ import annotations

import os
import re
import sys
import unicodedata

from jobgen.errors import tell
from jobgen.schedulers.queue import Standing

TAIL = 8192  # bytes of the output in which its last line is looked for
# Colours and the like, by ECMA-48; what else cannot be printed goes one by one.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Progress:
    """What is shown of one job."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.told: object = None
        self.terminal = (
            sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        )

    def show(self, now: Standing) -> None:
        """How the job stands."""
        if self.terminal:
            self._rewrite(f"{_said(now)}  {last_line(now.output)}")
        elif (now.state, now.restarts) != self.told:
            tell(f"job {self.job}: {_said(now)}")
        self.told = now.state, now.restarts

    def trouble(self, text: str) -> None:
        """Why that is not known for the moment."""
        text = " ".join(text.split())
        if self.terminal:
            self._rewrite(f"asked again in a moment: {text}")
        elif self.told != "trouble":
            tell(f"job {self.job}: asked again in a moment: {text}")
        self.told = "trouble"

    def over(self, now: Standing) -> int:
        """How the job ended; its exit status."""
        self.end(_said(now) + (f"; output: {now.output}" if now.output else ""))
        return now.status or 0

    def end(self, text: str) -> None:
        """The last line."""
        if self.terminal:
            sys.stderr.write("\r\x1b[K")
        tell(f"job {self.job}: {text}")

    def _rewrite(self, text: str) -> None:
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        line = visible(f"job {self.job}: {text}", sys.stderr.encoding)
        sys.stderr.write(f"\r{cut(line, width - 1)}\x1b[K")
        sys.stderr.flush()


def _said(now: Standing) -> str:
    """Such as: RUNNING (restart 1), 0:10:00."""
    notes = [now.note, f"restart {now.restarts}" if now.restarts else ""]
    note = ", ".join(filter(None, notes))
    return now.state + (f" ({note})" if note else "") + (f", {now.elapsed}" if now.elapsed else "")


def last_line(file: str) -> str:
    """The last line of a file that is not blank; "" if there is none, or no such file here."""
    try:
        if not os.path.isfile(file):  # to open a pipe would wait for its writer
            return ""
        with open(file, "rb") as stream:
            stream.seek(max(os.path.getsize(file) - TAIL, 0))
            lines = re.split(r"[\r\n]+", stream.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return ""
    return next((line for line in reversed(lines) if line.strip()), "")


def visible(text: str, encoding: str) -> str:
    """`text` without what would move the cursor; what the terminal cannot show becomes a `?`."""
    plain = _ESCAPES.sub("", text).replace("\t", " ")
    shown = "".join(character for character in plain if character.isprintable())
    return shown.encode(encoding, "replace").decode(encoding)


def cut(text: str, columns: int) -> str:
    """As much of `text` as fits."""
    for place, character in enumerate(text):
        if unicodedata.category(character) not in ("Mn", "Me"):
            columns -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if columns < 0:
            return text[:place]
    return text
