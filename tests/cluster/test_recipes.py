"""The recipes of docs/recipes.md, as the page has them, on nodes of the real Slurm, on CPUs.

`make recipes` installs what they need; each is skipped where its package is absent.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, Finished
from tests.cluster.jobs import Desk
from tests.cluster.site import ONE_THREAD

ROOT = Path(__file__).parent.parent.parent
VENV = Path(os.environ.get("JOBGEN_RECIPES_VENV", ROOT / ".venv-recipes"))
SECTIONS = dict(
    re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", (ROOT / "docs/recipes.md").read_text(), re.S | re.M)
)
FILE = re.compile(r"<!-- file: (.*?) -->\n```\w+\n(.*?)```\n", re.DOTALL)
# Nodes, and ranks on each; and the partition that has so many nodes with so many cores.
LAYOUTS = {"2x2": ("2", "2"), "4x1": ("4", "1")}
NODES = ("smc-r07-07", "smc-r07-08", "smc-r07-09", "dgx01", "dgx02")
PARTITION = "recipes"
# The nodes here share /tmp, and have processes of the same numbers: sockets there have one name.
TEMPORARY = "/tmp/ray"
# The package that a recipe needs, and what its program prints in the end.
RECIPES = {
    "Accelerate": ("accelerate", r"^4 ranks trained with accelerate: loss "),
    "DeepSpeed": ("deepspeed", r"^4 ranks trained with DeepSpeed: loss "),
    "Ray": ("ray", r"^(?P<nodes>[24]) tasks ran on (?P=nodes) nodes: \['10\.71\.0\."),
    "Lightning": ("lightning", r"^4 ranks trained with Lightning$"),
    "A Trainer of Hugging Face": ("transformers", r"^4 ranks trained with transformers: loss "),
    "NVIDIA's ft_launcher": (
        "nvidia_resiliency_ext",
        r"^4 ranks trained with ft_launcher: 20 steps$",
    ),
    "torchft": ("torchft", r"^[34] ranks trained with torchft: 200 steps$"),
}
KILLED = """
    if step == 8 and rank == 3 and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), 9)
"""
LOST_REPLICA = """
    if manager.current_step() == 8 and replica == "1-1" and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), 9)
"""
BROKEN = 'import os\nif os.environ["RANK"] == "3":\n    raise ValueError("rank 3 is broken")\n'


@pytest.fixture(scope="module")
def partition(cluster: Cluster) -> Iterator[str]:
    """The name of the partition of NODES, each of which has a TEMPORARY of its own."""
    made = ("create", f"PartitionName={PARTITION}", f"Nodes={','.join(NODES)}", "MaxTime=60")
    assert cluster.run(["scontrol", *made]).returncode == 0
    Path(TEMPORARY).mkdir(exist_ok=True)
    for node in NODES:
        assert cluster.on(node, "mount", "-t", "tmpfs", "own", TEMPORARY).returncode == 0
    yield PARTITION
    for node in NODES:
        cluster.on(node, "umount", "--lazy", TEMPORARY)
    cluster.run(["scontrol", "delete", f"PartitionName={PARTITION}"])


def run_recipe(desk: Desk, title: str, layout: str = "2x2", partition: str = "dgx") -> Finished:
    """The job of a recipe, whose files are in the desk's folder already, when it has ended."""
    (command,) = re.findall(r"^    jobgen sbatch (.*)$", SECTIONS[title], re.MULTILINE)
    words = shlex.split(command)
    Path(TEMPORARY).mkdir(exist_ok=True)
    nodes, ranks = LAYOUTS[layout]
    words[words.index("-N") + 1] = nodes
    place = words.index("--")
    sets = ("--set", "node.gpu=none", "--set", f"software.venv={VENV}", *ONE_THREAD)
    sets += ("-G", ranks, "-p", partition, "-e", f"TMPDIR={TEMPORARY}")
    return desk.run(*words[:place], *sets, *words[place:], timeout=900)


