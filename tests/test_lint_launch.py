"""Jobs that start what they should not: worlds, ranks, addresses, GPUs, arrays, cut commands."""

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.lint.reader.parse import parse
from jobgen.lint.rules import rules
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings


def codes_in(body: str, shell: str = "#!/bin/bash") -> list[str]:
    """The codes that are found in a script, those of the optional rules, too."""
    also = tuple(code for code, rule in rules().items() if rule.optional)
    return [each.code for each in problems_in(f"{shell}\n{body}", "job.sh", Settings(also=also))]


BAD = {
    "--nnodes=1 on several nodes": ("JG119", """
#SBATCH --nodes=4
srun bash -c 'torchrun --nnodes=1 --nproc-per-node=8 train.py'
"""),
    "--standalone on several nodes": ("JG119", """
#SBATCH -N 2
srun python -m torch.distributed.run --standalone --nproc_per_node=4 train.py
"""),
    "accelerate without a number of machines": ("JG119", """
#SBATCH -N 2
srun accelerate launch --multi_gpu --num_processes 4 train.py
"""),
    "the batch script starts one launcher only": ("JG101", """
#SBATCH -N 2
torchrun --nproc-per-node=4 train.py
"""),
    "a rank in double quotes": ("JG113", """
#SBATCH -N 2
srun bash -c "accelerate launch --num_machines 2 --machine_rank ${SLURM_NODEID} train.py"
"""),
    "a rank that the batch script has exported": ("JG113", """
#SBATCH -N 2
export NODE_RANK=$SLURM_PROCID
srun bash -c 'torchrun --nnodes=2 --node-rank=$NODE_RANK --master-addr=$HEAD train.py'
"""),
    "localhost as the endpoint": ("JG118", """
#SBATCH -N 2
srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=localhost:29500 train.py
"""),
    "an agent in each round, of more nodes than the job has": ("JG102", """
#SBATCH -N 2
for host in $(scontrol show hostnames); do
  srun -N1 -n1 -w $host torchrun --nnodes=4 --rdzv-backend=c10d --rdzv-endpoint=$H:1 train.py &
done
wait
"""),
    "a rank for one command": ("JG120", """
#SBATCH --ntasks=8
RANK=${SLURM_PROCID:-0} srun python train.py
"""),
    "NCCL on the loopback": ("JG121", """
#SBATCH -N 2
export NCCL_SOCKET_IFNAME=lo
srun python train.py
"""),
    "localhost for ranks on several nodes": ("JG121", """
#SBATCH -N 2
MASTER_ADDR=localhost
export MASTER_ADDR
srun python train.py
"""),
    "a fixed host in an option": ("JG122", """
#SBATCH -N 2
srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=gpu07:29500 train.py
"""),
    "a temporary folder of the first node": ("JG124", """
#SBATCH -N 2
data=$(mktemp -d)
srun bash -c "python train.py --data $data"
"""),
    "a folder in /tmp by a variable": ("JG124", """
#SBATCH -N 2
data=/tmp/set
mkdir -p $data
srun python train.py --data $data/train
"""),
    "python on the first node only": ("JG125", """
#SBATCH -N 2
python3 train.py
"""),
    "less tasks than one node has": ("JG211", """
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=4
srun hostname
"""),
    "one rank on four GPUs": ("JG114", """
#SBATCH --gres=gpu:4
torchrun --nproc-per-node=1 train.py
"""),
    "the number of the array is the same for its tasks": ("JG219", """
#SBATCH --array=0,3,5
#SBATCH -o run-%A.log
./simulate
"""),
    "one GPU for each task": ("JG306", """
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-task=a100:1
srun python train.py
"""),
    "the number of a signal": ("JG307", """
#SBATCH --signal=10@60
trap save SIGUSR1
srun python train.py &
wait
"""),
    "a trap that waits for srun": ("JG307", """
#SBATCH --signal=B:TERM@60
trap 'touch stop' TERM
srun python train.py
"""),
    "each kernel waits": ("JG507", """
#SBATCH --gres=gpu:1
CUDA_LAUNCH_BLOCKING=1 python train.py
"""),
    "the second GPU of one": ("JG508", """
#SBATCH --gpus=a100:1
CUDA_VISIBLE_DEVICES=1 python train.py
"""),
    "a blank after the backslash": ("JG605", """
#SBATCH -N 1
python train.py --data x \\\x20
  --epochs 3
"""),
    "a comment after the backslash": ("JG605", """
#SBATCH -N 1
python train.py --data x \\ # all of it
  --epochs 3
"""),
    "no backslash": ("JG605", """
#SBATCH -N 1
python train.py --data x
  --epochs 3
"""),
    "a variable as csh sets it": ("JG606", """
#SBATCH -N 1
set threads = 4
"""),
    "a loop of runs in the background": ("JG607", """
#SBATCH -N 1
for seed in 1 2; do
  python train.py --seed $seed &
done
echo started
"""),
    "a file beside the PBS script": ("JG608", """
#PBS -l select=1:ncpus=1
python train.py
"""),
}  # fmt: skip

