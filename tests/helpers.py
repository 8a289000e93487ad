"""What several test files share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from jobgen import byhand, render, store
from jobgen.job import Job, layers
from jobgen.plan import Plan, plan


def planned(job: Job) -> Plan:
    """The plan for a job, with the profile that it names."""
    hosts = byhand.hosts(job.hosts) if job.hosts else ()
    return plan(job, store.load(str(job.profile), layers(job, len(hosts))), hosts)


def script(job: Job) -> str:
    """The script for a job."""
    return render.render(planned(job), job.template)


def jobgen(
    *words: str | bytes,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int = subprocess.PIPE,
) -> subprocess.CompletedProcess[bytes]:
    """The program in a process of its own; `env` comes on top of the tests' environment."""
    return subprocess.run(
        [sys.executable, "-m", "jobgen", *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )
