"""Ranks follow the scheduler's order of the nodes, whose addresses sort otherwise as text."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, Finished, missing
from tests.cluster.jobs import ON_CPU, Desk, PbsDesk, generate
from tests.cluster.test_spares import not_ready

JOB = ("--profile", "mi210", *ON_CPU, "-G", "2", "-t", "10")
NODES = ("smc-r07-07", "smc-r07-08", "smc-r07-09")  # .9, .10 and .100: as text .10, .100 and .9
SHOW = """
import os, pathlib, sys, time
of = os.environ
failed = pathlib.Path("failed")
def show(rank, local, at):  # in one piece: others write, too
    os.write(1, f"rank {rank} is {local} of {os.uname().nodename} at {at}\\n".encode())
show(of["RANK"], of["LOCAL_RANK"], of["MASTER_ADDR"])
if "fail" in sys.argv and not failed.exists():
    pathlib.Path("up" + of["RANK"]).touch()
    while of["RANK"] != "3" or len(list(pathlib.Path().glob("up*"))) < int(of["WORLD_SIZE"]):
        time.sleep(0.1)
    failed.touch()
    sys.exit(3)
lost = pathlib.Path("lost").exists()
while "wait" in sys.argv and not pathlib.Path("go").exists():
    time.sleep(0.1)
    if pathlib.Path("lost").exists() > lost:
        sys.exit(4)  # as a rank that has lost a peer
"""


def shown(output: str) -> list[tuple[int, int, str, str]]:
    """Each rank's number, local number, node, and the address where the ranks meet."""
    found = re.findall(r"rank (\d+) is (\d+) of (\S+) at (\S+)$", output, re.MULTILINE)
    return [(int(rank), int(local), node, at) for rank, local, node, at in found]


def in_order(nodes: tuple[str, ...], address: str) -> set[tuple[int, int, str, str]]:
    """What is shown by two ranks on each of these nodes, in this order."""
    return {(2 * i + j, j, node, address) for i, node in enumerate(nodes) for j in (0, 1)}


def check(done: Finished, nodes: tuple[str, ...], address: str) -> None:
    assert done.state == "COMPLETED", done.labelled
    assert set(shown(done.output)) == in_order(nodes, address), done.labelled


@pytest.mark.parametrize(
    "words",
    [
        (),
        pytest.param(("--plain",), marks=pytest.mark.thorough),
        pytest.param(("--rendezvous", "static"), marks=pytest.mark.thorough),
        ("--launcher", "srun"),  # with a distribution of the site or of the user
        pytest.param(("--launcher", "srun", "--plain"), marks=pytest.mark.thorough),
        pytest.param(
            ("--set", "launch.starter=mpirun", "--set", "launch.cpu_bind=null"),
            marks=pytest.mark.thorough,
        ),
    ],
    ids=" ".join,
)
def test_ranks_follow_the_scheduler(desk: Desk, words: tuple[str, ...]) -> None:
    program = desk.program("show.py", SHOW)
    root = "OMPI_ALLOW_RUN_AS_ROOT=1,OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    cyclic = [f"--export=ALL,SLURM_DISTRIBUTION=cyclic,{root}"]
    done = desk.run(*JOB, "-N", "3", *words, "--", program, options=cyclic)
    check(done, NODES, "10.71.0.9")


@pytest.mark.thorough
def test_also_after_a_restart(desk: Desk) -> None:
    words = ("-N", "3", "--max-restarts", "1", "--", desk.program("show.py", SHOW), "fail")
    done = desk.run(*JOB, *words)
    check(done, NODES, "10.71.0.9")
    assert len(shown(done.output)) == 12


