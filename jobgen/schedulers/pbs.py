"""PBS (OpenPBS, PBS Professional): its directives, its quoting, its limits.

What it takes was read in its source (src/cmds/qsub.c, src/lib/Libcmds) and tried on OpenPBS 23.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jobgen import shell
from jobgen.errors import problem
from jobgen.plan import Plan
from jobgen.schedulers import seen

if TYPE_CHECKING:
    from jobgen.schedulers.queue import Standing

TEMPLATE = "qsub.sh.j2"
VARIABLES = (
    *("PBS_JOBID", "PBS_JOBNAME", "PBS_QUEUE", "PBS_O_WORKDIR", "PBS_NODENUM", "PBS_ARRAY_INDEX"),
    "JOBGEN_MARK",  # by which the processes of a job are found
)
# ck_job_name.c; PBS_MAXJOBNAME is 230.
NAME_RULE = r"[A-Za-z0-9_+.-]{1,230}"
NAME_RULE_IN_WORDS = "PBS takes up to 230 letters, digits and _ + . -"
TIME_RULE_IN_WORDS = "write seconds (5400), H:MM:SS (1:30:00) or D-HH:MM:SS (2-12:00:00)"
ARRAY_INDEX = "PBS_ARRAY_INDEX"
LAUNCHERS = ("torchrun",)
LONGEST_LINE = 4094  # bytes, with its end
ELASTIC = SIGNALS = REQUEUES_AT_WALLTIME = False

_TIME = re.compile(
    r"(?:(?P<d>\d+)-)?(?P<h>\d+):(?P<m>\d+):(?P<s>\d+)|(?:(?P<ms>\d+):)?(?P<ss>\d+)", re.ASCII
)
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=^\[\]*&|~#-]+")
_SIZE = {"K": "kb", "M": "mb", "G": "gb", "T": "tb"}


def seconds(walltime: str) -> int | None:
    """Seconds of S, M:S or H:M:S, as PBS reads them: `90` is 90 seconds; and of D-H:M:S."""
    found = _TIME.fullmatch(walltime)
    if not found or len(walltime) > 20:
        return None
    part = {name: int(text or 0) for name, text in found.groupdict().items()}
    minutes = (part["d"] * 24 + part["h"]) * 60 + part["m"] + part["ms"]
    return minutes * 60 + part["s"] + part["ss"]


def directives(plan: Plan) -> tuple[str, ...]:
    """The #PBS lines, in one fixed order; the user's own come last."""
    output_folder(plan)  # raises for one that nobody can make
    output = [("-j", "oe")]  # one file with both, in their order
    if plan.live_output:
        output.append(("-k", "doe"))
    if plan.output:
        output.append(("-o", _output(plan)))
    if plan.requeue:
        output.append(("-r", "y"))
    wanted = {
        "-J": _array(plan.array),
        "-W": _depend(plan.after),
        "-M": plan.mail,
        "-m": "".join(_MAIL[word] for word in plan.mail_on),
    }
    more = [(flag, seen(value, flag)) for flag, value in wanted.items() if value]
    extra = [_extra(text, plan) for text in plan.extra_directives]
    said = [("-N", plan.name), *_request(plan), *output, *more, *extra]
    lines = tuple(f"#PBS {flag} {quoted(value)}".rstrip() for flag, value in said)
    _check_length("the command", f"#   {' '.join(map(shell.quote, plan.command))}")
    for line in lines:
        _check_length(line.split(" ")[1], line)
    return lines


def _check_length(what: str, line: str) -> None:
    """Raise JobgenError for a line that qsub would not read as one (qsub.c, `get_script`).

    Up to version 19 it reads pieces of 4094 bytes. Of a longer comment, such as the command in the
    head, it would take a piece that begins with #PBS for a directive, and any other for the first
    command, after which it reads no directives.
    """
    if (size := len(line.encode("utf-8", "surrogateescape")) + 1) > LONGEST_LINE:
        text = f"it makes a line of {size} bytes"
        raise problem(what, text, "limit", f"PBS reads {LONGEST_LINE}: put the rest into a file")


def output_folder(plan: Plan) -> str:
    """PBS replaces nothing in it but ^array_index^, which no folder may have."""
    folder = (plan.output or "").rpartition("/")[0]
    if "^array_index^" in folder:
        text = "the output's folder has ^array_index^ in it, and PBS makes no folder"
        raise problem("request.output", text, "value", "use it in the file's name alone")
    return folder


