"""Slurm's accounting (sacct): the records of a job and its steps, and the job's output files."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path

Query = Callable[[tuple[str, ...]], str]

_SEPARATOR = "\x1f"  # the names of jobs may have any other character
_FIELDS = (
    *("State", "JobID", "ExitCode", "DerivedExitCode", "Reason"),
    *("End", "Start", "Timelimit", "NodeList", "MaxRSS", "MaxRSSNode"),
)
_JOB_FIELDS = ("JobIDRaw", "JobName", "User", "WorkDir")
# A field that sacct does not know is an error, so queries with newer fields are tried first.
_NEWER_FIELDS = ("SubmitLine StdOut StdErr", "SubmitLine", "")  # Slurm 24.05, 21.08, older
_DEFAULT, _DEFAULT_OF_ARRAY = "slurm-%j.out", "slurm-%A_%a.out"
_NOTHING = ("", "None", "Unknown", "(null)")


Account = Mapping[str, str]  # sacct's record of a job, or of one of its steps (12.0, 12.batch)


def fact(account: Account) -> str:
    """A record as a line in which `jobgen why` looks for signs; "" for a step without a failure."""
    if _is_step(account) and account["State"] in ("COMPLETED", "RUNNING", ""):
        return ""
    shown = (f"{n}={account[n]}" for n in _FIELDS if account.get(n, "") not in _NOTHING)
    return " ".join(["sacct:", *shown])


def _is_step(account: Account) -> bool:
    return "." in account["JobID"]


def query_accounting(job: str, cluster: str, query: Query) -> list[dict[str, str]]:
    """The records of a job and then of its steps; none if sacct does not know the job."""
    on_cluster = ("-M", cluster) if cluster else ()
    for newer in _NEWER_FIELDS:
        names = [*_FIELDS, *_JOB_FIELDS, *newer.split()]
        shape = ("--parsable2", "--noheader", f"--delimiter={_SEPARATOR}")
        answer = query(("sacct", *on_cluster, "-j", job, *shape, f"--format={','.join(names)}"))
        rows = [line.split(_SEPARATOR) for line in answer.splitlines()]
        whole = [row for row in rows if len(row) == len(names)]
        if whole:
            return [dict(zip(names, row, strict=True)) for row in whole]
    return []


def output_paths(accounts: Iterable[Account], query: Query) -> list[str]:
    """The output and error files of the jobs among the records; steps have none."""
    paths = []
    for job in accounts:
        if not _is_step(job):
            patterns = [job.get("StdOut", ""), job.get("StdErr", "")]
            patterns = patterns if any(patterns) else _patterns_of_sbatch(job, query)
            paths += [expand_pattern(p, _values(job), job["WorkDir"]) for p in patterns if p]
    return paths


def _patterns_of_sbatch(fields: Account, query: Query) -> list[str]:
    """The patterns of --output and --error, from sbatch's words, the script, or the defaults."""
    words = _words(fields.get("SubmitLine", ""))
    if not _option(words, "o", "output"):
        script = query(("sacct", "-j", fields["JobIDRaw"], "--batch-script"))
        directives = re.findall(r"^#SBATCH\s+(.*)$", script, re.MULTILINE)
        words = [*words, *(word for line in directives for word in _words(line))]
    default = _DEFAULT_OF_ARRAY if "_" in fields["JobID"] else _DEFAULT
    return [_option(words, "o", "output") or default, _option(words, "e", "error")]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quotation mark that is not closed
        return line.split()


def _option(words: list[str], short: str, long: str) -> str:
    """The value of -o FILE, -oFILE, --output FILE or --output=FILE; the first option counts."""
    for word, following in pairwise([*words, ""]):
        if word in (f"-{short}", f"--{long}"):
            return following
        if word.startswith(f"--{long}="):
            return word.partition("=")[2]
        if word.startswith(f"-{short}") and not word.startswith("--"):
            return word[2:]
    return ""


def _values(fields: Account) -> dict[str, str]:
    array, _, task = fields["JobID"].partition("_")
    host = re.match(r"[^,[]+(?:\[(\d+))?", fields["NodeList"])
    return {
        "j": fields["JobIDRaw"],
        "A": array,
        "a": task,
        "u": fields["User"],
        "x": fields["JobName"],
        "N": host[0].replace("[", "") if host else "",
    }


def expand_pattern(name: str, values: Mapping[str, str], folder: str) -> str:
    """The path of a file, with sbatch's patterns replaced (%j, %A, %a, %4a, %N, %u, %x, %%).

    %n, %s and %t have the values of a batch script. A name with a backslash keeps its patterns.
    """
    own = {"%": "%", "n": "0", "s": "batch", "t": "0", "b": values["a"][-1:] or "0"}
    letters = {**own, "J": values["j"], **{k: v for k, v in values.items() if v}}

    def fill(found: re.Match[str]) -> str:
        width, letter = found[1], found[2]
        text = letters.get(letter)
        return found[0] if text is None else text.zfill(int(width or 0)) if letter != "%" else "%"

    expanded = name.replace("\\", "") if "\\" in name else re.sub(r"%(\d?)([\w%])", fill, name)
    return str(Path(folder) / expanded)
