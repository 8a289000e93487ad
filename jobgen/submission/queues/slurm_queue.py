"""Slurm's queue: sbatch, scontrol show job, scancel; for many jobs squeue and sacct."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from jobgen.submission.queues.job_queue import JobQueue, JobStatus
from jobgen.submission.queues.many_jobs import ManyJobs, Waiting, array_of


def parse_status(answer: str) -> JobStatus | None:
    """The status in `scontrol show job`; for an array, all states and the worst exit status."""
    jobs = [_record_status(record) for record in split_records(answer)]
    if len(jobs) < 2:
        return jobs[0] if jobs else None
    states = [job.state for job in jobs]
    ended = [job.exit_status for job in jobs if job.exit_status is not None]
    return jobs[0]._replace(
        state=", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)),
        note="",
        restarts=sum(job.restarts for job in jobs),
        exit_status=max(ended) if len(ended) == len(jobs) else None,
        array_jobs=tuple(each for job in jobs for each in job.array_jobs),
    )


# These states are final: while a job is ending, scontrol shows COMPLETING.
_FINAL = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED"
    " RECONFIG_FAIL REVOKED TIMEOUT".split()
)


def find_field(record: str, pattern: str) -> str:
    """The first group of a pattern that begins a line, or "" without a match.

    The first line is not searched: it has the job's name, which may look like a field.
    """
    found = re.search(rf"^ +{pattern}", record, re.MULTILINE)
    return found[1] if found else ""


def split_records(answer: str) -> list[str]:
    """The records of `scontrol show job`, one for each job of an array."""
    return [text for text in re.split(r"\n\s*\n", answer) if "JobState=" in text]


def _record_status(record: str) -> JobStatus:
    field = partial(find_field, record)
    state, reason = field(r"JobState=(\w+)"), field(r"JobState=.*? Reason=(.*?)(?: Dependency=|$)")
    code = int(field(r"Requeue=.*? ExitCode=(\d+):") or 0)
    signal = int(field(r"Requeue=.*? ExitCode=\d+:(\d+)") or 0) if state == "FAILED" else 0
    end = f"exit code {code}" if code else f"signal {signal}" if signal else ""
    status = 0 if state == "COMPLETED" else code or (128 + signal if signal else 1)
    number = re.search(r"JobId=(\d+)", record)
    exit_status = status if state in _FINAL else None
    wait_reason = reason if state == "PENDING" and reason != "None" else ""
    return JobStatus(
        state=state,
        note=end if state in _FINAL else wait_reason,
        restarts=int(field(r"Requeue=.*? Restarts=(\d+)") or 0),
        elapsed=field(r"RunTime=(\S+)") if state != "PENDING" else "",
        output=field(r"StdOut=(.*)$"),
        exit_status=exit_status,
        array_jobs=((number[1] if number else "", exit_status),),
    )


QUEUE = JobQueue(
    submit=("sbatch", "--parsable"),  # without --wait, which exits with 0 after the loss of a node
    # scontrol knows a job until MinJobAge after its end; sacct is not on every site.
    queries=(("scontrol", "show", "job"),),
    cancel=("scancel",),
    id_pattern=r"(?P<job>\d+)(?:;(?P<cluster>\S+))?",
    unknown_job_pattern="Invalid job id specified",
    parse_status=parse_status,
)


def parse_states(answer: str) -> dict[str, JobStatus]:
    """The states in the lines of `squeue`, by the jobs' ids; an array may have several lines."""
    rows: dict[str, list[list[str]]] = {}
    for line in answer.splitlines():
        words = line.split("|", 3)
        if len(words) == 4 and words[0].isdigit():
            rows.setdefault(words[0], []).append(words[1:])
    return {job: _joined(each) for job, each in rows.items()}


def _parse_ended(answer: str) -> dict[str, JobStatus]:
    """The states in the lines of `sacct`, which adds by whom a job was cancelled."""
    rows: dict[str, list[list[str]]] = {}
    for line in answer.splitlines():
        job, _, state = line.partition("|")
        if state:
            rows.setdefault(array_of(job), []).append([state.split(" ")[0].strip("+"), "", ""])
    return {job: _joined(each) for job, each in rows.items()}


def _joined(rows: Iterable[Sequence[str]]) -> JobStatus:
    """The status of a job, or of all lines of an array: state, elapsed time, reason."""
    states, times, reasons = zip(*rows, strict=True)
    counts = {state: states.count(state) for state in states}
    text = ", ".join(f"{count} {state}" for state, count in counts.items())
    has_ended = set(states) <= _FINAL
    is_waiting = states == ("PENDING",) and reasons[0] != "None"
    return JobStatus(
        state=text if len(states) > 1 else states[0],
        note=reasons[0] if is_waiting else "",
        elapsed="" if set(states) == {"PENDING"} else max(times, key=len),
        exit_status=int(set(states) != {"COMPLETED"}) if has_ended else None,
    )


def _find(name: str, ask: Callable[[Sequence[str]], str]) -> Iterator[Waiting]:
    user = ask(("id", "-un")).strip()
    shape = "--format=%F\x1f%j\x1f%Z"  # a name may have any other character
    answer = ask(("squeue", "--noheader", f"--user={user}", shape))  # --name splits at commas
    for line in answer.splitlines():
        words = line.split("\x1f")
        if len(words) == 3 and words[1] == name:
            yield Waiting(*words)


MANY = ManyJobs(
    # It also shows jobs that have ended, for MinJobAge, whose default is five minutes.
    states=("squeue", "--noheader", "--states=all", "--format=%F|%T|%M|%r", "--jobs"),
    ended=("sacct", "-X", "--noheader", "--parsable2", "--format=JobID,State", "--jobs"),
    are_joined=True,
    parse=parse_states,
    parse_ended=_parse_ended,
    unknown_job_pattern=QUEUE.unknown_job_pattern,
    find=_find,
)
