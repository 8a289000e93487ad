"""What a chain makes of how one of its jobs ended: at the walltime, the training goes on.

A job of a chain leaves its folder, such as 12_3, beside the state of the chain, chain-12.
"""

import re
from pathlib import Path

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Verdict
from jobgen.runs.chains import read_chain

_CURE = (
    "two jobs in a row got no further: the program has to save when it is warned (--signal), or"
    " more often; if it did save, name its files in launch.progress"
)


def in_chain(verdict: Verdict, logs: Path, job: str) -> Verdict:
    """The verdict on a job, or on a whole array, if a chain goes on after it or has stopped.

    `logs` is the folder of its state; `job` is 12_3, 12[3].server or the name of a job's folder.
    """
    found = re.match(r"(\d+)(?:[_\[](\d+))?", job)
    events = read_chain(logs, found[1]) if found else []
    if not found or not events:
        return verdict
    own = [event for event in events if found[2] in (None, event.job)]
    end = own[-1] if own and own[-1].state else None
    last = f"chain {found[1]}: its last event: {events[-1].text}"
    notes = [f"chain {found[1]}: {end.text}"] if end and end.text != events[-1].text else []
    verdict = verdict._replace(notes=(*verdict.notes, *notes, last))
    if not _is_expected(verdict):
        return verdict
    if end and end.has_stopped:
        return verdict._replace(cure=_CURE)
    says = f"{verdict.says}, as a job of a chain may"
    says += "; the next one goes on" if end and end.state.startswith("goes on") else ""
    return Verdict(None, says=says, notes=verdict.notes, is_expected=True)


def _is_expected(verdict: Verdict) -> bool:
    """Whether the scheduler ended the job, and nothing failed."""
    is_killed = verdict.code in codes_with("scheduler")  # by PBS, also for its memory
    return is_killed and (verdict.code in codes_with("outside") or "walltime" in verdict.says)
