"""The time from the start of a batch script to the first optimizer step on three nodes.

The reference, measured in turns, is torchrun without a script, as a user starts it on each node by
hand. Both run on a Slurm that the tests start on this machine, which needs root.

    python bench/first_step.py [TURNS]
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.cluster.harness import SCRIPTS, Cluster, missing
from tests.cluster.jobs import ON_CPU, PATH, generate

NODES = {"smc-r07-07": 17, "smc-r07-08": 18, "smc-r07-09": 19}
# Each rank prints when it started, when torch was imported, and when its first step ended.
PROGRAM = """
import os, time
started = time.time()
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
imported = time.time()
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(20, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(8, 20)).sum().backward()
optimizer.step()
print("first step", started, imported, time.time(), flush=True)
dist.barrier()
os._exit(0)  # gloo may abort where the model is taken down after the group
"""


def times_of_ranks(output: str) -> list[tuple[float, ...]]:
    """For each rank: when it started, when torch was imported, and when its first step ended."""
    lines = re.findall(r"^first step (\S+) (\S+) (\S+)$", output, re.MULTILINE)
    assert len(lines) == len(NODES), output
    return [tuple(map(float, times)) for times in lines]


def parts_of_ranks(before: float, output: str) -> dict[str, float]:
    """The parts of the time from `before`, when the launchers are started: of the slowest rank."""
    ranks = times_of_ranks(output)
    return {
        "torchrun": max(started for started, _, _ in ranks) - before,
        "import torch": max(imported - started for started, imported, _ in ranks),
        "first step": max(ended - imported for _, imported, ended in ranks),
        "all": max(ended for _, _, ended in ranks) - before,
    }


def print_time_after(pattern: str, name: str, script: str) -> str:
    """The script with a line that prints NAME and the time, after the first line that matches.

    The copies that the nodes run do not print it: they get the name of a function.
    """
    line = rf"\1\n(($#)) || echo {name} $EPOCHREALTIME"
    script, count = re.subn(rf"^({pattern})$", line, script, count=1, flags=re.MULTILINE)
    assert count == 1, pattern
    return script


def time_printed(name: str, output: str) -> float:
    return float(re.findall(rf"^{name} (\S+)$", output, re.MULTILINE)[0])


def seconds_of_job(cluster: Cluster, folder: Path) -> dict[str, float]:
    """The parts of the time that a generated script needs, and all of it."""
    words = ("--profile", "mi210", *ON_CPU, "-N", "3", "-G", "1", "--", "program.py")
    script = generate("sbatch", *words, cwd=folder)
    script = print_time_after("set -euo pipefail", "started", script)
    script = print_time_after(r"  sed .*the nodes differ:/'", "checked", script)
    job = cluster.wait(cluster.sbatch(script, cwd=folder, env={"PATH": PATH}), 60)
    started, checked = (time_printed(name, job.output) for name in ("started", "checked"))
    parts = parts_of_ranks(checked, job.output)
    all_seconds = parts["all"] + checked - started
    return {"roll call": checked - started, **parts, "all": all_seconds}


def seconds_by_hand(cluster: Cluster, folder: Path, port: int) -> dict[str, float] | None:
    """The same parts, if torchrun alone is started on each node; None if one of them fails.

    Then the others would wait for it for ten minutes; they end with the cluster.
    """
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--nproc-per-node=1"]
    torchrun += ["--rdzv-backend=c10d", "--rdzv-id=bare", f"--rdzv-endpoint=10.71.0.17:{port}"]
    started, processes = time.time(), []
    for node, number in NODES.items():
        options = [f"--rdzv-conf=is_host={int(number == 17)}", f"--local-addr=10.71.0.{number}"]
        command = [str(SCRIPTS / "node.sh"), str(cluster.folder), "run", node]
        command += ["env", "OMP_NUM_THREADS=1", *torchrun, *options, "program.py"]
        with (folder / f"errors.{node}").open("wb") as errors:
            processes.append(
                subprocess.Popen(
                    cluster.command(command), cwd=folder, env=cluster.environment(), text=True,
                    stdout=subprocess.PIPE, stderr=errors,
                )
            )  # fmt: skip
    while any(process.poll() is None for process in processes):
        time.sleep(0.1)
        for node, process in zip(NODES, processes, strict=True):
            if process.poll():
                text = (folder / f"errors.{node}").read_text()[-2000:]
                print(f"torchrun by hand failed on {node}, and the turn is left out:\n{text}")
                return None
    return parts_of_ranks(started, "".join(process.communicate()[0] for process in processes))


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if reason := missing():
        sys.exit(f"not measured: {reason}")
    with tempfile.TemporaryDirectory() as name, Cluster(Path(name, "slurm")) as cluster:
        folder = Path(name, "job")
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        pairs = []
        for turn in range(turns):
            by_script = seconds_of_job(cluster, folder)
            if by_hand := seconds_by_hand(cluster, folder, 29500 + turn):
                pairs.append((by_script, by_hand))
    turns = len(pairs)
    print(f"seconds to the first step on 3 nodes, which share {os.cpu_count()} cores; ", end="")
    print(f"medians of {turns} turns")
    print(f"{'':<16}{'script':>8}{'by hand':>9}")
    for part in pairs[0][0]:
        script, hand = (
            [seconds.get(part, 0) for seconds in each] for each in zip(*pairs, strict=True)
        )
        print(f"  {part:<14}{statistics.median(script):8.2f}{statistics.median(hand):9.2f}")
    ratios = sorted(script["all"] / hand["all"] for script, hand in pairs)
    print(f"  ratio of script to hand: {statistics.median(ratios):.2f}, ", end="")
    print(f"half of them from {ratios[turns // 4]:.2f} to {ratios[-1 - turns // 4]:.2f}")


if __name__ == "__main__":
    main()
