"""Slurm: its directives, its quoting, its limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from jobgen.errors import problem
from jobgen.plan import Plan
from jobgen.schedulers import seen
from jobgen.shell import UNSEEN

if TYPE_CHECKING:
    from jobgen.schedulers.queue import Standing

TEMPLATE = "sbatch.sh.j2"
VARIABLES = (
    *("SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_NODEID"),
    *("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_ARRAY_TASK_ID"),
)
# Slurm takes any name, but a / or .. would lead the output, whose path has it, to another folder.
NAME_RULE = rf"(?i:(?!.*(?:packjob|hetjob)))(?!\.\.?$)[^/{UNSEEN}]+"
NAME_RULE_IN_WORDS = "one line of visible characters, not . or .., without /, hetjob and packjob"
TIME_RULE_IN_WORDS = (
    "write minutes (90), H:MM:SS (1:30:00) or D-HH:MM:SS (2-12:00:00), at most 24855 days"
)
ARRAY_INDEX = "SLURM_ARRAY_TASK_ID"
LAUNCHERS = ("torchrun", "srun")
ELASTIC = SIGNALS = REQUEUES_AT_WALLTIME = True

_TIME = re.compile(
    r"(?P<days>\d+)-(?P<dh>\d+)(:(?P<dm>\d+)(:(?P<ds>\d+))?)?"
    r"|(?P<h>\d+):(?P<hm>\d+):(?P<hs>\d+)|(?P<m>\d+)(:(?P<s>\d+))?",
    re.ASCII,
)
_LONGEST_TIME = 24855 * 86400
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=^\[\]*&|-]+")
# Bytes that slurmctld takes (src/slurmctld/job_mgr.c, `_validate_job_desc`).
_LONGEST = {
    **dict.fromkeys(
        "account comment constraint job-name licenses mail-user partition prefer qos reservation"
        " wckey".split(),
        1024,
    ),
    **dict.fromkeys(("array", "error", "input", "output"), 4096),
}
# sbatch reads a line with one of these words anywhere as a separator (src/sbatch/opt.c).
_SEPARATOR = re.compile("packjob|hetjob", re.IGNORECASE)


def seconds(walltime: str) -> int | None:
    """Seconds of M, M:S, H:M:S, D-H, D-H:M or D-H:M:S (sbatch(1), --time): `90` is 90 minutes.

    sbatch counts them in 31 bits: of 24856 days it makes another time (22.05, measured).
    """
    found = _TIME.fullmatch(walltime)
    if not found or len(walltime) > 20:
        return None
    part = {name: int(text or 0) for name, text in found.groupdict().items()}
    hours = part["days"] * 24 + part["dh"] + part["h"]
    minutes = part["dm"] + part["hm"] + part["m"]
    length = hours * 3600 + minutes * 60 + part["ds"] + part["hs"] + part["s"]
    return length if length <= _LONGEST_TIME else None


def directives(plan: Plan) -> tuple[str, ...]:
    """The #SBATCH lines, in one fixed order; the user's own come last."""
    output_folder(plan)  # raises for one that nobody can make
    if plan.array and plan.output:
        _check_own_files("request.output", plan.output)
    return tuple(f"#SBATCH {word}" for word in _words(_wanted(plan), plan, quoted))


def _check_own_files(where: str, path: str) -> None:
    """Raise JobgenError for a file that all jobs of an array would write."""
    if path != "/dev/null" and not re.search("[ajJ]", "".join(_patterns(path))):
        text = f"all jobs of the array would write {path!r:.60}"
        raise problem(where, text, "conflict", "have %a or %j in it")


def output_folder(plan: Plan) -> str:
    """As Slurm replaces %x and %% (sbatch(1), filename pattern); the number is not known yet."""
    path = plan.output or ""
    folder, _, name = path.rpartition("/")
    if plan.output is not None and name in ("", ".", ".."):
        text = f"{path!r:.60} is no file, and Slurm would start no job"  # JobLaunchFailure, 22.05
        raise problem("request.output", text, "value", "say the file's name, too")
    if "\\" in path:
        return folder.replace("\\", "")
    if found := next((pattern for pattern in _patterns(folder) if pattern != "%x"), None):
        text = f"the output's folder has {found} in it, which only Slurm knows, and makes no folder"
        raise problem("request.output", text, "value", "use it in the file's name alone")
    return re.sub("%[%x]", lambda found: plan.name if found[0] == "%x" else "%", folder)


