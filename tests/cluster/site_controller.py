"""The scheduler of a public site without its nodes: a real slurmctld that has what the site has."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.cluster.harness import Cluster

# Nodes in the state CLOUD are off, and a job may have them: `sbatch --test-only` plans with them,
# although none runs slurmd and none has a name in DNS.
CONFIG = """ClusterName=site
SlurmctldHost=login(10.71.0.1)
SlurmctldPort=7817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={munge}
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
EnforcePartLimits=ALL
AllowSpecResourcesUsage=NO
SlurmctldParameters=cloud_dns
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=600
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/pid
SlurmctldLogFile={folder}/log
"""


def settings(values: dict[str, Any]) -> str:
    """KEY=VALUE, as slurm.conf has them."""
    return " ".join(f"{key}={value}" for key, value in values.items())


def config(facts: dict[str, Any], folder: Path, munge: Path) -> str:
    """The slurm.conf of a site with these facts (tests/site_facts.py)."""
    nodes = dict(facts["nodes"])
    names = f"NodeName=node[1-{nodes.pop('count')}] State=CLOUD {settings(nodes)}"
    partitions = facts["partitions"].items()
    lines = [f"PartitionName={name} Nodes=ALL {settings(values)}" for name, values in partitions]
    if "licenses" in facts:
        lines.append(f"Licenses={facts['licenses']}")
    return CONFIG.format(folder=folder, munge=munge) + "\n".join([names, *lines]) + "\n"


class Controller:
    """A site's slurmctld on the login machine of a cluster, while the context lasts."""

    def __init__(self, cluster: Cluster, folder: Path, facts: dict[str, Any]) -> None:
        self.cluster, self.folder = cluster, folder
        self.plugins = tuple(facts.get("plugins", ()))
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        (folder / "state").mkdir()
        text = config(facts, folder, cluster.folder / "munge/sock")
        (folder / "slurm.conf").write_text(text)

    def __enter__(self) -> Controller:
        command = ["slurmctld", "-D", "-c", "-f", self.environment["SLURM_CONF"]]
        self.process = subprocess.Popen(
            self.cluster.command(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "stderr").open("w"),
        )
        limit = time.monotonic() + 30
        while self.cluster.run(["scontrol", "ping"], env=self.environment).returncode:
            if self.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError((self.folder / "stderr").read_text())
            time.sleep(0.1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cluster.run(["scontrol", "shutdown"], env=self.environment)
        self.process.wait(20)

    def test_only(self, script: str, options: Sequence[str] = ()) -> tuple[bool, str]:
        """Whether `sbatch --test-only OPTIONS` takes a script, and what it says."""
        lines = script.splitlines(keepends=True)
        plain = [line for line in lines if not self._of_a_plugin(line)]
        command = ["sbatch", "--test-only", *options]
        done = self.cluster.run(command, env=self.environment, input="".join(plain))
        return done.returncode == 0, done.stderr

    def _of_a_plugin(self, line: str) -> bool:
        words = line.split()
        return words[:1] == ["#SBATCH"] and words[1].partition("=")[0] in self.plugins
