"""Programs that start ranks: torchrun, accelerate, deepspeed, ft_launcher, srun, mpirun, ray."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from jobgen.planning.program import Program


class OtherLauncher(NamedTuple):
    """A launcher that is a job's program, and the words for it once on each node, if it has any."""

    name: str
    words: str


_WORDS = {
    "torchrun": "torchrun --nnodes=%N --node-rank=%n --nproc-per-node=%g --master-addr=%h"
    " --master-port=%p …",
    "accelerate launch": "accelerate launch --num_machines %N --machine_rank %n"
    " --main_process_ip %h --main_process_port %p --num_processes ALL …",
    "deepspeed": "deepspeed --hostfile FILE --no_ssh --node_rank %n --master_addr %h"
    " --master_port %p …",
    "ray": "./SCRIPT, see docs/recipes.md",
    "ft_launcher": "./SCRIPT, see docs/recipes.md",
}
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
    "deepspeed.launcher.launch": "deepspeed",
    "horovod.runner.launch": "horovodrun",
    "nvidia_resiliency_ext.fault_tolerance.launcher": "ft_launcher",
    "ray.scripts.scripts": "ray",
}
_COMMANDS = {
    "torchrun": "torchrun",
    "accelerate-launch": "accelerate launch",
    "deepspeed": "deepspeed",
    "ds": "deepspeed",
    "ft_launcher": "ft_launcher",
    "ray": "ray",
    **{name: name for name in "srun mpirun mpiexec orterun horovodrun prun aprun jsrun".split()},
}


def find_launcher(program: Program) -> OtherLauncher | None:
    """The launcher that a program is, by its whole name; None if it is none.

    `python -m MODULE` and `env NAME=VALUE COMMAND` count as what they start.
    """
    if program.kind == "module":
        name = _MODULES.get(program.name, "")
    elif program.kind == "command":
        name = _by_words((program.name, *program.arguments))
    else:
        name = ""
    return OtherLauncher(name, _WORDS.get(name, "")) if name else None


def _by_words(words: Sequence[str]) -> str:
    """The launcher that a command line starts; "" if none."""
    command = words[0].rpartition("/")[2]
    if command == "env":
        rest = [word for word in words[1:] if "=" not in word]
        return _by_words(rest) if rest else ""
    if re.fullmatch(r"python(3(\.\d+)?)?", command):
        return _MODULES.get(_module(words[1:]), "")
    if command == "accelerate" and list(words[1:2]) == ["launch"]:
        return "accelerate launch"
    return _COMMANDS.get(command, "")


def _module(options: Sequence[str]) -> str:
    """The module that python is given with -m, before any script; "" if none."""
    for number, word in enumerate(options):
        if word in ("-m", "-um"):
            return options[number + 1] if number + 1 < len(options) else ""
        if not word.startswith("-") or word == "-c":
            return ""
    return ""
