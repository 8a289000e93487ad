"""A job as a person reads it: a row of the table, all that is known of it, or values for JSON."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from jobgen.errors import JobgenError
from jobgen.runs.comparison import code_name
from jobgen.runs.records import Record
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import place_of, read_script
from jobgen.schedulers.slurm_directives import clock

HEADING = ("job", "name", "begin", "took", "nodes", "state", "cause")


def row(run: Run, state: str, cause: str) -> tuple[str, ...]:
    """The columns of HEADING; a job that has not begun has the time of its submission."""
    record = run.record
    began = record.submitted if record.begin is None else record.begin
    nodes = str(len(record.nodes.split()) or "")
    return (record.job, run.facts.name, _date(began), _took(record), nodes, state, cause)


def facts(run: Run, state: str) -> Iterator[tuple[str, str]]:
    """What is known of a job, each fact with its name; "" for what is not known."""
    record, of_script = run.record, run.facts
    yield "job", f"{record.job}: {state}"
    yield "name", of_script.name
    yield "submitted", _date(record.submitted)
    restarts = f", after {record.restarts} restarts" * (record.restarts > 0)
    yield "began", _date(record.begin) + restarts
    yield "ended", _date(record.end) + f", after {_took(record)}" * (record.end is not None)
    yield "nodes", record.nodes
    yield "command", of_script.command
    yield "profile", of_script.profile
    yield "made of", of_script.made_of
    yield "versions", record.versions
    yield "code", code_name(run)
    yield "its copy", _place(run.code, record)
    yield "environment", _place(of_script.environment, record)
    script = str(record.script_file)
    try:
        read_script(record)
    except JobgenError as error:
        script = error.problems[0].text
    yield "script", script
    folder = record.job_folder
    yield "logs", str(folder) if folder and folder.is_dir() else ""


def as_values(run: Run, state: str, cause: str) -> dict[str, Any]:
    """What is known of a job, for JSON; None for what is not known."""
    record, of_script = run.record, run.facts
    values = record._asdict()
    values |= {
        "name": of_script.name,
        "state": state,
        "cause": cause,
        "restarts": record.restarts,
        "nodes": record.nodes.split(),
        "code": dict(record.code),
        "environment": os.path.basename(of_script.environment),
        "profile": of_script.profile,
        "command": of_script.command,
        "made_of": of_script.made_of,
        "logs": str(values.pop("folder")),
    }
    return {name: None if value in ("", {}) else value for name, value in values.items()}


def _place(path: str, record: Record) -> str:
    """A path here, and whether it is gone."""
    place = place_of(path, record)
    return f"{place}{'' if place.exists() else ' (gone)'}" if place else path


def _date(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _took(record: Record) -> str:
    """How long a job ran, as Slurm shows it: 1-02:03:04."""
    if record.begin is None or record.end is None or record.end < record.begin:
        return ""
    return clock(round(record.end - record.begin)) or ""
