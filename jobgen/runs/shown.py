"""A job as a person reads it: a row of the table, all that is known of it, or values for JSON."""

from __future__ import annotations

import os
import time
from typing import Any

from jobgen.runs.comparison import code_name
from jobgen.runs.records import Record
from jobgen.runs.runs import Run
from jobgen.schedulers.slurm_directives import clock

HEADING = ("job", "name", "begin", "took", "nodes", "state", "cause")


def row(run: Run, state: str, cause: str) -> tuple[str, ...]:
    """The columns of HEADING; a job that has not begun has the time of its submission."""
    record = run.record
    began = record.submitted if record.begin is None else record.begin
    nodes = str(len(record.nodes.split()) or "")
    return (run.id, run.facts.name, _date(began), _took(record), nodes, state, cause)


def as_values(run: Run, state: str, cause: str) -> dict[str, Any]:
    """What is known of a job, for JSON; None for what is not known."""
    record, of_script = run.record, run.facts
    values = {
        "job": record.job,
        "host": record.host,
        "name": of_script.name,
        "state": state,
        "status": record.status,
        "outside": record.outside,
        "cause": cause,
        "chain": run.event.text if run.event else "",
        "submitted": record.submitted,
        "begin": record.begin,
        "end": record.end,
        "restarts": record.restarts,
        "nodes": record.nodes.split(),
        "command": of_script.command,
        "profile": of_script.profile,
        "made_of": of_script.made_of,
        "versions": record.versions,
        "code": dict(record.code),
        "environment": os.path.basename(of_script.environment),
        "script": record.script,
        "output": str(run.output or ""),
        "logs": str(record.folder),
    }
    return {name: None if value in ("", {}) else value for name, value in values.items()}


def as_lines(run: Run, state: str) -> list[tuple[str, str]]:
    """What is known of a job, for a person: names and texts."""
    record, folder = run.record, run.record.job_folder
    shown = as_values(run, state, "") | {
        "submitted": _date(record.submitted),
        "begin": _date(record.begin),
        "end": f"{_date(record.end)}, after {_took(record)}" if record.end else "",
        "nodes": record.nodes,
        "code": code_name(run),
        "copy of the code": _place(run, run.code),
        "environment": _place(run, run.facts.environment),
        "script": run.facts.missing or str(record.script_file),
        "logs": str(folder) if folder and os.path.isdir(folder) else "",
    }
    return [(name.replace("_", " "), str(value)) for name, value in shown.items() if value]


def _place(run: Run, path: str) -> str:
    """A path here, and whether it is gone."""
    place = run.place_of(path)
    return f"{place}{'' if os.path.exists(place) else ' (gone)'}" if place else path


def _date(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _took(record: Record) -> str:
    """How long a job ran, as Slurm shows it: 1-02:03:04."""
    if record.begin is None or record.end is None or record.end < record.begin:
        return ""
    return clock(round(record.end - record.begin)) or ""
