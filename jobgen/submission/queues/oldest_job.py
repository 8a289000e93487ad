"""When the oldest of a user's jobs was submitted that has not ended: it may need older files."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import time
from contextlib import suppress

from jobgen.errors import JobgenError, problem
from jobgen.paths import effective_user
from jobgen.submission.machine import HERE

_SECONDS = 60.0
# These would hide jobs from squeue, or change how it prints a time.
_ENVIRONMENT = ("TIME_FORMAT", "PARTITION", "STATES", "ACCOUNT", "QOS", "NAMES", "LICENSES")
_SQUEUE = ("squeue", "--noheader", "--all", "--format=%V", "--user")


def oldest_submission() -> float | None:
    """The time of submission, in seconds since 1970; None if no job waits or runs.

    Raises JobgenError if no scheduler here says so.
    """
    user = _user()
    times: list[float] = []
    commands = [name for name in ("squeue", "qselect") if shutil.which(name)]
    for command in commands:
        times += _times_of_slurm(user) if command == "squeue" else _times_of_pbs(user)
    if not commands:
        text = "neither `squeue` nor `qselect` is here: a queued job may need what is removed"
        raise problem("store", text, "submit", "do this on a login node, or add --force")
    return min(times, default=None)


def _times_of_slurm(user: str) -> list[float]:
    hidden = [
        f"--unset={'SLURM' if each == 'TIME_FORMAT' else 'SQUEUE'}_{each}" for each in _ENVIRONMENT
    ]
    answer = _asked("env", *hidden, *_SQUEUE, user)
    return [_seconds(line, "%Y-%m-%dT%H:%M:%S") for line in answer.split()]


def _times_of_pbs(user: str) -> list[float]:
    jobs = _asked("qselect", "-u", user).split()
    answer = _asked("qstat", "-f", *jobs) if jobs else ""
    times = re.findall(r"^\s+ctime = (.+)$", answer, re.MULTILINE)
    return [_seconds(each, "%a %b %d %H:%M:%S %Y") for each in times]


def _asked(*words: str) -> str:
    """What a command prints. Raises JobgenError if it fails."""
    answer = HERE.run(words, seconds=_SECONDS)
    if answer.status:
        raise _unknown([words[0], *answer.errors.strip().splitlines()][-1])
    if answer.status is None:
        raise _unknown(answer.errors.strip())
    return answer.output


def _seconds(text: str, form: str) -> float:
    with suppress(ValueError):
        return time.mktime(time.strptime(text.strip(), form))
    raise _unknown(f"{text!r:.80} is no time")


def _unknown(reason: str) -> JobgenError:
    text = f"it is not known whether a queued job needs something: {reason}"
    return problem("store", text, "submit", "try again later, or add --force")


def _user() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(effective_user()).pw_name
    return os.environ.get("USER") or str(effective_user())
