"""The launchers of a script, with their options, and what it asks the scheduler for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from jobgen.lint.directives import whole
from jobgen.lint.script import Command, Script, Word, starter

# Options that take no value: torch/distributed/run.py, accelerate/commands/launch.py,
# deepspeed/launcher/runner.py.
_FLAGS = frozenset(
    """
    standalone module no-python run-path use-env help
    quiet q cpu multi-gpu tpu ipex enable-cpu-affinity dynamo-use-fullgraph dynamo-use-dynamic
    use-deepspeed use-fsdp use-megatron-lm use-xpu same-network tpu-cluster no-tpu-cluster
    tpu-use-sudo downcast-bf16 debug
    no-local-rank no-ssh no-ssh-check force-multi save-pid elastic-training bind-cores-to-rank
    """.split()
)
# Other launchers' names for what torchrun calls so.
_SPELLED = {
    "torchrun": {},
    "accelerate launch": {
        "nnodes": "num_machines", "node-rank": "machine_rank", "ranks": "num_processes",
        "master-addr": "main_process_ip", "master-port": "main_process_port",
    },
    "deepspeed": {"nnodes": "num_nodes", "nproc-per-node": "num_gpus"},
}  # fmt: skip
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed.launcher.runner": "deepspeed",
}
_NO_LAUNCH = frozenset(
    "echo printf which command export pip conda module type pgrep pkill killall test [ grep".split()
)


@dataclass(frozen=True)
class Launcher:
    """One command that starts ranks: torchrun, accelerate launch, deepspeed.

    `options` are by torchrun's names; `starter` is what starts it on the nodes, if anything.
    """

    name: str
    command: Command
    at: Word
    options: Mapping[str, Word]
    starter: str
    all_known: bool  # no option is in a variable that is not known

    def value(self, *names: str) -> str:
        """The value of an option by any of its names; "" if it is not there."""
        return next((self.options[name].text for name in names if name in self.options), "")

    def number(self, *names: str) -> int | None:
        """The value of an option if it is a plain number."""
        return whole(self.value(*names))

    def spelled(self, name: str) -> str:
        """What this launcher calls torchrun's option."""
        return "--" + _SPELLED[self.name].get(name, name)

    @property
    def several(self) -> bool:
        """Whether it is one agent of several, by its own options."""
        if "standalone" in self.options:
            return False
        return self.value("nnodes") not in ("", "1", "1:1")

    @property
    def ranks(self) -> tuple[int, Word] | None:
        """The ranks it starts on a node, and the word that says so; None if that is not plain.

        accelerate is told of all ranks, and gives each node its part.
        """
        for name in ("nproc-per-node", "nproc", "ranks"):
            if (count := self.number(name)) is not None:
                nodes = self.number("nnodes") if name == "ranks" else 1
                return (count // nodes, self.options[name]) if nodes else None
        return None

    @cached_property
    def starting(self) -> list[Word]:
        """The words before it: srun with its options, a container, …"""
        found = []
        for word in self.command.words:
            if (word.line, word.column) >= (self.at.line, self.at.column):
                break
            found.append(word)
        return found


def torchruns(script: Script) -> list[Launcher]:
    """Every torchrun, `python -m torch.distributed.run` and `… .launch` of a script."""
    return [each for each in launchers(script) if each.name == "torchrun"]


def launchers(script: Script) -> list[Launcher]:
    """Every command of a script that starts ranks on a node."""
    cached: list[Launcher] | None = script.__dict__.get("launchers")
    if cached is None:
        cached = script.__dict__["launchers"] = list(_launchers(script))
    return cached


def _launchers(script: Script) -> Iterator[Launcher]:
    for command in script.commands:
        if command.name in _NO_LAUNCH:
            continue
        words = script.words(command)
        for number in range(len(words)):
            if not (name := _launcher(words, number)):
                continue
            own = words[number + 1 + (words[number].text == "accelerate") :]
            options, all_known = _options(own)
            theirs = {said.replace("_", "-"): ours for ours, said in _SPELLED[name].items()}
            options = {theirs.get(said, said): word for said, word in options.items()}
            started = starter(command, words[:number])
            yield Launcher(name, command, words[number], options, started, all_known)
            break


def _launcher(words: list[Word], number: int) -> str:
    """Which launcher a word is; "" for any other word."""
    name = words[number].text.rpartition("/")[2]
    if name in _MODULES:
        return _MODULES[name] if number and words[number - 1].text.endswith("-m") else ""
    following = words[number + 1].text if number + 1 < len(words) else ""
    if name == "accelerate-launch" or (name == "accelerate" and following == "launch"):
        return "accelerate launch"
    if name == "deepspeed" and re.match(r"--?[A-Za-z]|.*\.py$", following):
        before = words[number - 1].text if number else ""
        return "" if re.fullmatch("-[A-Za-z]", before) else name  # else the value of an option
    return name if name == "torchrun" else ""


def _options(words: list[Word]) -> tuple[dict[str, Word], bool]:
    """The options by their names with hyphens, and whether there are no others for certain.

    Those behind the program are its own.
    """
    found: dict[str, Word] = {}
    all_known = True
    listed = iter(words)
    for word in listed:
        if word.text in ("-m", "--module") or word.text.endswith(".py"):
            break
        if not word.text.startswith("-"):
            if word.variables or word.substitutes:
                all_known = False
                continue
            break
        name, equals, value = word.text.lstrip("-").partition("=")
        name = "hostfile" if name == "H" else name.replace("_", "-")
        if equals or name in _FLAGS:
            found[name] = Word(value, word.line, word.column, word.variables, word.substitutes,
                               word.raw)  # fmt: skip
        elif (following := next(listed, None)) is not None:
            found[name] = following
    return found, all_known


def srun_option(words: list[Word], *names: str) -> Word | None:
    """The value that srun (or another starter) is given for an option, by any of its names."""
    for number, word in enumerate(words):
        for name in names:
            if word.text == name and number + 1 < len(words):
                return words[number + 1]
            long = name.startswith("--")
            if word.text.startswith(name + "=") or (
                not long and re.match(re.escape(name) + r"\d", word.text)
            ):
                text = word.text[len(name) :].removeprefix("=")
                return Word(text, word.line, word.column, word.variables, word.substitutes)
    return None


def gpus_per_node(script: Script) -> tuple[int, int, int] | None:
    """GPUs a node as the directives have it, with the line and column; None if they do not say."""
    if script.selects:
        told, chunks = script.selects[-1]
        counts = {pairs.get("ngpus", "") for _, pairs in chunks}
        gpus = whole(counts.pop()) if len(counts) == 1 else None
        return None if gpus is None else (gpus, told.line, told.column)
    if told_ := script.option("gpus-per-node"):
        found = re.fullmatch(r"(?:[\w.-]+:)?(\d+)", told_.value)
        return (int(found[1]), told_.line, told_.column) if found else None
    if told_ := script.option("gres"):
        found = re.fullmatch(r"gpu(?::[A-Za-z][\w.-]*)?(?::(\d+))?", told_.value)
        return (int(found[1] or 1), told_.line, told_.column) if found else None
    return None


def runs(script: Script) -> list[Command]:
    """The commands that do the job's work: torchrun, srun, mpiexec, python with a file."""
    mains = {(each.command.line, each.command.column) for each in launchers(script)}
    found = []
    for command in script.commands:
        words = [word.text for word in command.words]
        is_python = re.fullmatch(r"python[\d.]*", command.name) and any(
            word.endswith(".py") for word in words
        )
        is_started = command.name in ("srun", "mpiexec", "mpirun") and any(
            word.endswith((".py", ".sh")) or "python" in word or word == "-c" for word in words
        )
        if (command.line, command.column) in mains or is_python or is_started:
            found.append(command)
    return found


def strict(script: Script) -> tuple[bool, bool]:
    """Whether the script sets -e, and pipefail."""
    texts = [" ".join(word.text for word in each.words) for each in script.commands
             if each.name == "set" and each.depth == 0]  # fmt: skip
    first = script.lines[0] if script.lines else ""
    if first.startswith("#!"):
        texts.append("set " + " ".join(first.split()[1:]))
    errexit = any(re.search(r" -[a-zA-Z]*e|errexit", text) for text in texts)
    return errexit, any("pipefail" in text for text in texts)


def again(script: Script) -> bool:
    """Whether a script starts itself once more, perhaps on each node."""
    return any(
        re.search(r"\$0\b|\$\{0\}|BASH_SOURCE", word.text)
        and "dirname" not in script.lines[word.line - 1]
        and each.name not in ("echo", "basename", "cd", "printf", "cp", "cat", "realpath")
        for each in script.commands
        for word in each.words
    )


def containers(script: Script) -> list[tuple[Command, list[Word]]]:
    """The commands that run a container by podman or docker, each with its words."""
    found = []
    for command in script.commands:
        words = script.words(command)
        names = [word.text for word in words]
        for engine in ("podman", "docker"):
            if engine in names and "run" in names[names.index(engine) : names.index(engine) + 3]:
                found.append((command, words[names.index(engine) :]))
    return found


def whole_nodes(script: Script) -> bool:
    """Whether the directives ask for nodes that no other job is on."""
    told = script.option("exclusive")
    places = [each.value for each in script.live if each.option == "l" and "place=" in each.value]
    return bool(told and told.value in ("", "exclusive")) or any("excl" in each for each in places)


def fixed_port(script: Script, run: Launcher) -> Word | None:
    """The word that names a port that is the same in every job; None if there is none."""
    if "standalone" in run.options or "is_host" in run.value("rdzv-conf"):
        return None
    for name in ("rdzv-endpoint", "master-port"):
        word = run.options.get(name)
        text = script.resolved(word.text) if word else ""
        if word and re.search(r"^\d{4,5}$|:\d{4,5}$", text):
            return word
    return None
