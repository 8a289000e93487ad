"""Programs that start ranks themselves, such as torchrun, or several runs, such as wandb agent."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from jobgen.planning.program import Program

AGENT = "wandb agent"  # takes one run of a sweep after another, in whatever process it is


class OtherLauncher(NamedTuple):
    """A launcher in a job's program.

    `before` are the words before it (`uv run`), `inner` those of the program that it starts, if
    they can be told; `template` is the command that starts it once on each node, if it has one.
    """

    name: str
    before: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        return _TEMPLATES.get(self.name, "")


_TEMPLATES = {
    "torchrun": "torchrun --nnodes=%N --node-rank=%n --nproc-per-node=%g --master-addr=%h"
    " --master-port=%p …",
    "accelerate launch": "accelerate launch --num_machines %N --machine_rank %n"
    " --main_process_ip %h --main_process_port %p --num_processes %G …",
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
    **{
        name: name
        for name in "srun mpirun mpiexec orterun horovodrun prun aprun jsrun pbsdsh blaunch".split()
    },
}
_TWO_WORDS = {
    "accelerate": "launch",
    "wandb": "agent",
    "fabric": "run",
    "lightning": "run",
    "colossalai": "run",
}
# Commands that run the command after them, and the word between the two.
_WRAPPERS = {
    **dict.fromkeys("uv poetry pixi pdm pipenv hatch rye conda mamba micromamba".split(), "run"),
    **dict.fromkeys(("apptainer", "singularity"), "exec"),
    "nsys": "profile",
    **dict.fromkeys("env exec nice nohup numactl stdbuf taskset time timeout".split(), ""),
}
# Their options, variables, numbers and images; the word after an option may be its value.
_OF_WRAPPER = re.compile(r"-.*|\w+=.*|[\d.,-]+[smhd]?|.*\.sif")
_MULTIRUN = ("--multirun", "hydra.mode=MULTIRUN")
_PYTHON = re.compile(r"python(3(\.\d+)?)?")


def find_launcher(program: Program) -> OtherLauncher | None:
    """The launcher that a program is or starts, by its whole name; None if it is none.

    `python -m MODULE`, `uv run COMMAND`, `env NAME=VALUE COMMAND`, `bash -c COMMAND` and others
    like them count as what they start.
    """
    if program.kind == "module":
        words = ("python", "-m", program.name, *program.arguments)
    elif program.kind == "command":
        words = (program.name, *program.arguments)
    else:
        return None
    name, start, end = _located(words, 0)
    before = () if program.kind == "module" else words[:start]
    return OtherLauncher(name, before, _inner(name, words[end:])) if name else None


def _located(words: Sequence[str], start: int) -> tuple[str, int, int]:
    """The launcher that the command at `start` is or runs, "" if none; its first word, its end."""
    command, following = words[start].rpartition("/")[2], (*words[start + 1 :], "")[0]
    if _PYTHON.fullmatch(command):
        at = _module(words, start + 1)
        return (_MODULES.get(words[at], ""), start, at + 1) if at else ("", 0, 0)
    if command in ("bash", "sh") and (text := _shell_text(words[start + 1 :])):
        return launcher_in_shell(text), start, len(words)
    if _TWO_WORDS.get(command) == following:
        return f"{command} {following}", start, start + 2
    if _WRAPPERS.get(command) in ("", following):
        return _wrapped(words, start + (2 if _WRAPPERS[command] else 1))
    return _COMMANDS.get(command, ""), start, start + 1


def _wrapped(words: Sequence[str], start: int) -> tuple[str, int, int]:
    """What is located behind the options of a wrapper."""
    for at in range(start, len(words)):
        if _OF_WRAPPER.fullmatch(words[at]):
            continue
        found = _located(words, at)
        if found[0] or not words[at - 1].startswith("-") or at == start:
            return found
    return "", 0, 0


def _module(words: Sequence[str], start: int) -> int:
    """The place of the module that python is given with -m, before any script; 0 if none."""
    for at, word in enumerate(words[start:], start):
        if word in ("-m", "-um"):
            return at + 1 if at + 1 < len(words) else 0
        if not word.startswith("-") or word == "-c":
            return 0
    return 0


def _shell_text(options: Sequence[str]) -> str:
    """The commands that a shell is given with -c; "" if none."""
    places = [at for at, word in enumerate(options[:-1]) if re.fullmatch("-[a-z]*c", word)]
    return options[places[0] + 1] if places else ""


def launcher_in_shell(text: str) -> str:
    """The first launcher among the commands of a shell's text, as far as they are plain; or ""."""
    commands = re.split(r"&&|\|\||[;|\n]", text)
    plain = (re.sub(r"^(\s*\w+=\S*)+\s", "", command).split() for command in commands)
    return next((name for words in plain if words and (name := _located(words, 0)[0])), "")


def _inner(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """The program that a launcher is given, as it follows `--` of jobgen; () if it is not clear."""
    takes_modules = name in ("torchrun", "accelerate launch", "deepspeed")
    for at, word in enumerate(words):
        if word.endswith(".py"):
            return tuple(words[at:])
        of_python = at > 0 and _PYTHON.fullmatch(words[at - 1])
        if word in ("-m", "--module") and words[at + 1 :] and (takes_modules or of_python):
            return ("-m", *words[at + 1 :])
    return ()


def multirun(program: Program) -> tuple[str, ...]:
    """The words of one run, if the program is a multirun of Hydra; else ().

    Its `-m` counts where NAME=VALUE follows (hydra.cc, "Multi-run"); python has one, too.
    """
    words = (program.name, *program.arguments)
    if program.kind == "module":
        words = ("-m", *words)
    script = next((at for at, word in enumerate(words) if word.endswith(".py")), len(words))
    first = {"module": 2, "script": 1}.get(program.kind, script + 1)
    own = words[first:]
    has_override = any(re.match(r"[+~]*[\w./@]+=", word) for word in own)
    if not any(word in _MULTIRUN for word in own) and not ("-m" in own and has_override):
        return ()
    single = (_one_value(word) for word in own if word not in ("-m", *_MULTIRUN))
    return (*words[:first], *single)


def _one_value(override: str) -> str:
    """An override with the first of the values that a sweep gives it."""
    found = re.fullmatch(
        r"([+~]*[\w./@]+=)(?:([^\[({,]+),.*|(?:choice|range|interval|glob)\(.*)", override
    )
    return f"{found[1]}{found[2] or 'VALUE'}" if found else override
