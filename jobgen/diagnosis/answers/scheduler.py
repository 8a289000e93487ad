"""The facts on a job in a file with the answer of sacct, scontrol show job, or qstat -f."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import BinaryIO

from jobgen.bounds import ANSWER_BYTES
from jobgen.submission.queues.pbs_queue import parse_attributes
from jobgen.submission.queues.slurm_accounting import fact

# Fields in the order of their importance; the first field tells the class of failure.
# The time of its end is before that of its beginning: the first time is that of the fact.
_SLURM_FIELDS = "JobState Reason ExitCode DerivedExitCode EndTime StartTime TimeLimit NodeList"
_PBS_FIELDS = (
    "job_state obittime mtime stime comment exec_host run_count Resource_List.walltime"
    " Resource_List.mem resources_used.walltime resources_used.mem resources_used.vmem"
)
Facts = Iterator[tuple[int, str]]  # the index of a line, and the fact that it shows

_JOB = re.compile(r"\d+(?:_(?:\d+|\[.*\]))?(?:\+\d+)?")
_TASK = r"\s*JobId=\d+ ArrayJobId=(\d+) ArrayTaskId=(\d+)\s"  # before the job's name
_CUT_OFF = "OUT_OF_ME+"  # in sacct's usual width; the other long states only lose "by USER"


def value_in(record: str, name: str) -> str:
    """The first value with this name in a record, up to the next blank."""
    found = re.search(rf"(?:^|\s){name}=(\S+)", record)
    return found[1] if found else ""


def control_fact(record: str) -> str:
    """The facts in a record of scontrol, on one line."""
    body = record.partition("\n")[2]  # the first line has the job's name
    fields = {name: value_in(body, name) for name in _SLURM_FIELDS.split()}
    shown = (f"{name}={value}" for name, value in fields.items() if value not in ("", "(null)"))
    task = re.match(_TASK, record)
    of_array = [f"ArrayTask={task[1]}_{task[2]}"] if task else []
    return " ".join(["scontrol:", *shown, f"JobId={value_in(record, 'JobId')}", *of_array])


def pbs_fact(attributes: dict[str, str]) -> str:
    """The facts on one line, exit status first; Torque writes exit_status, with other numbers."""
    status = next((n for n in ("Exit_status", "exit_status") if n in attributes), "")
    names = [name for name in (status, *_PBS_FIELDS.split()) if name in attributes]
    shown = " ".join(f"{name}={attributes[name]}" for name in names)
    return f"qstat: {shown} Job_Id={attributes.get('Job Id', '')}"


def facts_in(stream: BinaryIO) -> bytes | None:
    """The facts, each on the line of the file that shows it; None if other text is in the file.

    A job's script may print such an answer, too: then the file is the job's output.
    """
    data = stream.read(ANSWER_BYTES + 1)
    stream.seek(0)
    lines = data.decode("utf-8", "surrogateescape").splitlines()
    for read in (_of_scontrol, _of_qstat, _of_sacct) if len(data) <= ANSWER_BYTES else ():
        with suppress(ValueError):
            facts = dict(read(lines))
            if not facts:
                continue
            shown = (" ".join(facts.get(index, "").split()) for index in range(len(lines)))
            return "\n".join(shown).encode("utf-8", "surrogateescape")
    return None


def _of_scontrol(lines: list[str]) -> Facts:
    for begin, end in _records(lines, r"JobId=\d+ ", r"   \S+="):
        record = "\n".join(lines[begin:end])
        if "\n" not in record.strip():  # of scontrol --oneliner
            record = record.replace(" UserId=", "\n UserId=", 1)
        states = (n for n in range(begin, end) if "JobState=" in lines[n])
        yield next(states, begin), control_fact(record)


def _of_qstat(lines: list[str]) -> Facts:
    for begin, end in _records(lines, r"Job Id: \S+$", r" {4}|\t"):
        attributes = parse_attributes("\n".join(lines[begin:end]))
        shown = (n for n in range(begin, end) if re.match(r" +[Ee]xit_status = ", lines[n]))
        yield next(shown, begin), pbs_fact(attributes)


def _records(lines: list[str], first: str, other: str) -> Iterator[tuple[int, int]]:
    """Where each record begins and ends. Raises ValueError for a line of another form."""
    begins: list[int] = []
    for index, line in enumerate(lines):
        if re.match(first, line):
            begins.append(index)
        elif line.strip() and not (begins and re.match(other, line)):
            raise ValueError(line)
    return pairwise([*begins, len(lines)])


def _of_sacct(lines: list[str]) -> Facts:
    """The facts in a table of sacct, with or without --parsable.

    It is of one job or one array, and of its steps.
    """
    head = next((n for n, line in enumerate(lines) if line.strip()), 0)
    cells, begin = _cells([*lines[head : head + 2], "", ""])
    names = cells(lines[head])
    rows = {n: cells(line) for n, line in enumerate(lines) if n >= head + begin and line.strip()}
    jobs = set[str]()
    for number, row in rows.items():
        account = dict(zip(names, row, strict=True))
        job = account.get("JobID") or account.get("JobIDRaw", "")
        state = account.get("State", "").replace(_CUT_OFF, "OUT_OF_MEMORY").rstrip("+")
        found = _JOB.match(job)
        jobs.add(found[0].partition("_")[0] if found else job)
        if not found or len(jobs) > 1:
            raise ValueError(job)
        yield number, fact({**account, "JobID": job, "State": state})


def _cells(head: list[str]) -> tuple[Callable[[str], list[str]], int]:
    """What splits a line of sacct's table into cells, and how many lines its head has."""
    if "|" in head[0]:
        end = "|" * head[0].endswith("|")
        return lambda line: line.removesuffix(end).split("|"), 1
    if not set("-") <= set(head[1]) <= set("- "):
        raise ValueError(head[1])
    spans = [found.span() for found in re.finditer("-+", head[1])]
    return lambda line: [line[begin:end].strip() for begin, end in spans], 2
