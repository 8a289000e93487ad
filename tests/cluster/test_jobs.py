"""Generated scripts on the real Slurm: every rank on every node reports."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobgen.generator import find_profiles
from jobgen.profiles.search import profile_files
from tests.cluster.harness import Cluster
from tests.cluster.jobs import ON_CPU, Desk, generate
from tests.cluster.site import ONE_THREAD

MI210 = ("--profile", "mi210", *ON_CPU)


def ranks(output: str) -> list[tuple[int, str]]:
    """(rank, node) of every rank that reported, by rank."""
    line = r"^Start running basic DDP example on rank (\d+)\."
    line += r" \(node ([\w-]+), device cpu, backend gloo\)$"
    return sorted((int(rank), node) for rank, node in re.findall(line, output, re.MULTILINE))


def expected(nodes: list[str], each: int) -> list[tuple[int, str]]:
    return [(number, nodes[number // each]) for number in range(len(nodes) * each)]


MI210_NODES = ["smc-r07-07", "smc-r07-08", "smc-r07-09"]


@pytest.mark.thorough
def test_mi210_on_three_nodes(desk: Desk) -> None:
    done = desk.run(*MI210, "-N", "3", "-G", "2", timeout=360)
    assert done.state == "COMPLETED", done.output
    assert ranks(done.output) == expected(MI210_NODES, 2)
    assert "All 6 ranks took one DDP step together" in done.output


def test_dgx_a100_on_two_nodes(desk: Desk) -> None:
    done = desk.run("--profile", "dgx-a100", "--set", "node.gpu=none", *ONE_THREAD)
    assert done.state == "COMPLETED", done.output
    assert ranks(done.output) == expected(["dgx01", "dgx02"], 2)


def test_one_node(desk: Desk) -> None:
    done = desk.run(*MI210, "-N", "1", "-G", "2")
    assert done.state == "COMPLETED", done.output
    assert ranks(done.output) == expected(["smc-r07-07"], 2)


def test_fabric_that_the_hostname_does_not_resolve_to(desk: Desk) -> None:
    """The case that hangs without is_host; and the ranks meet there too, not only the agents."""
    show = desk.program(
        "show.py", "import os, sys\nsys.stdout.write('at {MASTER_ADDR}\\n'.format(**os.environ))\n"
    )
    words = ("-N", "2", "-G", "1", "--set", "network.interface=hsn0")
    done = desk.run(*MI210, *words, "--", show)
    assert done.output.count("at 10.72.0.9\n") == 2, done.output


def test_hostname_that_resolves_to_loopback(desk: Desk) -> None:
    """Debian's 127.0.1.1: no node may take it for its address."""
    own = "sed -i '/ smc-r07-07$/s/^/#/; $a 127.0.1.1 smc-r07-07' /etc/hosts"
    back = "sed -i '/^127.0.1.1/d; s/^#//' /etc/hosts"
    route = ["ip", "route", "add", "default", "dev", "eth0"]
    desk.cluster.on("smc-r07-07", "sh", "-c", own)
    desk.cluster.on("smc-r07-07", *route)
    try:
        done = desk.run(*MI210, "-N", "2", "-G", "1")
    finally:
        desk.cluster.on("smc-r07-07", "sh", "-c", back)
        desk.cluster.on("smc-r07-07", "ip", "route", "del", "default")
    assert done.state == "COMPLETED", done.output
    assert "smc-r07-07 is ready, 10.71.0.9 on eth0" in done.output


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("way", "each"), [(("--rendezvous", "static"), 1), (("--launcher", "srun"), 2)]
)
def test_other_ways_to_start(desk: Desk, way: tuple[str, ...], each: int) -> None:
    done = desk.run(*MI210, "-N", "2", "-G", str(each), *way)
    assert done.state == "COMPLETED", done.output
    assert ranks(done.output) == expected(MI210_NODES[:2], each)


# What the nodes here lack: conda, which the profiles' own line calls, and GPUs.
CONDA = f"""conda() {{
  [[ $1 != activate ]] || export CONDA_DEFAULT_ENV=$2 PATH={Path(sys.executable).parent}:$PATH
}}
"""


@contextmanager
def login_shell_runs(desk: Desk, text: str, *nodes: str) -> Iterator[None]:
    """For this test alone: the nodes stay, and other tests have a conda of their own."""
    file = "/etc/profile.d/site.sh"
    for node in nodes:
        desk.cluster.on(node, "tee", file, input=text)
    try:
        yield
    finally:
        for node in nodes:
            desk.cluster.on(node, "rm", file)


