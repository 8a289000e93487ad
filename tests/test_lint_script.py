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


FOUND = {
    "accelerate's processes are those of all nodes": ("JG114", """
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
srun bash -c 'accelerate launch --num_machines 2 --num_processes 4 --machine_rank $RANK x.py'
"""),
    "accelerate on the first node alone": ("JG101", """
#SBATCH --nodes=2
accelerate launch --num_machines=2 --num_processes=8 --rdzv_backend=c10d x.py
"""),
    "deepspeed of other nodes than the job's": ("JG102", """
#SBATCH --nodes=2
scontrol show hostnames > hosts
deepspeed --hostfile hosts --num_nodes 4 x.py
"""),
    "no node is told its rank": ("JG113", """
#SBATCH --nodes=2
srun --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 --master-addr=$HEAD x.py
"""),
    "a number for every node": ("JG113", """
#SBATCH --nodes=2
srun --nodes=2 accelerate launch --num_machines 2 --machine_rank 0 --main_process_ip $HEAD x.py
"""),
    "two in the background with one port": ("JG116", """
#SBATCH --nodes=1
PORT=29501
torchrun --nproc-per-node=2 --master-port=$PORT a.py &
torchrun --nproc-per-node=2 --master-port=29501 b.py &
wait
"""),
    "memory said in two ways": ("JG211", """
#SBATCH --mem=4G --mem-per-cpu=1G
hostname
"""),
    "more hosts than nodes": ("JG211", """
#SBATCH --nodes=2 --nodelist=n[1-3]
hostname
"""),
    "a host that is asked for and excluded": ("JG211", """
#SBATCH -w n[1-3] -x n3
hostname
"""),
    "more tasks than fit": ("JG211", """
#SBATCH --nodes=2 --ntasks=5 --ntasks-per-node=2
hostname
"""),
    "GPUs of the job and of a node": ("JG211", """
#SBATCH --nodes=2 --gpus=4 --gres=gpu:a100:4
hostname
"""),
    "whole nodes and shared ones": ("JG211", """
#SBATCH --exclusive
#SBATCH --oversubscribe
hostname
"""),
    "walltime said twice": ("JG206", """
#PBS -l select=1:ncpus=4,walltime=1:00:00
#PBS -l walltime=2:00:00
hostname
"""),
    "PBS without GPUs for NCCL": ("JG213", """
#PBS -l select=1:ncpus=4:mem=8gb
#PBS -q workq
export NCCL_DEBUG=INFO OMP_NUM_THREADS=2
torchrun --standalone --nproc-per-node=2 x.py
"""),
    "an image without a tag": ("JG603", """
#SBATCH --nodes=1
apptainer exec docker://rocm/pytorch python x.py
"""),
    "a prompt with the host's name": ("JG214", """
#SBATCH --nodes=1
me@login1:~$ srun hostname
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found(name: str) -> None:
    code, text = FOUND[name]
    found = lint(f"#!/bin/bash{text}", "job.sh", Settings(select=(code,)))
    assert len(found) == (2 if code == "JG116" else 1)


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
    "each node has its own rank, or needs none": """
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
srun bash -c 'torchrun --nnodes=2 --nproc-per-node=4 --node-rank=$SLURM_NODEID --master-addr=$H x'
srun bash -c "torchrun --nnodes=2 --nproc-per-node=4 --node-rank=\\$SLURM_NODEID x.py"
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$H:1234 x.py
srun -N 1 -w $H torchrun --nnodes=2 --nproc-per-node=4 --node-rank=0 --master-addr=$H x.py
""",
    "one job of the array at a time": """
#SBATCH --nodes=1
#SBATCH --array=0-9%1
torchrun --nproc-per-node=2 --master-port=29501 x.py
""",
    "jobs of an array that fill their nodes": """
#SBATCH --nodes=2
#SBATCH --array=0-9
#SBATCH --gres=gpu:8
srun --ntasks-per-node=1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$H:29500 x.py
""",
    "one port, one after the other, and as two nodes": """
#SBATCH --nodes=1
torchrun --nproc-per-node=2 --master-port=29501 a.py &
wait
torchrun --nproc-per-node=2 --master-port=29501 b.py &
wait
torchrun --nnodes=2 --node-rank=0 --nproc-per-node=2 --master-addr=$H --master-port=29501 c.py &
torchrun --nnodes=2 --node-rank=1 --nproc-per-node=2 --master-addr=$H --master-port=29501 c.py &
wait
""",
    "some of the GPUs are another program's": """
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
python serve.py &
torchrun --standalone --nproc-per-node=2 x.py
""",
    "GPUs by the partition": """
#SBATCH --nodes=1
#SBATCH --cpus-per-task=8
#SBATCH --partition=a100-long
export NCCL_DEBUG=INFO
torchrun --standalone --nproc-per-node=gpu x.py
""",
    "directives that go together": """
#SBATCH --nodes=2 --ntasks=4 --ntasks-per-node=2 --gpus=8 --gres=gpu:4 --nodelist=n[1-2] -x n3
#SBATCH --mem=0 --cpus-per-task=4 --exclusive
hostname
""",
    "variables for what comes next": """
#SBATCH --nodes=1
set -e
srun python a.py
export LD_LIBRARY_PATH=$HOME/lib:$LD_LIBRARY_PATH
./report
""",
    "an image built here": """
#SBATCH --nodes=1
podman run localhost/ours:latest python x.py
enroot import dockerd://ours:latest
""",
    "a dollar that is no prompt": """
#SBATCH --nodes=1
awk '
  $ a == 1
' file
cat <<X
$ srun hostname
X
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
