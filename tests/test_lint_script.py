"""How job scripts are read: directives as the schedulers have them, commands with their places."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.lint.directives import chunk
from jobgen.lint.launch import launchers, torchruns
from jobgen.lint.reader import parse
from jobgen.lint.run import Settings
from jobgen.lint.run import script as lint
from jobgen.lint.script import Script


def read(*lines: str) -> Script:
    return parse("\n".join(["#!/bin/bash", *lines, ""]), "job.sh")


def test_directives_are_words_as_sbatch_has_them() -> None:
    script = read('#SBATCH -N2 --job-name="a b" -p gpu # -n 4', "#SBATCH --exclusive -G 4")
    told = [(each.option, each.value, each.line, each.column) for each in script.directives]
    assert told == [
        *(("nodes", "2", 2, 9), ("job-name", "a b", 2, 13), ("partition", "gpu", 2, 30)),
        *(("exclusive", "", 3, 9), ("gpus", "4", 3, 21)),
    ]
    assert (script.scheduler, script.nodes) == ("slurm", 2)


def test_pbs_chunks() -> None:
    script = read("  #PBS -l select=2:ncpus=4+1:ncpus=8:ngpus=1,walltime=1:00:00 -j oe")
    assert (script.scheduler, script.nodes) == ("pbs", 3)
    assert [each.option for each in script.directives] == ["l", "j"]
    assert chunk("ncpus=4") == [(1, {"ncpus": "4"})]


def test_a_string_for_another_shell_is_read_in_its_place() -> None:
    script = read(
        "NODES=2",
        "srun bash -c 'echo é; torchrun --nnodes=$SLURM_NNODES x.py' | tee log",
        'srun bash -c "cd \\$HOME && torchrun --nnodes=$NODES \\',
        '  --rdzv-id=\\$RANDOM x.py"',
    )
    first, second = torchruns(script)
    assert (first.at.line, first.at.column, first.starter) == (3, 23, "srun")
    assert first.options["nnodes"].variables == ("SLURM_NNODES",)
    assert (second.number("nnodes"), second.starter) == (2, "srun")
    assert second.options["rdzv-id"].text == "$RANDOM"
    assert (second.options["rdzv-id"].line, second.options["rdzv-id"].column) == (5, 3)


def test_what_is_in_a_heredoc_is_no_command_and_no_directive() -> None:
    script = read("cat > job.sh <<EOF", "#SBATCH --nodes=2", "torchrun --nnodes=2 x.py", "EOF")
    assert [each.name for each in script.commands] == ["cat"]
    assert script.directives == []


def test_a_variable_is_known_if_it_is_set_once_for_certain() -> None:
    script = read(
        "A=1", "B=$A", "if x; then C=1; fi", "D=1", "D=2", "for E in 1; do :; done", "F+=1"
    )
    assert script.resolved("$A ${B} $C $D $E $F") == "1 1 $C $D $E $F"


def test_an_array_is_known_if_it_is_set_once_for_certain() -> None:
    script = read(
        "HOSTS=(a b)", "OPTS=(--nnodes=2 --nproc-per-node $G)", "G=3", "READ=(x)", "read -a READ",
        'torchrun "${OPTS[@]}" --rdzv-endpoint=${HOSTS[0]}:1 x.py',
    )  # fmt: skip
    assert script.resolved("${HOSTS[1]} ${#HOSTS[@]} $HOSTS ${HOSTS[7]}") == "b 2 a ${HOSTS[7]}"
    assert script.resolved("${READ[0]}") == "${READ[0]}"
    (run,) = torchruns(script)
    assert (run.number("nnodes"), run.number("nproc-per-node")) == (2, 3)
    assert run.value("rdzv-endpoint") == "a:1"


@pytest.mark.parametrize(
    ("line", "name", "nodes", "ranks"),
    [
        ("accelerate launch --num_machines 2 --num_processes=8 --multi_gpu x.py", None, 2, 4),
        ("srun python -m accelerate.commands.launch --num-machines=2 x.py", None, 2, None),
        ("deepspeed --num_nodes 2 --num_gpus 4 -H hosts x.py --num_gpus 1", "deepspeed", 2, 4),
        ("torchrun --nnodes 2 --nproc_per_node=gpu $HOME/x.py", "torchrun", 2, None),
    ],
)
def test_launchers_are_told_by_torchruns_names(
    line: str, name: str | None, nodes: int, ranks: int | None
) -> None:
    (run,) = launchers(read(line))
    assert run.name == (name or "accelerate launch")
    assert run.number("nnodes") == nodes
    assert (run.ranks and run.ranks[0]) == ranks
    assert run.starter == ("srun" if line.startswith("srun") else "")


@pytest.mark.parametrize("line", ["docker build -t deepspeed -f x", "pip install deepspeed x.py"])
def test_what_is_called_as_a_launcher_is_none(line: str) -> None:
    assert launchers(read(line)) == []


GOOD = {
    "the id is made once, for all": """
#SBATCH --nodes=2
export ID=$RANDOM
srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id $ID --rdzv-backend c10d x.py'
""",
    "each job is a node of several, by hand": """
#SBATCH --nodes=1
torchrun --nnodes=4 --node_rank=3 --master_addr=10.0.0.1 --master_port=8999 x.py
""",
    "an option of the site's with a value": """
#SBATCH --image docker:a/b
#SBATCH --nodes=2
srun hostname
""",
    "a message about usage": """
#SBATCH --nodes=1
echo "Usage: $0 <input path>"
""",
    "a comment behind a directive": """
#SBATCH --account=physics  # the account of <project>
hostname
""",
    "commands in comments": """
#SBATCH --nodes=1
hostname
#sbatch --dependency=afterok:1 next.sh
""",
    "mails of several kinds": """
#SBATCH --mail-type=begin
#SBATCH --mail-type=end
hostname
""",
    "assignments on the line before a command": """
#SBATCH --nodes=1
DATA=a VIDEOS=b

# srun x
srun python main.py $DATA $VIDEOS
""",
    "a template": """
#SBATCH --nodes={{ nodes }}
{% if gpus %}
#SBATCH --gres=gpu:{{ gpus }}
{% endif %}
srun hostname
""",
    "started on each host over ssh": """
#SBATCH --nodes=2
for host in $(scontrol show hostnames); do
  ssh $host "torchrun --nnodes=2 --node-rank=$rank --master-addr=$head x.py" &
done
wait
""",
    "tasks that start others": """
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:2
export WORLD_SIZE=4
srun python main.py
""",
}


@pytest.mark.parametrize("name", GOOD)
def test_no_false_alarm(name: str) -> None:
    assert [str(each) for each in lint(f"#!/bin/bash{GOOD[name]}", "job.sh", Settings())] == []