@pytest.mark.thorough
def test_aws_nvidia(desk: Desk) -> None:
    """VGG by plain srun, one task a GPU."""
    words = ("--trainer", "cifar10_vgg", "--", "1", "1", "--synthetic", "64")
    with login_shell_runs(desk, CONDA, "slc-wn1", "slc-wn2"):
        done = desk.run("--profile", "aws-nvidia", "--set", "node.gpu=none", *words)
    assert done.state == "COMPLETED", done.output
    reported = sorted(re.findall(r"^\[RANK (\d)\] Epoch 0 ", done.output, re.MULTILINE))
    assert reported == ["0", "1"]
    assert re.search(r"^Test accuracy: .* of 16 images$", done.output, re.MULTILINE)


@pytest.mark.thorough
def test_aws_cpu(desk: Desk) -> None:
    """Four processes on each of two nodes, 50 epochs of 2,048 samples, in batches of 32."""
    with login_shell_runs(desk, CONDA, "dgx01", "dgx02"):
        job = desk.submit("--profile", "aws-cpu", "--mkdir")
        done = desk.cluster.wait(job, 240)
    assert done.state == "COMPLETED", done.output
    assert done.labelled == (desk.folder / f"logs/regression_{job}.out").read_text()
    line = r"^\[RANK (\d)\] Epoch 49 \| Batchsize: 32 \| Steps: 8$"
    reported = sorted(re.findall(line, done.output, re.MULTILINE))
    assert reported == [str(rank) for rank in range(8)]


@pytest.mark.thorough
def test_all_reduces_over_the_fabric(desk: Desk) -> None:
    words = ("--set", "network.interface=hsn0", "--trainer", "doctor")
    only = ("--", "--only", "all-reduce", "--to", "64K")
    done = desk.run(*MI210, "-N", "2", "-G", "1", *words, *only)
    assert done.state == "COMPLETED", done.output
    assert "2 ranks on 2 nodes: gloo over TCP, interface hsn0\n" in done.output


def test_software_of_the_nodes(desk: Desk) -> None:
    """Modules come with the login shell, a venv from its folder; nothing from where it was sent."""
    site = 'module() { echo "module $*"; export LOADED=$2 NCCL_DEBUG=module; }\n'
    text = "import os, sys\nline = '{LOADED} {NCCL_DEBUG} '.format(**os.environ) + sys.prefix\n"
    text += "sys.stdout.write(line + '\\n')\n"
    show = desk.program("show.py", text)
    words = (
        *("--profile", "dgx-a100", "-G", "1", "--set", "node.gpu=none"),
        *("--set", "software.modules=[cuda/12.6]", "--set", f"software.venv={sys.prefix}"),
        *("-e", "NCCL_DEBUG=mine", "--", show),
    )
    with login_shell_runs(desk, site, "dgx01", "dgx02"):
        done = desk.run(*words, options=["--export=NONE"])
    assert done.state == "COMPLETED", done.output
    assert done.output.count(f"cuda/12.6 mine {sys.prefix}\n") == 2, done.output


def test_bundled_profiles_are_accepted(cluster: Cluster, tmp_path: Path) -> None:
    slurm = [
        name
        for name in profile_files()  # test_sites.py has the sites
        if "/" not in name and find_profiles().load(name).profile.scheduler == "slurm"
    ]
    assert {"mi210", "dgx-a100", "aws-nvidia", "aws-cpu", "aws-cpu-container"} <= set(slurm)
    for name in slurm:
        script = generate("sbatch", "--profile", name, cwd=tmp_path)
        done = cluster.run(["sbatch", "--test-only"], input=script, cwd=tmp_path)
        assert done.returncode == 0, (name, done.stderr)


def test_directives_reach_slurm_as_they_are(cluster: Cluster, tmp_path: Path) -> None:
    name = "a \"b\" \\ $(id) `id` #é 'c'"
    words = ("--profile", "dgx-a100", "-t", "90:30", "-J", name, "--directive=--comment=" + name)
    job = cluster.sbatch(generate("sbatch", *words, cwd=tmp_path), "--hold", cwd=tmp_path)
    shown = cluster.run(["scontrol", "show", "job", str(job)]).stdout
    cluster.run(["scancel", str(job)])
    assert f"JobName={name}\n" in shown
    assert f"Comment={name} \n" in shown or f"Comment={name}\n" in shown
    assert "TimeLimit=01:31:00 " in shown
