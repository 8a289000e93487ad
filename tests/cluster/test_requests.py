"""What the keys of sites ask of a real Slurm: GPUs in each form, srun's options, shell lines.

The nodes have GPUs by their files alone, and a stand-in for torch counts what Slurm lets it see.
"""

from __future__ import annotations

import re

import pytest

from tests.cluster.jobs import Desk, own_environment

COUNT = """_C, __version__ = None, "2.0"
class cuda:
    @staticmethod
    def device_count():
        import os
        return len(os.environ.get("CUDA_VISIBLE_DEVICES", "").split(","))
"""
SHOW = """import os
names = ("SLURM_NODEID", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES")
print("rank", *(os.environ[name] for name in names), flush=True)
"""
SITE = ("--profile", "dgx-a100", "-N", "2", "-G", "4", "--launcher", "srun")


@pytest.fixture
def site(desk: Desk) -> Desk:
    (desk.folder / "torch.py").write_text(COUNT)
    desk.program("show.py", SHOW)
    return desk


def set_values(*values: str) -> list[str]:
    return [word for value in values for word in ("--set", value)]


def seen(desk: Desk, *values: str) -> list[tuple[str, str, str]]:
    """Node, local rank and visible GPUs of each rank, in order."""
    words = (*SITE, "-e", f"PYTHONPATH={desk.folder}", *set_values(*values), "--", "show.py")
    done = desk.run(*words)
    assert done.state == "COMPLETED", done.output
    # The check is one task on each node.
    assert done.output.count(" sees 4 GPUs") == 2, done.output
    return sorted(re.findall(r"^rank (\d) (\d) (\S*)$", done.output, re.MULTILINE))


ALL_FOUR = [(str(node), str(rank), "0,1,2,3") for node in range(2) for rank in range(4)]


@pytest.mark.parametrize("option", ["gres", "gpus-per-node", "gpus-per-task", "gpus"])
@pytest.mark.parametrize("gpu_type", ["null", "a100"])
def test_each_rank_and_the_check_see_all_gpus_of_the_node(
    site: Desk, option: str, gpu_type: str
) -> None:
    """However the site wants GPUs to be requested; NCCL copies directly between those it sees."""
    values = (f"request.gpu_option={option}", f"node.gpu_type={gpu_type}")
    assert seen(site, *values) == ALL_FOUR


def test_a_rank_sees_its_own_gpu_where_its_srun_says_so(site: Desk) -> None:
    ranks = seen(site, "launch.srun_options=[--gpus-per-task=1, --mpi=none]")
    assert [visible for _, _, visible in ranks] == ["0", "1", "2", "3"] * 2


def test_a_type_that_the_nodes_do_not_have_is_refused(site: Desk) -> None:
    words = (*SITE, "--set", "node.gpu_type=gh200", "--", "show.py")
    with pytest.raises(RuntimeError, match="Requested node configuration is not available"):
        site.submit(*words)


def test_what_else_sites_request(site: Desk) -> None:
    (site.folder / "runs").mkdir()
    values = (
        "request.memory_per_gpu=1G",
        "request.hint=nomultithread",
        "request.licenses=scratch:2",
        "request.exclude=slc-wn[1-2]",
        f"request.chdir={site.folder}/runs",
        "request.error=errors-%j.txt",
        "request.directives=['--wait-all-nodes=1', '-S 0']",
        "launch.cpu_bind=verbose,mask_cpu:0x1,0x2",
    )
    program = site.program("where.py", "import os, sys\nprint(os.getcwd(), file=sys.stderr)\n")
    words = (*SITE, "-e", f"PYTHONPATH={site.folder}", *set_values(*values))
    job = site.submit(*words, "--", f"{site.folder}/{program}")
    shown = site.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    assert "Licenses=scratch:2" in shown
    assert "ExcNodeList=slc-wn[1-2]" in shown
    assert f"WorkDir={site.folder}/runs" in shown
    assert "MemPerTres=gres:gpu:1024" in shown or "MemPerTres=gpu:1024" in shown, shown
    assert site.cluster.wait(job, 120).state == "COMPLETED"
    errors = (site.folder / f"runs/errors-{job}.txt").read_text()
    assert errors.count(f"{site.folder}/runs\n") == 8


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_shell_lines_run_in_their_order(desk: Desk, launcher: str) -> None:
    """Once on each node, in its check and after all that it may use."""
    program = desk.program(
        "p.py", "import os, sys\nsys.stdout.write(f'rank {os.environ[\"AFTER\"]}\\n')\n"
    )
    values = (
        "software.commands=['export FIRST=1']",
        "software.after_modules=['export AFTER=${FIRST}2$NOT_SET']",
        "software.once_per_node=['echo prepared $AFTER >> prepared', 'sleep 1']",
        "node.gpu=none",
        "launch.processes_per_node=2",
    )
    words = ("--profile", "dgx-a100", "-N", "2", "--launcher", launcher, *set_values(*values))
    done = desk.run(*words, "-e", "OMP_NUM_THREADS=1", "--", program)
    assert done.state == "COMPLETED", done.output
    assert len(re.findall("^rank 12$", done.output, re.MULTILINE)) == 4
    assert (desk.folder / "prepared").read_text() == "prepared 12\n" * 2


