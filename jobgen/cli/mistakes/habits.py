"""Values that are right for an option of sbatch or qsub, and mean another thing here."""

import re
from collections.abc import Iterator

from jobgen.cli.mistakes.shell_words import check_first_word
from jobgen.errors import JobgenError, problem
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import BATCH
from jobgen.profiles.search import profile_files
from jobgen.quoting import quote


def check_habits(job: Job, script: str | None) -> None:
    """Raise JobgenError for a value of the other meaning; `script` is the value of -o."""
    if script and job.command in BATCH and re.search(r"%[a-zA-Z]|\.(out|err|log)$|/$", script):
        raise _output(job.command, script)
    for flag, value in _values(job):
        _check_value(flag, value)
    _check_lists(job)
    _check_profile(job)
    check_first_word(job)
    for text in job.environment:
        if re.fullmatch(r"[^=]*([/%][^=]*|\.(out|err|log|txt))", text):
            hint = f"write --set request.error={quote(text)}"
            raise problem("-e", f"-e sets a variable, and {text!r:.60} is a file", "value", hint)
    _check_nodes(job)
    found = re.search(r"@(\d+)$", job.signal or "")
    if found:
        text = f"the signal is always SIGUSR1, to the ranks; not {job.signal!r:.40}"
        raise problem("--signal", text, "value", f"write --signal {found[1]}")
    _check_arrays(job)


def _check_nodes(job: Job) -> None:
    """Raise JobgenError for a list or a range of nodes, or for nodes and ranks, instead of -N N."""
    names = r"[A-Za-z][\w.-]*(?:\d|\[[\d,-]+\])"
    if job.command == "sbatch" and re.fullmatch(rf"{names}(,{names})*", job.nodes or ""):
        from jobgen.planning.host_list import expand  # only a mistake needs it

        text = f"-N is a number, and {job.nodes!r:.60} a list of nodes"
        count = len(expand([str(job.nodes)]))
        hint = f"write -N {count} --directive={quote(f'--nodelist={job.nodes}')}"
        raise problem("-N", text, "value", hint)
    number = re.fullmatch(r"(\d+)-(\d+)", job.nodes or "")
    if number:
        hint = f"write -N {number[1]}:{number[2]}"
        raise problem("-N", f"a range of nodes has a colon, not {job.nodes!r:.40}", "value", hint)
    if number := re.fullmatch(r"(\d+)x(\d+)", job.nodes or ""):
        key = f"--set launch.processes_per_node={number[2]}"
        hint = f"write -N {number[1]} -G {number[2]}, a rank for each GPU; without GPUs, {key}"
        raise problem("-N", f"{job.nodes!r:.40} is nodes and ranks of each", "value", hint)


def _values(job: Job) -> Iterator[tuple[str, str]]:
    for name, row in job_options(job.command):
        value = getattr(job, name) if row.metavar else None
        for text in value if isinstance(value, tuple) else [value] if value else []:
            yield row.flags[0], text


def _check_value(flag: str, value: str) -> None:
    """Raise JobgenError for a value that is not of the option, as in `-p=gpu` or `--mail END`."""
    if len(flag) == 2 and flag != "-e" and value.startswith("="):
        hint = f"write {flag} {quote(value[1:])}"
        raise problem(flag, f"a letter has its value without `=`, not {value!r:.60}", "value", hint)
    if flag == "--directive" and (found := re.match("(-[A-Za-z]) ?=(.*)", value)):
        hint = f"write --directive={quote(found[1] + found[2])}"
        raise problem(flag, f"a letter has its value without `=`, not {value!r:.60}", "value", hint)
    if flag == "--directive" and (found := re.match("(?:--time=|-t ?)(.*)", value)):
        text = "jobgen has an option for the walltime, which knows the limits of the profile"
        raise problem(flag, text, "value", f"write -t {quote(found[1])}")
    if flag == "--mail" and value.count("@") > 1:
        hint = f"write --mail {quote(re.split('[,; ]', value)[0])}"
        raise problem(flag, f"one address, not {value!r:.60}", "value", hint)
    if flag == "--mail" and re.fullmatch(r"(?i)(begin|end|fail|all|,)+", value):
        when = "begin,end,fail" if value.lower() == "all" else value.lower()
        hint = f"write --mail ADDRESS --mail-on {when}"
        raise problem(flag, f"{value!r:.40} says when to send mail", "value", hint)