def _patterns(path: str) -> list[str]:
    r"""What Slurm replaces in a path, but %%: nothing where there is a \, which goes (measured)."""
    found = [] if "\\" in path else re.findall("%%|%[0-9]*[a-zA-Z]", path)
    return [pattern for pattern in found if pattern != "%%"]


def lost_without(plan: Plan) -> str:
    """Slurm opens the file before the script runs, and the job fails without a word."""
    return f"the job's output goes to {output_folder(plan)}, or is lost"


def interactive(plan: Plan) -> tuple[str, ...]:
    """`salloc` with what the directives ask for; a whole node needs no count of its cores."""
    wanted = _wanted(plan)
    dropped = {"output", "signal", "requeue", "open-mode", "mail-user", "mail-type"}
    dropped |= {"ntasks-per-node", "cpus-per-task"} if plan.exclusive else set()
    dropped |= set() if plan.named else {"job-name"}
    kept = {name: value for name, value in wanted.items() if name not in dropped}
    return ("salloc", *_words(kept, plan, str))


Wanted = dict[str, str | int | bool]


def _wanted(plan: Plan) -> Wanted:
    whole = {"all": "0"}
    wanted: dict[str, str | int | bool | None] = {
        "job-name": plan.name,
        "partition": plan.partition,
        "account": plan.account,
        "qos": plan.qos,
        "reservation": plan.reservation,
        "constraint": plan.constraint,
        "nodes": f"{plan.min_nodes}-{plan.nodes}" if plan.elastic else plan.nodes,
        "no-kill": plan.elastic,
        # With it, Slurm would count the tasks of the fewest nodes, and give no more.
        "ntasks-per-node": None if plan.elastic else plan.tasks_per_node,
        "cpus-per-task": plan.cpus_per_task,
        **_gpus(plan),
        "exclusive": plan.exclusive,
        "mem": whole.get(plan.memory or "", plan.memory),
        "time": _clock(plan.time),
        "signal": plan.signal and f"B:USR1@{plan.signal}",
        "requeue": plan.requeue,
        "open-mode": "append" if plan.requeue else None,
        "output": plan.output,
        "array": _array(plan.array),
        "dependency": ",".join(map(_after, plan.after)) or None,
        # Else a job would wait for ever for one that has ended in the other way.
        "kill-on-invalid-dep": "yes" if plan.after else None,
        "mail-user": plan.mail,
        "mail-type": ",".join(plan.mail_on).upper() or None,
    }
    return {name: value for name, value in wanted.items() if value not in (None, False)}


def _words(said: Wanted, plan: Plan, quote: Callable[[str], str]) -> tuple[str, ...]:
    words = [_word(name, None if on is True else str(on), quote) for name, on in said.items()]
    return (*words, *(_extra(text, said, quote) for text in plan.extra_directives))


def _array(text: str | None) -> str | None:
    item = r"\d{1,9}(-\d{1,9}(:[1-9]\d{,8})?)?"
    if text is None:
        return None
    if re.fullmatch(rf"{item}(,{item})*(%[1-9]\d{{,8}})?", text, re.ASCII):
        ranges = [part.split("-") for part in re.split("[,:%]", text) if "-" in part]
        if all(int(first) <= int(last) for first, last in ranges):
            return text
    raise problem("--array", f"{text!r:.40} is no array", "value", "such as 0-9, 0-9%2 or 1,4,7-9")


