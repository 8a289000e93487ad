"""A job as a person reads it: a row of the table, all that is known of it, or values for JSON."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from jobgen.runs.comparison import code_name
from jobgen.runs.records import Record
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import place_of, read_script

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
    yield (
        "began",
        _date(record.begin) + f", after {record.restarts} restarts" * (record.restarts > 0),
    )
    yield "ended", _date(record.end) + f", after {_took(record)}" * (record.end is not None)
    yield "nodes", record.nodes
    yield "command", of_script.command
    yield "profile", of_script.profile
    yield "made of", of_script.made_of
    yield "versions", record.versions
    yield "code", code_name(run)
    yield "copy of it", _place(of_script.code, record)
    yield "environment", _place(of_script.environment, record)
    gone = "" if read_script(record) else " (gone)"
    yield "script", f"{record.script_file}{gone}" if record.script else "it came through a pipe"
    folder = record.job_folder
    yield "logs", str(folder) if folder and folder.is_dir() else ""


def as_values(run: Run, state: str, cause: str) -> dict[str, Any]:
    """What is known of a job, for JSON; None for what is not known."""
    record, of_script = run.record, run.facts
    return {
        "job": record.job,
        "name": of_script.name or None,
        "state": state,
        "status": record.status,
        "outside": record.outside or None,
        "cause": cause or None,
        "submitted": record.submitted,
        "begin": record.begin,
        "end": record.end,
        "restarts": record.restarts,
        "nodes": record.nodes.split(),
        "versions": record.versions or None,
        "code": dict(record.code) or None,
        "environment": os.path.basename(of_script.environment) or None,
        "profile": of_script.profile or None,
        "command": of_script.command or None,
        "made_of": of_script.made_of or None,
        "script": record.script or None,
        "logs": str(record.folder),
    }


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
    minutes, seconds = divmod(round(record.end - record.begin), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return (
        f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
        if days
        else f"{hours}:{minutes:02}:{seconds:02}"
    )
