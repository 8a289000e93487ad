"""The program of every rank: a packaged trainer, or the user's own program with its arguments.

A program may start ranks itself, such as torchrun, or do several runs, such as wandb agent.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from jobgen.errors import problem
from jobgen.quoting import quote
from jobgen.trainers import source


class Program(NamedTuple):
    """`kind` is trainer, script (Python), module (Python) or command; `source` a trainer's text."""

    kind: str
    name: str
    arguments: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_file(self) -> bool:
        """Whether the name is a path."""
        return self.kind == "script" or (self.kind == "command" and "/" in self.name)

    @property
    def has_dashes(self) -> bool:
        """Whether an argument looks like an option, also to the launcher of the program."""
        return any(word.startswith("-") for word in self.arguments)


def make_program(words: tuple[str, ...], trainer: str, trainer_given: bool, place: str) -> Program:
    """Returns the program for the words after `--`; without words, the program is the trainer.

    If the user names a trainer (`trainer_given`), the words are its arguments; `place` is where it
    was named. Raises JobgenError for words that cannot be passed to a rank.
    """
    if any("\0" in word for word in words):
        raise problem("--", "an argument contains a NUL character", "value", "remove it")
    if trainer_given and words and words[0].endswith(".py"):
        hint = "with --trainer, only arguments for it follow `--`"
        raise problem("--trainer", f"a trainer, and the program {words[0]!r:.80}", "conflict", hint)
    if trainer_given or not words:
        return Program("trainer", trainer, words, source(trainer, place))
    if words[0] == "-m":
        if len(words) == 1 or words[1].startswith("-"):
            raise problem("--", "-m without a module", "usage", "-m PACKAGE.MODULE")
        if words[1].endswith(".py"):
            hint = f"write -- {quote(words[1])}, or a module: -- -m {quote(words[1][:-3])}"
            raise problem("--", f"-m with the file {words[1]!r:.80}", "usage", hint)
        return Program("module", words[1], words[2:])
    if words[0].endswith((".pbs", ".sbatch", ".slurm")):
        hint = "jobgen writes that script: give the program in it, such as -- train.py"
        raise problem("--", f"{words[0]!r:.80} is a script for a scheduler", "usage", hint)
    if not words[0] or words[0].startswith("-"):
        hint = "a script, a command, or -m MODULE"
        raise problem("--", f"{words[0]!r:.80} is not a program", "usage", hint)
    return Program("script" if words[0].endswith(".py") else "command", words[0], words[1:])


def escape_macros(word: str) -> str:
    """Escapes a word for torchrun, so that torchrun passes the word on unchanged.

    torchrun replaces $local_rank by the rank and $$ by $ (torch/distributed/elastic/utils/api.py,
    `macros.substitute`: a string.Template).
    """
    has_macro = "$" in word and re.search(r"\$(\$|local_rank|\{local_rank\})", word)
    return word.replace("$", "$$") if has_macro else word


AGENT = "wandb agent"  # does one run of a sweep after another, in each process that starts it


class OtherLauncher(NamedTuple):
    """Another launcher, which a job's program is or starts.

    `before` are the words before the launcher (`uv run`), `inner` are those of the program that it
    starts, if they can be found, and `options` are the words between them. `template` is the
    command that starts the launcher once on each node, if jobgen knows one.
    """

    name: str
    before: tuple[str, ...]
    inner: tuple[str, ...]
    options: tuple[str, ...]

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
    "composer": "composer --nproc %g --world_size %G --node_rank %n --master_addr %h"
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
_OTHERS = "srun mpirun mpiexec orterun horovodrun prun aprun jsrun pbsdsh blaunch composer".split()
_COMMANDS = {
    "torchrun": "torchrun",
    "accelerate-launch": "accelerate launch",
    "deepspeed": "deepspeed",
    "ds": "deepspeed",
    "ft_launcher": "ft_launcher",
    "ray": "ray",
    **{name: name for name in _OTHERS},
}
_TWO_WORDS = {
    "accelerate": "launch",
    "wandb": "agent",
    "fabric": "run",
    "lightning": "run",
    "colossalai": "run",
}
# Commands that run another command, each with the word that stands between the two.
_WRAPPERS = {
    **dict.fromkeys("uv poetry pixi pdm pipenv hatch rye conda mamba micromamba".split(), "run"),
    **dict.fromkeys(("apptainer", "singularity"), "exec"),
    "nsys": "profile",
    **dict.fromkeys("env exec nice nohup numactl stdbuf taskset time timeout".split(), ""),
}
# Options, variables, numbers and images of a wrapper; an option's value may be the word after it.
_OF_WRAPPER = re.compile(r"-.*|\w+=.*|[\d.,-]+[smhd]?|.*\.sif")
_MULTIRUN = ("--multirun", "hydra.mode=MULTIRUN")
_PYTHON = re.compile(r"python(3(\.\d+)?)?")


