"""`jobgen why` on large logs, against a loop that only reads their lines, in the same run.

Each line has the CPU time, its ratio to the loop's, and the peak of the memory (RSS), with the most
that jobgen may take. startup.py has a log of a few lines.

    python bench/why.py [FOLDER]    the folder for the logs, of 700 MB
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from random import Random

import installed
from turns import Command, usage_of

READ = "for line in open(__import__('sys').argv[1], 'rb'): pass"
WATCHDOG = (
    "gpu{node:02} rank {rank}: [rank{rank}]:[E1122 19:{n:02}:00.{i:06} ProcessGroupNCCL.cpp:632] "
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={i}, "
    "OpType=ALLREDUCE, NumelIn={i}, NumelOut={i}, Timeout(ms)=600000) ran for 6000{n:02} ms.\n"
)
STEPS = "gpu{node:02} rank {rank}: step {i} loss 0.{n:05} lr 3e-4 tokens {i}\n"
ERRORS = "gpu{node:02} rank {rank}: ERROR {words} failed: RuntimeError: {words}\n"
# The form and the number of the lines; seconds of CPU time, and MiB, at most.
LOGS = {
    "100 MB of a watchdog": (WATCHDOG, 400_000, 8, 50),
    "500 MB of steps": (STEPS, 8_500_000, 5, 30),
    "100,000 errors that differ": (ERRORS, 100_000, 10, 50),
}


def write_log(path: Path, form: str, count: int) -> None:
    letters, choice, words = "abcdefgh ijklmnop qrstuvwxyz ", Random(1), ""
    with path.open("w") as stream:
        for i in range(count):
            if form is ERRORS:
                words = "".join(choice.choices(letters, k=40))
            rank = i % 512
            line = form.format(i=i, n=i % 60, rank=rank, node=rank // 8, words=words)
            stream.write(line)


def main() -> None:
    binaries = installed.jobgen()
    # A log without a failure makes jobgen end with 1.
    why = ["/bin/sh", "-c", '"$0" why "$1" || [ $? = 1 ]', str(binaries / "jobgen")]
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for name, (form, count, seconds, memory) in LOGS.items():
            path = Path(folder, "log")
            write_log(path, form, count)
            loop = usage_of(Command([str(binaries / "python"), "-c", READ, str(path)]))
            own = usage_of(Command([*why, str(path)]))
            print(
                f"{name:<27}{os.path.getsize(path) / 1e6:>4.0f} MB"
                f"{own.cpu:>6.1f} s (at most {seconds}){own.cpu / loop.cpu:>7.1f} times the loop"
                f"{own.peak:>5.0f} MiB ({memory})"
            )


main()
