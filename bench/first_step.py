"""From the batch script's start to the first optimizer step on 3 nodes, against a bare torchrun.

On a Slurm made here (as root); in turns. The bare one is what one would type on each node by hand.
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
TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
# Says when it began, when the ranks met, and when it had taken a step.
PROGRAM = """
import time
began = time.time()
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
imported = time.time()
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(20, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(8, 20)).sum().backward()
optimizer.step()
print("first step", began, imported, time.time(), flush=True)
dist.destroy_process_group()
"""


def steps(output: str) -> list[tuple[float, ...]]:
    found = re.findall(r"^first step (\S+) (\S+) (\S+)$", output, re.MULTILINE)
    assert len(found) == len(NODES), output
    return [tuple(map(float, times)) for times in found]


def job(cluster: Cluster, folder: Path) -> dict[str, float]:
    """Seconds from the script's first line to: the end of the roll call, the ranks, the step."""
    words = ("--profile", "mi210", *ON_CPU, "-N", "3", "-G", "1", "--", "program.py")
    script = generate("sbatch", *words, cwd=folder)
    script = script.replace(
        "set -euo pipefail\n", "echo begun $(date +%s.%N)\nset -euo pipefail\n", 1
    )
    script = script.replace("| roll_call\n", "| roll_call\necho called $(date +%s.%N)\n", 1)
    done = cluster.wait(cluster.sbatch(script, cwd=folder, env={"PATH": PATH}), 60)
    begun, called = (
        float(re.findall(rf"^{word} (\S+)$", done.output, re.MULTILINE)[0])
        for word in ("begun", "called")
    )
    found = steps(done.output)
    return {
        "roll call": called - begun,
        "srun, torchrun": max(began for began, _, _ in found) - called,
        "import torch": max(each - began for began, each, _ in found),
        "first step": max(ended for _, _, ended in found) - begun,
    }


def bare(cluster: Cluster, folder: Path) -> float:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--nproc-per-node=1"]
    torchrun += ["--rdzv-backend=c10d", "--rdzv-id=bare", "--rdzv-endpoint=10.71.0.17:29500"]
    begun, running = time.time(), []
    for node, number in NODES.items():
        own = [f"--rdzv-conf=is_host={int(number == 17)}", f"--local-addr=10.71.0.{number}"]
        words = [str(SCRIPTS / "node.sh"), str(cluster.folder), "run", node]
        words += ["env", "OMP_NUM_THREADS=1", *torchrun, *own, "program.py"]
        running.append(
            subprocess.Popen(
                cluster.command(words), cwd=folder, env=cluster.environment(), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip
    output = "".join(each.communicate()[0] for each in running)
    return max(ended for _, _, ended in steps(output)) - begun


def main() -> None:
    if reason := missing():
        sys.exit(f"not measured: {reason}")
    with tempfile.TemporaryDirectory() as name, Cluster(Path(name, "slurm")) as cluster:
        folder = Path(name, "job")
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        pairs = [(job(cluster, folder), bare(cluster, folder)) for _ in range(TURNS)]
    hand = statistics.median(found for _, found in pairs)
    print(f"first step on 3 nodes, {os.cpu_count()} cores for all of them; seconds")
    for part in pairs[0][0]:
        print(f"  {part:<16}{statistics.median(found[part] for found, _ in pairs):6.2f}")
    ours = statistics.median(found["first step"] for found, _ in pairs)
    print(f"  {ours / hand:.2f} times a bare torchrun by hand ({hand:.2f})")


main()
