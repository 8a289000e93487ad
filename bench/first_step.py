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
import time
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
dist.destroy_process_group()
"""


def times_of_ranks(output: str) -> list[tuple[float, ...]]:
    """For each rank: when it started, when torch was imported, and when its first step ended."""
    lines = re.findall(r"^first step (\S+) (\S+) (\S+)$", output, re.MULTILINE)
    assert len(lines) == len(NODES), output
    return [tuple(map(float, times)) for times in lines]


def print_time_after(pattern: str, name: str, script: str) -> str:
    """The script with a line that prints NAME and the time, after the first line that matches."""
    line = rf"\1\necho {name} $(date +%s.%N)"
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
    script = print_time_after(r"SLURM_KILL_BAD_EXIT=0 roll_call .*", "checked", script)
    job = cluster.wait(cluster.sbatch(script, cwd=folder, env={"PATH": PATH}), 60)
    started, checked = (time_printed(name, job.output) for name in ("started", "checked"))
    ranks = times_of_ranks(job.output)
    return {
        "roll call": checked - started,
        "srun and torchrun": max(rank_started for rank_started, _, _ in ranks) - checked,
        "import torch": max(imported - rank_started for rank_started, imported, _ in ranks),
        "all": max(ended for _, _, ended in ranks) - started,
    }


def seconds_by_hand(cluster: Cluster, folder: Path) -> float:
    """The time to the first step, if torchrun alone is started on each node."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--nproc-per-node=1"]
    torchrun += ["--rdzv-backend=c10d", "--rdzv-id=bare", "--rdzv-endpoint=10.71.0.17:29500"]
    started, processes = time.time(), []
    for node, number in NODES.items():
        options = [f"--rdzv-conf=is_host={int(number == 17)}", f"--local-addr=10.71.0.{number}"]
        command = [str(SCRIPTS / "node.sh"), str(cluster.folder), "run", node]
        command += ["env", "OMP_NUM_THREADS=1", *torchrun, *options, "program.py"]
        processes.append(
            subprocess.Popen(
                cluster.command(command), cwd=folder, env=cluster.environment(), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip
    output = "".join(process.communicate()[0] for process in processes)
    return max(ended for _, _, ended in times_of_ranks(output)) - started


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if reason := missing():
        sys.exit(f"not measured: {reason}")
    with tempfile.TemporaryDirectory() as name, Cluster(Path(name, "slurm")) as cluster:
        folder = Path(name, "job")
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        pairs = [
            (seconds_of_job(cluster, folder), seconds_by_hand(cluster, folder))
            for _ in range(turns)
        ]
    print(f"seconds to the first step on 3 nodes, which share {os.cpu_count()} cores; ", end="")
    print(f"medians of {turns} turns")
    for part in pairs[0][0]:
        print(f"  {part:<18}{statistics.median(parts[part] for parts, _ in pairs):6.2f}")
    print(f"  {'by hand':<18}{statistics.median(seconds for _, seconds in pairs):6.2f}")
    ratio = statistics.median(parts["all"] / seconds for parts, seconds in pairs)
    print(f"  ratio of script to hand: {ratio:.2f}")


if __name__ == "__main__":
    main()
