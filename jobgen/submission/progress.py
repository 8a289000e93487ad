"""Shows a job's status on stderr: one line, rewritten, on a terminal; else one line a change."""

import os
import re
import sys
import unicodedata

from jobgen.errors import report
from jobgen.submission.job_queue import JobStatus

TAIL_BYTES = 8192  # of the output, in which the last line is searched
# Colours and the like, by ECMA-48; other characters that cannot be printed go one by one.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Progress:
    """The display of one job."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.shown: object = None
        self.is_terminal = (
            sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        )

    def show(self, status: JobStatus) -> None:
        """Show a job that has not ended."""
        text, output = str(status), last_line(status.output)
        self._show((status.state, status.restarts), text, f"{text}  {output}")

    def show_failure(self, error: str) -> None:
        """Show why the status is not known at the moment."""
        text = f"the query failed, retrying: {' '.join(error.split())}"
        self._show("failure", text, text)

    def _show(self, state: object, line: str, rewritten: str) -> None:
        """Rewrite the line of a terminal; elsewhere, write one when the state has changed."""
        if self.is_terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            text = displayable(f"job {self.job}: {rewritten}", sys.stderr.encoding)
            sys.stderr.write(f"\r{shorten(text, width - 1)}\x1b[K")
            sys.stderr.flush()
        elif state != self.shown:
            report(f"job {self.job}: {line}")
        self.shown = state

    def finish(self, text: str) -> None:
        """Write the last line."""
        if self.is_terminal:
            sys.stderr.write("\r\x1b[K")
        report(f"job {self.job}: {text}")


def last_line(file: str) -> str:
    """The last line of a file that is not blank; "" if there is none, or no such file here."""
    try:
        if not os.path.isfile(file):  # opening a pipe would wait for its writer
            return ""
        with open(file, "rb") as stream:
            stream.seek(max(os.path.getsize(file) - TAIL_BYTES, 0))
            lines = re.split(r"[\r\n]+", stream.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return ""
    return next((line for line in reversed(lines) if line.strip()), "")


def displayable(text: str, encoding: str) -> str:
    """`text` without what moves the cursor; what the terminal cannot show becomes a `?`."""
    plain = _ESCAPES.sub("", text).replace("\t", " ")
    shown = "".join(character for character in plain if character.isprintable())
    return shown.encode(encoding, "replace").decode(encoding)


def shorten(text: str, columns: int) -> str:
    """As much of `text` as fits into so many columns."""
    for place, character in enumerate(text):
        if unicodedata.category(character) not in ("Mn", "Me"):
            columns -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if columns < 0:
            return text[:place]
    return text
