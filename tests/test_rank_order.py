"""The order of the ranks, as torch makes it of a script, and the switches that a ring crosses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.scripts.parts import PARTS
from jobgen.scripts.render import part_text
from tests.helpers import script

ROWS = {part.name: part_text(part) for part in PARTS}


def crossings(order: list[str], switches: dict[str, str]) -> int:
    """How many links of the ring over these nodes, in this order, leave a switch."""
    ring = zip(order, order[1:] + order[:1], strict=True)
    return sum(switches[one] != switches[other] for one, other in ring)


def sort_keys(command: str, profile: str, addresses: list[str]) -> list[str]:
    """What a script gives to torchrun as the --local-addr of each node: the first is the head."""
    text = script(Job(command, profile, nodes="2"))
    lines = re.search(r"^  (local sort_key=.*\n.*sort_key=.*\n)", text, re.MULTILINE)
    assert lines
    given = " ".join(addresses)
    loop = (
        f'f() {{\n{lines[1]}echo "$sort_key"\n}}\nset -euo pipefail\n'
        f"node=0 head={addresses[0]}\nfor address in {given}; do f; node=$((node + 1)); done"
    )
    return subprocess.run(
        ["bash", "-c", loop], capture_output=True, text=True, check=True
    ).stdout.split()


def natural(text: str) -> list[tuple[int, int, str]]:
    """Numbers as numbers, and before other text: what pytorch/pytorch#194186 would sort by."""
    parts = re.findall(r"\d+|\D+", text)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


@pytest.mark.parametrize("network", ["10.0.0.", "fd00::", "0.0.0.9"])
@pytest.mark.parametrize(("command", "profile"), [("sbatch", "dgx-a100"), ("qsub", "eap")])
def test_the_ring_leaves_a_switch_as_rarely_as_the_scheduler_meant(
    command: str, profile: str, network: str
) -> None:
    """32 nodes below four switches, in the scheduler's order: before and after."""
    addresses = [f"{network}{number}" for number in range(2, 34)]
    keys = sort_keys(command, profile, addresses)
    for order in (sorted, lambda texts: sorted(texts, key=natural)):
        assert order(keys) == keys
    assert keys[0] == addresses[0]
    assert len(set(keys)) == 32
    switches = {key: f"s{index // 8}" for index, key in enumerate(keys)}
    by_address = [keys[addresses.index(address)] for address in sorted(addresses)]
    assert crossings(sorted(keys), switches) == 4
    assert crossings(by_address, switches) >= 7


@pytest.mark.parametrize(
    "option", ["--distribution=Arbitrary", "-mARBITRARY", "--dist=hostfile,Pack"]
)
def test_a_file_of_hosts_is_seen_however_it_is_written(option: str) -> None:
    """As sbatch reads the option: src/common/proc_args.c, verify_dist_type."""
    text = script(Job("sbatch", "mi210", nodes="2", directives=(option,)))
    assert "SLURM_HOSTFILE" in text