def _after(text: str) -> str:
    """A job, or one job of an array (123_4), and how it has to have ended."""
    found = re.fullmatch(r"(\d{1,10}(?:_\d{1,10})?)(?::(ok|any|notok))?", text, re.ASCII)
    if not found:
        hint = "ID[:ok|any|notok], such as 123 or 123_4:any"
        raise problem("--after", f"{text!r:.40} is no job of Slurm's", "value", hint)
    if any(int(number) >= 1 << 32 for number in found[1].split("_")):
        raise problem("--after", f"{text!r:.40} is no job of Slurm's", "limit", "32 bits at most")
    return f"after{found[2] or 'ok'}:{found[1]}"


def _clock(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def _gpus(plan: Plan) -> dict[str, str | int]:
    if not plan.gpus_per_node or plan.gpu_option == "none":
        return {}
    if plan.gpu_option == "gpus-per-node":
        return {"gpus-per-node": plan.gpus_per_node}
    return {"gres": f"gpu:{plan.gpus_per_node}"}


@lru_cache(1024)  # many scripts have most of their options in common
def _word(name: str, value: str | None, quote: Callable[[str], str]) -> str:
    if value is None:
        return f"--{name}"
    if (size := len(value.encode("utf-8", "surrogateescape"))) > (
        most := _LONGEST.get(name, 1 << 16)
    ):
        raise problem(f"--{name}", f"{size} bytes", "limit", f"Slurm takes {most}")
    if found := _SEPARATOR.search(value):
        text = f"{value!r:.80} has `{found[0]}` in it, which sbatch takes for a separator of jobs"
        raise problem(f"--{name}", text, "value", "choose another")
    return f"--{name}={quote(seen(value, f'--{name}'))}"


def quoted(value: str) -> str:
    r"""A value as sbatch reads it back: in double quotes, where \ escapes any character.

    Nothing else is special inside them (src/sbatch/opt.c, `_get_argument`).
    """
    if _PLAIN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Options that would make the script that jobgen plans a lie, with what to use instead.
_OURS = {
    **dict.fromkeys(("ntasks", "tasks-per-node"), "--set launch.processes_per_node=N"),
    **dict.fromkeys(("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"), "-G"),
    **dict.fromkeys(("ntasks-per-gpu", "tres-per-task"), "-G"),
    **dict.fromkeys(("cpus-per-gpu", "mincpus"), "--set node.cpus=N"),
    **dict.fromkeys(("mem-per-cpu", "mem-per-gpu"), "--set request.memory=SIZE"),
    **dict.fromkeys(("export-file", "get-user-env"), "-e NAME=VALUE"),
    "array": "--array",
    "container": "--set software.container=…",
    "signal": "--signal SECONDS",
    "wait": "--wait",
    "wrap": "-- PROGRAM",
}
# Options that are not for a script that others submit, with what to do instead.
_ELSEWHERE = {
    **dict.fromkeys(("chdir", "workdir"), "submit from that folder"),
    **dict.fromkeys(("uid", "gid"), "submit as that user"),
    **dict.fromkeys(
        ("test-only", "parsable", "help", "usage", "version"), "say it on sbatch's own command line"
    ),
}
# What takes back another option that is set.
_OPPOSITE = {"no-requeue": "requeue", "oversubscribe": "exclusive", "share": "exclusive"}


def _extra(text: str, said: Wanted, quote: Callable[[str], str]) -> str:
    found = re.fullmatch(r"--([a-z][a-z0-9-]*)(?:=(.*))?", text, re.DOTALL)
    if not found:
        hint = "such as --directive=--constraint=ib"
        raise problem(
            "--directive", f"{text!r:.80} is not --OPTION or --OPTION=VALUE", "value", hint
        )
    name, value = found.groups()
    if word := _SEPARATOR.search(text):
        text = f"{text!r:.80} has `{word[0]}` in it, which sbatch takes for a separator of jobs"
        raise problem("--directive", text, "value", "one job at a time")
    # sbatch takes the beginning of an option's name for the whole.
    if "gres".startswith(name) and "gres" in said:
        text, hint = "jobgen sets --gres itself", "--set request.gpu_option=gpus-per-node frees it"
        raise problem("--directive", text, "conflict", hint)
    if "gres".startswith(name) and "gpu" in (value or ""):
        raise problem("--directive", "jobgen asks for GPUs itself", "conflict", "use -G")
    ours = (word for word in (*_OURS, *said) if word.startswith(name))
    if name != "export" and (set_ := next(ours, None)):  # which is no beginning of --export-file
        hint = f"use {_OURS[set_]}" if set_ in _OURS else "change it by its own option or --set"
        raise problem("--directive", f"jobgen sets --{set_} itself", "conflict", hint)
    if other := next((word for word in _ELSEWHERE if word.startswith(name)), None):
        text = f"--{other} has no place in a script"
        raise problem("--directive", text, "conflict", _ELSEWHERE[other])
    for opposite, taken in _OPPOSITE.items():
        if opposite.startswith(name) and taken in said:
            text = f"--{name} takes back the --{taken} that is asked for"
            raise problem("--directive", text, "conflict", "say one of the two")
    if "array" in said and any(file.startswith(name) for file in ("output", "error")):
        _check_own_files("--directive", value or "")
    return _word(name, value, quote)


# ---- jobs that are in the queue ----

SUBMIT = ("sbatch", "--parsable")
BLOCK: tuple[str, ...] = ()  # sbatch --wait ends with 0 for a lost node
GONE = "Invalid job id specified"


def submitted(line: str) -> tuple[str, str] | None:
    """The job's id and its cluster: `sbatch --parsable` prints ID or ID;CLUSTER."""
    found = re.fullmatch(r"(\d+)(?:;(\S+))?", line, re.ASCII)
    return (found[1], found[2] or "") if found else None


def questions(job: str, cluster: str) -> tuple[tuple[str, ...], ...]:
    """scontrol knows a job until MinJobAge after its end; sacct is not everywhere."""
    return (("scontrol", *_on(cluster), "show", "job", job),)


def cancel(job: str, cluster: str) -> tuple[str, ...]:
    """scancel."""
    return ("scancel", *_on(cluster), job)


def _on(cluster: str) -> tuple[str, ...]:
    return ("-M", cluster) if cluster else ()


def standing(answer: str) -> Standing | None:
    """What `scontrol show job` says; of an array's many records all states, the worst status."""
    jobs = [_one(text) for text in re.split(r"\n\s*\n", answer) if "JobState=" in text]
    if len(jobs) < 2:
        return jobs[0] if jobs else None
    states = [job.state for job in jobs]
    over = [job.status for job in jobs if job.status is not None]
    return jobs[0]._replace(
        state=", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)),
        note="",
        restarts=sum(job.restarts for job in jobs),
        status=max(over) if len(over) == len(jobs) else None,
        parts=tuple(part for job in jobs for part in job.parts),
    )


# While a job is brought to its end, scontrol says COMPLETING; so what it says here is final.
_OVER = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED"
    " RECONFIG_FAIL REVOKED TIMEOUT".split()
)


