"""A stand-in for PBS, which behaves as a real OpenPBS was measured to.

It stands in for qsub, the moms and pbs_tmrsh: the script runs on the first node alone, below a
login shell, in $HOME, with PBS's variables (OMP_NUM_THREADS is ncpus); a task that pbs_tmrsh starts
gets PATH=/bin:/usr/bin and PBS's variables and nothing that the script exported; its output goes to
the job's own file; qdel and walltime send TERM to the first node alone, and KILL later to all;
after that no task starts. The nodes, their networks and all processes are real. A stopped job is
over when nothing of it is left, where PBS waits until it has sent KILL.

It cannot show: what qsub itself refuses, the scheduler, how the job's output is brought back, that
it goes nowhere after qdel, a lost mom, PBS's accounting, and whatever else was not measured.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.harness import SCRIPTS, Cluster
from tests.cluster.site import DOMAIN, NODES, Site

GRACE = 24.0  # seconds from qdel's TERM to KILL; after the walltime 10
TMRSH = """#!{python}
import json, os, socket, sys
host, *command = sys.argv[1:]
names = open(os.environ["PBS_NODEFILE"]).read().split()
if host not in names:
    sys.exit(f'pbs_tmrsh: host "{{host}}" is not a node in job <{{os.environ["PBS_JOBID"]}}>')
