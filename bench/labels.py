"""What labels cost a rank: its steps a second while it prints, with labels and without.

A local job has one rank, which prints 10,000 lines a second, as evenly as its steps allow, beside
work on one core. It reports its steps a second of its own CPU time and of wall time; the jobs with
labels and without alternate.

    python bench/labels.py [--runs N] [--seconds S] [--lines N]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RANK = """
import sys, time
seconds, lines = float(sys.argv[1]), int(sys.argv[2])
text = "step 123456 loss 0.123456 images/s 12345.6 " + "x" * 40
begin, cpu, steps, printed = time.monotonic(), time.process_time(), 0, 0
while (passed := time.monotonic() - begin) < seconds:
    sum(range(2000))
    steps += 1
    while printed < passed * lines:
        sys.stdout.write(text + "\\n")
        printed += 1
print("RESULT", steps / (time.monotonic() - begin), steps / (time.process_time() - cpu), printed)
"""


def steps(folder: Path, *options: str, seconds: float, lines: int) -> tuple[float, float]:
    """The steps of the rank in a second of wall time, and of its CPU time."""
    words = [*options, "-N", "1", "-e", "PYTHONUNBUFFERED=", "--set", "launch.processes_per_node=1"]
    command = [sys.executable, "-m", "jobgen", "local", *words, "--", "rank.py"]
    script = subprocess.run(
        [*command, str(seconds), str(lines)], cwd=folder, stdout=subprocess.PIPE, check=True
    )
    (folder / "job.sh").write_bytes(script.stdout)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        ["bash", "job.sh"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    result = re.search(r"RESULT (\S+) (\S+) (\d+)", done.stdout)
    assert result, done.stdout[-500:]
    assert int(result[3]) > 0.9 * seconds * lines, result[0]
    return float(result[1]), float(result[2])


def main() -> None:
    parser = argparse.ArgumentParser(description="What labels cost a rank.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--lines", type=int, default=10_000)
    settings = parser.parse_args()
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rank.py").write_text(RANK)
        for _ in range(settings.runs):
            size = {"seconds": settings.seconds, "lines": settings.lines}
            plain = steps(folder, "--no-labels", **size)
            labelled = steps(folder, **size)
            wall.append(labelled[0] / plain[0])
            cpu.append(labelled[1] / plain[1])
    print(f"{settings.lines} lines a second, {settings.runs} runs of {settings.seconds:g} s each")
    print("| a rank's steps, labels / no labels | median | lowest | highest |")
    print("| --- | --- | --- | --- |")
    for text, ratios in (("in a second of wall time", wall), ("in a second of its CPU", cpu)):
        row = (statistics.median(ratios), min(ratios), max(ratios))
        print(f"| {text} | {' | '.join(f'{each:.3f}' for each in row)} |")


if __name__ == "__main__":
    main()
