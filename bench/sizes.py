"""What grows with a job: its script, the time to write it, and the script's work before torchrun.

Prints four tables:
1. the lines of the upper part and of the machinery of some scripts, also with --plain;
2. the bytes of scripts for 1 to 16,384 nodes, hosts and values, and the CPU time and memory of the
   process that writes each;
3. how long the generated scripts need on Slurm and PBS, with stand-ins for their commands
   (standins.py);
4. the same with mpiexec, and how long a node then needs to find its number.

Writing is measured in an empty folder: in the checkout, templates/ would count as a project's own.

    python bench/sizes.py [--runs N] [--slurm N,N,…] [--pbs N,N,…] [--mpiexec N,N,…]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import pairwise

import installed
from standins import moments
from turns import Command, medians

MANY = 16_384
MOST_OF_LEAD = 512  # nodes, where no mpiexec starts them
WITH_MPIEXEC = ("qsub", "--profile", "eap", "--set", "launch.starter=mpiexec-pals")
ONCE = 1000  # a script for more nodes runs once: it takes long
SCRIPTS = (
    "sbatch --profile dgx-a100 -N 2",
    "sbatch --profile mi210 -N 2",
    "sbatch --profile mi210 -N 2 --requeue --max-restarts 2",
    "qsub --profile eap -N 2",
    "sbatch --profile dgx-a100 -N 1",
)


def numbers(text: str) -> list[int]:
    """The numbers of a list with commas, for an option."""
    return [int(word) for word in text.split(",")]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="what grows with a job")
    add = parser.add_argument
    add("--runs", type=int, default=5, help="of each (%(default)s)")
    add("--slurm", type=numbers, default="2,64,512,16384", help="numbers of nodes (%(default)s)")
    add("--pbs", type=numbers, default="2,64,512", help="numbers of nodes (%(default)s)")
    add("--mpiexec", type=numbers, default="2,1000,16384", help="the same (%(default)s)")
    return parser.parse_args()


def script_of(jobgen: str, *words: str) -> str:
    """The script that jobgen writes for these words, and for the program train.py."""
    command = [jobgen, *words, "--", "train.py"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def part_lengths(script: str) -> tuple[int, int]:
    """The lines of the upper part, and of the machinery with the line that begins it."""
    upper, machinery = script.split("\n# ==== machinery", 1)
    return upper.count("\n") + 1, machinery.count("\n")


def print_part_lengths(jobgen: str) -> None:
    print("lines of a script, for the program train.py")
    print(f"{'':<60}{'upper part':>12}{'machinery':>11}{'all':>6}")
    for words in SCRIPTS:
        for options in ([], ["--plain"]):
            if options and "--max-restarts" in words:
                continue  # --plain refuses what needs machinery
            all_words = [*words.split(), *options]
            upper, machinery = part_lengths(script_of(jobgen, *all_words))
            name = " ".join(all_words).replace("--profile ", "")
            print(f"{name:<60}{upper:>12}{machinery:>11}{upper + machinery:>6}")


def growing_commands() -> dict[str, list[str]]:
    """The words of commands with more and more nodes, values and hosts."""
    commands = {}
    for nodes in (1, 2, MANY):
        commands[f"sbatch, nodes: {nodes:,}"] = ["sbatch", "--profile", "mi210", "-N", str(nodes)]
    for nodes in (1, 2, MOST_OF_LEAD):
        commands[f"qsub, nodes: {nodes:,}"] = ["qsub", "--profile", "eap", "-N", str(nodes)]
    for nodes in (2, MANY):
        commands[f"qsub, mpiexec: {nodes:,}"] = [*WITH_MPIEXEC, "-N", str(nodes)]
    for count in (1, 10, 1000):
        values = [f"--env=NAME_{number}=value {number}" for number in range(count)]
        commands[f"sbatch, values: {count:,}"] = ["sbatch", "--profile", "mi210", *values]
    for hosts in (2, MANY):
        range_of_hosts = f"frontier[00001-{hosts:05}]"
        words = ["byhand", "--profile", "mi210", "--hosts", range_of_hosts]
        commands[f"byhand, hosts: {hosts:,}"] = words
    return commands


def print_growth(jobgen: str, runs: int) -> None:
    commands = growing_commands()
    with tempfile.TemporaryDirectory() as folder:
        processes = {
            name: Command([jobgen, *words, "--", "train.py"], folder=lambda: folder)
            for name, words in commands.items()
        }
        usages = medians(processes, runs)
    print(f"\nthe processes that write scripts: medians of {runs} runs, in turns")
    print(f"{'':<24}{'bytes':>10}{'CPU':>9}{'memory':>9}")
    for name, words in commands.items():
        size = len(script_of(jobgen, *words).encode())
        usage = usages[name]
        print(f"{name:<24}{size:>10,}{usage.cpu * 1000:>6.0f} ms{usage.peak:>5.0f} MiB")


def median_moments(script: str, nodes: int, runs: int) -> dict[str, float]:
    """The medians of the times to each moment; from one run, if there are many nodes."""
    results = [moments(script, nodes) for _ in range(1 if nodes > ONCE else runs)]
    return {moment: statistics.median(each[moment] for each in results) for moment in results[0]}


def print_times(nodes: int, times: Sequence[float]) -> None:
    print(f"{nodes:>8,}" + "".join(f"{seconds * 1000:>9,.0f} ms" for seconds in times))


def print_slurm(jobgen: str, sizes: Sequence[int], runs: int) -> None:
    print("\nSlurm: from the start of the script to the srun of the roll call; from the nodes'")
    print("answers to the srun of the ranks; and from that to the end")
    print(f"{'nodes':>8}{'start':>12}{'roll call':>12}{'end':>12}")
    for nodes in sizes:
        script = script_of(jobgen, "sbatch", "--profile", "mi210", "-N", str(nodes))
        at = median_moments(script, nodes, runs)
        steps = [at["check_node"], at["run_node"] - at["answered"], at["end"] - at["run_node"]]
        print_times(nodes, steps)


def print_pbs(jobgen: str, sizes: Sequence[int], runs: int) -> None:
    print("\nPBS with pbs_tmrsh: from the start of the script to the first node of the roll call,")
    print(
        "from there to the last node, to the first node of the ranks, to the last one, to the end"
    )
    print(
        f"{'nodes':>8}{'start':>12}{'last node':>12}{'roll call':>12}{'last node':>12}{'end':>12}"
    )
    for nodes in sizes:
        script = script_of(jobgen, "qsub", "--profile", "eap", "-N", str(nodes))
        at = median_moments(script, nodes, runs)
        names = ("check_node", "last check_node", "run_node", "last run_node", "end")
        times = [0, *(at[name] for name in names)]
        print_times(nodes, [after - before for before, after in pairwise(times)])


def print_mpiexec(jobgen: str, sizes: Sequence[int], runs: int) -> None:
    print(
        "\nPBS with mpiexec: from the start of the script to the mpiexec of the roll call; on the"
    )
    print("last node, from the start of its shell until it has found its number; and on the first")
    print("node, from the nodes' answers to the mpiexec of the ranks, without that search")
    print(f"{'nodes':>8}{'start':>12}{'number':>12}{'roll call':>12}")
    for nodes in sizes:
        script = script_of(jobgen, *WITH_MPIEXEC, "-N", str(nodes))
        at = median_moments(script, nodes, runs)
        number = at["numbered"] - at["shell"]
        print_times(nodes, [at["check_node"], number, at["run_node"] - at["answered"] - number])


def main() -> None:
    args = parse_arguments()
    jobgen = str(installed.jobgen() / "jobgen")
    print_part_lengths(jobgen)
    print_growth(jobgen, args.runs)
    print_slurm(jobgen, args.slurm, args.runs)
    print_pbs(jobgen, args.pbs, args.runs)
    print_mpiexec(jobgen, args.mpiexec, args.runs)


if __name__ == "__main__":
    main()
