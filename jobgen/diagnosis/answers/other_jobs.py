"""Leaves out what a person saved of another job than the one whose output is read."""

import re
from typing import BinaryIO

from jobgen.diagnosis.judging.case import Case

# A job of an array has a second number, which the answer may not show.
_OF_ANSWER = re.compile(rb"\bJob(?:_?Id|ID)=(\d+)(?![\d_\[])")
_OF_LINE = re.compile(r"\b(?:StepId=|\*\*\* (?:JOB|STEP) )(\d+)\b")
_OF_NAME = re.compile(r"(?:^|/)slurm-(\d+)\.(?:out|err)$|\.[oe](\d+)$")


def jobs_of(answer: BinaryIO) -> set[str]:
    """The jobs that the facts in a stream are on."""
    jobs = {found.decode() for found in _OF_ANSWER.findall(answer.read())}
    answer.seek(0)
    return jobs


def leave_out_other_jobs(case: Case) -> list[str]:
    """Take the answers on other jobs out of a case, if its logs have their job's number.

    Returns the names of these files.
    """
    logs = [event for event in case.events if event.file not in case.facts]
    own = {found[1] for event in logs if (found := _OF_LINE.search(event.text))}
    names = (_OF_NAME.search(file) for file in case.lines.keys() - case.facts)
    own |= {found[1] or found[2] for found in names if found}
    others = {file for file, jobs in case.jobs.items() if jobs and own and not jobs & own}
    case.events = [event for event in case.events if event.file not in others]
    case.ended_well -= others
    case.states = {file: states for file, states in case.states.items() if file not in others}
    return sorted(others)
