"""The script of a job, to run it again from the same inputs; or what of them is gone."""

from __future__ import annotations

from jobgen.errors import problem
from jobgen.runs.comparison import changed_file, code_files_of
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import place_of, read_script


def script_again(run: Run) -> bytes:
    """The very script that a job ran. Raises JobgenError if it, or what it needs, is gone."""
    record, job = run.record, run.record.job
    script = read_script(record)
    if script is None:
        if not record.script:
            text, hint = "its script came through a pipe", "make it again with the same options"
        elif record.script_file.exists():
            text = f"{record.script_file} is not the script that it ran"
            hint = "make it again with the same options"
        else:
            text = f"its script is gone: {record.script_file}"
            hint = f"make it again; the right one has the SHA-256 {record.script}"
        raise problem(job, text, "again", hint)
    if run.facts.code:
        _check_code(run)
    environment = place_of(run.facts.environment, record)
    if environment and not environment.exists():
        text = f"its environment is gone: {environment}"
        raise problem(job, text, "again", run.facts.build or "make it: jobgen store build")
    return script


def _check_code(run: Run) -> None:
    """Raise JobgenError if the copy of the code is gone, or is not what was submitted."""
    code = code_files_of(run)
    commit = run.record.code.get("commit")
    get_back = (
        f"check out its commit {commit}, and make" if commit else "restore the files, and make"
    )
    hint = f"{get_back} the script there again: the same code has the same name in the store"
    if code.problem:
        raise problem(run.record.job, code.problem, "again", hint)
    if name := changed_file(code):
        text = f"its copy of the code was changed: {code.folder}/{name}"
        raise problem(run.record.job, text, "again", hint)
