"""PBS's queue: qsub, qstat -f, qdel."""

import re
from collections.abc import Iterator

from jobgen.submission.queues.job_queue import JobQueue, JobStatus, QueuedJob, seconds_of

_WORDS = "QUEUED HELD WAITING TRANSIT BEGUN RUNNING SUSPENDED EXITING FINISHED MOVED"
_STATES = {word[0]: word for word in _WORDS.split()} | {"U": "SUSPENDED"}  # U: host in use


def parse_status(answer: str) -> JobStatus | None:
    """The status in the text of `qstat -f`; older versions of PBS have no `-F json`."""
    attributes = parse_attributes(answer)
    letter = attributes.get("job_state", "")
    if not letter:
        return None
    wait_reason = attributes.get("comment", "") if letter in "QHW" else ""
    return JobStatus(
        state=_STATES.get(letter, letter),
        note=_end(attributes) if letter == "F" else wait_reason,
        restarts=max(_number(attributes.get("run_count"), 0) - 1, 0),
        elapsed=attributes.get("resources_used.walltime", ""),
        output=file_of(attributes, "Output_Path", "OU"),
        exit_status=_shell_status(attributes.get("Exit_status")) if letter in "FM" else None,
    )


def parse_attributes(answer: str) -> dict[str, str]:
    """The attributes in the text of `qstat -f`, with the job's id as `Job Id`."""
    text = answer.replace("\n\t", "")  # qstat folds long lines
    job_id = re.match(r"Job Id: (\S+)", text)
    attributes = {"Job Id": job_id[1]} if job_id else {}
    for name, value in re.findall(r"^ +([\w.]+) = (.*)$", text, re.MULTILINE):
        attributes.setdefault(name, value)
    return attributes


def file_of(attributes: dict[str, str], name: str, ending: str) -> str:
    """The file in an attribute such as Output_Path; PBS names the file if that is a folder."""
    path = attributes.get(name, "").partition(":")[2]
    is_folder = path.endswith("/") and "Job Id" in attributes
    return f"{path}{attributes['Job Id']}.{ending}" if is_folder else path


def _shell_status(text: str | None) -> int:
    """Exit_status as a shell's: 256+N is signal N; PBS's own codes, such as -29, give 1."""
    number = _number(text, -1)
    return 1 if number < 0 else number if number < 256 else 128 + number - 256


def _number(text: str | None, other: int) -> int:
    """A number in an answer, which may be a stranger's (--host); `other` if it is none."""
    return int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else other


def _end(attributes: dict[str, str]) -> str:
    if "Exit_status" not in attributes:
        return "it never ran"
    number = _number(attributes["Exit_status"], -1)
    if number == _WALLTIME:
        return "walltime exceeded"
    return f"signal {number - 256}" if number >= 256 else f"exit status {number}"


_WALLTIME = -29  # JOB_EXEC_KILL_WALLTIME


# 35 and 153 are for jobs that have ended since qselect. `-t` adds the jobs of arrays.
_OWN = """\
jobs=$(qselect -u "$(id -un)") || exit
[[ ! $jobs ]] || qstat -t -f $jobs || [[ $? == 35 || $? == 153 ]]"""
_TIME = "%a %b %d %H:%M:%S %Y"


def parse_jobs(answer: str) -> Iterator[QueuedJob]:
    """The jobs in the text of `qstat -f` about several ones; those of arrays until their ends."""
    for record in re.split(r"^(?=Job Id: )", answer, flags=re.MULTILINE):
        attributes, status = parse_attributes(record), parse_status(record)
        if "Job Id" in attributes and status and status.state != "X":
            folder = re.search(r"(?:^|,)PBS_O_WORKDIR=([^,]+)", attributes.get("Variable_List", ""))
            yield QueuedJob(
                attributes["Job Id"],
                status,
                attributes.get("Job_Name", ""),
                folder[1] if folder else "",
                seconds_of(attributes.get("ctime", ""), _TIME),
            )


QUEUE = JobQueue(
    submit=("qsub",),
    # `-x` finds jobs that have ended; it is an error if the server keeps no history.
    queries=(("qstat", "-f"), ("qstat", "-x", "-f")),
    cancel=("qdel",),
    id_pattern=r"(?P<job>\d+(?:\[\])?(?:\.[\w.-]+)?)",
    unknown_job_pattern="Unknown Job Id",
    parse_status=parse_status,
    own_jobs_line=_OWN,
    parse_own_jobs=parse_jobs,
    ended=("qstat", "-x", "-f"),
    parse_ended=parse_jobs,
    # qstat shows a job's exit status only if the server keeps a history, which is not the default.
    blocking_options=("-W", "block=true"),
)
