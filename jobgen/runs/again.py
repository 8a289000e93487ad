"""The script of a job, to run it again from the same inputs; or what of them is gone."""

from __future__ import annotations

from jobgen.code_store.store import changed_files
from jobgen.errors import problem
from jobgen.runs.comparison import code_folder, how_to_get_back
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import place_of, read_script


def script_again(run: Run) -> bytes:
    """The very script that a job ran. Raises JobgenError if it, or what it needs, is gone."""
    script, job = read_script(run.record), run.record.job
    if run.code and (changes := changed_files(code_folder(run))):
        raise problem(job, changes, "again", how_to_get_back(run))
    environment = place_of(run.facts.environment, run.record)
    if environment and not environment.exists():
        text = f"its environment is gone: {environment}"
        raise problem(job, text, "again", run.facts.build or "make it: jobgen store build")
    return script
