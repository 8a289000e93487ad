"""The launcher node: placeholders, what is refused, and programs that are launchers themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.planning.program import find_launcher, make_program
from jobgen.quoting import quote_with_shell
from tests.helpers import planned, script
from tests.hostile import UTF_8

SHOW = """import json, os, sys
names = ("NODE", "NODES", "HEAD", "PORT", "PROCESSES")
with open("shown-" + os.environ["JOBGEN_NODE"], "w") as file:
    json.dump([sys.argv[1:], [os.environ["JOBGEN_" + name] for name in names]], file)
"""
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def run_here(folder: Path, *words: str, nodes: str = "2") -> subprocess.CompletedProcess[str]:
    """A local job with the launcher node, run in `folder`; its words are the program's."""
    text = script(Job("local", "local", nodes=nodes, launcher="node", program=words))
    return subprocess.run(
        ["bash", "-c", "bash <(cat)"],
        input=text,
        cwd=folder,
        env={**os.environ, "PATH": PATH},
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )


def test_each_node_gets_its_number_and_all_other_words_as_they_are(tmp_path: Path) -> None:
    """A % of a hostile value is a placeholder as well, or stays."""
    program = tmp_path / "show"
    program.write_text(f"#!{sys.executable}\n{SHOW}")
    program.chmod(0o755)
    hostile = [value for value in UTF_8 if "%" not in value]
    places = ["%n", "--rank=%n", "%N", "%h:%p", "%g", "x%G", "%%n", "100%", "%x", "%a", "'%n'$(id)"]
    done = run_here(tmp_path, "./show", *places, *hostile)
    assert done.returncode == 0, done.stderr
    for node in ("0", "1"):
        words, variables = json.loads((tmp_path / f"shown-{node}").read_text())
        head, port = variables[2:4]
        assert (variables[:3], variables[4]) == ([node, "2", "127.0.0.1"], "2")
        expected = [
            node,
            f"--rank={node}",
            "2",
            f"{head}:{port}",
            "2",
            "x4",
            "%n",
            "100%",
            "%x",
            "%a",
        ]
        assert words == [*expected, f"'{node}'$(id)", *hostile]
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.torch
def test_one_node(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(SHOW)
    done = run_here(tmp_path, "show.py", "%n", "%N", nodes="1")
    assert done.returncode == 0, done.stderr
    words, variables = json.loads((tmp_path / "shown-0").read_text())
    assert (words, variables[:3]) == (["0", "1"], ["0", "1", "127.0.0.1"])


@pytest.mark.slow
def test_a_program_that_fails_on_one_node_ends_the_others(tmp_path: Path) -> None:
    text = "#!/bin/bash\n[[ $1 == 1 ]] && exit 7\nexec sleep 1000\n"
    (tmp_path / "fail").write_text(text)
    (tmp_path / "fail").chmod(0o755)
    assert run_here(tmp_path, "./fail", "%n").returncode == 7


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "''"),
        ("%n", '"$node"'),
        ("a b%n", "'a b'\"$node\""),
        ("%%n", "%n"),
        ("%%%n%", '%"$node"%'),
        ("$(id)%n'", '"\\$(id)""$node""\'"'),
        ("%m", "%m"),
    ],
)
def test_a_word_with_shell_text_in_it(text: str, word: str) -> None:
    assert quote_with_shell(text, {"%n": '"$node"', "%%": "%"}) == word


def test_an_index_of_an_array_only_where_there_is_one() -> None:
    fields = {"launcher": "node", "program": ("./x", "%a")}
    assert '    ./x "$SLURM_ARRAY_TASK_ID"\n' in script(
        Job("sbatch", "dgx-a100", array="0-3", **fields)  # type: ignore[arg-type]
    )
    assert "    ./x %a\n" in script(Job("sbatch", "dgx-a100", **fields))  # type: ignore[arg-type]


