"""`jobgen mcp` on a real Slurm: all that an agent asks, from the cluster to why its job failed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.jobs import PATH, Desk
from tests.cluster.test_submit import here  # noqa: F401

pytest.importorskip("mcp", reason="the SDK is not installed: pip install '.[mcp]'")

import anyio

from tests.agent_client import Reply, dialogue

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
        self.desk, self.replies = desk, dict[str, Reply]()

    def calls(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        folder, failing = self.desk.folder, ["sh", "-c", "echo 'ValueError: no data' >&2; exit 7"]
        yield "detect", {}
        (folder / "profiles").mkdir()
        (folder / "profiles/here.yaml").write_text(self.replies["detect"].result + "\n")
        yield "show_profile", {"profile": "here"}
        yield "write_script", {**JOB, "program": failing, "output": "job.sh"}
        yield "lint", {"files": ["job.sh"], "profile": "here"}
        yield "check", {"files": ["job.sh"]}
        yield "submit", {**JOB, "program": failing}
        self.desk.cluster.wait(int(self.replies["submit"].result), 120)
        yield "why", {"names": [self.replies["submit"].result]}

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
    verdict = replies["why"].result
    assert verdict["code"] == "python-exception"
    assert verdict["what"] == "ValueError: no data"
    assert verdict["evidence"][0]["place"].startswith(f"jobgen-logs/{job}/")
