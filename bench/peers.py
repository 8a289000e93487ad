"""jobgen beside public tools that have a command line and templates, whole processes in turns.

Each tool comes from PyPI into a virtual environment of its own, gets the least input that makes a
Slurm script for three nodes, and submits nothing. What cannot be installed or makes no script is
printed with the reason. Slurm's commands are stand-ins that do nothing: some of the tools ask them.

    python bench/peers.py [--runs N] [--cache FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import installed
from turns import Command, medians

BARE, JOBGEN = "bare interpreter", "jobgen"
TORCHRUN = "torchrun --nnodes=3 --nproc-per-node=8 train.py"


@dataclass(frozen=True)
class Tool:
    words: str  # the command, in a folder that has the files; {bin} is the environment's
    packages: str = ""  # what pip installs, the tool first; jobgen's environment is made apart
    files: Mapping[str, str] = field(default_factory=dict)
    first: str = ""  # run once, before any run is timed: what a user does once in a project
    script: str = ""  # where the script is then, a pattern; else on stdout or stderr


TOOLS = {
    JOBGEN: Tool("{bin}/jobgen sbatch --profile mi210 -N 3"),
    "torchx": Tool(
        "{bin}/torchx run --dryrun -s slurm -cfg partition=mi210 dist.ddp -j 3x8 --script train.py",
        "torchx",
    ),
    "signac-flow": Tool(
        "{bin}/python project.py submit --pretend",
        "signac-flow",
        {
            "project.py": f"""\
from flow import FlowProject
from flow.environment import DefaultSlurmEnvironment


class Project(FlowProject):
    pass


@Project.operation(cmd=True, directives={{"np": 3}})
def train(job):
    return "{TORCHRUN}"


if __name__ == "__main__":
    Project().main()
""",
            "begin.py": "import signac\nsignac.init_project().open_job({'lr': 0.1}).init()\n",
        },
        first="{bin}/python begin.py",
    ),
    "ReFrame": Tool(
        "{bin}/reframe -C config.py -c train.py --dry-run --prefix out",
        "reframe-hpc",
        {
            "config.py": """\