def lost_without(plan: Plan) -> str:
    """The script makes it, but PBS opens live output before that, and holds the job."""
    return f"live output goes to {output_folder(plan)}, or PBS holds the job" * plan.live_output


def interactive(plan: Plan) -> tuple[str, ...]:
    """`qsub -I` with what the directives ask for."""
    name = [("-N", plan.name)] if plan.named else []
    said = [*name, *_request(plan), *(_extra(text, plan) for text in plan.extra_directives)]
    return ("qsub", "-I", *(word for pair in said for word in pair if word))


def _request(plan: Plan) -> list[tuple[str, str]]:
    walltime = plan.time and f"{plan.time // 3600:02}:{plan.time // 60 % 60:02}:{plan.time % 60:02}"
    place = plan.place or ":".join(
        word for word in ("scatter" * (plan.nodes > 1), "excl" * plan.exclusive) if word
    )
    sharing = {"excl": True, "exclhost": True, "shared": False}
    said = next((word for word in place.split(":") if word in sharing), None)
    if said and sharing[said] != plan.exclusive:
        text = f"`{place}`, and request.exclusive says {str(plan.exclusive).lower()}"
        raise problem("request.place", text, "conflict", "--exclusive or --shared, as it is meant")
    if plan.exclusive and not said:
        place += ":excl"
    if plan.nodes > 1 and not place.startswith("scatter"):
        text = f"`{place}` may put two chunks on one node, and each node runs one torchrun"
        raise problem("request.place", text, "conflict", "scatter, or scatter:excl")
    wanted = (
        ("-q", plan.reservation or plan.queue),  # a reservation is a queue of its own
        ("-A", plan.account),
        ("-l", f"select={_select(plan)}"),
        ("-l", place and f"place={place}"),
        ("-l", walltime and f"walltime={walltime}"),
    )
    return [(flag, seen(value, flag)) for flag, value in wanted if value]


def _select(plan: Plan) -> str:
    """`nodes` chunks of one node each."""
    gpus = plan.gpus_per_node if plan.gpu_option == "ngpus" else 0
    chunk: dict[str, str | int | None] = {
        "ncpus": plan.cpus_per_task,
        "mpiprocs": plan.tasks_per_node,
        "ngpus": gpus or None,
        "mem": _memory(plan),
    }
    constraint = _constraint(plan.constraint)
    more = [(f"request.chunk.{name}", name, value) for name, value in plan.chunk]
    more += [("request.constraint", name, value) for name, value in constraint]
    _check_once("request.chunk", plan.chunk)
    _check_once("request.constraint", constraint)
    spelled = {name: name for name in chunk}  # PBS compares names without case
    for where, said, value in more:
        name = spelled.setdefault(said.lower(), said)
        if name in _CHUNK and name != "mpiprocs":
            text = f"jobgen sets {name} itself"
            raise problem(where, text, "conflict", f"use {_CHUNK[name]}")
        chunk[name] = value
    return ":".join(
        (str(plan.nodes), *(f"{name}={value}" for name, value in chunk.items() if value))
    )


def _constraint(text: str | None) -> list[tuple[str, str]]:
    found = [part.partition("=") for part in text.split(":")] if text else []
    for name, _, value in found:
        if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or not re.fullmatch(r"[\w.-]+", value):
            hint = "NAME=VALUE, several joined by `:`, such as mem_type=hbm"
            raise problem("request.constraint", f"PBS takes no {text!r:.40}", "value", hint)
    return [(name, value) for name, _, value in found]


