"""What a job ran from: its script, its copy of the code, its environment; or what of it is gone."""

from __future__ import annotations

import os
from pathlib import Path

from jobgen.code_store.store import changed_files
from jobgen.errors import problem
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import read_script


def script_again(run: Run) -> bytes:
    """The very script that a job ran. Raises JobgenError if it, or what it needs, is gone."""
    script, job = read_script(run.record), run.record.job
    if run.code and (changes := changed_files(code_folder(run))):
        raise problem(job, changes, "again", _how_to_get_back(run))
    environment = run.place_of(run.facts.environment)
    if environment and not os.path.exists(environment):
        text = f"its environment is gone: {environment}"
        raise problem(job, text, "again", run.facts.build or "make it: jobgen store build")
    return script


def code_folder(run: Run) -> Path:
    """A job's copy of the code. Raises JobgenError if there is none here."""
    folder, text = run.place_of(run.code), "it ran no copy of the code"
    if folder and os.path.isdir(folder):
        return folder
    if folder:
        text = f"its copy of the code is gone: {folder}"
    elif run.code:
        text = f"where its copy of the code is, is not known here: {run.code}"
    raise problem(run.record.job, text, "code", _how_to_get_back(run))


def _how_to_get_back(run: Run) -> str:
    """The hint that brings a copy of the code back; "" if the job ran none."""
    commit = run.record.code.get("commit")
    is_commit = commit and not run.record.code.get("differs")
    get_files = f"check out its commit {commit}" if is_commit else "restore the files"
    hint = f"{get_files}, and make the script there again: the same code has the same name"
    return hint if run.code else ""