def test_torch_is_searched_for_where_python_is_started() -> None:
    """A command may have a Python of its own."""
    for words, needs_torch in ((("x.py",), True), (("-m", "x"), True), (("x",), False)):
        plan = planned(Job("sbatch", "dgx-a100", launcher="node", program=words))
        assert plan.needs_torch is needs_torch
        assert plan.checked_gpus == (2 if needs_torch else 0)


def test_the_scheduler_starts_one_task_a_node() -> None:
    plan = planned(Job("sbatch", "dgx-a100", launcher="node", program=("x",)))
    assert (plan.request.tasks_per_node, plan.request.cpus_per_task) == (1, 32)
    assert plan.launch.processes_per_node == 2


LAUNCHERS = {
    "torchrun x.py": "torchrun",
    "/opt/venv/bin/torchrun x.py": "torchrun",
    "-m torch.distributed.run x.py": "torchrun",
    "-m torch.distributed.launch x.py": "torchrun",
    "python -m torch.distributed.run x.py": "torchrun",
    "python3.11 -u -m torch.distributed.run x.py": "torchrun",
    "python -um torch.distributed.run x.py": "torchrun",
    "python -m torch.distributed.run": "torchrun",
    "sh -c torchrun": "torchrun",
    "bash -c torchrun x": "torchrun",
    "accelerate launch x.py": "accelerate launch",
    "accelerate-launch x.py": "accelerate launch",
    "-m accelerate.commands.launch x.py": "accelerate launch",
    "deepspeed x.py": "deepspeed",
    "env A=1 deepspeed x.py": "deepspeed",
    "srun x": "srun",
    "mpirun -n 4 x": "mpirun",
    "mpiexec x": "mpiexec",
    "horovodrun -np 4 x": "horovodrun",
    "ft_launcher --nnodes=2 x.py": "ft_launcher",
    "-m nvidia_resiliency_ext.fault_tolerance.launcher x.py": "ft_launcher",
    "ray start": "ray",
    "uv run torchrun x.py": "torchrun",
    "uv run -q torchrun x.py": "torchrun",
    "uv run --extra gpu --with wandb torchrun x.py": "torchrun",
    "poetry run accelerate launch x.py": "accelerate launch",
    "pixi run -e gpu deepspeed x.py": "deepspeed",
    "conda run -n torch python -m torch.distributed.run x.py": "torchrun",
    "apptainer exec --nv image.sif torchrun x.py": "torchrun",
    "timeout 10h numactl -m 0 torchrun x.py": "torchrun",
    "fabric run x.py": "fabric run",
}
OTHERS = [
    *(
        "./torchrun_tests.py",
        "torchrun.py",
        "./torchrun-tests",
        "./srun.sh",
        "torchruns",
        "raytrace",
    ),
    *("accelerate config", "accelerate", "-m deepspeed_tests", "-m ray", "python x.py", "python"),
    *(
        "python train.py -m torch.distributed.run",
        "./train torchrun",
        "python -m",
        "env",
        "env A=b",
    ),
    *("python -c torchrun", "echo torchrun", "uv run x.py torchrun", "uv run tool torchrun"),
    *("env A=1 tool torchrun", "python torch.distributed.run"),
    *("uv pip torchrun", "uv run", "conda run -n torch", "fabric list", "bash run.sh", "bash -c"),
]


@pytest.mark.parametrize("line", LAUNCHERS)
@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_a_program_that_is_a_launcher_is_refused(line: str, launcher: str) -> None:
    job = Job("sbatch", "dgx-a100", launcher=launcher, program=tuple(line.split()))
    with pytest.raises(JobgenError) as error:
        planned(job)
    assert f"{LAUNCHERS[line]} starts ranks itself" in str(error.value)
    planned(job._replace(launcher="node", program=(*job.program, "--rank=%n")))