def _check_once(where: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Raise JobgenError for a resource that is said twice: PBS compares names without case."""
    times = Counter(name.lower() for name, _ in pairs)
    if twice := next((name for name, number in times.items() if number > 1), None):
        raise problem(where, f"{twice} is said twice", "conflict", "say one of the two")


_CHUNK = {
    "ncpus": "--set node.cpus=N",
    "mpiprocs": "--set request.chunk.mpiprocs=N",
    "ngpus": "-G",
    "mem": "--set request.memory=SIZE",
}


def _memory(plan: Plan) -> str | None:
    size = plan.memory
    if size == "all":
        size = plan.node_memory
        if size is None:
            text = "PBS has no word for all of a node's memory, and `node.memory` is not said"
            raise problem("request.memory", text, "conflict", "--set node.memory=SIZE, or null")
    return size and size[:-1] + _SIZE[size[-1]]


def _output(plan: Plan) -> str:
    path = plan.output or ""
    own = "^array_index^" in path or path.endswith("/") or path == "/dev/null"
    if plan.array and not own:
        text = f"all jobs of the array would write {path!r:.60}"
        raise problem("request.output", text, "conflict", "have ^array_index^ in it")
    if ":" in path:
        text = f"{path!r:.80} has a `:` in it, before which PBS takes a host's name"
        raise problem("request.output", text, "value", "choose another")
    if found := re.search(r"\$\{?\w+|%[a-zA-Z]", path):
        hint = "only ^array_index^ is replaced; a path that ends in / gets a file JOBID.OU"
        raise problem("request.output", f"PBS leaves `{found[0]}` as it is", "value", hint)
    return seen(path, "request.output")


def quoted(value: str) -> str:
    r"""A value as qsub reads it back (qsub.c, `make_argv`).

    Inside quotes of either kind nothing is special but their end; outside, \ escapes.
    """
    if not value or _PLAIN.fullmatch(value):
        return value
    pieces = re.findall(r"[^\"]+|\"+", value)
    return "".join(f"'{text}'" if text[0] == '"' else f'"{text}"' for text in pieces)


# Options that would make the script that jobgen plans a lie, with what to use instead.
_OURS = {
    "N": "-J",
    "J": "--array",
    "A": "-A",
    "q": "-q",
    "o": "--set request.output=FILE",
    "e": "--set request.output=FILE: both streams go there",
    "j": "--set request.output=FILE: both streams go there",
    "k": "--set request.live_output=true",
    "v": "-e NAME=VALUE",
}
# Options that are not for a script that others submit, with what to do instead.
_ELSEWHERE = {
    "I": "use jobgen interactive",
    "X": "use jobgen interactive",
    "S": "the script's first line names its shell",
    "C": "a script's directives begin with #PBS",
    "z": "say it on qsub's own command line",
}
_VALUED = "aclmMpPrRuW"
_MAIL = {"begin": "b", "end": "e", "fail": "a"}
_ALONE = "fhV"


def _extra(text: str, plan: Plan) -> tuple[str, str]:
    found = re.fullmatch(r"-([A-Za-z])(?:[ =]?(.*))?", text, re.DOTALL)
    if not found:
        raise problem(
            "--directive",
            f"{text!r:.80} is no option of qsub",
            "value",
            "such as --directive='-W depend=afterok:123'",
        )
    letter, value = found[1], found[2] or ""
    if letter in _OURS:
        text = f"jobgen sets -{letter} itself"
        raise problem("--directive", text, "conflict", f"use {_OURS[letter]}")
    if letter in _ELSEWHERE:
        text = f"-{letter} has no place in a script"
        raise problem("--directive", text, "conflict", _ELSEWHERE[letter])
    if letter not in _VALUED + _ALONE or bool(value) != (letter in _VALUED):
        known = " ".join(f"-{known}" for known in _VALUED + _ALONE)
        text = f"-{letter} is no option of qsub, or lacks its value, or takes none"
        raise problem("--directive", text, "value", f"its options here: {known}")
    if letter == "l":
        _check_resources(value)
    if letter == "W":
        _check_attributes(value)
    if (letter == "W" and plan.after and "depend" in value) or (letter in "mM" and plan.mail):
        hint = "say all of it with --after" if letter == "W" else "use --mail and --mail-on"
        raise problem("--directive", f"jobgen sets -{letter} {value}".strip(), "conflict", hint)
    if letter == "r" and plan.requeue and value != "y":
        text = f"-r {value} takes back the -r y that is asked for"
        raise problem("--directive", text, "conflict", "say one of the two")
    return f"-{letter}", seen(value, "--directive")


def _check_resources(text: str) -> None:
    ours = {"select": "-N and request.chunk", "place": "--set request.place=…", "walltime": "-t"}
    for name in re.findall(r"(?:^|,)\s*(\w+)\s*=", text.lower()):  # PBS compares without case
        if name in ours or name in ("nodes", *_CHUNK):
            use = ours.get(name) or _CHUNK.get(name) or "-N"
            hint = f"PBS refuses it beside `select`: use {use}"
            raise problem("--directive", f"jobgen sets {name} itself", "conflict", hint)


# What -W may say. It takes any attribute by its name, so also what makes the job another (Job_Name,
# array_indices_submitted, interactive), or qsub wait for it (block).
_ATTRIBUTES = (
    "depend group_list release_nodes_on_stageout run_count sandbox stagein stageout"
    " tolerate_node_failures umask"
).split()


def _check_attributes(text: str) -> None:
    """A name is what stands between a `=` and the comma before it: a value may have commas."""
    first, *rest = text.split("=")
    for name in (first, *(part.rpartition(",")[2] for part in rest[:-1])):
        if not rest or name.strip() not in _ATTRIBUTES:
            hint = f"NAME=VALUE with one of: {', '.join(_ATTRIBUTES)}"
            raise problem("--directive", f"-W takes no {name.strip()!r:.40} here", "value", hint)


def _array(text: str | None) -> str | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})(?::[1-9]\d*)?(?:%[1-9]\d*)?", text, re.ASCII)
    if not found or int(found[1]) >= int(found[2]):
        hint = "FIRST-LAST[:STEP][%AT_ONCE], the last greater than the first, such as 0-9%2"
        raise problem("--array", f"PBS takes no array {text!r:.40}", "value", hint)
    return text


def _depend(jobs: tuple[str, ...]) -> str:
    """What -W says of jobs that come first (qsub(1B), depend)."""
    kinds: dict[str, list[str]] = {}
    for text in jobs:
        found = re.fullmatch(
            r"(\d+(?:\[\d*\])?(?:\.[A-Za-z0-9.-]+)?)(?::(ok|any|notok))?", text, re.ASCII
        )
        if not found:
            hint = "ID[:ok|any|notok], such as 123, 123.server or 123[]:any"
            raise problem("--after", f"{text!r:.40} is no job of PBS's", "value", hint)
        kinds.setdefault(found[2] or "ok", []).append(found[1])
    listed = ",".join(f"after{kind}:{':'.join(ids)}" for kind, ids in kinds.items())
    return f"depend={listed}" if listed else ""


# ---- jobs that are in the queue ----

SUBMIT = ("qsub",)
# qstat tells how a job ended only where the server keeps a history, which is not the default.
BLOCK = ("-W", "block=true")
GONE = "Unknown Job Id"


def submitted(line: str) -> tuple[str, str] | None:
    """The job's id, such as 12.server or 12[].server; PBS names no cluster."""
    return (line, "") if re.fullmatch(r"\d+(\[\])?(\.[\w.-]+)?", line, re.ASCII) else None


def questions(job: str, cluster: str) -> tuple[tuple[str, ...], ...]:
    """`-x` is for jobs that have ended, and an error where the server keeps no history."""
    return (("qstat", "-f", job), ("qstat", "-x", "-f", job))


def cancel(job: str, cluster: str) -> tuple[str, ...]:
    """qdel."""
    return ("qdel", job)


_WORDS = "QUEUED HELD WAITING TRANSIT BEGUN RUNNING SUSPENDED EXITING FINISHED MOVED"
_STATES = {word[0]: word for word in _WORDS.split()} | {"U": "SUSPENDED"}  # U: its user is there


def standing(answer: str) -> Standing | None:
    """What `qstat -f` says: its text, which older versions have, too; `-F json` came later."""
    from jobgen.schedulers.queue import Standing  # only here: a script alone needs none of this

    text = answer.replace("\n\t", "")  # long lines are folded
    known: dict[str, str] = {}
    for name, value in re.findall(r"^ +([\w.]+) = (.*)$", text, re.MULTILINE):
        known.setdefault(name, value)
    letter = known.get("job_state", "")
    if not letter:
        return None
    found = re.match(r"Job Id: (\S+)", text)
    output = known.get("Output_Path", "").partition(":")[2]
    if output.endswith("/") and found:
        output += f"{found[1]}.OU"
    return Standing(
        state=_STATES.get(letter, letter),
        note=_end(known) if letter == "F" else known.get("comment", "") if letter in "QHW" else "",
        restarts=max(int(known.get("run_count", "0")) - 1, 0),
        elapsed=known.get("resources_used.walltime", ""),
        output=output,
        status=_status(known.get("Exit_status")) if letter in "FM" else None,
    )


def _status(said: str | None) -> int:
    """256+N is signal N; what is below 0 is PBS's own, such as -29 after the walltime."""
    number = int(said or -1)
    return 1 if number < 0 else number if number < 256 else 128 + number - 256


def _end(known: dict[str, str]) -> str:
    if "Exit_status" not in known:
        return "it never ran"
    number = int(known["Exit_status"])
    if number == _WALLTIME:
        return "its walltime was over"
    return f"signal {number - 256}" if number >= 256 else f"exit status {number}"


_WALLTIME = -29  # JOB_EXEC_KILL_WALLTIME
