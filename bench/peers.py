"""jobgen and public tools that have a command line and templates, as whole processes in turns.

Each tool is installed from PyPI into a virtual environment of its own, gets the shortest input for
a Slurm script for three nodes, and submits nothing. If a tool cannot be installed or writes no
script, the reason is printed. Some tools call commands of Slurm: here, these do nothing.

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
from turns import Command, Usage, medians

BARE, JOBGEN = "bare interpreter", "jobgen"
TORCHRUN = "torchrun --nnodes=3 --nproc-per-node=8 train.py"


@dataclass(frozen=True)
class Tool:
    """A tool: its command, which runs in a folder with `files`, where `setup` ran once.

    In the commands, {bin} is the folder of the programs in the tool's virtual environment.
    """

    command: str
    packages: str = ""  # for pip, the tool first; jobgen is installed from this checkout
    files: Mapping[str, str] = field(default_factory=dict)
    setup: str = ""
    script: str = ""  # a pattern for the file that the tool writes; empty: it prints the script


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
        setup="{bin}/python begin.py",
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
        "slurmkit click",  # slurmkit 0.1.7 imports click and does not require it
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


class NotComparable(Exception):
    """A tool cannot be installed, or writes no script; the text says why."""


def install(name: str, tool: Tool, cache: Path) -> Path:
    """Install a tool; the folder of its programs. Raises NotComparable."""
    try:
        if name == JOBGEN:
            return installed.jobgen(cache)
        return installed.environment(cache / name.lower(), tool.packages.split())
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or [str(error)]
        raise NotComparable(f"cannot be installed: {errors[-1]}") from None


def version(name: str, tool: Tool, programs: Path) -> str:
    package = (tool.packages or JOBGEN).split()[0]
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.check_output([f"{programs}/python", "-c", code], text=True).strip()


def output(command: str, folder: str, env: Mapping[str, str]) -> str:
    """The output of a command, stdout and stderr. Raises NotComparable if it fails."""
    done = subprocess.run(
        command.split(), cwd=folder, env=env, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        last_line = (done.stdout.strip().splitlines() or [""])[-1]
        raise NotComparable(f"exit status {done.returncode}: {last_line:.200}")
    return done.stdout


def make_command(name: str, tool: Tool, programs: Path, work: Path) -> Command:
    """The command of a tool, which runs each time in a new copy of its files.

    Raises NotComparable if it writes no script.
    """
    env = {"PATH": f"{work}/slurm:/usr/bin:/bin", "HOME": f"{work}/home", "LANG": "C.UTF-8"}
    project = work / name
    project.mkdir()
    for file, text in tool.files.items():
        (project / file).write_text(text)
    if tool.setup:
        output(tool.setup.format(bin=programs), str(project), env)

    def copy_of_project() -> str:
        folder = tempfile.mkdtemp(dir=work)
        shutil.copytree(project, folder, dirs_exist_ok=True)
        return folder

    command, folder = tool.command.format(bin=programs), copy_of_project()
    texts = [output(command, folder, env)]
    if tool.script:
        texts = [file.read_text() for file in Path(folder).glob(tool.script) if file.is_file()]
    if not any("\n#SBATCH " in text for text in texts):
        raise NotComparable("it wrote no script with #SBATCH")
    return Command(command.split(), env, copy_of_project)


def write_stand_ins(work: Path) -> None:
    """Write commands of Slurm that do nothing, and an empty home."""
    (work / "home").mkdir()
    (work / "slurm").mkdir()
    for program in "sbatch scontrol sinfo squeue sacct srun".split():
        (work / "slurm" / program).write_text("#!/bin/sh\n")
        (work / "slurm" / program).chmod(0o755)


def print_table(usages: Mapping[str, Usage], versions: Mapping[str, str], runs: int) -> None:
    print(f"medians of {runs} runs, in turns, after one that fills the caches; ratios of CPU time")
    print(f"{'':<26}{'elapsed':>10}{'CPU':>9}{'to bare':>9}{'to jobgen':>11}")
    for name, usage in usages.items():
        title = f"{name} {versions.get(name, '')}"
        ratio = usage.cpu / usages[BARE].cpu
        line = f"{title:<26}{usage.wall * 1000:>7.0f} ms{usage.cpu * 1000:>6.0f} ms{ratio:>9.1f}"
        print(line + (f"{usage.cpu / usages[JOBGEN].cpu:>11.2f}" if JOBGEN in usages else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description="jobgen and public tools, in turns")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--cache", type=Path, default=installed.CACHE, help="for the environments")
    args = parser.parse_args()
    cache = args.cache.resolve()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        write_stand_ins(work)
        commands, versions, reasons = {}, {}, {}
        for tool_name, tool in TOOLS.items():
            try:
                programs = install(tool_name, tool, cache)
                commands[tool_name] = make_command(tool_name, tool, programs, work)
                versions[tool_name] = version(tool_name, tool, programs)
            except NotComparable as error:
                reasons[tool_name] = str(error)
        bare = Command([str(cache / "jobgen/bin/python"), "-c", ""])
        usages = medians({BARE: bare, **commands}, args.runs)
    print_table(usages, versions, args.runs)
    for tool_name, reason in reasons.items():
        print(f"{tool_name:<26}not compared: {reason}")


if __name__ == "__main__":
    main()