def test_a_node_that_cannot_be_prepared_ends_the_job(desk: Desk) -> None:
    program = desk.program("p.py", "print('rank')\n")
    values = ("software.once_per_node=['mkdir /proc/x']", "node.gpu=none")
    done = desk.run("--profile", "dgx-a100", "-N", "2", *set_values(*values), "--", program)
    assert done.state == "FAILED"
    assert "cannot create directory" in done.output
    assert "\nrank\n" not in done.output


MADE = """import os, sys
import torch
if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") < sys.argv[1]:
    sys.exit(3)
if sys.argv[1] == "1":  # no node may end while another one still restarts
    torch.distributed.init_process_group("gloo")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
sys.stdout.write("made " + sys.prefix.rpartition("/")[2] + "\\n")  # whole: ranks share a pipe
sys.stdout.flush()
"""
WAYS = {
    "torchrun": ("-N", "2"),
    "srun": ("-N", "2", "--launcher", "srun"),
    "restart": ("-N", "2", "--max-restarts", "3"),  # the nodes do not fail together
    "plain": ("-N", "2", "--plain"),
    "one-node": ("-N", "1"),
    "spares": ("-N", "2+1", "--set", "software.container=null"),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "way",
    [next(iter(WAYS)), *(pytest.param(way, marks=pytest.mark.thorough) for way in list(WAYS)[1:])],
)
def test_an_environment_is_made_once_on_each_node_before_torch_is_looked_for(
    desk: Desk, way: str
) -> None:
    """A real one, from `python3 -m venv`, with the torch of the tests by a .pth file."""
    made = "echo made >> env-$SLURMD_NODENAME-made"
    lines = own_environment("echo making", made, node="SLURMD_NODENAME")
    values = set_values("node.gpu=none", "launch.processes_per_node=2")
    restarts = str(int(way == "restart"))
    profile = "mi210" if way == "spares" else "dgx-a100"  # it has more nodes
    words = ("--profile", profile, *WAYS[way], *lines, *values, "-e", "OMP_NUM_THREADS=1")
    done = desk.run(*words, "--", desk.program("made.py", MADE), restarts)
    assert done.state == "COMPLETED", done.output
    nodes = sorted(path.name[: -len("-made")] for path in desk.folder.glob("env-*-made"))
    several, _, spares = WAYS[way][1].partition("+")
    assert len(nodes) == int(several) + int(spares or 0)
    assert len(re.findall("^making$", done.output, re.MULTILINE)) == len(nodes)
    assert [(desk.folder / f"{node}-made").read_text() for node in nodes] == ["made\n"] * len(nodes)
    ranks = re.findall(r"(?:^|: )made (\S+)$", done.output, re.MULTILINE)
    started = [node for node in nodes[: int(several)] for _ in range(2)]
    assert set(ranks) == set(started)
    assert way == "restart" or sorted(ranks) == started


def test_an_environment_that_cannot_be_made_ends_the_job(desk: Desk) -> None:
    values = ("software.venv=$PWD/env", "software.once_per_node=[': made']", "node.gpu=none")
    done = desk.run("--profile", "dgx-a100", "-N", "2", *set_values(*values), "--", "/bin/true")
    assert done.state == "FAILED"
    assert "env/bin/python3': No such file" in done.output
    assert len(re.findall(r"(?m)^jobgen: dgx0\d: its set-up stopped at: ls: ", done.output)) == 2