def write_files(desk: Desk, title: str) -> None:
    """The files of a recipe; skips the test where its package is absent."""
    package = RECIPES[title][0]
    found = (
        subprocess.run(
            [f"{VENV}/bin/python3", "-c", f"import {package}, torch"],
            capture_output=True,
            check=False,
        )
        if VENV.exists()
        else None
    )
    if not found or found.returncode:
        pytest.skip(f"no {package} with torch in {VENV}: make recipes")
    for name, text in FILE.findall(SECTIONS[title]):
        desk.program(name, text)


def nothing_stays(desk: Desk) -> None:
    """No process of the recipes is on a node; Ray's need a moment to end."""
    limit = time.monotonic() + 10
    for node in NODES:
        while found := desk.cluster.on(node, "pgrep", "-fa", "ray|train").stdout:
            assert time.monotonic() < limit, found
            time.sleep(0.2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_of_the_page_runs(desk: Desk, title: str, layout: str, partition: str) -> None:
    write_files(desk, title)
    done = run_recipe(desk, title, layout, partition)
    assert done.state == "COMPLETED", done.output
    assert re.search(RECIPES[title][1], done.output, re.MULTILINE), done.output
    nothing_stays(desk)


@pytest.mark.parametrize("title", ["Accelerate", "DeepSpeed", "Lightning", "NVIDIA's ft_launcher"])
def test_a_rank_that_fails_ends_the_job(desk: Desk, title: str) -> None:
    write_files(desk, title)
    (program,) = desk.folder.glob("*_train.py")
    program.write_text(BROKEN + program.read_text())
    done = run_recipe(desk, title)
    assert done.state == "FAILED", done.output
    assert "rank 3 is broken" in done.output
    nothing_stays(desk)


def test_a_task_of_ray_that_fails_ends_the_job(desk: Desk) -> None:
    write_files(desk, "Ray")
    program = desk.folder / "ray_train.py"
    program.write_text(
        program.read_text().replace("    return ray", "    assert ray is None\n    return ray")
    )
    done = run_recipe(desk, "Ray")
    assert done.state == "FAILED", done.output
    assert "AssertionError" in done.output
    nothing_stays(desk)


def test_ft_launcher_starts_a_killed_rank_again(desk: Desk) -> None:
    write_files(desk, title := "NVIDIA's ft_launcher")
    program = desk.folder / "ft_train.py"
    after = "    step += 1\n"
    program.write_text(program.read_text().replace(after, after + KILLED.lstrip("\n")))
    done = run_recipe(desk, title)
    assert done.state == "COMPLETED", done.output
    assert (desk.folder / "killed").exists()
    assert "2/2 attempts left; will restart worker group" in done.output
    assert re.search(RECIPES[title][1], done.output, re.MULTILINE), done.output
    nothing_stays(desk)


def test_torchft_goes_on_with_the_weights_of_replicas_that_are_alive(desk: Desk) -> None:
    """A rank of node 1 is killed: its node's two ranks start again, and no other rank does."""
    write_files(desk, title := "torchft")
    program = desk.folder / "torchft_train.py"
    step = "    stepper.zero_grad()"
    begins = 'print("began", replica, flush=True)\n'
    text = program.read_text().replace("while manager", f"{begins}while manager")
    program.write_text(text.replace(step, LOST_REPLICA.lstrip("\n") + step))
    done = run_recipe(desk, title)
    assert done.state == "COMPLETED", done.output
    assert (desk.folder / "killed").exists()
    began = sorted(re.findall(r"^began (\S+)$", done.output, re.MULTILINE))
    assert began == ["0-0", "0-1", "1-0", "1-0", "1-1", "1-1"], done.output
    assert re.search(RECIPES[title][1], done.output, re.MULTILINE), done.output
    nothing_stays(desk)


def test_every_recipe_of_the_page_is_tried() -> None:
    assert [title for title in SECTIONS if "jobgen sbatch --profile" in SECTIONS[title]] == [
        *RECIPES
    ]
