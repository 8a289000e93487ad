"""The jobs whose whole scripts are compared; a case for each structure that a script can have."""

from __future__ import annotations

from functools import cache

from jobgen.planning.job_options import Job
from tests.helpers import script

HOSTILE = ("--", "a b", "$(id)", "new\nline", "it's", "~/x", "é“”", "\udcff", "")

EDF = (
    "software.container={engine: ce, environment: $HOME/.edf/torch.toml, image: null, mounts: []}",
)
PLACES = ("--rank=%n", "%N", "%h:%p", "%g", "100%%", "%a", "%d")

CASES = {
    "mi210-3-nodes": Job("sbatch", profile="mi210", nodes="3"),
    "mi210-65-nodes": Job("sbatch", profile="mi210", nodes="65", program=("train.py",)),
    "mi210-1-node": Job("sbatch", profile="mi210", nodes="1"),
    "mi210-cpu": Job(
        "sbatch",
        profile="mi210",
        nodes="3",
        set_values=("software.container=null", "node.gpu=none"),
    ),
    "mi210-program": Job(
        "sbatch",
        profile="mi210",
        time="1:30:00",
        name="my run",
        account="physics",
        environment=("NCCL_DEBUG=INFO",),
        directives=("--constraint=ib",),
        program=("train.py", "--lr", "0.1"),
    ),
    "mi210-srun": Job("sbatch", profile="mi210", launcher="srun", program=("-m", "pkg.train")),
    "mi210-hostile": Job(
        "sbatch",
        profile="mi210",
        name='a "b" $(id) #',
        set_values=("software.container=null",),
        program=("train.py", *HOSTILE, "$$"),
    ),
    "mi210-elastic": Job(
        "sbatch",
        profile="mi210",
        nodes="2:4",
        time="12:00:00",
        max_restarts="3",
        requeue="true",
        program=("train.py",),
    ),
    "mi210-requeue": Job(
        "sbatch", profile="mi210", requeue="true", launcher="srun", program=("train.py",)
    ),
    "dgx-a100-srun-options": Job(
        "sbatch",
        profile="dgx-a100",
        launcher="srun",
        nodes="2",
        set_values=(
            "request.gpu_option=gpus-per-task",
            "node.gpu_type=a100",
            "request.memory_per_gpu=60G",
            "request.hint=nomultithread",
            "request.licenses=scratch",
            "request.chdir=/scratch/runs",
            "request.error=%x-%j.err",
            "request.directives=['--wait-all-nodes=1', '-S 8']",
            "launch.srun_options=['--mpi=pmix', '--gpu-bind=closest']",
            "launch.cpu_bind=cores",
            "software.once_per_node=['mkdir -p /tmp/cache']",
        ),
        program=("train.py",),
    ),
    "dgx-a100-gpus-plain": Job(
        "sbatch",
        profile="dgx-a100",
        nodes="2",
        plain="true",
        set_values=(
            "request.gpu_option=gpus",
            "request.threads_per_core=1",
            "launch.srun_options=[--network=disable_rdzv_get]",
        ),
        program=("train.py",),
    ),
    "dgx-a100-host-file": Job(
        "sbatch",
        profile="dgx-a100",
        nodes="2",
        launcher="srun",
        set_values=("launch.srun_options=[--distribution=arbitrary]",),
        program=("train.py",),
    ),
    "dgx-a100-order": Job(
        "sbatch",
        profile="dgx-a100",
        nodes="2",
        set_values=(
            "software.modules=[gcc]",
            "software.commands=['export SITE=1']",
            "software.after_modules=['export LD_LIBRARY_PATH=$CRAY_LD_LIBRARY_PATH']",
            "software.once_per_node=['mkdir -p /tmp/cache']",
        ),
        program=("train.py",),
    ),
    "eap-intel": Job(
        "qsub",
        profile="eap",
        nodes="2",
        set_values=(
            "node.gpu=intel",
            "request.chdir=$SCRATCH/runs",
            "request.error=errors.txt",
            "request.directives=[-l filesystems=home:eagle]",
        ),
        program=("train.py",),
    ),
    "local-intel": Job(
        "local", nodes="1", set_values=("node.gpu=intel", "node.gpus=2"), program=("a.py",)
    ),
    "mi210-stall": Job("sbatch", profile="mi210", stall="30", log_folder="/scratch/$USER/logs"),
    "eap-stall": Job("qsub", profile="eap", stall="30", program=("train.py",)),
    "dgx-a100-restarts": Job(
        "sbatch", profile="dgx-a100", max_restarts="2", signal="300", program=("train.py",)
    ),
    "dgx-a100": Job("sbatch", profile="dgx-a100"),
    "dgx-a100-stage": Job(
        "sbatch",
        profile="dgx-a100",
        nodes="2",
        set_values=("software.venv=~/env", "software.stage=venv", "software.stage_to=/local"),
        program=("train.py",),
    ),
    "dgx-a100-stage-image": Job(
        "sbatch",
        profile="dgx-a100",
        nodes="2",
        set_values=("software.stage=squashfs", "software.stage_from=$SCRATCH/torch.squashfs"),
        program=("train.py",),
    ),
    "eap-stage": Job(
        "qsub", profile="eap", set_values=("software.stage=venv",), program=("train.py",)
    ),
    "dgx-a100-venv": Job(
        "sbatch",
        profile="dgx-a100",
        nodes="4",
        gpus_per_node="8",
        rendezvous="static",
        set_values=(
            "network.interface=[ib0, ib1]",
            "request.exclusive=true",
            "software.modules=[cuda/12.6]",
            "software.venv=~/envs/$NAME",
        ),
    ),
    "dgx-a100-conda": Job(
        "sbatch",
        profile="dgx-a100",
        max_restarts="3",
        set_values=("software.conda=pytorch", 'software.commands=["ulimit -l unlimited"]'),
        program=("./run.sh",),
    ),
    "mi210-docker": Job(
        "sbatch", profile="mi210", signal="300", set_values=("software.container.engine=docker",)
    ),
    "mi210-apptainer": Job(
        "sbatch",
        profile="mi210",
        launcher="srun",
        signal="300",
        set_values=("software.container.engine=apptainer",),
        program=("train.py",),
    ),
    "mi210-array": Job(
        "sbatch",
        profile="mi210",
        array="0-9%2",
        after=("123", "124_5:any"),
        mail="me@example.org",
        qos="long",
        reservation="course",
        constraint="ib&rocm6",
        shared="false",
        program=("train.py", "--seed", "%a", "--out=run %a"),
    ),
    "eap-values": Job(
        "qsub",
        profile="eap",
        environment=("DATA=$SCRATCH/data", "CACHE=${DATA}/cache $$(id)", "HF_TOKEN"),
        program=("train.py", "$HOME"),
    ),
    "dgx-a100-plain": Job("sbatch", profile="dgx-a100", plain="true", program=("train.py",)),
    "mi210-plain-srun": Job(
        "sbatch", profile="mi210", plain="true", launcher="srun", program=("train.py",)
    ),
    "dgx-a100-1-node": Job("sbatch", profile="dgx-a100", nodes="1", program=("train.py",)),
    "dgx-a100-1-node-plain": Job(
        "sbatch", profile="dgx-a100", nodes="1", plain="true", program=("train.py",)
    ),
    "mi210-srun-command": Job(
        "sbatch",
        profile="mi210",
        launcher="srun",
        set_values=("software.container=null",),
        program=("./solver", "case.cfg"),
    ),
    "mi210-1-node-requeue": Job(
        "sbatch", profile="mi210", nodes="1", requeue="true", program=("train.py",)
    ),
    "mi210-pyxis": Job(
        "sbatch",
        profile="mi210",
        set_values=("software.container.engine=pyxis",),
        program=("train.py",),
    ),
    "mi210-singularity": Job(
        "sbatch",
        profile="mi210",
        set_values=(
            "software.container={engine: singularity, image: $SCRATCH/torch.sif}",
            "software.container.mounts=[$SCRATCH, '$DATA:$DATA', /scratch]",
            "software.container.options=['--bind=$SCRATCH/env.sqsh:/user:image-src=/']",
        ),
        program=("train.py",),
    ),
    "aws-nvidia-shifter": Job(
        "sbatch",
        profile="aws-nvidia",
        set_values=(
            "software={conda: null, container: {engine: shifter, image: 'nersc/pytorch:25.02.01'}}",
            "software.container.options=['--module=gpu,nccl-plugin']",
        ),
        program=("train.py",),
    ),
    "mi210-ce": Job("sbatch", profile="mi210", set_values=EDF, program=("train.py",)),
    "mi210-ce-srun": Job(
        "sbatch", profile="mi210", launcher="srun", set_values=EDF, program=("train.py",)
    ),
    "mi210-ce-srun-signal": Job(
        *("sbatch", "mi210"), launcher="srun", signal="60", set_values=EDF, program=("train.py",)
    ),
    "mi210-ce-srun-plain": Job(
        *("sbatch", "mi210"), launcher="srun", plain="true", set_values=EDF, program=("train.py",)
    ),
    "aws-nvidia": Job("sbatch", profile="aws-nvidia", trainer="cifar10_vgg", program=("2", "1")),
    "aws-nvidia-workspace": Job(
        "sbatch",
        profile="aws-nvidia",
        exclusive="true",
        launcher="torchrun",
        set_values=(
            "workspace.url=https://github.com/gnosia93/slurm-on-grv.git",
            "workspace.commit=a03f0ba0f730d026871cfbab1e9e44a60590c357",
            "workspace.folder=/mnt/efs/slurm-on-grv",
        ),
        program=("ddp/cifar10-vgg.py",),
    ),
    "aws-cpu": Job("sbatch", profile="aws-cpu"),
    "aws-cpu-container": Job("sbatch", profile="aws-cpu-container"),
    "eap-array": Job(
        "qsub",
        profile="eap",
        array="0-9%2",
        after=("123", "124.server", "125:any"),
        mail="me@example.org",
        mail_on="begin,fail",
        reservation="R77",
        constraint="mem_type=hbm",
        exclusive="true",
        program=("train.py", "--seed", "%a"),
    ),
    "eap": Job("qsub", profile="eap"),
    "eap-restarts": Job(
        "qsub",
        profile="eap",
        max_restarts="3",
        signal="600",
        requeue="true",
        program=("train.py",),
    ),
    "eap-plain": Job("qsub", profile="eap", plain="true", program=("train.py",)),
    "eap-plain-openmpi": Job(
        "qsub",
        profile="eap",
        plain="true",
        set_values=("launch.starter=mpiexec-openmpi",),
        program=("train.py",),
    ),
    "eap-mpich": Job(
        "qsub",
        profile="eap",
        set_values=("launch.starter=mpiexec-mpich",),
        program=("train.py",),
    ),
    "eap-1-node-restarts": Job(
        "qsub", profile="eap", nodes="1", max_restarts="3", program=("train.py",)
    ),
    "mi210-spares": Job(
        "sbatch",
        profile="mi210",
        nodes="16+2",
        max_restarts="3",
        requeue="true",
        program=("train.py",),
    ),
    "eap-spares": Job("qsub", profile="eap", nodes="2+1", max_restarts="2", program=("train.py",)),
    "eap-spares-ssh": Job(
        "qsub",
        profile="eap",
        nodes="16+2",
        set_values=("launch.starter=ssh",),
        program=("train.py",),
    ),
    "mi210-spares-srun": Job(
        "sbatch", profile="mi210", nodes="2+1", launcher="srun", program=("train.py",)
    ),
    "local-elastic": Job("local", profile="local", nodes="2:3", program=("train.py",)),
    "eap-1-gpu": Job(
        "qsub", profile="eap", nodes="1", gpus_per_node="1", program=("train.py", "10")
    ),
    "eap-ssh": Job(
        "qsub",
        profile="eap",
        nodes="3",
        queue="big",
        account="physics",
        time="90:00",
        rendezvous="static",
        directives=("-W depend=afterok:12", "-p 7", "-m ae"),
        set_values=(
            "launch.starter=ssh",
            "request.exclusive=true",
            "request.output=out/a b.txt",
            "request.live_output=false",
            "software.aws_ofi_nccl_root=$HOME/ofi",
            "software.nccl_root=/opt/nccl",
        ),
    ),
    "eap-pbsdsh": Job(
        "qsub", profile="eap", set_values=("launch.starter=pbsdsh", "software.modules=[]")
    ),
    "eap-openmpi": Job(
        "qsub", profile="eap", set_values=("launch.starter=mpiexec-openmpi", "software.modules=[]")
    ),
    "eap-ranks-pals": Job(
        "qsub",
        profile="eap",
        launcher="mpiexec",
        set_values=("launch.starter=mpiexec-pals", "launch.cpu_bind=list:0-71:72-143"),
        program=("train.py",),
    ),
    "eap-ranks-openmpi": Job(
        "qsub",
        profile="eap",
        launcher="mpiexec",
        signal="600",
        set_values=("launch.starter=mpiexec-openmpi", "launch.cpu_bind=depth"),
        program=("train.py",),
    ),
    "eap-ranks-mpich": Job(
        "qsub",
        profile="eap",
        nodes="1",
        launcher="mpiexec",
        set_values=("launch.starter=mpiexec-mpich",),
        program=("train.py",),
    ),
    "eap-ranks-stall": Job(
        "qsub",
        profile="eap",
        launcher="mpiexec",
        stall="30",
        set_values=("launch.starter=mpiexec-pals",),
        program=("train.py",),
    ),
    "eap-ranks-plain": Job(
        "qsub",
        profile="eap",
        launcher="mpiexec",
        plain="true",
        set_values=("launch.starter=mpiexec-openmpi", "launch.cpu_bind=depth:8"),
        program=("train.py",),
    ),
    "dgx-a100-ssh": Job(
        "sbatch",
        profile="dgx-a100",
        exclusive="true",
        signal="300",
        max_restarts="2",
        set_values=("launch.starter=ssh",),
        program=("train.py",),
    ),
    "dgx-a100-mpirun": Job(
        "sbatch",
        profile="dgx-a100",
        exclusive="true",
        set_values=("launch.starter=mpirun",),
        program=("train.py",),
    ),
    "dgx-a100-plain-ssh": Job(
        "sbatch",
        profile="dgx-a100",
        exclusive="true",
        plain="true",
        set_values=("launch.starter=ssh",),
        program=("train.py",),
    ),
    "eap-pals": Job("qsub", profile="eap", set_values=("launch.starter=mpiexec-pals",)),
    "byhand-mi210": Job("byhand", profile="mi210", hosts="smc-r07-[07-08]"),
    "byhand-eap": Job(
        "byhand", profile="eap", hosts="blancapeak[003-004]", program=("multinode.py", "50", "10")
    ),
    "byhand-static": Job(
        "byhand",
        profile="dgx-a100",
        hosts="dgx01,dgx02",
        rendezvous="static",
        program=("cifar10-vgg.py",),
    ),
    "byhand-1-host": Job("byhand", profile="mi210", hosts="smc-r07-07", gpus_per_node="2"),
    "dgx-a100-node": Job(
        "sbatch", profile="dgx-a100", launcher="node", program=("./start.sh", *PLACES, *HOSTILE)
    ),
    "mi210-node": Job(
        "sbatch",
        profile="mi210",
        launcher="node",
        array="0-9",
        max_restarts="2",
        signal="300",
        program=("-m", "accelerate.commands.launch", "train.py", *PLACES),
    ),
    "dgx-a100-plain-node": Job(
        "sbatch", profile="dgx-a100", plain="true", launcher="node", program=("train.py", *PLACES)
    ),
    "eap-node": Job(
        "qsub",
        profile="eap",
        launcher="node",
        max_restarts="2",
        signal="300",
        program=("./start.sh", *PLACES),
    ),
    "eap-1-node-plain-node": Job(
        "qsub",
        profile="eap",
        nodes="1",
        plain="true",
        launcher="node",
        program=("./start.sh", *PLACES),
    ),
    "local-node": Job("local", profile="local", launcher="node", program=("./start.sh", *PLACES)),
    "local": Job("local", profile="local"),
    "local-gpus": Job(
        "local",
        profile="local",
        nodes="1",
        set_values=("node.gpu=nvidia", "node.gpus=2", "launch.processes_per_node=null"),
    ),
    "local-1-node": Job("local", profile="local", nodes="1", program=("train.py",)),
}


@cache
def script_of(case: str) -> str:
    """The script of a case, which all tests of this process share."""
    return script(CASES[case])
