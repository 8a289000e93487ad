"""Which options lint knows, in which versions, and what it says of others."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.errors import JobgenError
from jobgen.lint.options import TOOLS, known_options, read_versions
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings
from tests.helpers import jobgen

NODES = "#SBATCH --nodes=2\n"


def found(lines: str, *versions: str, file: str = "job.sh") -> list[str]:
    """The findings of JG203 and JG222."""
    settings = Settings(("JG203", "JG222"), versions=versions)
    return [
        f"{each.text}; {each.hint}" for each in problems_in(f"#!/bin/bash\n{lines}", file, settings)
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "#SBATCH --gpu-per-node=4",
            "sbatch has no option --gpu-per-node; did you mean --gpus-per-node?",
        ),
        ("#SBATCH -jname", "sbatch has no option -j; did you mean -J, --job-name?"),
        ("#SBATCH -y", "sbatch has no option -y; remove it"),
        (
            f"{NODES}srun --ntask_per_node=4 ./a",
            "srun has no option --ntask_per_node; did you mean --ntasks-per-node?",
        ),
        (
            f"{NODES}salloc --job-nam3=a ./a",
            "salloc has no option --job-nam3; did you mean --job-name?",
        ),
        ("#PBS -Q all", "qsub has no option -Q; did you mean -q?"),
        ("#PBS -l waltime=1:00:00", "qsub has no resource waltime; did you mean walltime?"),
        (
            f"{NODES}torchrun --nprocs-per-node=8 a.py",
            "torchrun has no option --nprocs-per-node; did you mean --nproc-per-node?",
        ),
        (
            f"{NODES}python -m torch.distributed.run -c 'import a'",
            "torchrun has no option -c; see `torchrun --help`; lint knows the options up to 2.14",
        ),
        (
            f"{NODES}srun deepspeed --num-gpus 8 a.py",
            "deepspeed has no option --num-gpus; did you mean --num_gpus?",
        ),
        (
            f"{NODES}accelerate launch --num_proceses=8 a.py",
            "accelerate launch has no option --num_proceses; did you mean --num_processes?",
        ),
    ],
)
def test_an_option_that_no_version_has_names_the_nearest(lines: str, message: str) -> None:
    assert found(f"{lines}\n") == [message]


@pytest.mark.parametrize(
    "lines",
    [
        "#SBATCH --gpus-per-n=4 --ntasks-per-nod=1",  # getopt_long takes an unambiguous beginning
        "#SBATCH --workdir=a --share --geometry=1x1",  # options of old versions
        "#SBATCH --container-image=a --my-plugin",  # options of plug-ins
        "#SBATCH hetjob",
        f"{NODES}srun -r 1 -T 4 --mpi=pmix --container-image=a ./a --gpu-per-node=4",
        f"{NODES}srun() {{ echo; }}\nsrun --ntask-per-node=4 ./a",
        "#PBS -l ngpus=4,nodes=2:ppn=8,storage=scratch/a",
        "#PBS -t 1-4\n#PBS -J 1-4\n#PBS -n",  # of Torque, and of OpenPBS
        "#PBS -Q all\n#PBS -l elapstim_req=1:00:00",  # NEC's
        f"{NODES}torchrun --nproc-per-n 8 --nnodes 2 -m pkg.train --epoch 3",
        f"{NODES}torchrun --nproc_per_node 8 $SCRIPT --epoch 3",
        f"{NODES}torchrun $OPTIONS --epochs 3 a.py",
        f"{NODES}torchrun --help\ndeepspeed --help\naccelerate launch -h",
        f"{NODES}torchrun --nproc-per-node=8 a.py --nprocs 4",
        f"{NODES}python -m torch.distributed.launch --use_env --nproc_per_node=8 a.py",
        f"{NODES}accelerate launch --num-machines 2 --num_processes 8 a.py",
        f"{NODES}deepspeed -H hosts --num_gpus 8 --no_ssh --node_rank=0 a.py --deepspeed",
    ],
)
def test_what_a_command_may_have_has_no_finding(lines: str) -> None:
    assert found(f"{lines}\n") == []


def test_a_placeholder_in_a_document_is_no_option() -> None:
    assert found(f"{NODES}torchrun --<option> --nnodes=2 a.py\n", file="guide.md") == []


@pytest.mark.parametrize(
    ("version", "lines", "message"),
    [
        (
            "slurm=23.11",
            "#SBATCH --segment=2",
            "Slurm 23.11 has no option --segment: it came in 24.05; leave it out",
        ),
        (
            "slurm=20.11.9",
            f"{NODES}srun --container=a ./a",
            "Slurm 20.11 has no option --container: it came in 21.08; leave it out",
        ),
        (
            "slurm",
            "#SBATCH --workdir=a",
            "Slurm 26.05 has no option --workdir: it went after 18.08; write --chdir",
        ),
        (
            "torch=1.13",
            f"{NODES}torchrun --nproc-per-node=8 a.py",
            "torch 1.13 has no option --nproc-per-node: it came in 2.0; write --nproc_per_node",
        ),
        (
            "accelerate=0.20",
            f"{NODES}accelerate launch --num-machines=2 a.py",
            "accelerate 0.20 has no option --num-machines: it came in 0.28; write --num_machines",
        ),
        (
            "deepspeed=0.13",
            f"{NODES}deepspeed --node_rank=0 a.py",
            "deepspeed 0.13 has no option --node_rank: it came in 0.14; leave it out",
        ),
        ("openpbs=23.06", "#PBS -t 1-4", "OpenPBS 23.06 has no option -t; write -J"),
        ("torque=6.1", "#PBS -R e", "Torque 6.1 has no option -R; leave it out"),
        (
            "pbspro=14.1",
            "#PBS -R e",
            "PBS Pro 14.1 has no option -R: it came in 18.1; leave it out",
        ),
    ],
)
def test_an_option_is_compared_with_the_version_asked_for(
    version: str, lines: str, message: str
) -> None:
    assert found(f"{lines}\n", version) == [message]
    assert found(f"{lines}\n") == []


@pytest.mark.parametrize(
    ("versions", "lines"),
    [
        (("slurm=24.05",), "#SBATCH --segment=2"),
        (("slurm=17.11",), "#SBATCH --workdir=a -g 1x1"),
        (("torch=2.0", "slurm=23.11"), f"{NODES}torchrun --nproc-per-node=8 a.py"),
        (("openpbs", "torque"), "#PBS -t 1-4\n#PBS -J 1-4"),
        (("torch=1.13",), "#SBATCH --segment=2"),
    ],
)
def test_what_the_version_asked_for_has_is_no_finding(
    versions: tuple[str, ...], lines: str
) -> None:
    assert found(f"{lines}\n", *versions) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slurm=23.10", "--for: no Slurm '23.10' is known; did you mean `23.11`?"),
        ("slurm=23.03", "--for: no Slurm '23.03' is known; did you mean `23.02`?"),
        ("slurm=1.0", "--for: no Slurm '1.0' is known; the oldest is 2.5"),
        ("slurm=new", "--for: no Slurm 'new' is known; one of: 2.5, 2.6, 14.03, 14.11"),
        ("slrum=23.11", "--for: 'slrum=23.11' names no tool; did you mean `slurm`?"),
        ("pytorch", "--for: 'pytorch' names no tool; did you mean `torch`?"),
        ("", "--for: '' names no tool; one of: accelerate, deepspeed, openpbs"),
    ],
)
def test_a_version_that_is_none_is_exit_code_2(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "job.sh").write_text(f"#!/bin/bash\n{NODES}srun ./a\n")
    done = jobgen("lint", "--for", text, "job.sh", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    (tmp_path / "pyproject.toml").write_text(f'[tool.jobgen.lint]\nfor = ["{text}"]\n')
    done = jobgen("lint", "job.sh", cwd=tmp_path)
    assert done.returncode == 2
    assert message.replace("--for", "pyproject.toml: for") in done.stderr.decode()


def test_a_configuration_may_ask_for_versions_and_the_command_line_for_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "job.sh").write_text(f"#!/bin/bash\n{NODES}#SBATCH --segment=2\nsrun ./a\n")
    (tmp_path / "pyproject.toml").write_text('[tool.jobgen.lint]\nfor = ["slurm=23.11"]\n')
    done = jobgen("lint", "job.sh", cwd=tmp_path)
    assert (done.returncode, done.stdout.decode().count("JG222")) == (1, 1)
    done = jobgen("lint", "--for", "slurm=24.05", "job.sh", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    (tmp_path / "pyproject.toml").write_text('[tool.jobgen.lint]\nfor = "slurm"\n')
    done = jobgen("lint", "job.sh", cwd=tmp_path)
    assert "for is not a list of versions such as slurm=23.11" in done.stderr.decode()


def test_one_version_of_a_tool_is_asked_for() -> None:
    with pytest.raises(JobgenError, match="--for: it names slurm twice; give one version of it"):
        read_versions("--for", ["slurm=23.11", "torch", "slurm=24.05"])


@pytest.mark.parametrize(
    ("version", "launcher", "messages"),
    [
        ("1.8", "torchrun", ["torch 1.8 has no torchrun: it came in 1.10"]),
        ("1.9", "torchrun", ["torch 1.9 has no torchrun: it came in 1.10"]),
        (
            "1.8",
            "python -m torch.distributed.run",
            ["torch 1.8 has no torch.distributed.run: it came in 1.9"],
        ),
        ("1.9", "python -m torch.distributed.run", []),
        ("1.8", "python -m torch.distributed.launch", []),
        ("1.10", "torchrun", []),
    ],
)
def test_torchrun_is_younger_than_its_options(
    version: str, launcher: str, messages: list[str]
) -> None:
    restarts = "" if "launch" in launcher else " --max_restarts=3"
    shown = found(f"{launcher} --nproc_per_node=2{restarts} t.py\n", f"torch={version}")
    assert [text.partition(";")[0] for text in shown] == messages


def test_every_tool_has_a_newest_version() -> None:
    newest = dict(read_versions("--for", TOOLS))
    assert newest["slurm"] >= "26.05"
    assert newest["openpbs"] >= "23.06"


def test_a_version_that_is_newer_than_the_table_counts_as_its_newest() -> None:
    newest = read_versions("--for", ["torch", "slurm"])
    assert read_versions("--for", ["torch=99.1", "slurm=2100.05.3"]) == newest
    for text in ("torch=99.", "torch=new", "torch=2.x"):
        with pytest.raises(JobgenError, match="is known"):
            read_versions("--for", [text])


def test_the_newest_meaning_of_a_name_counts() -> None:
    options = known_options("sbatch")
    found = options.find("tasks")
    assert found
    assert found.name == "tasks-per-node"  # 18.08 was the last version with --tasks
    assert options.letters["D"].name == "chdir"
    assert options.find("ntasks-per") is None  # the beginning of several
    assert options.of("18.08").find("tasks") == options.by_name["tasks"]._replace(until="")


# ---- cores ----


TORCHRUN = "torchrun --standalone --nproc-per-node=4 a.py\n"
ONE_TASK = "#SBATCH --nodes=1 --ntasks-per-node=1 --gres=gpu:4\n"
FOUR_TASKS = "#SBATCH --nodes=1 --ntasks-per-node=4 --gres=gpu:4\n"


AT_SITES = (
    "4 ranks share one core, unless the partition gives whole nodes, or cores with each GPU: "
    "no --cpus-per-task asks for more"
)


def cores_found(lines: str) -> list[str]:
    problems = problems_in(f"#!/bin/bash\n{lines}", "job.sh", Settings(("JG309",)))
    return [each.text for each in problems]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (f"{ONE_TASK}#SBATCH -c 1\nsrun {TORCHRUN}", "4 ranks share one core: see line 3"),
        (f"{ONE_TASK}#SBATCH -c 1\n{TORCHRUN}", "4 ranks share one core: see line 3"),
        (
            f"{ONE_TASK}#SBATCH -c 8\nsrun -c1 bash -c '{TORCHRUN}'\n",
            "4 ranks share one core: srun's own --cpus-per-task is 1",
        ),
        (f"{ONE_TASK}#SBATCH --mem=100G\nsrun {TORCHRUN}", AT_SITES),
        (
            "#SBATCH --tasks-per-node=1 --gpus-per-task=4\n"
            "srun torchrun --standalone --nproc_per_node=gpu a.py",
            AT_SITES,
        ),
        (
            f"#PBS -l select=1:ncpus=1:ngpus=4\n{TORCHRUN}",
            "4 ranks share one core: see line 2",
        ),
        (f"{ONE_TASK}srun {TORCHRUN}", AT_SITES),
        (f"{ONE_TASK}o='--wait=60'\nsrun $o bash -c '{TORCHRUN}'\n", AT_SITES),
        (f"#SBATCH -N 2 -n 2 --gpus-per-task=4\nsrun {TORCHRUN}", AT_SITES),
        (
            f"{ONE_TASK}#SBATCH -c 1\npython a.py trainer.gpus=4 trainer.accelerator=ddp\n",
            "the ranks of 4 GPUs share one core: see line 3",
        ),
        (
            "#SBATCH -N 1\nn=$(($SLURM_NNODES * 8))\n"
            "srun -n ${n} -N $NODES --gpus-per-task=1 --cpu-bind=cores python -u a.py\n",
            "--cpu-bind=cores without --cpus-per-task gives each rank one core",
        ),
        (
            f"{FOUR_TASKS}srun -n4 --cpu-bind=cores python a.py\n",
            "--cpu-bind=cores without --cpus-per-task gives each rank one core",
        ),
        (
            f"{FOUR_TASKS}srun --cpu-bind=verbose,threads python -m a\n",
            "--cpu-bind=verbose,threads without --cpus-per-task gives each rank one core",
        ),
    ],
)
def test_ranks_with_one_core_are_found(lines: str, message: str) -> None:
    assert cores_found(lines) == [message]


@pytest.mark.parametrize(
    "lines",
    [
        f"{ONE_TASK}#SBATCH -c 32\nsrun {TORCHRUN}",
        f"{ONE_TASK}srun $OPTIONS {TORCHRUN}",
        f"#SBATCH --nodes=1 --ntasks-per-node=1\nsrun {TORCHRUN}",
        f"#SBATCH --gres=gpu:4\n{TORCHRUN}",  # a late --gres must be movable by --fix
        "#SBATCH -n 1 --gres=gpu:1\ntorchrun --standalone --nproc-per-node=gpu a.py",
        f"{ONE_TASK}#SBATCH --exclusive\nsrun {TORCHRUN}",
        f"{ONE_TASK}srun -c 32 bash -c '{TORCHRUN}'\n",
        f"{FOUR_TASKS}srun {TORCHRUN}",
        f"{ONE_TASK}#SBATCH -c 32\npython a.py trainer.devices=4\n",
        f"{ONE_TASK}#SBATCH -c 1\npython a.py trainer.devices=1\n",
        f"{FOUR_TASKS}#SBATCH -c 1\nsrun python a.py --devices=4\n",
        f"{FOUR_TASKS}srun -n $((SLURM_NNODES * 4)) -c 8 --cpu-bind=cores python a.py\n",
        f"{FOUR_TASKS}o='-n 4 -c 8'\nsrun $o --cpu-bind=cores python a.py\n",
        f"{ONE_TASK}#SBATCH -c 1 --exclusive\nsrun {TORCHRUN}",
        f"{ONE_TASK}#SBATCH --mem=0\nsrun {TORCHRUN}",
        f"{ONE_TASK}#SBATCH --mem=100G --cpus-per-gpu=8\nsrun {TORCHRUN}",
        f"{ONE_TASK}#SBATCH --mem=100G\nsrun -c 32 {TORCHRUN}",
        f"{ONE_TASK}#SBATCH -c 1\nsrun torchrun --standalone --nproc-per-node=1 a.py\n",
        f"{FOUR_TASKS}#SBATCH -c 1\n{TORCHRUN}",  # on the cores of four tasks
        f"{FOUR_TASKS}#SBATCH --mem=100G\n{TORCHRUN}",
        f"#PBS -l select=1:ncpus=1:ngpus=4\n#PBS -l place=scatter:excl\n{TORCHRUN}",
        f"{FOUR_TASKS}srun -n4 -c 8 --cpu-bind=cores python a.py\n",
        f"{FOUR_TASKS}#SBATCH -c 8\nsrun --cpu-bind=cores python a.py\n",
        f"{FOUR_TASKS}export SRUN_CPUS_PER_TASK=8\nsrun --cpu-bind=cores python a.py\n",
        f"{FOUR_TASKS}srun --cpu-bind=none python a.py\n",
        f"{FOUR_TASKS}srun --cpu-bind=sockets python a.py\n",
        f"{FOUR_TASKS}srun --cpu-bind=cores all_reduce_perf\n",
        f"{FOUR_TASKS}srun $OPTIONS --cpu-bind=cores python a.py\n",
        "#SBATCH --nodes=1 --ntasks=64\nsrun --cpu-bind=cores python a.py\n",
    ],
)
def test_ranks_that_may_have_more_cores_have_no_finding(lines: str) -> None:
    assert cores_found(lines) == []


# ---- GPUs asked for twice ----


@pytest.mark.parametrize(
    ("version", "codes"),
    [((), ["JG211"]), (("slurm=26.05",), ["JG211"]), (("slurm=25.11",), []), (("slurm=2.6",), [])],
)
def test_gres_with_gpus_per_node_is_refused_since_26_05(
    version: tuple[str, ...], codes: list[str]
) -> None:
    lines = f"#!/bin/bash\n{NODES}#SBATCH --gres=gpu:4 --gpus-per-node=4\nsrun ./a\n"
    found = problems_in(lines, "job.sh", Settings(("JG211",), versions=version))
    assert [each.code for each in found] == codes
