"""`jobgen mcp` on a real Slurm: all that an agent asks, from the cluster to why its job failed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.jobs import PATH, Desk
from tests.cluster.test_submit import here  # noqa: F401

pytest.importorskip("mcp", reason="the SDK is not installed: pip install '.[mcp]'")

import anyio

from tests.agent_client import Reply, dialogue

PROGRAM = "until [ -e go ]; do sleep 0.1; done; echo 'ValueError: no data' >&2; exit 7"
# What the nodes here lack: GPUs; the job needs no torch.
JOB = {
    "profile": "here",
    "nodes": 2,
    "gpus_per_node": 0,
    "launcher": "srun",
    "time": "10",
    "set_values": ["node.gpu=none", "launch.processes_per_node=1"],
}


class Agent:
    """Asks one thing after the other, as the answers come; it can also write files."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.replies, self.state = desk, dict[str, Reply](), ""

    def calls(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        folder, failing = self.desk.folder, ["sh", "-c", PROGRAM]
        yield "detect", {}
        (folder / "profiles").mkdir()
        (folder / "profiles/here.yaml").write_text(self.replies["detect"].result + "\n")
        yield "show_profile", {"profile": "here"}
        yield "write_script", {**JOB, "program": failing, "output": "job.sh"}
        yield "lint", {"files": ["job.sh"], "profile": "here"}
        yield "check", {"files": ["job.sh"]}
        yield "submit", {**JOB, "program": failing}
        job = int(self.replies["submit"].result)
        yield "why", {"names": [job]}
        self.state = self.replies["why"].result["what"]
        (folder / "go").touch()
        self.desk.cluster.wait(job, 120)
        yield "why", {"names": [job]}

    def ask(self) -> None:
        words = [sys.executable, "-m", "jobgen", "mcp", "--allow-submit"]
        words = self.desk.cluster.command(["env", "-C", str(self.desk.folder), *words])
        environ = self.desk.cluster.environment({"PATH": PATH})
        anyio.run(self._keep, words, environ)

    async def _keep(self, words: list[str], environ: Mapping[str, str]) -> None:
        await dialogue(self.calls(), words, environ, self.replies)


def test_from_a_cluster_that_nobody_knows_to_why_a_job_failed(here: Desk) -> None:  # noqa: F811
    agent = Agent(here)
    agent.ask()
    replies = agent.replies
    assert {name: each.text for name, each in replies.items() if each.is_error} == {}
    assert "scheduler: slurm" in replies["detect"].result
    assert "# profiles/here.yaml:" in replies["show_profile"].result
    assert [each["code"] for each in replies["lint"].result] == ["JG702"], "it requests no GPU"
    assert replies["check"].result == "job.sh: current"
    job = replies["submit"].result
    assert (here.folder / f"jobgen-logs/{job}.json").is_file()
    assert re.match("the job is (PENDING|RUNNING|CONFIGURING)", agent.state)
    verdict = replies["why"].result
    assert verdict["code"] == "python-exception"
    assert verdict["what"] == "ValueError: no data"
    assert verdict["evidence"][0]["place"].startswith(f"jobgen-logs/{job}/")


def test_a_job_of_another_folder_shows_nothing_of_its_output(here: Desk) -> None:  # noqa: F811
    """Slurm names the file; the server's folder does not have it."""
    text = "#!/bin/bash\n#SBATCH -o job-%j.out\necho 'ValueError: s3cret' >&2\nexit 1\n"
    job = here.send(text)
    here.cluster.wait(job, 60)
    assert "s3cret" in (here.folder / f"job-{job}.out").read_text()
    (here.folder / "inner").mkdir()
    words = [sys.executable, "-m", "jobgen", "mcp", "--folder", str(here.folder / "inner")]
    environ = here.cluster.environment({"PATH": PATH})
    calls = [("why", {"names": [job]})]
    (reply,) = anyio.run(dialogue, calls, here.cluster.command(words), environ)
    assert reply.is_error
    assert f"job-{job}.out: cannot be read: it is outside of {here.folder}/inner" in reply.text
    assert "s3cret" not in str(reply)
