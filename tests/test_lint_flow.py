"""What a variable holds where it is used: in functions, branches, loops and other shells."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.bounds import LINT_ASSIGNMENTS
from jobgen.lint.reader.parse import parse
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings


def value(text: str) -> str:
    """What $A is for the command `use` of a script."""
    script = parse(text + "\n", "job.sh")
    (use,) = [command for command in script.commands if "use" in command.name]
    return script.resolved("$A", use)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("A=1\nuse", "1"),
        ("A=1\nuse\nA=2", "1"),
        ("B=/b\nC=c\nA=$B/$C/d\nuse", "/b/c/d"),
        ("B=/b\nC=c\nA=x$B-$C$B:$C.d\nuse", "x/b-c/b:c.d"),
        ("A=1\nA=2\nuse", "2"),
        ("A=1\nif x; then A=2; fi\nuse", "$A"),
        ("A=1\nif x; then A=2; use; fi", "2"),
        ("if x; then A=1; else use; fi", "$A"),
        ("A=1\nif x; then A=2; else use; fi", "1"),
        ("A=1\nif x; then A=2\nelif y; then use; fi", "1"),
        ("if A=1; then use; fi", "1"),
        ("case x in a) A=1;; b) use;; esac", "$A"),
        ("A=0\ncase x in a) A=1;; b) use;; esac", "0"),
        ("A=1\nfor i in 1 2; do use; A=2; done", "$A"),
        ("for A in 1 2; do use; done", "$A"),
        ("A=1\nread A\nuse", "$A"),
        ("A=1\nunset A\nuse", "$A"),
        ("A=1\nA+=2\nuse", "$A"),
        ("A=1\nA[0]=2\nuse", "$A"),
        ("A=1\n: ${A:=2}\nuse", "$A"),
        ("A=1\n(A=2)\nuse", "1"),
        ("A=1\n(A=2; use)", "2"),
        ("A=1\nx | A=2\nuse", "1"),
        ("A=1\ny=$(A=2; x)\nuse", "1"),
        ("A=2 x\nuse", "$A"),
        ("set_all() { A=1; }\nset_all\nuse", "1"),
        ("set_all() { A=1; }\nuse\nset_all", "$A"),
        ("set_all() { A=1; }\nif x; then set_all; fi\nuse", "$A"),
        ("set_all() { local A=1; }\nA=2\nset_all\nuse", "2"),
        ("set_all() { A=1; }\nA=2\nset_all\nset_all\nuse", "1"),
        ("run() { use; }\nA=1\nrun\nA=2", "1"),
        ("run() { A=1; use; A=2; }\nrun", "1"),
        ("outer() { inner; }\ninner() { A=1; }\nouter\nuse", "1"),
        ("run() { A=1\nuse; }\nA=3\nsrun bash job.sh run", "1"),
        ("A='$B'\nB=1\nuse", "$B"),
        ('B=1\nA="\\$B$B"\nuse', "$B1"),
        ("A=1\nsrun bash -c 'use'", "$A"),
        ("export A=1\nsrun bash -c 'use'", "1"),
        ("A=1\nexport A\nsrun bash -c 'use'", "1"),
        ("A=1\nsrun bash -c 'use'\nexport A", "$A"),
        ("export A=1\nssh host 'use'", "$A"),
        ("A=1 bash -c 'use'", "1"),
        ("A=2\nA=1 bash -c 'x'\nbash -c 'use'", "$A"),
        ("export A=1\nsrun bash -c 'A=2; use'", "2"),
        ("export A=1\nsrun bash -c 'A=2'\nuse", "1"),
        ("eval 'A=1'\nuse", "1"),
        ("export A=$SLURM_NODEID\nsrun bash -c 'use'", "\ue000SLURM_NODEID"),
        ("srun bash -c 'A=$SLURM_NODEID; use'", "$SLURM_NODEID"),
    ],
)
def test_value_of_a_variable_where_it_is_used(script: str, expected: str) -> None:
    assert value(script) == expected


def test_variable_that_is_assigned_often_is_not_followed() -> None:
    assert value("A=1\n" * LINT_ASSIGNMENTS + "use") == "1"
    assert value("A=1\n" * (LINT_ASSIGNMENTS + 1) + "use") == "$A"


def test_environment_of_a_program_has_what_is_exported_or_before_its_command() -> None:
    script = parse("export A=1\nB=2\nC=3 use\nD=4 x\n", "job.sh")
    use = script.commands[0]
    held = {name: script.flow.in_program(name, use) for name in "ABCD"}
    assert [name for name in "ABCD" if held[name].is_set] == ["A", "C"]


TWO_NODES = "#!/bin/bash\n#SBATCH --nodes=2\n"
STATIC = "torchrun --nnodes=2 --master-addr=$HEAD"
SHARED = "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-id=7"


@pytest.mark.parametrize(
    ("code", "wrong", "right"),
    [
        (
            "JG113",
            f"export N=$SLURM_NODEID\nsrun bash -c '{STATIC} --node-rank=$N t.py'",
            f"srun bash -c 'N=$SLURM_NODEID; {STATIC} --node-rank=$N t.py'",
        ),
        (
            "JG113",
            f'L="{STATIC}"\nsrun bash -c "$L --node-rank=$SLURM_NODEID t.py"',
            f'L="{STATIC}"\nsrun bash -c "$L --node-rank=\\$SLURM_NODEID t.py"',
        ),
        (
            "JG113",
            "L=\"\n torchrun --nnodes=$(expr 1 + 1) --role 'a' --master-addr=$HEAD\"\n"
            'srun bash -c "$L --node-rank=$SLURM_NODEID t.py"',
            "L=\"\n torchrun --nnodes=$(expr 1 + 1) --role 'a' --master-addr=$HEAD\"\n"
            'srun bash -c "$L --node-rank=\\$SLURM_NODEID t.py"',
        ),
        (
            "JG118",
            f"srun bash -c 'H=$(hostname)\n{SHARED} --rdzv-endpoint=$H:29500 t.py'",
            f"export H=$(hostname)\nsrun bash -c '{SHARED} --rdzv-endpoint=$H:29500 t.py'",
        ),
        (
            "JG118",
            f"head=localhost\nsrun {SHARED} --rdzv-endpoint=$head:29500 t.py",
            f"head=localhost\nhead=$(hostname)\nsrun {SHARED} --rdzv-endpoint=$head:29500 t.py",
        ),
        (
            "JG118",
            "srun torchrun --nnodes=2 --rdzv-backend=c10d --master-addr=$HEAD t.py",
            "srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD t.py",
        ),
        (
            "JG121",
            "export MASTER_ADDR\nMASTER_ADDR=$(hostname)\nMASTER_ADDR=127.0.0.1\nsrun python t.py",
            "export MASTER_ADDR=127.0.0.1\nMASTER_ADDR=$(hostname)\nsrun python t.py",
        ),
        (
            "JG105",
            f"#SBATCH --ntasks-per-node=4\nsrun bash -c '{SHARED} --nproc-per-node=4 t.py'",
            "#SBATCH --ntasks-per-node=4\nsrun bash -c 'if [ $SLURM_LOCALID = 0 ]; then\n"
            f"{SHARED} --nproc-per-node=4 t.py; fi'",
        ),
        (
            "JG108",
            "ips=($(hostname -I))\nexport MASTER_ADDR=${ips[0]}\nsrun python t.py",
            "ips=($(hostname -I))\nexport MASTER_ADDR=${ips[1]}\nsrun python t.py",
        ),
        (
            "JG108",
            'read -ra ips <<< "$(hostname -I)"\nhead=$ips\npython t.py --address "$head"',
            'read -ra ips <<< "$(hostname -I)"\nhead=$ips\necho "$head"',
        ),
        (
            "JG108",
            "a=$(hostname -I | awk '{print $1}')\nsrun python t.py --address=$a",
            "a=$(hostname -I | awk '{print $1}')\necho here: $a\nsrun python t.py",
        ),
        (
            "JG502",
            "NCCL_DEBUG=INFO\necho NCCL_DEBUG: $NCCL_DEBUG\nsrun python t.py",
            "NCCL_DEBUG=INFO\nsrun python t.py --nccl $NCCL_DEBUG",
        ),
        (
            "JG505",
            "srun python t.py --port $port\nport=29500",
            "f() { srun python t.py --port $port; }\nport=29500\nf",
        ),
        (
            "JG505",
            "#steps=5\nif [ $steps -gt 0 ]; then srun python t.py; fi",
            "#steps=5\nif [ ${steps:-5} -gt 0 ]; then srun python t.py; fi",
        ),
        (
            "JG121",
            "MASTER_ADDR=127.0.0.1 srun python t.py",
            "if [ $SLURM_NNODES = 1 ]; then export MASTER_ADDR=127.0.0.1\n"
            "else export MASTER_ADDR=$(hostname); fi\nsrun python t.py",
        ),
    ],
)
def test_rule_follows_values(code: str, wrong: str, right: str) -> None:
    for text, expected in ((wrong, {code}), (right, set())):
        found = {each.code for each in problems_in(TWO_NODES + text + "\n", "job.sh", Settings())}
        assert found & {code} == expected, text