connection = socket.socket(socket.AF_UNIX)
connection.connect({socket!r})
connection.sendall(json.dumps([os.environ["PBS_JOBID"], host, command]).encode() + b"\\n")
sys.exit(int(connection.makefile().readline()))
"""


@dataclass
class _Job:
    id: str
    name: str
    hosts: list[str]
    mpiprocs: int
    ncpus: int
    walltime: float
    cwd: Path
    folder: Path
    passed: dict[str, str]  # by -v
    status: int | None = None
    stopping: bool = False
    sessions: list[tuple[str, Path]] = field(default_factory=list)  # node, file with its leader


class StandIn(Site):
    """One for all tests of a session."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        super().__init__(cluster)
        self.folder = folder
        self.jobs: dict[str, _Job] = {}
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(folder / "mom"))
        self.server.listen(64)
        (folder / "bin").mkdir()
        tmrsh = folder / "bin/pbs_tmrsh"
        tmrsh.write_text(TMRSH.format(python=sys.executable, socket=str(folder / "mom")))
        tmrsh.chmod(0o755)
        threading.Thread(target=self._serve, daemon=True).start()

    def submit(self, script: str, cwd: Path, file: bool = False) -> str:
        number = len(self.jobs)
        directives = "\n".join(re.findall(r"^#PBS (.*)", script, re.MULTILINE))

        def directive_value(pattern: str, default: str) -> str:
            found = re.search(pattern, directives)
            return found[1] if found else default

        variables = shlex.split(directive_value("-v (.*)", "''"))[0]  # as make_argv reads it
        listed = re.findall(r'(\w+)(?:=("[^"]*"|[^,]*))?(?:,|$)', variables)
        given = {name: text.strip('"') for name, text in listed if f"{name}=" in variables}
        names = [name for name, _ in listed if name not in given]
        if not set(names) <= set(self.environment):
            raise RuntimeError("qsub: cannot send environment with the job")  # as a real one says
        hosts = re.findall(r":host=(\w+)", directives)
        clock = directive_value(r"walltime=(\S+)", "0").split(":")
        count = int(directive_value(r"(?:select|nodes)=(\d+)", "1"))
        job = _Job(
            id=f"{number}.login",
            name=directive_value(r"-N (\S+)", "STDIN"),
            hosts=hosts or list(NODES[:count]),
            mpiprocs=int(directive_value(r"(?:mpiprocs|ppn)=(\d+)", "1")),
            ncpus=int(directive_value(r"(?:ncpus|ppn)=(\d+)", "1")),
            walltime=sum(int(part) * 60**n for n, part in enumerate(reversed(clock))),
            cwd=cwd,
            folder=self.folder / f"job{number}",
            passed=given | {name: self.environment[name] for name in names},
        )
        job.folder.mkdir()
        (job.folder / "script").write_text(script)
        (job.folder / "script").chmod(0o755)
        lines = [f"{host}.{DOMAIN}\n" for host in job.hosts for _ in range(job.mpiprocs)]
        (job.folder / "nodes").write_text("".join(lines))
        self.jobs[job.id] = job
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job.id

    def ended(self, job: str) -> int | None:
        return self.jobs[job].status

    def delete(self, job: str) -> None:
        words = (self.jobs[job], GRACE, 256 + 15)
        threading.Thread(target=self._stop, args=words, daemon=True).start()

    def _run(self, job: _Job) -> None:
        """What the first node's mom does with the script: a login shell reads its name."""
        (job.folder / "name").write_text(str(job.folder / "script"))
        if job.walltime:
            threading.Thread(target=self._watch, args=(job,), daemon=True).start()
        path = f"/usr/local/bin:/usr/bin:/bin:{self.folder}/bin"
        (job.folder / ".profile").write_text(f"PATH={path}\n")  # as a site's /etc/profile.d has it
        with (job.folder / "name").open() as stdin:
            status = self._task(job, job.hosts[0], ["bash", "-l"], path, stdin=stdin.fileno())
        if job.stopping:
            return  # the login shell is gone, but the script may have caught the signal
        self._signal(job, "KILL", job.hosts)
        job.status = status

    def _watch(self, job: _Job) -> None:
        limit = time.monotonic() + job.walltime + 5  # it is polled
        while job.status is None and time.monotonic() < limit:
            time.sleep(0.2)
        if job.status is None:
            self._stop(job, 10, -29)

    def _stop(self, job: _Job, grace: float, status: int) -> None:
        """TERM on the first node; when nothing runs there, KILL on all."""
        job.stopping = True
        self._signal(job, "TERM", job.hosts[:1])
        limit = time.monotonic() + grace
        while self._signal(job, "0", job.hosts[:1]) and time.monotonic() < limit:
            time.sleep(0.2)
        self._signal(job, "KILL", job.hosts)
        job.status = status

    def _signal(self, job: _Job, name: str, hosts: list[str]) -> bool:
        """Send a signal to all that is left of a job; whether there was anything."""
        was_found = False
        for host, file in list(job.sessions):
            if host in hosts and file.exists() and (leader := file.read_text().strip()):
                done = self.cluster.on(host, "pkill", f"-{name}", "-s", leader)
                was_found = was_found or done.returncode == 0
        return was_found

    def _task(self, job: _Job, host: str, argv: list[str], path: str, stdin: int) -> int:
        """Run a command on a node in a session of its own; the status that PBS would say."""
        leader = job.folder / f"session{len(job.sessions)}"
        job.sessions.append((host, leader))
        variables = {
            "PATH": path,
            "HOME": str(job.folder),
            "PBS_ENVIRONMENT": "PBS_BATCH",
            "PBS_JOBID": job.id,
            "PBS_JOBNAME": job.name,
            "PBS_QUEUE": "blanca",
            # A site may keep it from other nodes than the first ($gen_nodefile_on_sister_mom).
            "PBS_NODEFILE": str(job.folder / ("nodes" if host == job.hosts[0] else "missing")),
            "PBS_O_WORKDIR": str(job.cwd),
            "PBS_NODENUM": str(job.hosts.index(host)),
            "PBS_JOBCOOKIE": f"own of {host}",
            "TMPDIR": "/var/tmp",
            "NCPUS": str(job.ncpus),
            "OMP_NUM_THREADS": str(job.ncpus),
        }
        if argv == ["bash", "-l"]:  # the script; other tasks get nothing of the job's
            variables |= job.passed
        words = [f"{name}={value}" for name, value in variables.items()]
        begin = ["sh", "-c", 'cd "$HOME" && echo $$ > "$0" && exec "$@"', str(leader)]
        run = [str(SCRIPTS / "node.sh"), str(self.cluster.folder), "run", host]
        with (job.cwd / f"{job.name}.o{job.id.partition('.')[0]}").open("ab") as output:
            done = subprocess.run(
                self.cluster.command([*run, "setsid", "env", "-i", *words, *begin, *argv]),
                env=self.cluster.environment(), cwd=job.folder, stdin=stdin,
                stdout=output, stderr=output, check=False,
            )  # fmt: skip
        status = done.returncode
        return 256 - status if status < 0 else status

    def _serve(self) -> None:
        while True:
            asked, _ = self.server.accept()
            threading.Thread(target=self._answer, args=(asked,), daemon=True).start()

    def _answer(self, asked: socket.socket) -> None:
        """What a mom does for pbs_tmrsh."""
        job_id, host, command = json.loads(asked.makefile().readline())
        job = self.jobs[job_id]
        status = 255
        if not job.stopping:
            with open(os.devnull) as nothing:
                node = host.partition(".")[0]
                status = self._task(job, node, command, "/bin:/usr/bin", nothing.fileno())
        with suppress(OSError):  # who asked may have been killed
            asked.sendall(f"{status - 256 if status >= 256 else status}\n".encode())
        asked.close()