def _check_profile(job: Job) -> None:
    """Raise JobgenError for a profile that is named as a partition or queue."""
    name = job.partition or job.queue
    if job.profile is None and name in profile_files():
        text = f"no profile is named, and {name} is one"
        raise problem("--profile", text, "usage", f"write --profile {name}")


def _check_lists(job: Job) -> None:
    """Raise JobgenError for several values in one, as --export of sbatch and -l of qsub take."""
    for text in job.environment:
        if text in ("ALL", "NONE", "NIL"):
            hint = "name each variable that the ranks need: -e NAME"
            if job.command == "sbatch":
                hint = f"write --directive=--export={text}"
                hint = "the default: leave it out" if text == "ALL" else hint
            raise problem("-e", f"{text} is a word of --export, and no variable", "value", hint)
        if re.fullmatch(r"\w+=[^,=]*(,[A-Z_][A-Z0-9_]*=[^,=]*)+", text):
            hint = f"write {' '.join(f'-e {quote(each)}' for each in text.split(','))}"
            name, _, value = text.partition("=")
            hint += f"; for one value: --set {quote(f'network.environment.{name}={value}')}"
            raise problem("-e", f"{text!r:.60} are several variables", "value", hint)
    for text in job.set_values:
        pairs = re.split(r",(?=[a-z]+\.[a-z_.]+=)", text)
        if len(pairs) > 1:
            hint = f"write {' '.join(f'--set {quote(each)}' for each in pairs)}"
            raise problem("--set", f"{text!r:.80} has values of several keys", "value", hint)


def _output(command: str, script: str) -> JobgenError:
    text = f"-o names the file of the script, and {script!r:.80} one for the job's output"
    hint = f"write --set request.output={quote(script)}"
    if command == "qsub" and "%" in script:
        folder = script.rpartition("/")[0] or "logs"
        hint = f"write --set request.output={quote(f'{folder}/')}; PBS replaces no %, and names"
        hint += " the files there JOBID.OU"
    return problem("-o", text, "value", hint)


_ARRAY = r"\d+-\d+(:\d+)?(%\d+)?"


def _check_arrays(job: Job) -> None:
    """Of qsub, -N is the name and -J an array; of others, -t is one, or it is in the name."""
    if job.nodes and re.match(r"[A-Za-z]{2}", job.nodes):
        text = f"{job.nodes!r:.60} is not a number of nodes"
        hint = f"for the job's name, write -J {quote(job.nodes)}; for a number, as -N 2"
        raise problem("-N", text, "value", hint)
    if found := re.fullmatch(r"(\d+) *(?:\.\.|:|to) *(\d+)", job.array or ""):
        text = f"{job.array!r:.40} is not an array"
        raise problem("--array", text, "value", f"write --array {found[1]}-{found[2]}")
    if job.command == "qsub" and re.fullmatch(_ARRAY, job.time or ""):
        text = f"-t is the walltime, and {job.time!r:.40} an array"
        days = f", or for days and hours -t {job.time}:00:00" * ("%" not in str(job.time))
        raise problem("-t", text, "value", f"write --array {job.time}{days}")
    if found := re.fullmatch(rf"([\w.-]+)\[({_ARRAY})\](%\d+)?", job.name or ""):
        hint = f"write -J {found[1]} --array {found[2]}{found[5] or ''}"
        raise problem("-J", f"{job.name!r:.40} is a name and an array", "value", hint)
    if job.name and re.fullmatch(_ARRAY, job.name):
        text = f"-J is the job's name, and {job.name!r:.40} is an array"
        raise problem("-J", text, "value", f"write --array {job.name}")