def find_launcher(program: Program) -> OtherLauncher | None:
    """Returns the launcher that a program is or starts, by its whole name; None if it is none.

    `python -m MODULE`, `uv run COMMAND`, `env NAME=VALUE COMMAND`, `bash -c COMMAND` and similar
    words count as the command that they start.
    """
    if program.kind == "module":
        words = ("python", "-m", program.name, *program.arguments)
    elif program.kind == "command":
        words = (program.name, *program.arguments)
    else:
        return None
    name, start, end = _located(words, 0)
    before = () if program.kind == "module" else words[:start]
    inner = _inner(name, words[end:])
    options = words[end : len(words) - len(inner)] if inner else ()
    return OtherLauncher(name, before, inner, options) if name else None


def _located(words: Sequence[str], start: int) -> tuple[str, int, int]:
    """Returns the name ("" if none), the start and the end of the launcher that a command runs."""
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
    """Returns what `_located` finds behind the options of a wrapper, such as `env` or `uv run`."""
    for at in range(start, len(words)):
        if _OF_WRAPPER.fullmatch(words[at]):
            continue
        found = _located(words, at)
        if found[0] or not words[at - 1].startswith("-") or at == start:
            return found
    return "", 0, 0


def _module(words: Sequence[str], start: int) -> int:
    """Returns the place of the module that python gets with -m, before any script; 0 if none."""
    for at, word in enumerate(words[start:], start):
        if word in ("-m", "-um"):
            return at + 1 if at + 1 < len(words) else 0
        if not word.startswith("-"):
            return 0
    return 0


def _shell_text(options: Sequence[str]) -> str:
    """Returns the commands that a shell gets with -c; "" if there are none."""
    places = [at for at, word in enumerate(options[:-1]) if re.fullmatch("-[a-z]*c", word)]
    return options[places[0] + 1] if places else ""


def launcher_in_shell(text: str) -> str:
    """Returns the first launcher among the plain commands of a shell's text; else ""."""
    commands = re.split(r"&&|\|\||[;|\n]", text)
    plain = (re.sub(r"^(\s*\w+=\S*)+\s", "", command).split() for command in commands)
    return next((name for words in plain if words and (name := _located(words, 0)[0])), "")


def _inner(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns a launcher's program as words for jobgen's `--`; () if the program is unclear."""
    takes_modules = name in ("torchrun", "accelerate launch", "deepspeed")
    for at, word in enumerate(words):
        if word.endswith(".py"):
            return tuple(words[at:])
        of_python = at > 0 and _PYTHON.fullmatch(words[at - 1])
        if word in ("-m", "--module") and words[at + 1 :] and (takes_modules or of_python):
            return ("-m", *words[at + 1 :])
    return ()


def multirun(program: Program) -> tuple[str, ...]:
    """Returns the words of one run, if the program is a multirun of Hydra; else ().

    Hydra's `-m` counts only beside a NAME=VALUE (hydra.cc, "Multi-run"): python has a -m, too.
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
    """Returns an override with the first of the values that a sweep gives it."""
    found = re.fullmatch(
        r"([+~]*[\w./@]+=)(?:([^\[({,]+),.*|(?:choice|range|interval|glob)\(.*)", override
    )
    return f"{found[1]}{found[2] or 'VALUE'}" if found else override
