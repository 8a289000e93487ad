"""Nodes without IPv4: networks of their own on this machine, whose addresses are of IPv6 alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers import jobgen
from tests.kept import marked
from tests.test_parts_in_bash import run

pytestmark = pytest.mark.slow  # they make networks

ROOT = Path(__file__).parent.parent
NAMES = "::1 localhost\nfd00::1 n1\nfd00::2 n2\n"
BOTH = "fd00::1 n1\n10.9.0.1 n1\nfd00::2 n2\n10.9.0.2 n2\n"  # the resolver prefers IPv6
# A node lives as long as this shell.
NODE = """
ip link set lo up && ip addr del 127.0.0.1/8 dev lo
mount --bind "$1" /etc/hosts
echo && exec sleep infinity
"""
# Both interfaces are up; f1 has an address of the link alone.
CABLES = """
ip link add f0 type veth peer name f0 netns {pid}
ip link add f1 type veth peer name f1 netns {pid}
"""
PLUG = """
ip link set f0 up && ip link set f1 up
ip -6 addr add fd00::{number}/64 dev f0 nodad
"""
PROGRAM = """
import os
import torch
from jobgen.trainers.checkup.examination import own_address

torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
model(torch.ones(1, 2)).sum().backward()  # torch.optim would import for seconds
for weight in model.parameters():
    weight.data -= 0.1 * weight.grad
total = torch.ones(())
torch.distributed.all_reduce(total)
line = f"a step of {int(total)} by {os.environ['MASTER_ADDR']} from {own_address()}\\n"
print(line, end="", flush=True)  # one write: --plain has no torchrun that keeps lines apart
torch.distributed.barrier()  # gloo fails where another rank leaves
torch.distributed.destroy_process_group()
"""
STEPS = [f"of 2 by fd00::1 from fd00::{number}" for number in (1, 2)]


def missing() -> str | None:
    """Why there can be no such network here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if lacking := [name for name in ("ip", "ss", "unshare", "nsenter") if not shutil.which(name)]:
        return f"not installed: {', '.join(lacking)}"
    if not Path("/proc/net/if_inet6").exists():
        return "this machine has no IPv6"
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], check=False)
    return None if tried.returncode == 0 else "this machine allows no namespaces"


@dataclass(frozen=True)
class Node:
    """A network of its own, and its own /etc/hosts."""

    pid: int  # of the process that holds it

    def command(self, *words: str) -> list[str]:
        """The command that runs another one there."""
        return ["nsenter", "-t", str(self.pid), "--net", "--mount", "--wd=.", *words]

    def do(self, text: str) -> None:
        subprocess.run(self.command("sh", "-ec", text), check=True)


