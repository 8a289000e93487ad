"""Faults that were found in public scripts, each with a neighbour that is right."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings

ONE, TWO = "#SBATCH --nodes=1\n", "#SBATCH --nodes=2\n"
GPUS = f"{ONE}#SBATCH --gres=gpu:4\n"
RUN = "srun python t.py\n"
C10D = "--nnodes=2 --rdzv-backend=c10d --rdzv-id=7 --rdzv-endpoint=$HEAD:29500"
HOSTS = "hosts=$(scontrol show hostnames)\n"

# The code, the faulty script, and the right one.
PAIRS = {
    "a message after several runs": (
        "JG305", f"{ONE}{RUN}srun ./b\necho done", f"{ONE}{RUN}echo next\nsrun ./b"
    ),
    "a copy after the run": ("JG305", f"{ONE}{RUN}cp out.log $HOME", f"{ONE}cp a b\n{RUN}"),
    "a status that is only printed": (
        "JG305", f"{ONE}{RUN}code=$?\necho $code", f"{ONE}{RUN}code=$?\necho $code\nexit $code"
    ),
    "a status that only chooses a message": (
        "JG305",
        f"{ONE}{RUN}if [ $? -eq 0 ]; then echo good; else echo failed; fi",
        f"{ONE}{RUN}if [ $? -ne 0 ]; then echo failed; exit 1; fi\necho good",
    ),
    "a condition without an end": (
        "JG305",
        f"{ONE}if srun python t.py; then echo good; fi",
        f"{ONE}if srun python t.py; then echo good; else exit 3; fi",
    ),
    "or true, on purpose": (
        "JG305",
        f"{ONE}set -e\nsrun python t.py || echo failed\ndate",
        f"{ONE}set -e\nsrun python t.py || true\ndate",
    ),
    "or nothing, on purpose": (
        "JG305", f"{ONE}srun python t.py && date\nrm a", f"{ONE}srun python t.py || \\\n  :\ndate"
    ),
    "or a message": (
        "JG305", f"{ONE}srun python t.py || echo failed", f"{ONE}srun python t.py || exit 1\ndate"
    ),
    "a message on purpose": (
        "JG305", f"{ONE}{RUN}echo end", f"{ONE}{RUN}echo 'a failure here is non-fatal'"
    ),
    "runs in a loop": (
        "JG305",
        f"{ONE}for s in 1 2; do\n{RUN}done\necho end",
        f"{ONE}for s in 1 2; do\n  srun python t.py && break\n  sleep 9\ndone",
    ),
    "a run again and again": (
        "JG305",
        f"{ONE}for i in 1 2; do\n{RUN}code=$?\ndone\necho end",
        f"{ONE}code=1\nwhile [ $code != 0 ]; do\n{RUN}code=$?\ndone\necho end",
    ),
    "a function": (
        "JG305",
        f"{ONE}train() {{ torchrun --standalone t.py; }}\ntrain\necho end",
        f"{ONE}show() {{ nvidia-smi; }}\nshow\necho end",
    ),
    "a wrapper": ("JG305", f"{ONE}uv run python t.py\necho end", f"{ONE}uv run ruff\necho end"),
    "a server that srun ends": (
        "JG305",
        f"{ONE}{RUN}srun pkill -f serve || true\nwait",
        f"{ONE}{RUN}srun ./evaluate",
    ),
    "a branch that does not run": (
        "JG305",
        f"{ONE}if [ $A ]; then\n{RUN}fi\necho end",
        f"{ONE}if [ $A ]; then\n{RUN}else\n  echo no\nfi",
    ),
    "a wait for a server that was ended": (
        "JG305",
        f"{ONE}srun ./serve &\np=$!\n{RUN}kill $p\nwait $p",
        f"{ONE}srun ./serve &\np=$!\n{RUN}",
    ),
    "a condition, although there is set -e": (
        "JG305",
        f"{ONE}set -e\nif ! srun python t.py; then echo failed; fi",
        f"{ONE}set -e\nif ! srun python t.py; then echo failed; exit 1; fi",
    ),
    "a wait for one process, and more": (
        "JG305", f"{ONE}srun ./a --now &\nwait $!\ndate", f"{ONE}srun ./a --now &\ndate\nwait $!"
    ),
    "wait without a process in the background": ("JG305", f"{ONE}{RUN}wait", f"{ONE}{RUN}"),
    "wait alone, for a program and for a server": (
        "JG305",
        f"{ONE}srun ./simulate &\nwait",
        f"{ONE}srun jupyter notebook --port 8889 &\nsrun jupyter kernelspec list\nwait",
    ),
    "a server that the script gives an hour": (
        "JG305",
        f"{ONE}srun ./spark &\np=$!\nsleep 5\nwait $p\ndate",
        f"{ONE}srun ./spark &\np=$!\nsleep 3600s\nwait $p\ndate",
    ),
    "programs that nobody knows, and wait alone": (
        "JG305",
        f"{GPUS}net_train 1 &\nnet_train 2 &\nwait\necho end",
        f"{GPUS}net_train 1 &\nfor p in $(jobs -p); do wait $p || exit 1; done\necho end",
    ),
    "a program that nobody knows, and a message": (
        "JG305", f"{GPUS}net_train 1\necho end", f"{GPUS}net_train 1\nmv a b"
    ),
    "a program of a job without GPUs": (
        "JG305", f"{GPUS}solve 1\necho end", f"{ONE}solve 1\necho end"
    ),
    "a program that a file may define": (
        "JG305",
        f"{GPUS}source a/bin/activate\nsolve 1\necho end",
        f"{GPUS}source env.sh\nsolve 1\necho end",
    ),
    "a server that nobody knows": (
        "JG305", f"{GPUS}ollama run a &\nwait", f"{GPUS}ollama serve &\nwait"
    ),
    "a job that cancels itself": (
        "JG305",
        f'{ONE}{RUN}scancel "$SLURM_JOB_ID"',
        f'{ONE}{RUN}[ -f bad ] && scancel "$SLURM_JOB_ID"',
    ),
    "a step that the job cancels": (
        "JG305", f"{ONE}{RUN}scancel ${{SLURM_JOBID}}", f"{ONE}scancel $OTHER_JOB\n{RUN}"
    ),
    "a test as the last line": (
        "JG305",
        f"{ONE}{RUN}[ -f lock ] && rm lock",
        f"{ONE}{RUN}code=$?\n[ -f lock ] && rm lock\nexit $code",
    ),
    "a test as the last line, of the result": (
        "JG305",
        f"{ONE}{RUN}[[ -n $CONDA_PREFIX ]] && conda deactivate\n# end",
        f"{ONE}{RUN}[ -f model.pt ] && touch done",
    ),
    "a test as the last line, with an alternative": (
        "JG305",
        f"{ONE}set -e\n{RUN}test -d tmp && rm -r tmp",
        f"{ONE}set -e\n{RUN}if test -d tmp; then rm -r tmp; fi\ntest -d a && rm a || true",
    ),
    "nodes over ssh": (
        "JG305",
        f"{ONE}for h in $H; do ssh $h bash run.sh & done\nwait\necho end",
        f"{ONE}for h in $H; do ssh $h bash run.sh & p=$!; done\nwait $p",
    ),
    "nodes over ssh, with a heredoc": (
        "JG305",
        f"{ONE}for h in $H; do\nssh $h bash <<END &\n./a\nEND\ndone\nwait\necho end",
        f"{ONE}for h in $H; do\nssh $h bash <<END &\n./a\nEND\ndone\nwait $!",
    ),
    "a program by its path": ("JG305", f"{ONE}./simulate\ndate", f"{ONE}/bin/hostname\ndate"),
    "a string for the nodes": (
        "JG305",
        f"{TWO}srun bash -c 'torchrun {C10D} --nproc-per-node=4 t.py; date'",
        f"{TWO}srun bash -c 'date; torchrun {C10D} --nproc-per-node=4 t.py'",
    ),
    "a command in a variable": (
        "JG305", f"{ONE}c='srun a.out'\n$c\nset +x\nexit 0", f"{ONE}c='hostname'\n$c\nexit 0"
    ),
    "a module": (
        "JG305", f"{ONE}python -m train.main\necho end", f"{ONE}python -m pip list\necho end"
    ),
    "a pipe, whose status is looked at": (
        "JG304",
        f"{ONE}srun python t.py | tee log\nstatus=$?\nexit $status",
        f"{ONE}srun python t.py | tee log\ngrep -q Error log && exit 1",
    ),
    "a command after a pipe that fails": (
        "JG305",
        f"{ONE}set -o pipefail\nsrun python t.py | tee log\necho end",
        f"{ONE}set -o pipefail\nsrun python t.py | grep -v a | tee log",
    ),
    "a command after a group in a pipe": (
        "JG305",
        f"{ONE}set -o pipefail\n{{ srun python t.py; date; }} | tee log",
        f"{ONE}set -eo pipefail\nsrun python t.py | tee log\ndate",
    ),
    "a status that is kept after a pipe": (
        "JG305",
        f"{ONE}set -o pipefail\nsrun python t.py | tee log\ncode=$?\necho $code",
        f"{ONE}set -o pipefail\nsrun python t.py | tee log\ncode=$?\ndate\nexit $code",
    ),
    "a pipe to a filter": (
        "JG304",
        f"{ONE}srun python t.py | grep -v warning",
        f"{ONE}if srun python t.py | grep -q good; then date; fi",
    ),
    "a signal for the steps": (
        "JG307",
        f"{ONE}#SBATCH --signal=TERM@60\ntorchrun --standalone t.py",
        f"{ONE}#SBATCH --signal=TERM@60\nsrun torchrun --standalone t.py",
    ),
    "a signal for the batch script": (
        "JG307",
        f"{ONE}#SBATCH --signal=B:USR1@60\n{RUN}",
        f"{ONE}#SBATCH --signal=B:USR1@60\nexec srun python t.py",
    ),
    "ranks as many as the tasks": (
        "JG103",
        f"{ONE}#SBATCH --ntasks-per-node=4 --gres=gpu:2\n"
        "torchrun --nproc-per-node=$SLURM_NTASKS_PER_NODE t.py",
        f"{ONE}#SBATCH --ntasks-per-node=2 --gres=gpu:2\n"
        "torchrun --nproc-per-node=$SLURM_NTASKS_PER_NODE t.py",
    ),
    "all GPUs of the job on each node": (
        "JG103",
        f"{TWO}#SBATCH --gpus=8\nsrun torchrun {C10D} --nproc-per-node=$SLURM_GPUS t.py",
        f"{TWO}#SBATCH --gpus=8\nsrun torchrun {C10D} --nproc-per-node=$((SLURM_GPUS / 2)) t.py",
    ),
    "as many nodes as ranks": (
        "JG102",
        f"{ONE}#SBATCH --ntasks-per-node=8\nn=$((SLURM_NNODES * SLURM_NTASKS_PER_NODE))\n"
        "srun torchrun --nnodes=$n t.py",
        f"{ONE}#SBATCH --ntasks-per-node=8\nn=$((SLURM_NNODES * 1))\n"
        "srun torchrun --nnodes=$n t.py",
    ),
    "an agent for each of --ntasks": (
        "JG105",
        f"{TWO}#SBATCH --ntasks=16\nsrun torchrun {C10D} --nproc-per-node=8 t.py",
        f"{TWO}#SBATCH --ntasks=2\nsrun torchrun {C10D} --nproc-per-node=8 t.py",
    ),
    "an agent for each task of the step": (
        "JG105",
        f"{TWO}srun --ntasks-per-node=4 torchrun {C10D} --nproc-per-node=4 t.py",
        f"{TWO}#SBATCH --ntasks-per-node=4\n"
        f"srun --ntasks-per-node=1 torchrun {C10D} --nproc-per-node=4 t.py",
    ),
    "an agent for each rank, in one variable": (
        "JG105",
        f"{TWO}srun --ntasks-per-node=$N torchrun {C10D} --nproc-per-node=${{N}} t.py",
        f"{TWO}srun --ntasks-per-node=$M torchrun {C10D} --nproc-per-node=${{N}} t.py",
    ),
    "an agent for each rank, in a variable of a template": (
        "JG105",
        f"{TWO}#SBATCH --ntasks-per-node=$N\n"
        f"srun bash -c 'torchrun {C10D} --nproc-per-node=$N t.py'",
        f"{TWO}#SBATCH --ntasks-per-node=$N\nsrun -n 2 torchrun {C10D} --nproc-per-node=$N t.py",
    ),
    "an agent in a branch": (
        "JG105",
        f"{TWO}#SBATCH --ntasks-per-node=4\n"
        f"srun bash -c 'if [ -f x ]; then torchrun {C10D} --nproc-per-node=4 t.py; fi'",
        f"{TWO}#SBATCH --ntasks-per-node=4\n"
        f"srun bash -c '[ $SLURM_LOCALID = 0 ] && torchrun {C10D} --nproc-per-node=4 t.py'",
    ),
    "one rank, since nothing says how many": (
        "JG114",
        f"{ONE}#SBATCH --gres=gpu:4\npython -m torch.distributed.launch t.py",
        f"{ONE}#SBATCH --gres=gpu:4\nexport PET_NPROC_PER_NODE=4\ntorchrun t.py",
    ),
    "files beside the script": (
        "JG610",
        f'{ONE}root="$(cd "$(dirname "$0")/.." && pwd)"\n. "$root/env.sh"\n{RUN}',
        f'{ONE}root="${{ROOT:-$(cd "$(dirname "$0")/.." && pwd)}}"\n. "$root/env.sh"\n{RUN}',
    ),
    "a folder below that of the submission": (
        "JG210",
        f'{ONE}#SBATCH -o logs/a\nroot="${{SLURM_SUBMIT_DIR:-$PWD}}"\nmkdir -p "$root/logs"\n{RUN}',
        f'{ONE}#SBATCH -o logs/a\nroot="${{ROOT:-/scratch}}"\nmkdir -p "$root/logs"\n{RUN}',
    ),
    "a folder below that of a cd": (
        "JG210",
        f"{ONE}#SBATCH -o /work/logs/a\ncd /work\nmkdir -p logs\n{RUN}",
        f"{ONE}#SBATCH -o /work/logs/a\ncd /work/b\nmkdir -p logs\n{RUN}",
    ),
    "python, on one of two nodes": (
        "JG125",
        f"{TWO}echo $SLURM_JOB_NODELIST\npython t.py",
        f"{TWO}python t.py --hosts $SLURM_JOB_NODELIST",
    ),
    "small letters for capitals": (
        "JG505",
        f"{ONE}SCALE=3\nsrun python t.py --name ${{scale}}",
        f"{ONE}SCALE=${{scale}}\nsrun python t.py --name ${{scale}}",
    ),
    "small letters for a variable of the shell": (
        "JG505", f"{ONE}export A=${{pwd}}/x\n{RUN}", f"{ONE}pwd=/x\nexport A=${{pwd}}/x\n{RUN}"
    ),
    "small letters, and a file that may set them": (
        "JG505",
        f"{ONE}. env/bin/activate\nLOG=x\nsrun python t.py $log",
        f"{ONE}source cfg.sh\nLOG=x\nsrun python t.py $log",
    ),
    "capitals that get their own value": (
        "JG505",
        f"{ONE}host=$(hostname)\nexport HOST=$HOST\n{RUN}",
        f"{ONE}host=$(hostname)\nexport HOST=$HOST\necho $host\n{RUN}",
    ),
    "capitals that a command sets": (
        "JG505",
        f"{ONE}host=a\nexport HOST=${{HOST}}\n{RUN}",
        f"{ONE}host=a\nread HOST < hosts\nexport HOST=${{HOST}}\n{RUN}",
    ),
    "small letters, and a value from outside": (
        "JG505",
        f"{ONE}#SBATCH --time=9\nLOG=x\nsrun python t.py $log",
        f"{ONE}#SBATCH --export=ALL,log\nLOG=x\nsrun python t.py $log",
    ),
    "a path of two variables": (
        "JG505",
        f"{ONE}srun python t.py --out $out\nout=$A/$B/c",
        f"{ONE}out=$A/$B/c\nsrun python t.py --out $out",
    ),
    "a field of awk in double quotes": (
        "JG504",
        f"{ONE}ssh $H \"ss -tan | awk '{{print $4}}'\"\n{RUN}",
        f"{ONE}ssh $H \"ss -tan | awk '{{print \\$4}}'\"\n{RUN}",
    ),
    "a cache on the first node": (
        "JG124",
        f"{TWO}d=$(mktemp -d)\nexport MIOPEN_USER_DB=$d/db\n{RUN}",
        f"{TWO}d=$(mktemp -d)\nlog=$d/log\n{RUN}",
    ),
    "a container, on one of two nodes": (
        "JG125",
        f"{TWO}apptainer exec a.sif ./train",
        f"{TWO}srun apptainer exec a.sif ./train",
    ),
    "a list in quotes": (
        "JG128",
        f'{TWO}{HOSTS}a=("$hosts")\nsrun -w ${{a[0]}} python t.py',
        f'{TWO}{HOSTS}a=($hosts)\nb=("$HEAD")\nsrun -w ${{a[0]}} python t.py --to ${{b[0]}}',
    ),
    "a list that is cut at a comma": (
        "JG128",
        f"{TWO}export MASTER_ADDR=$(echo $SLURM_NODELIST | cut -d, -f1)\n{RUN}",
        f"{TWO}export MASTER_ADDR=$(scontrol show hostnames $SLURM_NODELIST | head -n1)\n{RUN}",
    ),
    "a list as an endpoint": (
        "JG128",
        f"{TWO}srun torchrun --nnodes=2 --rdzv-endpoint=${{SLURM_NODELIST%%,*}}:29500 t.py",
        f"{TWO}a=$(echo $SLURM_NODELIST | tr -d '[' | cut -d- -f1)\n"
        "srun torchrun --nnodes=2 --rdzv-endpoint=$a:29500 t.py",
    ),
    "a list, where one is wanted": (
        "JG128",
        f"{TWO}export head_node_ip=$SLURM_NODELIST\n{RUN}",
        f"{TWO}HEAD_NODES=$SLURM_NODELIST\nmaintenance=$SLURM_NODELIST\n"
        f"export MAIN_LIST=$SLURM_NODELIST\nmaster_nodes=$SLURM_NODELIST\n{RUN}",
    ),
    "a list as an address": (
        "JG128",
        f"{TWO}export MASTER_ADDR=$SLURM_NODELIST\n{RUN}",
        f"{ONE}export MASTER_ADDR=$SLURM_NODELIST\n{RUN}",
    ),
    "a pattern in the name": (
        "JG223", f"#SBATCH -N 1 -J a-%A_%a\n{RUN}", f"#SBATCH -N 1 -J a-50% -o a-%A_%a\n{RUN}"
    ),
    "an address of an interface": (
        "JG510",
        f"{TWO}export NCCL_SOCKET_IFNAME=10.0.0.1\n{RUN}",
        f"{TWO}export NCCL_SOCKET_IFNAME==ib0,bond0\n{RUN}",
    ),
    "a level that there is not": (
        "JG510", f"{TWO}export NCCL_DEBUG=DEBUG\n{RUN}", f"{TWO}export NCCL_DEBUG=info\n{RUN}"
    ),
    "dots for a partition": (
        "JG208",
        'P="..."\necho "#!/bin/bash\n#SBATCH -p ${P}\n" > job',
        'P="..."\necho "#!/bin/bash\n#SBATCH -p a\n" > job\necho "wait$P"',
    ),
    "a directive with a small letter": (
        "JG202", f"{ONE}#SBATCh --time=5\n{RUN}", f"{ONE}#sbatch --time=5 next.sh\n{RUN}"
    ),
    "blanks in brackets": (
        "JG204", f"{ONE}#SBATCH --gres=[4 A100]\n{RUN}", f"{ONE}#SBATCH -A [my project]\n{RUN}"
    ),
    "a partition that nobody wrote": (
        "JG217", f"{ONE}#SBATCH --partition= \n{RUN}", f"{ONE}#SBATCH --partition=a,b --qos=\n{RUN}"
    ),
    "directives of another job, in notes": (
        "JG201",
        f"{ONE}{RUN}# more\n#SBATCH --time=5",
        f"{ONE}{RUN}# # !/bin/x\n# #!/bin/bash\n#SBATCH --time=5",
    ),
    "a file as a module": (
        "JG612", f"{ONE}srun python3 -u -m t.py --a", f"{ONE}srun python3 -u -m t --a -m b.py"
    ),
    "a file as a module, in the step's string": (
        "JG612",
        f"{ONE}c='python -m t.py'\nsrun bash -c \"\n$c\n\"",
        f"{ONE}c='python t -m t.py'\nsrun bash -c \"\n$c\n\"",
    ),
    "a path of an example": (
        "JG208",
        f"{ONE}DATA=/path/to/data\nsrun python t.py $DATA",
        f"{ONE}echo 'usage: /path/to/data'\nsrun python t.py [a-c]*/path/tools",
    ),
    "a path of an example within another": (
        "JG208",
        f"{ONE}srun python t.py --data=/path/to/x",
        f"{ONE}srun python t.py --data /data/path/to/x --to $HOME/path/to/y",
    ),
    "a folder in brackets, and a pattern": (
        "JG208",
        f"{ONE}srun python t.py --data=[data-dir]",
        f"{ONE}find . -name '[data-dir]'\nsrun python t.py a[data-dir] [data-dir]*",
    ),
    "a program of an example": (
        "JG208",
        f"{ONE}torchrun --nproc-per-node=4 src/your_script.py",
        f"{ONE}torchrun --nproc-per-node=4 src/yours.py\necho your_script.py",
    ),
    "a part of NCCL that there is not": (
        "JG510",
        f"{TWO}export NCCL_DEBUG_SUBSYS=WARN\n{RUN}",
        f"{TWO}export NCCL_DEBUG_SUBSYS=^init,Coll\n{RUN}",
    ),
    "localhost for an agent that runs on the first node only": (
        "JG118",
        f"{TWO}export MASTER_ADDR=localhost\n"
        "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint $MASTER_ADDR t.py",
        f"{TWO}torchrun --nnodes=1 --rdzv-backend=c10d --rdzv-endpoint localhost:0 t.py",
    ),
    "a command with two letters exchanged": (
        "JG611",
        f"{ONE}soruce /etc/profile\n{RUN}",
        f"{ONE}soruce() {{ source $1; }}\nsoruce /etc/profile\n{RUN}",
    ),
    "a sentence without #": (
        "JG611",
        f"{ONE}If there is an argument, use it.\n{RUN}",
        f"{ONE}# If there is an argument, use it.\necho If so\n{RUN}",
    ),
    "a command in capitals": (
        "JG611", f"{ONE}Export A=1\n{RUN}", f"{ONE}alias Export=export\nExport A=1\n{RUN}"
    ),
    "a folder of an example": (
        "JG208", f"{ONE}srun python t.py '[data-dir]/a'", f"{ONE}srun python t.py '[a-d]ir/a'"
    ),
    "a project of an example": (
        "JG208", f"#SBATCH -N 1 -A project_xxxx\n{RUN}", f"#SBATCH -N 1 -A project_xx7\n{RUN}"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_fault_is_found_and_its_neighbour_is_not(name: str) -> None:
    code, wrong, right = PAIRS[name]
    for text, expected in ((wrong, {code}), (right, set())):
        found = problems_in(f"#!/bin/bash\n{text}\n", "job.sh", Settings())
        assert {each.code for each in found} & {code} == expected, text


def test_wait_alone_names_a_program_that_it_waits_for() -> None:
    text = f"#!/bin/bash\n{ONE}if [ $A ]; then\npython3 -m build\nfi\nsrun ./simulate &\nwait\n"
    found = [each for each in problems_in(text, "job.sh", Settings()) if each.code == "JG305"]
    assert [each.text.partition(" even if ")[2].split()[0] for each in found] == ["srun"]


@pytest.mark.parametrize(
    ("lines", "code", "words"),
    [
        (
            "#SBATCH --nodes=1 --ntasks=1\n#SBATCH --ntasks-per-node=4\n"
            "srun torchrun --nproc-per-node=4 t.py",
            "JG211",
            "--ntasks-per-node=1 alone: torchrun starts the ranks of a node",
        ),
        (
            "#SBATCH --nodes=1 --ntasks=1\n#SBATCH --ntasks-per-node=4\nsrun python t.py",
            "JG211",
            "keep one of the two",
        ),
        (
            f"{TWO}srun -n 2 torchrun --rdzv-backend c10d --rdzv-endpoint $HEAD:29500 t.py",
            "JG119",
            "at the endpoint that they share, one runs and the others wait",
        ),
        (f"{ONE}{RUN}dcgmi profile --resume", "JG305", "`dcgmi`; keep $? and exit with it after"),
        (f"{ONE}{RUN}date", "JG305", "`date`; set -e, or keep $?"),
        (f"#SBATCH -o a/x\nmkdir -p a\nmkdir -p a/b\n{RUN}", "JG210", "mkdir on line 3 is"),
        (f"{ONE}[ -z $SLURM_GPUS ] && exit\nsrun a -n $SLURM_GPUS", "JG506", "at each use"),
        (f"{TWO}srun -n 2 torchrun --nproc-per-node 4 t.py", "JG119", "2 worlds instead of one"),
    ],
)
def test_words_of_a_finding_are_right_for_its_script(lines: str, code: str, words: str) -> None:
    problems = problems_in(f"#!/bin/bash\n{lines}\n", "job.sh", Settings((code,)))
    assert [words in f"{each.text}; {each.hint}" for each in problems] == [True]


def test_set_e_is_no_cure_for_a_run_that_a_condition_tests() -> None:
    text = f"#!/bin/bash\n{ONE}set -e\nif ! srun python t.py; then echo failed; fi\n"
    cures = [each.hint for each in problems_in(text, "job.sh", Settings()) if each.code == "JG305"]
    assert cures == ["keep $? and exit with it after line 4"]


@pytest.mark.parametrize(
    ("before", "after", "end", "cure"),
    [
        ("", "", "tee", "set -o pipefail"),
        ("", "date", "date", "set -eo pipefail"),
        ("", "exit 0", "exit", "set -eo pipefail"),
        ("", "code=$?\ndate\nexit $code", "tee", "set -o pipefail"),
        ("set -e\n", "date", "tee", "set -o pipefail"),
        ("for seed in 1 2; do\n", "done", "tee", "set -eo pipefail"),
    ],
)
def test_the_cure_of_a_pipe_holds_for_what_follows_it(
    before: str, after: str, end: str, cure: str
) -> None:
    text = f"#!/bin/bash\n{ONE}{before}srun python t.py | tee log\n{after}\n"
    found = [each for each in problems_in(text, "job.sh", Settings()) if each.code == "JG304"]
    assert [each.hint for each in found] == [cure]
    assert found[0].text.endswith(f"that of {end}")
    cured = problems_in(text.replace(ONE, f"{ONE}{cure}\n"), "job.sh", Settings())
    assert not {"JG304", "JG305"} & {each.code for each in cured}


@pytest.mark.parametrize("line", ["python {}.py | tee x", "srun bash -c 'torchrun {}.py; date'"])
def test_eight_times_as_many_runs_take_no_64_times_as_long(line: str) -> None:
    def seconds(count: int) -> float:
        lines = "\n".join(line.format(number) for number in range(count))
        start = time.process_time()
        problems_in(f"#!/bin/bash\n{ONE}{lines}\n", "job.sh", Settings())
        return time.process_time() - start

    seconds(10)  # the first call imports modules
    assert seconds(800) < 24 * max(seconds(100), 0.05)
