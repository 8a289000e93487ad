"""A value for each key of a profile, for its page and for the JSON Schema."""

from __future__ import annotations

from jobgen.profiles.kinds import Bool, Choice, Int, Kind, SomeOf, Walltime
from jobgen.profiles.records import Key, ListOf

# Values as YAML, where the kind of the key does not show one.
EXAMPLES = {
    "description": "four A100 a node, InfiniBand, Slurm",
    "extends": "fabrics/infiniband",
    "partition": "gpu",
    "request.log_folder": "/scratch/$USER/logs",
    "queue": "gpu",
    "account": "physics",
    "node.gpu_type": "gh200",
    "node.memory": "512G",
    "request.directives": '["--wait-all-nodes=1"]',
    "request.chunk": "{sales_op: blanca}",
    "request.place": "scatter:excl",
    "request.memory": "440G",
    "request.memory_per_cpu": "4G",
    "request.memory_per_gpu": "115G",
    "request.licenses": "scratch",
    "request.spares": "2",
    "request.exclude": '"gpu[07,12]"',
    "request.chdir": "/scratch/project",
    "request.output": "logs/%x-%j.out",
    "request.error": "logs/%x-%j.err",
    "request.qos": "long",
    "request.reservation": "course",
    "request.constraint": "a100&ib",
    "request.mail": "me@example.org",
    "network.interface": "[hsn0, hsn1]",
    "network.environment": "{NCCL_DEBUG: INFO, HF_HOME: $SCRATCH/hf}",
    "software.modules": "[python/3.11, cuda/12.6]",
    "software.venv": "$HOME/envs/torch",
    "software.stage_from": "$SCRATCH/envs/torch.squashfs",
    "software.stage_to": "/local",
    "software.conda": "pytorch",
    "software.container.image": "docker.io/rocm/pytorch:latest",
    "software.container.environment": "$SCRATCH/pytorch.toml",
    "software.container.mounts": "[$SCRATCH, /data:/data:ro]",
    "software.container.devices": "[/dev/kfd, /dev/dri]",
    "software.container.groups": "[video]",
    "software.container.options": '["--env=HF_HOME=$SCRATCH/hf"]',
    "software.nccl_root": "$HOME/software/nccl",
    "software.aws_ofi_nccl_root": "$HOME/software/aws-ofi-nccl",
    "software.commands": '["ulimit -l unlimited"]',
    "software.after_modules": '["export LD_LIBRARY_PATH=$CRAY_LD_LIBRARY_PATH"]',
    "software.jobgen": "$HOME/.local/bin/jobgen",
    "software.once_per_node": '["mkdir -p /tmp/$USER/cache"]',
    "workspace.url": "https://github.com/pytorch/examples.git",
    "workspace.commit": "a03f0ba0f730d026871cfbab1e9e44a60590c357",
    "workspace.folder": "$SCRATCH/code",
    "launch.srun_options": '["--gpu-bind=closest"]',
    "launch.mpiexec_options": '["--pmi=pmix"]',
    "launch.cpu_bind": "cores",
    "trainer": "regression",
}


def example(key: Key) -> str:
    """A value of a key, as YAML."""
    return EXAMPLES.get(key.path) or _example_of(key.row.kind, key.default)


def _example_of(kind: Kind, default: str) -> str:
    if isinstance(kind, SomeOf):
        return f"[{', '.join(kind.words[-2:])}]"
    if isinstance(kind, Choice):
        return next(word for word in kind.words if word != default)
    if isinstance(kind, Bool):
        return "false" if default == "true" else "true"
    if isinstance(kind, Int):
        return str(min(max(kind.low, 4), kind.high or 4))
    if isinstance(kind, Walltime):
        return '"1:30:00"'
    if isinstance(kind, ListOf):
        return f"[{_example_of(kind.item, '')}]"
    raise ValueError("a text needs a line in EXAMPLES")
