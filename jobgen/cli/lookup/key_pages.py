"""`jobgen profiles explain`: the page of a key, from its row in the model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from jobgen.cli.lookup.text import columns
from jobgen.errors import nearest_hint, problem
from jobgen.planning.job_options import OPTIONS
from jobgen.profiles.kinds import Bool, Choice, Int, Kind, SomeOf, Walltime
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Key, ListOf, MapOf, keys_of, rows_of
from jobgen.scripts.write import write

WIDTH = 80  # columns
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
    "software.once_per_node": '["mkdir -p /tmp/$USER/cache"]',
    "workspace.url": "https://github.com/pytorch/examples.git",
    "workspace.commit": "a03f0ba0f730d026871cfbab1e9e44a60590c357",
    "workspace.folder": "$SCRATCH/code",
    "launch.srun_options": '["--gpu-bind=closest"]',
    "launch.mpiexec_options": '["--pmi=pmix"]',
    "launch.cpu_bind": "cores",
    "trainer": "regression",
}


def explain(path: str) -> int:
    """Write the page of the key at `path`, or the keys of a group; "" is the group of all.

    Raises JobgenError with the nearest key.
    """
    keys = {key.path: key for key in keys_of(ROOT.cls)}
    groups = {key.rpartition(".")[0] for key in keys} | {key.partition(".")[0] for key in keys}
    same = [name for name in {*keys, *groups} if name.rpartition(".")[2] == path]
    if path and path not in groups and len(same) == 1:  # its last name says enough
        path = same[0]
    named = next((key for key in keys.values() if _is_in(path, key)), None)
    group = [key for key in keys.values() if key.path.startswith(f"{path}." if path else "")]
    if not named and not group:
        raise problem("explain", f"no key `{path:.60}`", "unknown-key", _hint(path, keys))
    write(_page(named) if named else _group(path, group))
    return 0


def _is_in(path: str, key: Key) -> bool:
    """Whether a path is a key, or below a map of free names, such as network.environment."""
    return path == key.path or (isinstance(key.row.kind, MapOf) and path.startswith(f"{key.path}."))


def _hint(path: str, keys: Iterable[str]) -> str:
    """The keys with the same last name, or the nearest key, or the groups."""
    last = path.rpartition(".")[2]
    if same := [f"`{key}`" for key in keys if key.rpartition(".")[2] == last]:
        return f"did you mean {' or '.join(same)}?"
    hint = nearest_hint(path, [*keys, *(key.rpartition(".")[0] or key for key in keys)])
    is_near = hint.startswith("did")
    return hint if is_near else nearest_hint(path, {key.partition(".")[0] for key in keys})


def _group(path: str, keys: list[Key]) -> str:
    doc, cls = "", ROOT.cls
    for name in path.split(".") if path else ():
        row = dict(rows_of(cls))[name]
        doc, cls = row.doc, getattr(row.kind, "cls", cls)
    title = f"{path}: {doc}\n\n" if doc else ""
    rows = [(key.path, textwrap.shorten(key.row.doc, WIDTH, placeholder=" …")) for key in keys]
    return f"{title}{columns(rows)}"


def _page(key: Key) -> str:
    lines = [key.path, "", *textwrap.wrap(key.row.doc, WIDTH), ""]
    values = [("Value", key.row.kind.in_words()), ("Default", key.default or "not set")]
    for name, text in (*values, ("Example", _in_yaml(key.path, example(key)))):
        filled = textwrap.fill(
            text,
            WIDTH,
            initial_indent=f"{name + ':':<9} ",
            subsequent_indent=" " * 10,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines.append(filled if name != "Example" else f"Example:  {text}")  # YAML stays as it is
    free = ".NAME" if isinstance(key.row.kind, MapOf) else ""
    own = [
        f"{row.flags[0]} {row.metavar}".strip() for row in OPTIONS.values() if row.path == key.path
    ]
    options = ", or ".join([*own, f"--set {key.path}{free}=VALUE"])
    return "\n".join([*lines, f"Option:   {options}"]) + "\n"


def _in_yaml(path: str, value: str) -> str:
    """The value at a path of a profile, on one line."""
    *groups, name = path.split(".")
    inner = f"{name}: {value}"
    for group in reversed(groups[1:]):
        inner = f"{group}: {{{inner}}}"
    return f"{groups[0]}: {{{inner}}}" if groups else inner


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
