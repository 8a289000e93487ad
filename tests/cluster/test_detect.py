"""`jobgen detect` on a real Slurm and a real OpenPBS, with the probe and without."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from tests.cluster.harness import Cluster
from tests.cluster.jobs import ON_CPU, PATH, Desk, PbsDesk
from tests.cluster.site import ONE_THREAD, USER, OpenPbs

ROOT = Path(__file__).parents[2]
DETECT = (sys.executable, "-m", "jobgen", "detect")
SHOW = "import os, sys; sys.stdout.write('rank {RANK} of {WORLD_SIZE}\\n'.format(**os.environ))"


def detect(
    cluster: Cluster, folder: Path, *words: str, more: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    return cluster.run([*more, *DETECT, *words], cwd=folder, env={"PATH": PATH})


def profile(text: str) -> dict[str, dict[str, object]]:
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def two_kinds(cluster: Cluster) -> Iterator[str]:
    """A partition with nodes of two kinds, one of which has a feature of its own."""
    admin = ("scontrol", "update", "NodeName=dgx[01-02]")
    try:
        cluster.run(["scontrol", "create", "PartitionName=mixed", "Nodes=slc-wn[1-2],dgx[01-02]"])
        cluster.run([*admin, "AvailableFeatures=a100,big", "ActiveFeatures=a100,big"])
        yield "mixed"
    finally:
        cluster.run(["scontrol", "delete", "PartitionName=mixed"])
        cluster.run([*admin, "AvailableFeatures=", "ActiveFeatures="])


def test_a_profile_without_the_probe_runs_a_job(desk: Desk) -> None:
    done = detect(desk.cluster, desk.folder, "-o", "found.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (desk.folder / "found.yaml").read_text()
    found = profile(text)
    assert (found["scheduler"], found["partition"]) == ("slurm", "dgx")
    assert found["node"] == {
        "cpus": 128,
        "gpus": 8,
        "gpu": "nvidia",
        "gpu_type": "a100",
        "memory": "1000000M",
        "arch": os.uname().machine,
    }
    assert found["limits"] == {
        "nodes": 2,
        "time": "1-00:00:00",
        "partitions": {
            "1CN128C8G2H_2IB_MI210_SLES15": {"nodes": 3, "time": "1-00:00:00"},
            "nvidia": {"nodes": 2, "time": "1-00:00:00"},
        },
    }
    assert found["slurm_version"] == desk.cluster.run(["sinfo", "--version"]).stdout.split()[1]
    # This Slurm has no slurmdbd.
    assert "# Accounts are not known: sacctmgr failed: You are not running a supported" in text
    program = desk.program("show.py", SHOW)
    # Its GPUs are files.
    words = ("--set", "launch.processes_per_node=1", "--set", f"software.venv={sys.prefix}")
    words += ("--set", "node.gpu=none")
    ended = desk.run("--profile", "found.yaml", "-N", "2", *words, *ONE_THREAD, "--", program)
    assert ended.state == "COMPLETED", ended.output
    assert sorted(re.findall(r"rank \d of \d", ended.output)) == ["rank 0 of 2", "rank 1 of 2"]


def test_the_probe_fills_in_what_a_node_knows(desk: Desk) -> None:
    done = detect(desk.cluster, desk.folder, "--partition", "nvidia", "--probe", "-o", "found.yaml")
    assert done.returncode == 0, done.stderr
    text = (desk.folder / "found.yaml").read_text()
    found = profile(text)
    assert found["network"]["interface"] == "hsn0"
    assert "Interfaces of slc-wn1: eth0 10.71.0.21, hsn0 10.72.0.21." in text
    assert "Its host name belongs to eth0." in text
    assert found["software"] == {"venv": sys.prefix}  # as python3 on PATH says
    assert "extends" not in found  # hsn0, but no Slingshot
    assert os.listdir(desk.folder) == ["found.yaml"]
    program = desk.program("show.py", SHOW)
    ended = desk.run("--profile", "found.yaml", "-N", "2", *ON_CPU, "--", program)
    assert ended.state == "COMPLETED", ended.output
    assert "on hsn0" in ended.output


def test_nodes_of_two_kinds(cluster: Cluster, two_kinds: str, tmp_path: Path) -> None:
    done = detect(cluster, tmp_path, "--partition", two_kinds, "--probe", "-o", "found.yaml")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "found.yaml").read_text()
    found = profile(text)
    assert (found["node"]["gpus"], found["limits"]["nodes"]) == (8, 2)
    assert found["request"]["constraint"] == "a100"
    assert "2 nodes, 8 CPUs, 31G, 1 GPU: slc-wn[1-2]" in text
    assert "As dgx01 says." in text  # the job had the constraint
    words = ("--profile", "found.yaml", "-N", "2", "--set", f"software.venv={sys.prefix}")
    command = (sys.executable, "-m", "jobgen", "sbatch", *words, "--", "train.py")
    script = cluster.run(command, cwd=tmp_path, env={"PATH": PATH}).stdout
    tried = cluster.run(["sbatch", "--test-only"], cwd=tmp_path, input=script)
    assert tried.returncode == 0, tried.stderr
    assert "dgx[01-02]" in tried.stderr


def test_a_controller_that_does_not_answer(cluster: Cluster, tmp_path: Path) -> None:
    (pid,) = (cluster.folder / "pid/slurmctld.pid").read_text().split()
    cluster.run(["kill", "-STOP", pid])
    try:
        begin = time.monotonic()
        done = detect(cluster, tmp_path)
        assert time.monotonic() - begin < 30  # Slurm itself would wait for MessageTimeout
    finally:
        cluster.run(["kill", "-CONT", pid])
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("jobgen: detect: `sinfo` did not answer within 2 s")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_probe_that_waits_is_cancelled(cluster: Cluster, tmp_path: Path, number: int) -> None:
    cluster.run(["scontrol", "update", "PartitionName=nvidia", "State=DOWN"])
    begin = ("setsid", "env", "--default-signal=INT", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh")
    words = (*begin, *DETECT, "--partition", "nvidia", "--probe")
    try:
        process = subprocess.Popen(
            cluster.command(words), env=cluster.environment({"PATH": PATH}), cwd=tmp_path,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr
        line = process.stderr.readline()
        job = re.findall(r"job (\d+) is submitted", line)
        assert job, line
        cluster.run(["kill", f"-{number}", (tmp_path / "pid").read_text().strip()])
        output, errors = process.communicate(timeout=60)
    finally:
        cluster.run(["scontrol", "update", "PartitionName=nvidia", "State=UP"])
    assert (process.returncode, output) == (130, "")
    assert f"probe: job {job[0]} is cancelled" in errors
    assert os.listdir(tmp_path) == ["pid"]
    assert "JobState=CANCELLED" in cluster.run(["scontrol", "show", "job", job[0]]).stdout


def test_a_probe_that_does_not_start(cluster: Cluster, tmp_path: Path) -> None:
    cluster.run(["scontrol", "update", "PartitionName=nvidia", "State=DOWN"])
    try:
        words = ("--partition", "nvidia", "--probe", "--probe-limit", "2")
        done = detect(cluster, tmp_path, *words)
    finally:
        cluster.run(["scontrol", "update", "PartitionName=nvidia", "State=UP"])
    assert done.returncode == 1
    assert re.search(r"job \d+ has not answered within 2 s \(PENDING PartitionDown\)", done.stderr)
    assert profile(done.stdout)["partition"] == "nvidia"
    assert os.listdir(tmp_path) == []


# ---- PBS ----


@pytest.fixture
def pbs_folder(real: PbsDesk) -> Iterator[Path]:
    """A folder that the user of PBS may write to."""
    with TemporaryDirectory(prefix="detect") as folder:
        os.chown(folder, USER, USER)
        yield Path(folder)


def pbs_detect(site: OpenPbs, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return site.tool("env", f"PYTHONPATH={ROOT}", *DETECT, *words, cwd=folder)


def openpbs(desk: PbsDesk) -> OpenPbs:
    assert isinstance(desk.site, OpenPbs)
    return desk.site


def test_a_profile_of_openpbs_with_the_probe(real: PbsDesk, pbs_folder: Path) -> None:
    site = openpbs(real)
    done = pbs_detect(site, pbs_folder, "--queue", "blanca", "--probe", "-o", "found.yaml")
    assert done.returncode == 0, done.stderr
    assert os.listdir(pbs_folder) == ["found.yaml"]
    text = (pbs_folder / "found.yaml").read_text()
    found = profile(text)
    assert (found["scheduler"], found["queue"]) == ("pbs", "blanca")
    assert (found["node"]["cpus"], found["node"]["gpus"]) == (288, 4)
    assert found["node"]["arch"] == os.uname().machine
    assert found["network"] == {"interface": "hsn0"}
    assert found["request"] == {"gpu_option": "ngpus"}
    assert "chunk: {sales_op: blanca}" in text
    script = site.tool(
        *("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "jobgen", "qsub"),
        *("--profile", "found.yaml", "-N", "2", "--set", f"software.venv={sys.prefix}"),
        *("--set", "launch.processes_per_node=1", *ONE_THREAD),
        *("--", real.program("show.py", SHOW)),
        cwd=pbs_folder,
    )
    assert script.returncode == 0, script.stderr
    ended = site.wait(real.send(script.stdout), real.folder)
    assert ended.status == 0, ended.output
    assert sorted(re.findall(r"rank \d of \d", ended.output)) == ["rank 0 of 2", "rank 1 of 2"]


def test_nodes_of_two_kinds_in_openpbs(real: PbsDesk, pbs_folder: Path) -> None:
    site = openpbs(real)
    admin = [str(site.folder / "bin/qmgr"), "-c"]
    site.cluster.run([*admin, "set node blancapeak005 resources_available.sales_op=other"])
    site.cluster.run([*admin, "set node blancapeak005 resources_available.ngpus=1"])
    site.cluster.run([*admin, "set queue blanca resources_max.walltime=02:00:00"])
    try:
        done = pbs_detect(site, pbs_folder)
    finally:
        site.cluster.run([*admin, "set node blancapeak005 resources_available.sales_op=blanca"])
        site.cluster.run([*admin, "set node blancapeak005 resources_available.ngpus=4"])
        site.cluster.run([*admin, "unset queue blanca resources_max.walltime"])
    assert (done.returncode, done.stderr) == (0, "")
    found = profile(done.stdout)
    assert (found["queue"], found["node"]["gpus"], found["limits"]["nodes"]) == ("workq", 4, 2)
    assert found["limits"]["partitions"]["blanca"]["time"] == "02:00:00"
    assert found["request"]["constraint"] == "sales_op=blanca"
    other = r"1 node, 288 CPUs, \d+G, 1 GPU: blancapeak005  \(request.constraint: sales_op=other\)"
    assert re.search(other, done.stdout)


def test_a_probe_of_openpbs_that_does_not_start(real: PbsDesk, pbs_folder: Path) -> None:
    site = openpbs(real)
    admin = [str(site.folder / "bin/qmgr"), "-c"]
    site.cluster.run([*admin, "set queue blanca started=false"])
    try:
        words = ("--queue", "blanca", "--probe", "--probe-limit", "2")
        done = pbs_detect(site, pbs_folder, *words)
    finally:
        site.cluster.run([*admin, "set queue blanca started=true"])
    assert done.returncode == 1
    job = re.findall(r"job (\S+) is cancelled", done.stderr)
    assert job
    assert "has not answered within 2 s" in done.stderr
    assert os.listdir(pbs_folder) == []
    assert site.ended(job[0]) is not None
