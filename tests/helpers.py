"""What several test files share."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.generator import Generator
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.quoting import quote
from jobgen.schedulers import get_scheduler
from tests import forked


def planned(job: Job) -> Plan:
    """The plan for a job, with the profile that it names."""
    return Generator().plan(job)


def script(job: Job) -> str:
    """The script for a job."""
    return Generator().script(job)


def interactive_line(job: Job) -> str:
    """The command line that `jobgen interactive` writes."""
    plan = planned(job)
    return " ".join(map(quote, get_scheduler(plan.scheduler).interactive(plan))) + "\n"


def unlabelled(text: str) -> str:
    """The output of a job without the labels of its lines: a host's name, and a rank."""
    return re.sub(
        r"(?m)^(?!jobgen)[A-Za-z][\w.-]*\d(?: rank \d+)?: ?|^localhost(?: rank \d+)?: ", "", text
    )


def jobgen(
    *words: str | bytes,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int = subprocess.PIPE,
) -> subprocess.CompletedProcess[bytes]:
    """The program in a process of its own; `env` comes on top of the tests' environment."""
    environ = {**os.environ, **(env or {})}
    if stdout == subprocess.PIPE and (done := forked.run(words, cwd, environ)):
        return done
    return subprocess.run(
        [sys.executable, "-m", "jobgen", *words],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )


def diagnose_text(text: str, name: str = "log") -> Verdict:
    """The verdict on one log, given as text."""
    return diagnose([Source(name, io.BytesIO(text.encode("utf-8", "surrogateescape")))])
