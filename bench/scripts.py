"""Many scripts in one command, as ratios against a bare Jinja2 loop measured in the same run.

The reference renders jobgen's own template for one plan again and again, with a plain environment
of Jinja: it makes no plan, chooses no parts, reads no profile, quotes no printed value, and writes
no file. A second
loop writes each script to a file of its own: it is the reference of a build of all new scripts. The
table has scripts a second of CPU and of elapsed time, each with its ratio to the reference (the
median of runs one after the other), and the peak of a process's memory (RSS).
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE, TO_FILES = "bare Jinja2 loop", "the same, to files"
ROWS = (BARE, TO_FILES, "different plans", "build, all new", "build, unchanged", "check")
REFERENCES = {"build, all new": TO_FILES}
ROUNDS = 5
TEMPLATES = Path(__file__).parent.parent / "templates"
MANIFEST = """\
defaults: {{profile: dgx-a100, file: "jobs/{{name}}-{{nodes}}n-lr{{lr}}.sh"}}
jobs:
  bert:
    matrix: {{nodes: [1, 2, 4, 8], lr: [{rates}]}}
    program: [train.py, --lr, "{{lr}}"]
"""


class Clock:
    """The time since it was made."""

    def __init__(self) -> None:
        self.cpu = time.process_time()
        self.elapsed = time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Seconds of CPU, those of ended child processes too, and elapsed seconds."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = time.process_time() - self.cpu + children.ru_utime + children.ru_stime
        return cpu, time.perf_counter() - self.elapsed


def reference(count: int, folder: Path | None = None) -> None:
    """The bare loop; the filters are jobgen's, since its templates need them.

    With `folder`, each script is written to a new file there.
    """
    import jinja2

    from jobgen.generator import Generator
    from jobgen.planning.job_options import Job
    from jobgen.scripts.features import features
    from jobgen.scripts.jinja_environments import FILTERS
    from jobgen.scripts.parts import chosen_parts
    from jobgen.scripts.render import machinery
    from jobgen.scripts.start_commands import upper_part

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    template = environment.get_template("sbatch.sh.j2")
    job = Job("sbatch", profile="dgx-a100", nodes="4", program=("train.py", "--lr", "0.1"))
    plan = Generator().plan(job)

    found = features(plan)
    parts = chosen_parts(found)
    text = machinery(parts)
    values = {"plan": plan, "machinery": lambda: text, **upper_part(plan, found, parts)}
    template.render(values, keeper_paths=())
    start = Clock()
    for number in range(count):
        script = template.render(values, keeper_paths=())
        if folder:
            (folder / f"{number}.sh").write_text(script)
    report(count, start)


def different_plans(count: int) -> None:
    """As many different jobs, planned and rendered; the profile and the templates are loaded."""
    from jobgen.generator import Generator
    from jobgen.planning.job_options import Job

    generator = Generator()

    def make_script(number: int) -> None:
        program = ("train.py", "--lr", f"{number}e-6")
        generator.script(Job("sbatch", profile="dgx-a100", nodes="4", program=program))

    make_script(count)
    start = Clock()
    for number in range(count):
        make_script(number)
    report(count, start)


def command(count: int, *words: str) -> None:
    """One command of jobgen, in the working folder."""
    from jobgen.cli.app import main

    start = Clock()
    code = main([*words], "jobgen", standalone_mode=False)
    assert code == 0, code
    report(count, start)


def report(count: int, start: Clock) -> None:
    cpu, elapsed = start.read()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([count / cpu, count / elapsed, peak]), file=sys.__stderr__)


def measure(folder: str, row: str, count: int) -> list[float]:
    """Scripts a second of CPU and elapsed, and the peak of memory, of a row in its own process."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), row, str(count)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    figures: list[float] = json.loads(done.stderr.splitlines()[-1])
    return figures


def measure_all(count: int) -> dict[str, list[list[float]]]:
    """The rows in turns, since others may use the machine, too."""
    results: dict[str, list[list[float]]] = {row: [] for row in ROWS}
    with tempfile.TemporaryDirectory() as folder:
        values = ", ".join(f"{number}e-6" for number in range(count // 4))
        Path(folder, "jobgen.yaml").write_text(MANIFEST.format(rates=values))
        for _ in range(ROUNDS):
            for name in ("jobs", "loop"):
                shutil.rmtree(Path(folder, name), ignore_errors=True)
            Path(folder, "loop").mkdir()
            for row, runs in results.items():
                runs.append(measure(folder, row, count))
    return results


def main() -> None:
    print(
        f"{'':<22}{'scripts':>8}{'a CPU s':>10}{'ratio':>7}{'a s':>8}{'ratio':>7}{'peak RSS':>10}"
    )
    for count in (1000, 10000):
        results = measure_all(count)
        for row, runs in results.items():
            line = f"{row:<22}{count:>8}"
            for column, width in ((0, 10), (1, 8)):
                rate = statistics.median(run[column] for run in runs)
                pairs = zip(runs, results[REFERENCES.get(row, BARE)], strict=True)
                ratio = statistics.median(one[column] / bare[column] for one, bare in pairs)
                line += f"{rate:>{width}.0f}{ratio:>7.2f}"
            print(f"{line}{max(run[2] for run in runs):>6.0f} MiB")


def run_row(row: str, count: int) -> None:
    match row:
        case "bare Jinja2 loop":
            reference(count)
        case "the same, to files":
            reference(count, Path("loop"))
        case "different plans":
            different_plans(count)
        case "check":
            command(count, "check", "jobs")
        case _:
            command(count, "build")


if len(sys.argv) > 1:
    run_row(sys.argv[1], int(sys.argv[2]))
else:
    main()
