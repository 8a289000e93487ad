"""What grows with a job: its script, the time to make it, and what the script does before torchrun.

Prints, for 1 to 16,384 nodes and 1 to 1,000 values of environment, the script's bytes and the whole
process's time; byhand for 16,384 hosts; and the generated scripts run on stand-ins for the
scheduler's commands, up to where torchrun would start on the nodes.

    python bench/sizes.py [--runs N] [--started N,N,…]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import installed
from turns import Command, medians

MANY = 16_384
SIZES = (1, 10, 1000, MANY)
VALUES = (1, 10, 1000)

# What a node has by itself, and what it asks of its scheduler. `lap WORD` notes the time.
LAP = 'lap() { echo "$1 $EPOCHREALTIME" >> "$STAGE/laps"; }\n'
STAND_INS = {
    "ip": "echo '2: hsn0 inet 10.0.0.1/16 scope global hsn0'\n",
    "hostname": 'name=$(tail -n 1 "$STAGE/names"); echo "${name%%.*}"\n',
    "scontrol": 'cat "$STAGE/names"\n',
    # The first call is the preflight, whose answers all come at once; the second would be torchrun.
    "srun": LAP
    + """\
if [[ -e $STAGE/answered ]]; then lap torchrun; exit; fi
lap preflight
touch "$STAGE/answered"
cat "$STAGE/answers"
""",
    # A node that is ready at once, and whose ranks end at once: as guard() would leave word.
    "pbs_tmrsh": LAP
    + """\
task=${*: -2:1} rank=${*: -1}
if ((rank == 0)); then lap "$task"; fi
if ((rank == NODES - 1)); then lap "$task-last"; fi
if [[ $task == ready ]]; then
  echo "jobgen $rank ready, 10.0.0.1 on hsn0, torch 2.6.0" > "$JOBGEN_RUN/answer.$rank"
fi
echo 0 > "$JOBGEN_RUN/$task.$rank"
""",
    # The last node's own share: until it knows which rank it is, and would run its task.
    "mpiexec": LAP
    + """\
sed 's/^ *guard "$1".*/exit/' "$JOBGEN_RUN/node.sh" > "$STAGE/node.sh"
lap node
bash "$STAGE/node.sh" ready && lap known
kill -KILL "$PPID"
""",
}


def laps(script: bytes, nodes: int) -> dict[str, float]:
    """Runs a script on stand-ins; when it came to each of their laps, in ms from its start."""
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        (stage / "bin").mkdir()
        for program, text in STAND_INS.items():
            (stage / "bin" / program).write_text(f"#!/bin/bash\n{text}")
            (stage / "bin" / program).chmod(0o755)
        names = "".join(f"frontier{number:05}.example.org\n" for number in range(nodes))
        (stage / "names").write_text(names)
        (stage / "answers").write_text(
            "".join(
                f"jobgen {rank} ready, 10.0.0.1 on hsn0, torch 2.6.0\n" for rank in range(nodes)
            )
        )
        (stage / "job.sh").write_bytes(script)
        job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "all", "PBS_JOBID": "4711.server"}
        job |= {"SLURM_JOB_NUM_NODES": str(nodes), "PBS_NODEFILE": str(stage / "names")}
        job |= {"PBS_O_WORKDIR": name, "STAGE": name, "NODES": str(nodes), "HOME": name}
        job["PATH"] = f"{stage}/bin:{os.environ['PATH']}"
        start = time.time()
        done = subprocess.run(
            ["bash", str(stage / "job.sh")], env=job, cwd=name, capture_output=True, check=False
        )
        end = time.time()
        found = [line.split() for line in (stage / "laps").read_text().splitlines()]
        if done.returncode > 0:  # below 0: the stand-in of mpiexec has ended it
            raise SystemExit(done.stderr[-2000:].decode())
    return {word: (float(at) - start) * 1000 for word, at in found} | {"end": (end - start) * 1000}


def median_laps(script: bytes, nodes: int, runs: int) -> dict[str, float]:
    found = [laps(script, nodes) for _ in range(runs)]
    return {word: statistics.median(one[word] for one in found) for word in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description="what grows with a job")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--started", default="2,64,512,2048", help="PBS: nodes that are started")
    options = parser.parse_args()
    program = str(installed.jobgen() / "jobgen")

    def made(*words: str) -> bytes:
        return subprocess.run([program, *words], check=True, capture_output=True).stdout

    commands = {}
    for kind, profile in (("sbatch", "mi210"), ("qsub", "eap")):
        for nodes in SIZES:
            name = f"{kind}, {nodes:,} nodes"
            commands[name] = [kind, "--profile", profile, "-N", str(nodes)]
    for values in VALUES:
        pairs = (f"--env=NAME_{number}=value {number}" for number in range(values))
        commands[f"sbatch, {values:,} values"] = ["sbatch", "--profile", "mi210", *pairs]
    hosts = f"frontier[00001-{MANY}]"
    commands[f"byhand, {MANY:,} hosts"] = ["byhand", "--profile", "mi210", "--hosts", hosts]
    turns = {name: Command([program, *words]) for name, words in commands.items()}
    spent = medians(turns, options.runs)
    print(f"whole processes: medians of {options.runs} runs, in turns")
    print(f"{'':<24}{'bytes':>10}{'wall':>9}{'CPU':>9}{'MiB':>6}")
    for name, words in commands.items():
        mine, size = spent[name], len(made(*words))
        line = f"{name:<24}{size:>10,}{mine.wall * 1000:>6.0f} ms{mine.cpu * 1000:>6.0f} ms"
        print(f"{line}{mine.peak:>6.0f}")

    print("\nthe Slurm script before torchrun: on the names, and on the answers of the preflight")
    print(f"{'nodes':>8}{'names':>10}{'answers':>10}")
    for nodes in (2, 10, 1000, MANY):
        script = made("sbatch", "--profile", "mi210", "-N", str(nodes), "--", "train.py")
        at = median_laps(script, nodes, options.runs)
        print(f"{nodes:>8,}{at['preflight']:>7.0f} ms{at['torchrun'] - at['preflight']:>7.0f} ms")

    print(
        "\nthe PBS script: on the names; to start a task on each node with pbs_tmrsh; from the last"
    )
    print("start to torchrun's first; to torchrun's last; in all, where all ends at once")
    print(f"{'nodes':>8}{'names':>10}{'start':>10}{'answers':>10}{'start':>10}{'all':>10}")
    for nodes in map(int, options.started.split(",")):
        script = made("qsub", "--profile", "eap", "-N", str(nodes), "--", "train.py")
        at = laps(script, nodes)  # once: it is long
        steps = ["ready", "ready-last", "node", "node-last"]
        times = [at["ready"], *(at[b] - at[a] for a, b in pairwise(steps))]
        print(f"{nodes:>8,}" + "".join(f"{t:>7.0f} ms" for t in [*times, at["end"]]))

    print("\na node's own share where an mpiexec starts it: until it knows its rank")
    for nodes in (2, 1000, MANY):
        mpi = ("--set", "launch.starter=mpiexec-pals", "-N", str(nodes), "--", "train.py")
        at = median_laps(made("qsub", "--profile", "eap", *mpi), nodes, options.runs)
        print(f"{nodes:>8,}{at['node']:>7.0f} ms on the head{at['known'] - at['node']:>7.0f} ms")


main()
