"""How a chain has ended: its jobs keep one file, and the last line of it says so.

A chain is an array, of which jobs may have failed or be cancelled although the training is done. So
its exit status is not the worst one of its jobs.
"""

import re
from pathlib import Path

from jobgen.errors import report
from jobgen.submission.queues.job_queue import JobStatus

_EVENT = re.compile(r"\S+ (job \d+ (?:began on|goes on|is done|stopped)\b.*)")


def last_event(file: Path) -> str:
    """The last event in the state of a chain; "" if the file is none."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = (_EVENT.fullmatch(line) for line in reversed(text.splitlines()))
    return next((each[1] for each in found if each), "")


def end_of_chain(status: JobStatus, logs: Path | None) -> JobStatus:
    """The status of a chain, of the last one of its array: 0 if the training is done.

    `logs` is the folder of its state, if that is known here.
    """
    number = re.sub(r"\D.*", "", status.job)
    event = last_event(logs / f"chain-{number}") if logs else ""
    if status.exit_status is None or not event:
        return status
    report(f"chain {number}: {event}")
    if " is done: " in event:
        return status._replace(exit_status=93 if event.endswith(" 93") else 0)
    return status._replace(exit_status=status.exit_status or 1)