@contextmanager
def network(names: Path) -> Iterator[Node]:
    """A node without cables; the kernel takes it away with this process."""
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "sh", "-ec", NODE]
    with subprocess.Popen([*command, "sh", str(names)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"\n"
            yield Node(process.pid)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What both nodes have as /etc/hosts."""
    file = tmp_path_factory.mktemp("names") / "hosts"
    file.write_text(NAMES)
    return file


@pytest.fixture(scope="module")
def nodes(names: Path) -> Iterator[list[Node]]:
    """Two nodes n1 and n2; neither has an address of IPv4, not even 127.0.0.1."""
    if reason := missing():
        pytest.skip(reason)
    with ExitStack() as stack:
        made = [stack.enter_context(network(names)) for _ in range(2)]
        made[0].do(CABLES.format(pid=made[1].pid))
        for number, node in enumerate(made, 1):
            node.do(PLUG.format(number=number))
        yield made


WAYS = pytest.mark.parametrize(
    ("part", "values"),
    [
        ("node/address-named", "interface=f0"),
        ("node/address-route", "hosts=(n1 n2) node={node}"),
    ],
)
CHECK = ("fail-local", "node/address-named", "node/check-node", "check_node")
SHOW = 'find_address; echo "$address on $interface"'


@WAYS
def test_a_node_finds_its_own_address(
    nodes: list[Node], tmp_path: Path, part: str, values: str
) -> None:
    """And not that of the link, which the interface has as well."""
    for number, node in enumerate(nodes):
        text = values.format(node=number)
        done = run(tmp_path, text, part, SHOW, within=node.command())
        assert (done.stdout, done.stderr) == (f"fd00::{number + 1} on f0\n", "")


@WAYS
def test_a_node_that_has_both_takes_ipv4(
    nodes: list[Node], names: Path, tmp_path: Path, part: str, values: str
) -> None:
    """Also where the names of the others are resolved to IPv6 first."""
    try:
        names.write_text(BOTH)
        for number, node in enumerate(nodes, 1):
            node.do(f"ip addr add 10.9.0.{number}/24 dev f0")
        first = run(tmp_path, "getent ahosts n2 | head -n 1", within=nodes[0].command()).stdout
        assert first.startswith("fd00::2 ")
        done = run(tmp_path, values.format(node=0), part, SHOW, within=nodes[0].command())
        assert (done.stdout, done.stderr) == ("10.9.0.1 on f0\n", "")
    finally:
        names.write_text(NAMES)
        for node in nodes:
            node.do("ip -4 addr flush dev f0")


def test_an_address_of_a_link_is_none(nodes: list[Node], tmp_path: Path) -> None:
    """It needs the name of the interface beside it, which torchrun refuses."""
    here = nodes[0].command()
    values = "interface=f1 nodes=2 host=n1"
    done = run(tmp_path, values, *CHECK, within=here)
    cure = "--set network.interface=NAME, one of f0 fd00::1/64"
    assert done.stderr == f"jobgen: n1: no address on f1: {cure}\n"
    assert ip_of(nodes[0], "f1").startswith("fe80::")


LISTEN = """
import socket
server = socket.create_server(("fd00::1", 29411), family=socket.AF_INET6)
print(flush=True)
input()
"""


def test_the_port_of_another_job_is_seen(nodes: list[Node], tmp_path: Path) -> None:
    values = "interface=f0 nodes=2 host=n1 node=0 port=29411"
    command = nodes[0].command(sys.executable, "-c", LISTEN)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as listener:
        assert listener.stdout
        listener.stdout.readline()
        done = run(tmp_path, values, *CHECK, within=nodes[0].command())
        listener.communicate(b"\n")
    assert done.stderr == "jobgen: n1: port 29411 is used: --set network.port=N\n"


def ip_of(node: Node, interface: str) -> str:
    """What `ip` says that an interface has."""
    command = node.command("ip", "-br", "addr", "show", "dev", interface)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[2]


# What Slurm does: the command on both nodes, and a status that is not 0 if one fails.
SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
pids=({pids})
for number in 0 1; do
  SLURM_NODEID=$number SLURM_PROCID=$number SLURMD_NODENAME=n$((number + 1)) \\
    nsenter -t "${{pids[number]}}" --net --mount --wd=. "$@" &
done
wait -n && wait -n
"""
SCONTROL = "#!/bin/sh\nprintf '%s\\n' n1 n2\n"
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_CPUS_PER_TASK": "1",
    "SLURM_NTASKS": "2",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0",
    "SLURMD_NODENAME": "n1",
}
HERE = ("--profile", "dgx-a100", "-G1", "--set", "node.gpu=none", "-e", "OMP_NUM_THREADS=1")
JOB = (*HERE, "-N2")
NAMED = ("--set", "network.interface=f0")


@pytest.mark.torch
@pytest.mark.parametrize(
    "words",
    [
        NAMED,
        pytest.param(("--rendezvous", "static"), marks=pytest.mark.thorough),
        pytest.param(("--max-restarts", "1"), marks=pytest.mark.thorough),
        pytest.param(("--launcher", "srun", *NAMED), marks=pytest.mark.thorough),
        pytest.param(("--plain",), marks=pytest.mark.thorough),
    ],
)
def test_ranks_train_a_step(nodes: list[Node], tmp_path: Path, words: tuple[str, ...]) -> None:
    """A whole script, with and without the name of the interface."""
    pytest.importorskip("torch", reason="the ranks need torch: pip install '.[trainers]'")
    (tmp_path / "step.py").write_text(PROGRAM)
    (tmp_path / "job").write_bytes(
        jobgen("sbatch", *JOB, *words, "--", "step.py", cwd=tmp_path).stdout
    )
    (tmp_path / "bin").mkdir()
    pids = " ".join(str(node.pid) for node in nodes)
    for name, text in (("srun", SRUN.format(pids=pids)), ("scontrol", SCONTROL)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    path = f"{tmp_path}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
    with marked(tmp_path) as processes:
        done = subprocess.run(
            nodes[0].command("bash", str(tmp_path / "job")),
            cwd=tmp_path,
            env={**processes.environment, **SLURM, "PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    steps = re.findall("a step (.*)", done.stdout)
    assert (sorted(steps), done.returncode) == (STEPS, 0), done.stderr


def test_the_lead_starts_both_nodes(nodes: list[Node], tmp_path: Path) -> None:
    """By a starter that takes the name of a host, as pbs_tmrsh and ssh do."""
    enter = [" ".join(node.command()) for node in nodes]
    starter = f"bash -c '[[ %h = n1 ]] && exec {enter[0]} %a; exec {enter[1]} %a'"
    words = (tmp_path, "fd00::1", 10, 1, 1, 0, "n1 n2", starter, "bash", "-c", "echo $JOBGEN_HOST")
    with marked(tmp_path) as processes:
        started = processes.start("lead", *words, within=nodes[0].command())
        output, errors = started.communicate(timeout=30)
    assert (sorted(output.splitlines()), errors, started.returncode) == (["n1", "n2"], "", 0)


@pytest.mark.torch
@pytest.mark.thorough
def test_lines_to_paste_on_hosts_that_are_addresses(nodes: list[Node], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the ranks need torch: pip install '.[trainers]'")
    (tmp_path / "step.py").write_text(PROGRAM)
    words = ("byhand", *HERE, *NAMED, "--hosts", "fd00::1,fd00::2", "--", "step.py")
    on_all, *own = jobgen(*words, cwd=tmp_path).stdout.decode().split("# ---- on fd00")
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with marked(tmp_path) as processes:
        environment = {**processes.environment, **environment, "PYTHONPATH": str(ROOT)}
        started = [
            subprocess.Popen(
                node.command("bash", "-c", f"{on_all}#{lines}"),
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            for node, lines in zip(nodes, own, strict=True)
        ]
        output = "".join(each.communicate(timeout=120)[0] for each in started)
    assert sorted(re.findall("a step (.*)", output)) == STEPS


@pytest.mark.parametrize(("head", "joined"), [("fd00::1", "[fd00::1]"), ("10.9.0.1", "10.9.0.1")])
def test_before_a_port_an_address_is_in_brackets(tmp_path: Path, head: str, joined: str) -> None:
    words = ("--launcher", "node", "--", "printf", "%s\n", "tcp://%h:%p/x", "--head=%h")
    text = jobgen("sbatch", *JOB, *words, cwd=tmp_path).stdout.decode()
    ranks = re.findall(r"(?ms)^ranks\(\) \{.*?^\}$", text)
    values = f"head={head} port=29400 node=0 nodes=2 address={head}"
    done = run(tmp_path, values, *ranks, "ranks")
    assert done.stdout.split() == [f"tcp://{joined}:29400/x", f"--head={head}"], done.stderr
