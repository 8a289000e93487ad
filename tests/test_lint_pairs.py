"""Mistakes of a first user, each with a neighbour that is right."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings

TWO = "#SBATCH --nodes=2\n"
ACCELERATE = "srun bash -c 'accelerate launch --num_machines 2 --machine_rank $SLURM_NODEID"
STATIC = "torchrun --nnodes=2 --node-rank=0 --master-addr=$HEAD t.py"

# The code, the faulty script, and the right one.
PAIRS = {
    "blanks around =": ("JG511", "export A = 1", "export A=1 B C=2"),
    "a blank behind =": ("JG511", "date; export A= 1", "export A= B=2"),
    "a blank before =": ("JG511", "if true; then export A =$B; fi", "export A B; test $A = 1"),
    "blanks in a text": ("JG511", "export A = 1", "cat <<END\nexport A = 1\nEND\n# export A = 1"),
    "a loop over the short list": (
        "JG129",
        f"{TWO}for h in $SLURM_JOB_NODELIST; do ssh $h date; done",
        f"{TWO}for h in $(scontrol show hostnames $SLURM_JOB_NODELIST); do ssh $h date; done",
    ),
    "a loop over one text": (
        "JG129",
        f'{TWO}for h in "$(scontrol show hostnames)"; do ssh $h date; done',
        f"{TWO}for h in $(scontrol show hostnames); do ssh $h date; done",
    ),
    "a list of one node": (
        "JG129",
        f"{TWO}for h in ${{SLURM_NODELIST}}\ndo ssh $h date; done",
        "#SBATCH --nodes=1\nfor h in $SLURM_NODELIST; do ssh $h date; done",
    ),
    "accelerate without an address": (
        "JG130",
        f"{TWO}{ACCELERATE} t.py'",
        f"{TWO}{ACCELERATE} --main_process_ip $HEAD t.py'",
    ),
    "accelerate with a configuration": (
        "JG130", f"{TWO}{ACCELERATE} t.py'", f"{TWO}{ACCELERATE} --config_file c.yaml t.py'"
    ),
    "accelerate for one machine": (
        "JG130", f"{TWO}{ACCELERATE} t.py'", "accelerate launch --num_machines 1 t.py"
    ),
    "a folder of the job": (
        "JG224",
        "#SBATCH --output=/scratch/%u/logs/%j/out.txt\ndate",
        "#SBATCH --output=/scratch/%u/%x/%j.out\n#SBATCH --error=%j.err\ndate",
    ),
    "a folder of the array": (
        "JG224", "#SBATCH -a 1-4\n#SBATCH -e logs/%A/%a.err\ndate", "#SBATCH -e logs/%a.err\ndate"
    ),
    "a name with blanks": ("JG401", "#PBS -N a job\ndate", "#PBS -N a_job\ndate"),
    "one task on two nodes": (
        "JG125", f"{TWO}srun -n 1 python t.py &\nwait", f"{TWO}srun -n 2 python t.py"
    ),
    "a task beside another": (
        "JG125",
        f"{TWO}srun --ntasks=1 python t.py",
        f"{TWO}srun --ntasks=1 python a.py & srun -n 1 python b.py & wait",
    ),
    "a task that starts others": (
        "JG125", f"{TWO}srun -n 1 python t.py", f"{TWO}srun -n 1 python ray_head.py --ray"
    ),
    "one agent on two nodes": (
        "JG101", f"{TWO}srun -n 1 {STATIC}", f"{TWO}srun -n 1 -w $HEAD {STATIC}"
    ),
}  # fmt: skip


def codes_in(script: str) -> set[str]:
    problems = problems_in(f"#!/bin/bash\n{script}\n", "job.sh", Settings())
    return {problem.code for problem in problems}


@pytest.mark.parametrize("name", PAIRS)
def test_a_mistake_is_found_and_what_is_like_it_is_not(name: str) -> None:
    code, bad, good = PAIRS[name]
    assert code in codes_in(bad)
    assert code not in codes_in(good)


def test_accelerate_has_its_own_name_for_the_backend() -> None:
    script = f"#!/bin/bash\n{TWO}srun accelerate launch --num_machines=2 --machine_rank=0 t.py\n"
    cures = [
        each.hint for each in problems_in(script, "job.sh", Settings()) if each.code == "JG113"
    ]
    assert len(cures) == 1
    assert cures[0].endswith("or --rdzv_backend=c10d")