site_configuration = {
    "systems": [{
        "name": "mi210",
        "hostnames": [".*"],
        "partitions": [{
            "name": "gpu", "scheduler": "slurm", "launcher": "srun",
            "access": ["--partition=mi210"], "environs": ["plain"],
        }],
    }],
    "environments": [{"name": "plain", "target_systems": ["*"]}],
}
""",
            "train.py": f"""\
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Train(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    executable = "{TORCHRUN}"
    num_tasks = 3
    num_tasks_per_node = 1

    @sanity_function
    def ended(self):
        return sn.assert_true(1)
""",
        },
        script="out/stage/**/rfm_job.sh",
    ),
    "Maestro": Tool(
        "{bin}/maestro run --dry -y -fg -s 1 -o out study.yaml",
        "maestrowf",
        {
            "study.yaml": f"""\
description: {{name: train, description: on three nodes}}
batch: {{type: slurm, host: mi210, bank: physics, queue: mi210}}
study:
  - name: train
    description: torchrun on every node
    run: {{cmd: $(LAUNCHER) {TORCHRUN}, nodes: 3, procs: 3, walltime: "00:30:00"}}
""",
        },
        script="out/train/*.sh",
    ),
    "slurmkit": Tool(
        "{bin}/slurmkit --ui plain --nointeractive generate spec.yaml --into train",
        "slurmkit click",  # which slurmkit 0.1.7 imports, and does not name
        {
            "spec.yaml": """\
name: train
template: train.sh.j2
job_subdir: train
parameters: {mode: grid, values: {lr: [0.1]}}
slurm_args: {defaults: {partition: mi210, nodes: 3}}
job_name_pattern: "train_{{ lr }}"
""",
            "train.sh.j2": f"""\
#!/bin/bash
#SBATCH --job-name={{{{ job_name }}}}
#SBATCH --partition={{{{ slurm.partition }}}}
#SBATCH --nodes={{{{ slurm.nodes }}}}
#SBATCH --ntasks-per-node=1

srun {TORCHRUN} --lr {{{{ lr }}}}
""",
        },
        script=".jobs/train/job_scripts/*",
    ),
}


class Fails(Exception):
    """Why a tool is not compared."""


def ready(name: str, tool: Tool, cache: Path, work: Path) -> tuple[Command, str]:
    """The command, each run of it in a folder of its own, and the tool's version.

    Raises Fails if the tool cannot be installed, or makes no script.
    """
    try:
        if name == JOBGEN:
            programs = installed.jobgen(cache)
        else:
            programs = installed.environment(cache / name.lower(), tool.packages.split())
    except subprocess.CalledProcessError as error:
        said = [line for line in (error.stderr or "").splitlines() if line.startswith("ERROR")]
        raise Fails(f"cannot be installed: {said[-1] if said else error}") from None
    home = work / "home"
    home.mkdir(exist_ok=True)
    env = {"PATH": f"{work}/slurm:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    project = work / name
    project.mkdir()
    for file, text in tool.files.items():
        (project / file).write_text(text)
    if tool.first:
        output(tool.first.format(bin=programs), str(project), env)

    def folder() -> str:
        found = tempfile.mkdtemp(dir=work)
        shutil.copytree(project, found, dirs_exist_ok=True)
        return found

    words, tried = tool.words.format(bin=programs), folder()
    texts = [output(words, tried, env)]
    if tool.script:
        texts = [file.read_text() for file in Path(tried).glob(tool.script) if file.is_file()]
    if not any("\n#SBATCH " in text for text in texts):
        raise Fails("it made no script with #SBATCH")
    package = (tool.packages or JOBGEN).split()[0]
    show = f"from importlib.metadata import version; print(version({package!r}))"
    found = subprocess.check_output([f"{programs}/python", "-c", show], text=True)
    return Command(words.split(), env, folder), found.strip()


def output(words: str, folder: str, env: Mapping[str, str]) -> str:
    """What a command says, on stdout and stderr. Raises Fails if it fails."""
    done = subprocess.run(
        words.split(),
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        last = (done.stdout.strip().splitlines() or [""])[-1]
        raise Fails(f"exit status {done.returncode}: {last:.200}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="jobgen beside public tools, in turns")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--cache", type=Path, default=installed.CACHE, help="for the environments")
    options = parser.parse_args()
    cache = options.cache.resolve()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "slurm").mkdir()
        for program in "sbatch scontrol sinfo squeue sacct srun".split():
            (work / "slurm" / program).write_text("#!/bin/sh\n")
            (work / "slurm" / program).chmod(0o755)
        commands, versions, reasons = {}, {}, {}
        for tool in TOOLS:
            try:
                commands[tool], versions[tool] = ready(tool, TOOLS[tool], cache, work)
            except Fails as error:
                reasons[tool] = str(error)
        python = str(cache / "jobgen/bin/python")
        spent = medians({BARE: Command([python, "-c", ""]), **commands}, options.runs)
    bare, ours = spent[BARE], spent.get(JOBGEN)
    print(f"{options.runs} runs of each, in turns, after one to fill the caches; medians")
    print(f"{'':<26}{'wall':>8}{'CPU':>9}{'to bare':>9}{'to jobgen':>11}")
    for tool, mine in spent.items():
        line = f"{tool + ' ' + versions.get(tool, ''):<26}{mine.wall * 1000:>5.0f} ms"
        line += f"{mine.cpu * 1000:>6.0f} ms{mine.wall / bare.wall:>9.1f}"
        print(line + (f"{mine.wall / ours.wall:>11.2f}" if ours else ""))
    for tool, reason in reasons.items():
        print(f"{tool:<26}not compared: {reason}")


main()