def wait_for(desk: Desk, ranks: int) -> None:
    limit = time.monotonic() + 120
    while len(shown("".join(file.read_text() for file in desk.folder.glob("*.out")))) < ranks:
        assert time.monotonic() < limit
        time.sleep(0.5)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ("2+1", (NODES[0], NODES[2])),
        ("2:3", (NODES[0], NODES[2])),
    ],
)
def test_when_a_node_is_lost_in_the_order_of_those_that_are_left(
    desk: Desk, nodes: str, left: tuple[str, ...]
) -> None:
    program = desk.program("show.py", SHOW)
    job = desk.submit(*JOB, "-N", nodes, "--max-restarts", "2", "--", program, "wait")
    started = 4 if "+" in nodes else 6
    wait_for(desk, started)
    desk.cluster.on(NODES[1], "pkill", "-KILL", "-f", r"torch\.distributed\.run")
    (desk.folder / "lost").touch()
    wait_for(desk, started + 4)
    (desk.folder / "go").touch()
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.labelled
    rows = shown(done.output)
    assert set(rows[:started]) == in_order(NODES[: started // 2], "10.71.0.9"), done.labelled
    assert set(rows[started:]) == in_order(left, "10.71.0.9"), done.labelled


@pytest.mark.thorough
@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_spares_of_which_the_first_is_not_ready(desk: Desk, launcher: str) -> None:
    program = desk.program("show.py", SHOW)
    words = ("-N", "2+1", "--launcher", launcher, "--", program)
    check(desk.run(*JOB, *not_ready("07$"), *words), NODES[1:], "10.71.0.10")


@pytest.mark.parametrize(
    "words",
    [
        ("--directive=--distribution=arbitrary",),
        pytest.param(
            ("--launcher", "srun", "--set", "launch.srun_options=[--distribution=arbitrary]"),
            marks=pytest.mark.thorough,
        ),
        pytest.param(("--launcher", "node", "--directive=-marbitrary"), marks=pytest.mark.thorough),
    ],
    ids=" ".join,
)
def test_hosts_in_the_order_of_a_file(desk: Desk, words: tuple[str, ...]) -> None:
    """Slurm starts the script on smc-r07-07, which has the last ranks."""
    order = (NODES[2], NODES[1], NODES[0])
    (desk.folder / "hosts").write_text("\n".join(order) + "\n")
    text = SHOW
    if "node" in words:  # the program numbers what it starts
        first = '2 * int(of["JOBGEN_NODE"])'
        for_both = f'for i in (0, 1): show({first} + i, i, of["JOBGEN_HEAD"])'
        text = SHOW.replace('show(of["RANK"], of["LOCAL_RANK"], of["MASTER_ADDR"])', for_both)
    program = desk.program("show.py", text)
    script = generate("sbatch", *JOB, "-N", "3", *words, "--", program, cwd=desk.folder)
    given = {"PATH": desk.path, "SLURM_HOSTFILE": f"{desk.folder}/hosts"}
    job = desk.cluster.sbatch(script, cwd=desk.folder, env=given)
    check(desk.cluster.wait(job, 180), order, "10.71.0.100")


@pytest.mark.thorough
def test_a_file_without_a_host_of_the_job_is_named(desk: Desk) -> None:
    option = "launch.srun_options=[--distribution=arbitrary]"
    done = desk.run(*JOB, "-N", "2", "--set", option, "--", desk.program("x.py", ""))
    assert done.state == "FAILED"
    assert "0 of the job's 2 nodes are in SLURM_HOSTFILE" in done.labelled, done.labelled


SWITCHES = """
SwitchName=leaf1 Nodes=smc-r07-07,smc-r07-09
SwitchName=leaf2 Nodes=smc-r07-08,slc-wn[1-2],dgx[01-02]
SwitchName=spine Switches=leaf[1-2]
"""


@pytest.mark.thorough
def test_of_a_tree_of_switches_the_reserve_is_the_lone_node(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("torch")
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("tree")  # a short name: Slurm's sockets are in it
    (folder / "etc").mkdir()
    (folder / "etc/topology.conf").write_text(SWITCHES)  # boot.sh asks for it
    with Cluster(folder) as cluster:
        desk = Desk(cluster, tmp_path)
        done = desk.run(*JOB, "-N", "2+1", "--", desk.program("show.py", SHOW))
    check(done, (NODES[0], NODES[2]), "10.71.0.9")
    line = f"the ranks run on {NODES[0]},{NODES[2]}; in reserve: {NODES[1]}\n"
    assert line in done.labelled


@pytest.mark.thorough
def test_ranks_follow_the_node_file_of_pbs(pbs: PbsDesk) -> None:
    """blancapeak003, 004 and 005 have the addresses .3, .14 and .105."""
    done = pbs.run("-N", "3", "--", pbs.program("show.py", SHOW))
    names = [f"blancapeak00{number}" for number in (3, 4, 5)]
    rows = {(rank, node.split(".")[0], at) for rank, _, node, at in shown(done.output)}
    assert rows == {(rank, name, "10.72.0.3") for rank, name in enumerate(names)}, done.output
