"""A mail to a site's administrators on a failure that only they can mend.

It has the node, the time, the class and the lines that show the failure, and nothing of the user's:
paths, names of users, addresses of mail and tokens are masked.
"""

import getpass
import re
from contextlib import suppress

from jobgen.diagnosis.classes import classes
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.lines.labels import clock
from jobgen.diagnosis.report import shortened
from jobgen.errors import printable

_LENGTH = 300  # characters of a line
_SYSTEM = r"(?:dev|etc|lib|lib64|opt|proc|sys|usr|var/log)/"
_MASKS = (
    (rf"(?<![\w.:/])/(?!{_SYSTEM})[\w.+@~-]+(?:/[^\s:,'\"<>()]*)?", "PATH"),
    (r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "ADDRESS"),
    (r"\b(?:user(?:name)?|uid|gid|account)[=: ]+[\w.-]+", "USER"),
    (r"\b(?:hf_|gh[pousr]_|sk-)?[A-Za-z0-9]{32,}\b", "TOKEN"),
)


def as_mail(verdict: Verdict) -> str:
    """The mail; the class of the verdict has what the administrators need."""
    found = classes()[verdict.code or ""]
    node = verdict.node or "unknown: see the lines"
    parts = [
        f"Subject: {verdict.node or 'a node'}: {_masked(verdict.says)}",
        f"Node: {node}",
        f"Time: {clock(verdict.time)}" if verdict.time is not None else "",
        f"Class: {found.code} ({found.title}), {verdict.certainty}",
        *[f"Its kernel and GPUs noted: {', '.join(verdict.node_notes)}"] * bool(verdict.node_notes),
        f"To look at: {found.send}",
        "Lines:",
        *(f"    {_masked(event.text.strip())}" for event in verdict.evidence if event.text),
    ]
    subject, *rest = filter(None, parts)
    return "".join(f"{printable(line)}\n" for line in (subject, "", *rest))


def _masked(text: str) -> str:
    with suppress(KeyError, OSError):  # a user without a name
        text = re.sub(rf"\b{re.escape(getpass.getuser())}\b", "USER", text)
    for pattern, name in _MASKS:
        text = re.sub(pattern, name, text, flags=re.IGNORECASE)
    return shortened(text, _LENGTH)