GOOD = {
    "options in a variable of the batch script, in a string": """
#SBATCH -N 2
srun bash -c "torchrun $OPTIONS train.py"
""",
    "options in a variable of the batch script, between strings": """
#SBATCH -N 2
srun bash -c 'torchrun '"$OPTIONS"' train.py'
""",
    "each node has work of its own": """
#SBATCH -N 2
srun bash -c 'torchrun --standalone --nproc-per-node=4 train.py --part $SLURM_NODEID'
""",
    "the number of nodes is in a file": """
#SBATCH -N 2
srun accelerate launch --config_file two_nodes.yaml train.py
""",
    "the number of nodes is in an array with a comment": """
#SBATCH -N 2
OPTIONS=(
  # as many as the job has
  --nnodes=2
  --rdzv-backend=c10d --rdzv-endpoint=$HEAD:$PORT
)
srun torchrun "${OPTIONS[@]}" train.py
""",
    "one node of several": """
#SBATCH -N 2
srun -N 1 -n 1 bash -c "torchrun --standalone --nproc-per-node=4 train.py"
""",
    "the first of several launchers": """
#SBATCH -N 2
ssh $OTHER torchrun --nnodes=2 --node-rank=1 --master-addr=$HEAD train.py &
torchrun --nnodes=2 --node-rank=0 --master-addr=$HEAD train.py
""",
    "launchers on other nodes over ssh": """
#SBATCH -N 2
for host in $(scontrol show hostnames); do ssh $host torchrun --nproc-per-node=4 x.py & done
wait
""",
    "a rank that the node's shell sets": r"""
#SBATCH -N 2
srun bash -c "export NODE_RANK=\$SLURM_NODEID; torchrun --nnodes=2 --node-rank=\$NODE_RANK x.py"
""",
    "localhost in a branch for one node": """
#SBATCH -N 2
if [ "$SLURM_NNODES" = 1 ]; then export MASTER_ADDR=localhost; else export MASTER_ADDR=$HEAD; fi
srun python train.py
""",
    "all numbers of ranks are the launcher's": """
#SBATCH -N 2
export LOCAL_RANK=$SLURM_LOCALID
srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:$PORT train.py
""",
    "the only task has rank 0": """
#SBATCH --ntasks=1
export RANK=$SLURM_PROCID
srun python train.py
""",
    "a host that the directives name": """
#SBATCH -N 2
#SBATCH -w gpu[07-08]
srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=gpu07:$PORT train.py
""",
    "a temporary file that srun itself reads": """
#SBATCH -N 2
list=$(mktemp)
srun --multi-prog $list
""",
    "a file that is copied to all nodes": """
#SBATCH -N 2
mkdir -p /tmp/set
srun --ntasks-per-node=1 mkdir -p /tmp/set
srun python train.py --data /tmp/set
""",
    "a backslash for a string in a string": r"""
#SBATCH -N 2
ssh $HEAD "srun bash -c \"torchrun --nnodes=2 --rdzv-id=\\\$SLURM_JOB_ID --rdzv-backend=c10d x.py\""
""",
    "an array with appended output": """
#SBATCH --array=1-9
#SBATCH --output=all.log
#SBATCH --open-mode=append
./simulate
""",
    "an array of one task": """
#SBATCH --array=7
#SBATCH --output=all.log
./simulate
""",
    "a signal for the steps, and a trap for another": """
#SBATCH --signal=USR1@60
trap cleanup EXIT TERM
srun python train.py
""",
    "a trap in the step": """
#SBATCH --signal=USR1@60
srun bash -c 'trap "touch stop" USR1; ./simulate & wait'
""",
    "a kernel that must wait, for a reason": """
#SBATCH --gres=gpu:1
# without it, the ranks hang
export CUDA_LAUNCH_BLOCKING=1
srun python train.py
""",
    "all GPUs of whole nodes": """
#SBATCH --exclusive
#SBATCH --gres=gpu:1
CUDA_VISIBLE_DEVICES=3 python train.py
""",
    "a comment at the end of a command": """
#SBATCH -N 1
python train.py \\
  --data x \\
  # --epochs 3
""",
    "options below the end of the script": """
#SBATCH -N 1
hostname
exit
--help shows this
""",
    "csh's own function": """
#SBATCH -N 1
setenv() { export "$1=$2"; }
setenv A 1
set -- x = y
""",
    "bash does not read the script": """
#PBS -S /bin/tcsh
setenv A 1
""",
    "a run in the background, and another after it": """
#SBATCH -N 1
python watch.py &
python train.py
""",
    "a PBS script that goes to its folder": """
#PBS -l select=1:ncpus=1
cd ${PBS_O_WORKDIR}
python train.py
""",
}


@pytest.mark.parametrize("name", BAD)
def test_found(name: str) -> None:
    code, body = BAD[name]
    assert code in codes_in(body)


@pytest.mark.parametrize("name", GOOD)
def test_not_found(name: str) -> None:
    new = {code for code, _ in BAD.values()} | {"JG123"}
    assert [code for code in codes_in(GOOD[name]) if code in new] == []


def test_csh_is_searched_for_in_scripts_for_bash_only() -> None:
    body = "#PBS -l select=1:ncpus=1\nsetenv A 1\n"
    assert "JG606" in codes_in(body)
    assert "JG606" not in codes_in(body, "#!/bin/tcsh")


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ("run --a \\ \n  --b", "blanks follow the \\ of line 1"),
        ("run --a \\# x\n  --b", "line 1 has no \\ at its end"),
        ("run --a \\ # x\n  --b", "a comment follows the \\ of line 1"),
        ("run --a \\\n# x\n\n  --b", "a comment or an empty line cuts the one of line 1"),
        ("run\nargs=a.py --b 3", "`--b` as a command: the value of args ends before the blank"),
    ],
)
def test_message_says_why_a_command_ends(lines: str, cause: str) -> None:
    (problem,) = problems_in(lines, "job.sh", Settings(select=("JG605",)))
    assert cause in problem.text


def test_assignment_on_the_line_before_a_quoted_name_is_for_all() -> None:
    script = parse("#!/bin/bash\nfile=a.nl\n\\cp -f $file b\nA=1 \\\n  env\n", "job.sh")
    assert [each.is_for_command for each in script.assignments] == [False, True]
    assert [command.words[0].text for command in script.commands] == ["cp", "env"]
