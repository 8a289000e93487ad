"""The commands of a script that start ranks; their options have torchrun's names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jobgen.lint.options import Options, known_options
from jobgen.lint.reader.commands import SHELLS, Command, Word, base_name, starter_of
from jobgen.lint.reader.directives import whole_number
from jobgen.lint.reader.script import Script

# The names that other launchers have for torchrun's options.
_OPTION_NAMES = {
    "torchrun": {},
    "accelerate launch": {
        "nnodes": "num_machines", "node-rank": "machine_rank", "ranks": "num_processes",
        "master-addr": "main_process_ip", "master-port": "main_process_port",
        "rdzv-backend": "rdzv_backend",
    },
    "deepspeed": {"nnodes": "num_nodes", "nproc-per-node": "num_gpus"},
}  # fmt: skip
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed.launcher.runner": "deepspeed",
}
_ANY_LAUNCHER = re.compile("torchrun|torch.distributed|accelerate|deepspeed")
# An address that means the node itself on every node; a port may follow.
LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d+){3}|\[?::1\]?)(?=:\d+$|$)")
# Options whose value has the address of the first node.
ENDPOINTS = ("rdzv-endpoint", "master-addr")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_PORT = re.compile(r"^\d{4,5}$|:\d{4,5}$")
_STARTERS_ON_ALL_NODES = ("srun", "mpiexec", "mpirun", "pbsdsh", "pdsh", "clush")
# Options of srun that say how many tasks or nodes a step has.
STEP_COUNTS = ("-n", "--ntasks", "-N", "--nodes", "--ntasks-per-node")
_OTHER_COMMANDS = frozenset(
    "echo printf which command export pip conda module type pgrep pkill killall test [ grep".split()
)
# Commands that may well succeed after a run that has failed.
SMALL_COMMANDS = frozenset(
    """
    echo date deactivate printf conda mamba rm module ml set unset cd popd sacct sstat seff squeue
    dcgmi nvidia-smi rocm-smi sleep wait true : kill pkill touch mkdir cp mv rsync tar ls du df cat
    tail head tee sync curl mail [ [[ test export uname pwd env printenv hostname whoami uptime free
    lscpu times
    """.split()
)
# Programs that prepare a job or show something, whose failure may not matter.
PREPARING = SMALL_COMMANDS - {"conda", "mamba"} | frozenset(
    "ray scontrol enroot podman docker chmod pip which grep pgrep".split()
)
# Names that say nothing of the work, or whose work is known by their words.
NO_WORK = PREPARING | SMALL_COMMANDS | frozenset(
    """
    source eval exec exit shift trap return local declare typeset read ulimit umask alias shopt let
    break continue sbatch qsub scancel ssh pbs_tmrsh srun mpiexec mpirun python python3 bash sh
    singularity apptainer git sed awk find sort wc sinfo nvcc gcc lspci ip ibstat ifconfig
    """.split()
)  # fmt: skip


@dataclass(frozen=True)
class RanksPerNode:
    """How many ranks a launcher starts on a node, and the word that says so."""

    count: int
    word: Word


@dataclass(frozen=True)
class Launcher:
    """A command that starts ranks: torchrun, accelerate launch, deepspeed.

    `options` has torchrun's names as keys; `starter` (srun, …) starts the launcher on the nodes.
    """

    name: str
    command: Command
    word: Word  # the launcher's name in the command
    options: Mapping[str, Word]
    starter: str
    has_all_options: bool  # no option is in a variable whose value is not known
    option_words: Sequence[Word] = ()  # the words that certainly begin options of the launcher

    def value(self, *names: str) -> str:
        """The value of an option by any of its names; "" if the option is not given."""
        return next((self.options[name].text for name in names if name in self.options), "")

    def number(self, *names: str) -> int | None:
        """The value of an option as a number; None if the value is not a plain number."""
        return whole_number(self.value(*names))

    def option_name(self, name: str) -> str:
        """This launcher's own name for an option of torchrun."""
        return "--" + _OPTION_NAMES[self.name].get(name, name)

    @property
    def is_multi_node(self) -> bool:
        """Whether the options of this launcher say that there are several nodes."""
        if "standalone" in self.options:
            return False
        return self.value("nnodes") not in ("", "1", "1:1")

    @property
    def ranks_per_node(self) -> RanksPerNode | None:
        """The ranks that this launcher starts on a node; None if no option gives a plain number.

        accelerate gets the number of all ranks, and starts an equal part of them on each node.
        """
        for name in ("nproc-per-node", "nproc", "ranks"):
            if (count := self.number(name)) is not None:
                nodes = self.number("nnodes") if name == "ranks" else 1
                return RanksPerNode(count // nodes, self.options[name]) if nodes else None
        return None


def torchruns(script: Script) -> list[Launcher]:
    """Every torchrun, `python -m torch.distributed.run` and `… .launch` of a script."""
    return [launcher for launcher in launchers(script) if launcher.name == "torchrun"]


@lru_cache(8)  # most rules ask for the launchers of the same script
def launchers(script: Script) -> list[Launcher]:
    """Every command of a script that starts ranks on a node."""
    if not _ANY_LAUNCHER.search(script.text):  # most job scripts have no launcher
        return []
    commands = [command for command in script.commands if command.name not in _OTHER_COMMANDS]
    return [found for command in commands if (found := _launcher(script, command))]


def _launcher(script: Script, command: Command) -> Launcher | None:
    words = script.expanded_words(command)
    for index, word in enumerate(words):
        if name := _launcher_name(words, index):
            following = words[index + 1 + (word.text == "accelerate") :]
            options, has_all, option_words = _options(following, known_options(name))
            for option, own_name in _OPTION_NAMES[name].items():
                if value := options.pop(own_name.replace("_", "-"), None):
                    options[option] = value
            starter = starter_of(command, words[:index])
            return Launcher(name, command, word, options, starter, has_all, option_words)
    return None


def _launcher_name(words: Sequence[Word], index: int) -> str:
    """The launcher that a word names; "" for any other word."""
    name = base_name(words[index].text)
    before = words[index - 1].text if index else ""
    following = words[index + 1].text if index + 1 < len(words) else ""
    if name in _MODULES:
        return _MODULES[name] if before.endswith("-m") else ""
    if name == "accelerate-launch" or (name == "accelerate" and following == "launch"):
        return "accelerate launch"
    if name == "deepspeed" and re.match(r"--?[A-Za-z]|.*\.py$", following):
        return "" if re.fullmatch("-[A-Za-z]", before) else name  # after an option, it is a value
    return name if name == "torchrun" else ""


def _options(words: Sequence[Word], own: Options) -> tuple[dict[str, Word], bool, Sequence[Word]]:
    """The options by name, with hyphens in the names, and whether these are certainly all options.

    The options after the program are the program's own. The words of options end at the first
    that is not its `own`, since it may or may not take a value.
    """
    options: dict[str, Word] = {}
    option_words: list[Word] = []
    has_all = is_certain = True
    remaining = iter(words)
    for word in remaining:
        if word.text in ("-m", "--module") or word.text.endswith(".py"):
            break
        if not word.text.startswith("-"):
            if not word.is_literal:
                has_all = is_certain = False
                continue
            break
        spelling, equals, value = word.text.partition("=")
        name = spelling.lstrip("-")
        option = own.find(name) if spelling.startswith("--") else own.letters.get(name)
        option_words += [word] if is_certain and _OPTION.fullmatch(spelling) else []
        is_certain = is_certain and bool(option)
        name = "hostfile" if name == "H" else name.replace("_", "-")
        option = option or own.find(name.replace("-", "_"))
        if equals or (option and not option.argument):
            options[name] = word._replace(text=value)
        elif (following := next(remaining, None)) is not None:
            options[name] = following
    return options, has_all, option_words


def starter_option(words: Sequence[Word], *names: str) -> Word | None:
    """The value of an option of srun, or another starter, by any of its names."""
    for index, word in enumerate(words):
        for name in names:
            if word.text == name and index + 1 < len(words):
                return words[index + 1]
            begin = "=" if name.startswith("--") else r"=|(?=\d)"
            if found := re.match(f"{name}({begin})", word.text):
                return word._replace(text=word.text[found.end() :], raw="")
    return None


def runs_on_all_nodes(script: Script, command: Command) -> bool:
    """Whether srun or another starter, outside if and case, runs a command on all nodes."""
    is_branch = command.enclosing & {"if_statement", "case_statement"}
    if is_branch or starter_of(command) not in _STARTERS_ON_ALL_NODES:
        return False
    words = outer_command(script, command).words
    counts = [starter_option(words, *names) for names in (("-N", "--nodes"), ("-n", "--ntasks"))]
    has_one = script.number("ntasks") == 1 or any(each and each.text == "1" for each in counts)
    return not has_one and not starter_option(words, "-w", "--nodelist", "-r", "--relative")


def starts_elsewhere(script: Script) -> bool:
    """Whether a command may use nodes other than the node on which the script runs."""
    if script.functions or script.runs_itself:
        return True
    return any(
        starter_of(command) or command.depth or command.name in ("sbatch", "qsub", "ray", *SHELLS)
        for command in script.commands
    )


def outer_command(script: Script, command: Command) -> Command:
    """The command itself, or the script's own command whose quoted string contains this command."""
    if not command.depth:
        return command
    before = [each for each in script.own_commands if each.offset <= command.offset]
    return max(before, key=lambda each: each.offset, default=command)


@lru_cache(8)
def work_commands(script: Script) -> list[Command]:
    """The commands that do the job's work: torchrun, srun, mpiexec, python with a file."""
    places = {(each.command.line, each.command.column) for each in launchers(script)}
    return [
        command
        for command in script.commands
        if (command.line, command.column) in places or _runs_program(command)
    ]


def _runs_program(command: Command) -> bool:
    words = [word.text for word in command.words]
    if re.fullmatch(r"python[\d.]*", command.name):
        return any(word.endswith(".py") and not word.endswith("setup.py") for word in words)
    if command.name not in ("srun", "mpiexec", "mpirun"):
        return False
    has_shell = any(base_name(word) in SHELLS for word in words)
    return any(
        word.endswith((".py", ".sh")) or "python" in word or (has_shell and word == "-c")
        for word in words
    )


def fixed_ports(script: Script) -> list[tuple[Launcher, Word]]:
    """The launchers whose port is the same in every job, each with the word that has the port."""
    found = []
    for launcher in launchers(script):
        words = [launcher.options.get(name) for name in ("rdzv-endpoint", "master-port")]
        fixed = [
            word
            for word in words
            if word and _PORT.search(script.resolved(word.text, launcher.command))
        ]
        has_own_port = "standalone" in launcher.options or "is_host" in launcher.value("rdzv-conf")
        if fixed and not has_own_port:
            found.append((launcher, fixed[0]))
    return found
