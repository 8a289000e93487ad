"""Many scripts in one process, as ratios against a bare Jinja2 loop measured in the same run.

The reference renders jobgen's own template for one plan that is ready, with a plain environment of
Jinja's: no sandbox, nothing quoted or checked, no profile, no plan, no file. It prints scripts
a second of CPU, their ratio to the reference (medians; a ratio is that of runs one after the other,
since a machine is not always as fast), and the most memory a process took (its peak RSS).
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

ROWS = ("bare Jinja2 loop", "different plans", "build, all new", "build, unchanged", "check")
ROUNDS = 5
MANIFEST = """\
defaults: {{profile: dgx-a100, file: "jobs/{{name}}-{{nodes}}n-lr{{lr}}.sh"}}
jobs:
  bert:
    matrix: {{nodes: [1, 2, 4, 8], lr: [{rates}]}}
    program: [train.py, --lr, "{{lr}}"]
"""


def reference(count: int) -> None:
    import jinja2

    from jobgen import render, shell
    from jobgen.job import Job, layers
    from jobgen.plan import plan
    from jobgen.store import load

    ours = render._environment(None, Path(), False, print)
    bare = jinja2.Environment(
        loader=ours.loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    bare.filters.update(ours.filters)
    bare.filters["words"] = lambda values: " ".join(map(shell.quote, values))
    job = Job("sbatch", profile="dgx-a100", nodes="4", program=("train.py", "--lr", "0.1"))
    ready = plan(job, load("dgx-a100", layers(job)))
    template = bare.get_template("sbatch.sh.j2")
    template.render(plan=ready)
    start = time.process_time()
    for _ in range(count):
        template.render(plan=ready)
    report(count, start)


def plans(count: int) -> None:
    """As many different jobs, planned and rendered; the profile and the templates are loaded."""
    from jobgen.job import Job
    from jobgen.maker import Maker

    def script(number: int) -> str:
        program = ("train.py", "--lr", f"{number}e-6")
        return maker.script(Job("sbatch", profile="dgx-a100", nodes="4", program=program))

    maker = Maker()
    script(count)
    start = time.process_time()
    for number in range(count):
        script(number)
    report(count, start)


def command(count: int, *words: str) -> None:
    """One command of jobgen's, in the folder that is the working one."""
    from jobgen.cli import main

    start = time.process_time()
    code = main([*words], "jobgen", standalone_mode=False)
    assert code == 0, code
    report(count, start)


def report(count: int, start: float) -> None:
    seconds = time.process_time() - start  # others may run beside
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([count / seconds, peak]), file=sys.__stderr__)


def measured(folder: str, what: str, count: int) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), what, str(count)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    rate, peak = json.loads(done.stderr.splitlines()[-1])
    return rate, peak


def main() -> None:
    print(f"{'':<22}{'scripts':>8}{'a CPU s':>10}{'ratio':>7}{'peak RSS':>10}")
    for count in (1000, 10000):
        with tempfile.TemporaryDirectory() as folder:
            values = ", ".join(f"{number}e-6" for number in range(count // 4))
            Path(folder, "jobgen.yaml").write_text(MANIFEST.format(rates=values))
            found: dict[str, list[tuple[float, float]]] = {what: [] for what in ROWS}
            for _ in range(ROUNDS):  # in turns, since others may use the machine, too
                shutil.rmtree(Path(folder, "jobs"), ignore_errors=True)
                for what, runs in found.items():
                    runs.append(measured(folder, what, count))
            for what, runs in found.items():
                rate = statistics.median(rate for rate, _ in runs)
                pairs = zip(runs, found[ROWS[0]], strict=True)
                ratio = statistics.median(here / there for (here, _), (there, _) in pairs)
                peak = max(peak for _, peak in runs)
                print(f"{what:<22}{count:>8}{rate:>10.0f}{ratio:>7.2f}{peak:>7.0f} MiB")


if len(sys.argv) > 1:
    number = int(sys.argv[2])
    if sys.argv[1] == "check":
        command(number, "check", "jobs")
    elif sys.argv[1].startswith("build"):
        command(number, "build")
    elif sys.argv[1] == "different plans":
        plans(number)
    else:
        reference(number)
else:
    main()
