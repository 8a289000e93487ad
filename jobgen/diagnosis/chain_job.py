"""What a chain makes of how one of its jobs ended: at the walltime, the training goes on.

A job of a chain leaves its folder, such as 12_3, beside the state of the chain, chain-12.
"""

import re
from pathlib import Path

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Verdict
from jobgen.runs.chains import read_state
from jobgen.submission.chain import all_events

_CURE = (
    "two jobs in a row got no further: the program has to save when it is warned (--signal), or"
    " more often; if it did save, name its files in launch.progress"
)


def in_chain(verdict: Verdict, logs: Path, job: str) -> Verdict:
    """The verdict on a job, or on a whole array, if a chain goes on after it or has stopped.

    `logs` is the folder of its state; `job` is 12_3, 12[3].server or the name of a job's folder.
    """
    found = re.match(r"(\d+)(?:[_\[](\d+))?", job)
    events = all_events(read_state(logs / f"chain-{found[1]}")) if found else []
    if not found or not events:
        return verdict
    own = [event for event in events if not found[2] or event.split()[1] == found[2]]
    end = own[-1] if own and " began on " not in own[-1] else ""
    last = f"chain {found[1]}: its last event: {events[-1]}"
    notes = [f"chain {found[1]}: {end}"] if end and end != events[-1] else []
    verdict = verdict._replace(notes=(*verdict.notes, *notes, last))
    if not _is_expected(verdict):
        return verdict
    if " stopped" in end:
        return verdict._replace(cure=_CURE)
    says = f"{verdict.says}, as a job of a chain may"
    says += "; the next one goes on" if " goes on" in end else ""
    return Verdict(None, says=says, notes=verdict.notes, is_expected=True)


def _is_expected(verdict: Verdict) -> bool:
    """Whether the scheduler ended the job, and nothing failed."""
    is_killed = verdict.code in codes_with("scheduler")  # by PBS, also for its memory
    return is_killed and (verdict.code in codes_with("outside") or "walltime" in verdict.says)
