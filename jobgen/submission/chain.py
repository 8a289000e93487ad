"""How a chain has ended: its jobs keep one file, and the last line of it says so.

A chain is an array, of which jobs may have failed or be cancelled although the training is done. So
its exit status is not the worst one of its jobs.
"""

import re
from pathlib import Path

from jobgen.errors import report
from jobgen.submission.queues.job_queue import JobStatus

DONE_FOR_GOOD = 93  # the exit status of a program that must not go on
_EVENT = re.compile(r"\S+ (job \d+ (?:began on|goes on|is done|stopped)\b.*)")


def last_event(file: Path) -> str:
    """The last event in the state of a chain; "" if the file is none."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = (_EVENT.fullmatch(line) for line in reversed(text.splitlines()))
    return next((each[1] for each in found if each), "")


def chain_status(event: str) -> int | None:
    """0 or DONE_FOR_GOOD if the training is done by its last event, 1 if it stopped; else None."""
    if " is done: " in event:
        return DONE_FOR_GOOD if event.endswith(f" {DONE_FOR_GOOD}") else 0
    return 1 if re.match(r"job \d+ stopped\b", event) else None


def end_of_chain(status: JobStatus, logs: Path | None) -> JobStatus:
    """The status of a chain, of the last one of its array: 0 if the training is done.

    `logs` is the folder of its state, if that is known here.
    """
    number = re.sub(r"\D.*", "", status.job)
    event = last_event(logs / f"chain-{number}") if logs else ""
    if status.exit_status is None or not event:
        return status
    report(f"chain {number}: {event}{_advice(event, number)}")
    ended = chain_status(event)
    return status._replace(exit_status=status.exit_status or 1 if ended is None else ended)


def _advice(event: str, number: str) -> str:
    """What to do after the last event of a chain of which no job is left."""
    if " is done: " in event:
        return ""
    if " stopped" in event:
        return f"; jobgen why {number} says what failed"
    return "; no job is left: submit the script again to go on"