def _one(record: str) -> Standing:
    from jobgen.schedulers.queue import Standing  # only here: a script alone needs none of this

    def said(pattern: str) -> str:
        # Not on the first line, where the job's name is.
        found = re.search(rf"^ +{pattern}", record, re.MULTILINE)
        return found[1] if found else ""

    state, reason = said(r"JobState=(\w+)"), said(r"JobState=.*? Reason=(.*?)(?: Dependency=|$)")
    code = int(said(r"Requeue=.*? ExitCode=(\d+):") or 0)
    signal = int(said(r"Requeue=.*? ExitCode=\d+:(\d+)") or 0) if state == "FAILED" else 0
    how = f"exit code {code}" if code else f"signal {signal}" if signal else ""
    status = 0 if state == "COMPLETED" else code or (128 + signal if signal else 1)
    number = re.search(r"JobId=(\d+)", record)
    status_now = status if state in _OVER else None
    return Standing(
        state=state,
        note=how if state in _OVER else reason if state == "PENDING" and reason != "None" else "",
        restarts=int(said(r"Requeue=.*? Restarts=(\d+)") or 0),
        elapsed=said(r"RunTime=(\S+)") if state != "PENDING" else "",
        output=said(r"StdOut=(.*)$"),
        status=status_now,
        parts=((number[1] if number else "", status_now),),
    )