def test_a_launcher_that_is_not_told_its_node_is_refused() -> None:
    """Each node would train by itself, and the job would end well."""
    job = Job("sbatch", "dgx-a100", launcher="node", program=("accelerate", "launch", "x.py"))
    with pytest.raises(JobgenError, match=r"not told which node it is on.*--machine_rank %n"):
        planned(job)
    assert planned(job._replace(nodes="1"))


@pytest.mark.parametrize("line", OTHERS)
def test_a_program_that_looks_like_a_launcher_is_none(line: str) -> None:
    assert find_launcher(make_program(tuple(line.split()), "elastic_ddp", False, "")) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("source env.sh && torchrun x.py", "torchrun"),
        ("cd x; exec srun x", "srun"),
        ("which torchrun || echo torchrun", ""),
        ("# torchrun x\nset -e\nA=1 B= torchrun x.py \\\n  --lr 1", "torchrun"),
        ("", ""),
    ],
)
def test_a_launcher_in_the_text_of_a_shell(text: str, name: str) -> None:
    found = find_launcher(make_program(("bash", "-lc", text), "elastic_ddp", False, ""))
    assert (found.name if found else "") == name


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("torchrun --nproc-per-node 4 x.py --lr 1", "x.py --lr 1"),
        ("torchrun --module pkg.x -m 1", "-m pkg.x -m 1"),
        ("torchrun -m", ""),
        ("accelerate launch -m pkg.x", "-m pkg.x"),
        ("deepspeed --module pkg.x", "-m pkg.x"),
        ("srun -m block x", ""),
        ("srun -m block python3", ""),
        ("srun python3 -m pkg.x", "-m pkg.x"),
        ("-m torch.distributed.run x.py", "x.py"),
    ],
)
def test_the_program_of_a_launcher_is_shown(line: str, inner: str) -> None:
    found = find_launcher(make_program(tuple(line.split()), "elastic_ddp", False, ""))
    assert found
    assert " ".join(found.inner) == inner


# Each rank would do all runs; one process alone may.
RUNS = ["wandb agent a/b/c", "uv run wandb agent x", "x.py -m lr=1,2", "python x.py --multirun"]
RUNS += ["-m pkg.x lr=1,2 -m", "x.py hydra.mode=MULTIRUN lr=1,2", "x.py +lr=range(1,5) --multirun"]


@pytest.mark.parametrize("line", RUNS)
def test_a_program_of_several_runs_is_refused_in_several_ranks(line: str) -> None:
    job = Job("sbatch", "dgx-a100", nodes="1", gpus_per_node="1", program=tuple(line.split()))
    planned(job)
    planned(job._replace(gpus_per_node="2", launcher="node"))
    with pytest.raises(JobgenError, match=r"each of 2 ranks would .*\[conflict\]"):
        planned(job._replace(gpus_per_node="2"))


@pytest.mark.parametrize(
    "line", ["x.py -m resnet", "python -m pkg.x lr=1,2", "x.py lr=1,2", "wandb login", "x -m a=1"]
)
def test_a_program_of_one_run_is_none_of_several(line: str) -> None:
    planned(Job("sbatch", "dgx-a100", program=tuple(line.split())))


def test_by_hand_no_other_launcher_is_offered() -> None:
    job = Job("byhand", "dgx-a100", hosts="a,b", program=("torchrun", "x.py"))
    with pytest.raises(JobgenError) as error:
        planned(job)
    assert "--launcher" not in str(error.value)


def test_a_program_that_ssh_starts_on_slurm_needs_no_variable_of_pbs() -> None:
    values = ("launch.starter=ssh", "request.exclusive=true", "request.time=1:00:00")
    job = Job("sbatch", "dgx-a100", launcher="node", nodes="2", signal="60", set_values=values)
    text = script(job._replace(program=("./x", "%n")))
    lines = [line for line in text.splitlines() if "PBS_" in line]
    assert [line for line in lines if "own=" not in line and "${PBS_NODEFILE-}" not in line] == []
