"""Nodes that start one another: which jobs do so, and the functions that do it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jobgen.paths import bundled
from jobgen.planning.job_options import Job
from jobgen.schedulers.starters import DIRECT_NODES, FAN_OUT, MPIEXEC
from tests.helpers import script

PARTS = bundled("templates") / "machinery/pbs"
# A node is a shell: start_node runs what start_branch does there, and the guard ends at once.
# `broken` is a node that cannot be started.
NODES = """
set -euo pipefail
write_file() { echo "$2" > "$folder/$1"; }
sleep() { :; }
start_node() {
  echo "$1" >> "$folder/started"
  [[ $1 != "$broken" ]] || return 255
  start_branch "${node_command[3]}" "$1"
}
start_guard() { [[ $1 == "$silent" ]] || write_file "ended.$1" 0; }
folder=$PWD
start_nodes
wait
"""


def run(folder: Path, nodes: int, fan_out: int, broken: int = -1, silent: int = -1) -> list[int]:
    """The nodes that are started, in the order of their numbers."""
    parts = ("start-nodes-tree", "start-branch")
    text = "\n".join((PARTS / f"{part}.sh").read_text() for part in parts) + NODES
    values = {"job": 1, "nodes": nodes, "fan_out": fan_out, "broken": broken, "silent": silent}
    text = "".join(f"{name}={value}\n" for name, value in values.items()) + text
    subprocess.run(["bash"], input=text, text=True, cwd=folder, check=True)
    return sorted(map(int, (folder / "started").read_text().split()))


def statuses(folder: Path) -> dict[int, int]:
    return {int(file.suffix[1:]): int(file.read_text()) for file in folder.glob("ended.*")}


@pytest.mark.parametrize(
    ("nodes", "fan_out"), [(1, 1), (4, 1), (2, 2), (3, 2), (7, 2), (8, 2), (13, 3), (3, 10)]
)
def test_each_node_is_started_once(nodes: int, fan_out: int, tmp_path: Path) -> None:
    assert run(tmp_path, nodes, fan_out) == list(range(nodes))
    assert statuses(tmp_path) == dict.fromkeys(range(nodes), 0)


def test_a_node_that_cannot_be_started(tmp_path: Path) -> None:
    """It alone counts as failed: the nodes below it are started in its place, once."""
    assert run(tmp_path, 14, 2, broken=1) == list(range(14))
    assert statuses(tmp_path) == {**dict.fromkeys(range(14), 0), 1: 255}


def test_a_guard_that_writes_no_status(tmp_path: Path) -> None:
    """Its own node writes one, and the nodes below are not started again."""
    assert run(tmp_path, 14, 2, silent=1) == list(range(14))
    assert statuses(tmp_path) == {**dict.fromkeys(range(14), 0), 1: 1}


def text_of(nodes: int, *values: str, plain: str | None = None) -> str:
    return script(Job("qsub", "eap", nodes=str(nodes), set_values=values, plain=plain))


def test_small_jobs_have_no_tree() -> None:
    """And the lines of their machinery are those of two nodes."""
    machinery = [text_of(nodes).partition("\n# ==== machinery")[2] for nodes in (2, DIRECT_NODES)]
    assert machinery[0] == machinery[1]
    assert "fan_out" not in text_of(DIRECT_NODES)
    assert f"\nfan_out={FAN_OUT}  #" in text_of(DIRECT_NODES + 1)


@pytest.mark.parametrize("starter", MPIEXEC)
def test_an_mpiexec_has_a_tree_of_its_own(starter: str) -> None:
    assert "fan_out" not in text_of(1000, f"launch.starter={starter}")


def test_the_plain_form_has_no_tree() -> None:
    assert "fan_out" not in text_of(1000, plain="true")


def test_two_steps_are_enough_for_16384_nodes() -> None:
    assert FAN_OUT + FAN_OUT**2 >= 16_384
