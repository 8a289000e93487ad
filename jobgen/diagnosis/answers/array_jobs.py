"""Several jobs in the answers of a scheduler, as of an array: some may have ended well."""

import re
from typing import BinaryIO

from jobgen.diagnosis.judging.case import Case
from jobgen.errors import listed

_FACT = re.compile(
    r"(?:scontrol: JobState|sacct: State)=(?P<state>[A-Z_]+).*? Job(?:Id|ID)=(?P<job>\d+(?:_\d+)?)"
    r"(?P<step>\S*)(?: ArrayTask=(?P<task>\S+))?"
)
# In a log's name: sweep-10_2.out; a number alone may be any, but for slurm-12.out and train.o12.
_OF_TASK, _OF_JOB = r"(?<![\d_]){}(?![\d_])", r"(?:^slurm-|\.[oe]){}(?:\.|$)"
_WELL = "COMPLETED"
_NOT_ENDED = ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED")
_MOST_SHOWN = 8


def states_in(answer: BinaryIO) -> dict[str, str]:
    """The states of the jobs that the facts in a stream are on, by a job's name, as 10_2."""
    facts = map(_FACT.match, answer.read().decode("utf-8", "replace").splitlines())
    answer.seek(0)
    return {_name(found): found["state"] for found in facts if found and not found["step"]}


def _name(fact: re.Match[str]) -> str:
    return fact["task"] or fact["job"]


def leave_out_ended_well(case: Case) -> tuple[str, ...]:
    """Take what ended well out of a case in which other jobs did not, and say so in a note.

    That another job ended well says nothing of one that failed, and what its log has is no failure.
    """
    states = {job: state for each in case.states.values() for job, state in each.items()}
    well = [job for job, state in states.items() if state == _WELL]
    if not well or len(well) == len(states):
        return ()
    case.ended_well.clear()
    case.says_end = False
    logs = {file for file in case.lines if file not in case.facts and _is_of(file, well)}
    case.events = [e for e in case.events if e.file not in logs and not _is_fact_on(e.text, well)]
    case.suspects = [event for event in case.find_suspects() if event.file not in logs]
    failed = [job for job, state in states.items() if state not in (_WELL, *_NOT_ENDED)]
    about = f": this is about {listed(failed, _MOST_SHOWN)}" if failed else ""
    return (f"{listed(well, _MOST_SHOWN)} ended well{about}",)


def _is_of(file: str, jobs: list[str]) -> bool:
    name = file.rpartition("/")[2]
    forms = ((_OF_TASK if "_" in job else _OF_JOB).format(job) for job in jobs if job in name)
    return any(re.search(form, name) for form in forms)


def _is_fact_on(text: str, jobs: list[str]) -> bool:
    fact = _FACT.match(text)
    return fact is not None and _name(fact) in jobs