def test_an_order_that_a_profile_asks_for_in_vain_is_shown_there(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(
        "extends: mi210\nrequest:\n  spares: 1\n  directives:\n    - --distribution=arbitrary\n"
    )
    with pytest.raises(JobgenError) as error:
        script(Job("sbatch", str(file), nodes="2"))
    (problem,) = error.value.problems
    assert (problem.mark.file, problem.mark.line) == (str(file), 5)
    assert problem.hint == "-N without +S, or remove request.spares"


SRUN = """#!/bin/bash
# Of Slurm: runs the job's script on each node, in Slurm's own order, after the site's banner.
number=0
for each in $TREE; do
  echo "Welcome to Hilbert"
  node=$number host=${each##*.} SLURM_TOPOLOGY_ADDR=$each "$@" &
  number=$((number + 1))
done
wait
"""


def chosen(folder: Path, tree: list[str], ready: list[str], nodes: int) -> list[str]:
    """The nodes of the ranks, and then those in reserve, by the real bash of a job with spares."""
    for name, text in (
        ("logs/job.sh", '#!/bin/bash\nset -eu\n. "$0.functions"\n"$@"\n'),
        ("logs/job.sh.functions", ROWS["show-place"]),
        ("logs/roll-call", f"jobgen: {ready[0]} is ready, 10.0.0.1 on ib0: …\n"),
        ("bin/srun", SRUN),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    bash = "\n".join(
        [
            f"set -euo pipefail\nlogs={folder}/logs nodes={nodes} ready=({' '.join(ready)})",
            'each_node=(srun "$logs/job.sh")\nfail() { echo "$*"; exit 1; }',
            *(ROWS[name] for name in ("nodes-in-order", "neighbours", "first-address")),
            'printf "%s\\n" "${ready[@]}"',
        ]
    )
    done = subprocess.run(
        ["bash", "-c", bash],
        env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "TREE": " ".join(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


# Three leaves below two switches, in Slurm's order; n03 and n07 are not ready.
TREE = [
    f"root.{switch}.n{number:02}"
    for switch, numbers in (("a.l1", range(4)), ("a.l2", range(4, 6)), ("b.l3", range(6, 11)))
    for number in numbers
]


def test_neighbours_stay_together(tmp_path: Path) -> None:
    """Seven of nine ready nodes: the two of l2 stay in reserve, and the ring crosses twice."""
    switches = {name.rpartition(".")[2]: name.rpartition(".")[0] for name in TREE}
    ready = [name for name in switches if name not in ("n03", "n07")]
    order = chosen(tmp_path, TREE, ready, 7)
    assert order == ["n00", "n01", "n02", "n06", "n08", "n09", "n10", "n04", "n05"]
    assert (crossings(ready[:7], switches), crossings(order[:7], switches)) == (3, 2)


@pytest.mark.parametrize(
    ("tree", "nodes", "order"),
    [
        (["n1", "n0", "n2"], 2, "n1 n0 n2"),  # no tree: Slurm's order, which is not that of names
        (["s.n1", "t.n0", "t.n2"], 2, "n0 n2 n1"),  # the first one stays alone
        (["s.n0", "s.n1", "t.n2", "t.n3"], 3, "n0 n1 n2 n3"),
        (["s.n0", "t.n2", "s.n1", "t.n3"], 2, "n0 n1 n2 n3"),
        (["s.n0", "t.n2", "s.n1"], 3, "n0 n2 n1"),  # nothing is left out: nothing changes
    ],
)
def test_which_nodes_are_in_reserve(
    tmp_path: Path, tree: list[str], nodes: int, order: str
) -> None:
    ready = sorted(name.rpartition(".")[2] for name in tree)
    assert chosen(tmp_path, tree, ready, nodes) == order.split()


SHOW = """
import os, pathlib
pathlib.Path("rank" + os.environ["RANK"]).write_text(" ".join(
    os.environ[name] for name in ("NODE", "LOCAL_RANK", "MASTER_ADDR")))
"""


@pytest.mark.torch
@pytest.mark.parametrize("rendezvous", ["c10d", pytest.param("static", marks=pytest.mark.thorough)])
def test_torchruns_whose_addresses_sort_otherwise(tmp_path: Path, rendezvous: str) -> None:
    """Real ones, by a local job: nodes 0 to 2 have .9, .10 and .100."""
    pytest.importorskip("torch")
    (tmp_path / "show.py").write_text(SHOW)
    job = Job(
        "local", "local", nodes="3", program=("show.py",),
        set_values=(f"launch.rendezvous={rendezvous}", "launch.processes_per_node=2"),
    )  # fmt: skip
    text = script(job).replace("address=127.0.0.$((node + 1))", "address=127.0.0.${of[node]}")
    text = text.replace("head=127.0.0.1", "head=127.0.0.9 of=(9 10 100)")
    text = text.replace("  local sort_key", "  export NODE=$node\n  local sort_key")
    text = text.replace("ranks() {\n  exec", "ranks() {\n  export NODE=$node\n  exec")
    (tmp_path / "job.sh").write_text(text)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "job.sh"], cwd=tmp_path, env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = [(tmp_path / f"rank{rank}").read_text() for rank in range(6)]
    assert shown == [f"{rank // 2} {rank % 2} 127.0.0.9" for rank in range(6)]
