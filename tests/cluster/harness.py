"""A real Slurm of seven nodes on this machine, for the tests and for trying things by hand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.helpers import unlabelled

SCRIPTS = Path(__file__).parent / "slurm"
TOOLS = ("slurmctld", "slurmd", "sbatch", "munged", "ip", "unshare", "nsenter", "setpriv")
RUNNING = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED"}


def missing() -> str | None:
    """Why no cluster can run here, or None."""
    if os.geteuid() != 0:
        return "a real Slurm in namespaces needs root"
    lacking = [tool for tool in TOOLS if not shutil.which(tool)]
    if lacking:
        return f"not installed: {', '.join(lacking)} (slurm-wlm, munge, iproute2, util-linux)"
    tried = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], check=False)
    return None if tried.returncode == 0 else "this machine allows no namespaces"


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait until a condition holds."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.2)


@dataclass(frozen=True)
class Finished:
    """A job that has ended: state, exit status, signal (0: none), run time, what it printed.

    `output` has no labels (node and rank before a line), `labelled` is the file itself.
    """

    state: str
    exit_code: int
    signal: int
    seconds: float
    labelled: str

    @property
    def output(self) -> str:
        return unlabelled(self.labelled)


class Cluster:
    """Starts in `folder`, and is gone with this process, however that ends.

    `plugin` is a SPANK plug-in with its options. `cgroups` is an empty cgroup of the freezer, by
    which Slurm then tracks processes, as most sites do; else it goes by their parents. With `binds`
    it binds tasks to cores (TaskPlugin=task/affinity); else it leaves them all.
    """

    def __init__(
        self, folder: Path, plugin: str = "", cgroups: Path | None = None, binds: bool = False
    ) -> None:
        self.folder, self.plugin, self.cgroups, self.binds = folder, plugin, cgroups, binds
        self.log = folder / "boot.log"

    def __enter__(self) -> Cluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.plugin:  # Slurm reads plugstack.conf beside slurm.conf
            (self.folder / "etc").mkdir(exist_ok=True)
            (self.folder / "etc/plugstack.conf").write_text(f"required {self.plugin}\n")
        (self.folder / "pid/booted").unlink(missing_ok=True)  # of one that was killed here
        namespaces = ["--fork", "--kill-child", "--pid", "--mount", "--net", "--uts", "--ipc"]
        with self.log.open("wb") as log:
            # The kernel kills unshare when this process dies, and PID 1 when unshare does.
            self.outer = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", *namespaces, "--mount-proc",
                 str(SCRIPTS / "boot.sh"), str(self.folder)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "CGROUPS": str(self.cgroups or ""), "BINDS": "yes" * self.binds},
            )  # fmt: skip
        try:
            self._await_nodes(120)  # others may start theirs at the same time
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill the cluster; every process, mount and link of it goes along."""
        self.outer.kill()
        self.outer.wait()

    def _await_nodes(self, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if self.outer.poll() is not None:
                break
            if (self.folder / "pid/booted").exists():
                shown = self.run(["sinfo", "-hN", "-o", "%N %T"], timeout=20).stdout
                states = set(shown.splitlines())
                if len(states) == 7 and all(line.endswith(" idle") for line in states):
                    return
            time.sleep(0.1)
        raise RuntimeError(f"the cluster did not start:\n{self.log.read_text()}")

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command that runs `argv` on the login machine."""
        pid = self.outer.pid
        first = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        enter = ["nsenter", "-t", first, "--pid", "--mount", "--net", "--uts", "--ipc"]
        return [*enter, "--wd=.", *argv]

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of the login machine."""
        slurm = {"SLURM_CONF": str(self.folder / "etc/slurm.conf")}
        return {**os.environ, **slurm, **(more or {})}

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the login machine; its exit status is the caller's to check."""
        return subprocess.run(
            self.command(argv), cwd=cwd, env=self.environment(env), input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def on(
        self,
        node: str,
        *argv: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a node."""
        words = self._node_script("run", node, *argv)
        return self.run(words, cwd=cwd, env=env, input=input, timeout=timeout)

    def _node_script(self, *words: str) -> list[str]:
        return [str(SCRIPTS / "node.sh"), str(self.folder), *words]

    def crash_node(self, node: str) -> None:
        """Kill all processes of a node, as when it loses its power."""
        self.run(self._node_script("crash", node))

    def start_node(self, node: str) -> None:
        """Start a node that was crashed; returns when Slurm may give it to a job."""
        self.run(self._node_script("start", node))
        states = ["sinfo", "-hN", "-n", node, "-o", "%T"]  # one of each partition
        until(lambda: self.on(node, "pgrep", "-x", "slurmd").stdout, 90)
        until(lambda: set(self.run(states).stdout.split()) == {"idle"}, 90)

    def sbatch(
        self, script: str, *options: str, cwd: Path, env: Mapping[str, str] | None = None
    ) -> int:
        """Pipe a script into sbatch; the job's id. Raises RuntimeError with what sbatch says."""
        argv = ["sbatch", "--parsable", *options]
        done = self.run(argv, cwd=cwd, env=env, input=script)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return int(done.stdout)

    def wait(self, job: int, timeout: float) -> Finished:
        """The job when it has ended; after `timeout` seconds cancels it: AssertionError."""
        limit = time.monotonic() + timeout
        while (found := self._show(job)).get("JobState", "RUNNING") in RUNNING:
            if time.monotonic() > limit:
                self.run(["scancel", str(job)])
                output = self._output(found)
                raise AssertionError(f"job {job} still {found['JobState']}; so far:\n{output}")
            time.sleep(0.5)  # scontrol takes its time, too
        hours, minutes, seconds = map(int, found["RunTime"].rpartition("-")[2].split(":"))
        code, _, signal = found["ExitCode"].partition(":")
        return Finished(
            state=found["JobState"],
            exit_code=int(code),
            signal=int(signal),
            seconds=hours * 3600 + minutes * 60 + seconds,
            labelled=self._output(found),
        )

    def _show(self, job: int) -> dict[str, str]:
        shown = self.run(["scontrol", "show", "job", str(job)]).stdout
        found = dict(re.findall(r"(\w+)=(\S*)", shown))
        whole = re.search(r"^ *StdOut=(.*)$", shown, re.MULTILINE)  # a path may have blanks
        return {**found, "StdOut": whole[1] if whole else ""}

    def _output(self, found: dict[str, str]) -> str:
        file = Path(found["StdOut"])
        return file.read_text(errors="replace") if file.is_file() else ""
