"""The torchruns of a script, with their options, and what it asks the scheduler for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from jobgen.lint.directives import whole
from jobgen.lint.script import Command, Script, Word, starter

# torchrun's options that take no value (torch/distributed/run.py).
_FLAGS = frozenset(("standalone", "module", "no-python", "run-path", "use-env", "help"))
_CONTAINERS = frozenset(("apptainer", "singularity", "podman", "docker", "shifter"))


@dataclass(frozen=True)
class Torchrun:
    """One command that starts torchrun; `starter` is what starts it on the nodes, if anything."""

    command: Command
    at: Word
    options: Mapping[str, Word]
    starter: str

    def value(self, *names: str) -> str:
        """The value of an option by any of its names; "" if it is not there."""
        return next((self.options[name].text for name in names if name in self.options), "")

    def number(self, *names: str) -> int | None:
        """The value of an option if it is a plain number."""
        return whole(self.value(*names))

    @property
    def several(self) -> bool:
        """Whether it is one agent of several, by its own options."""
        if "standalone" in self.options:
            return False
        return self.value("nnodes") not in ("", "1", "1:1")

    @cached_property
    def starting(self) -> list[Word]:
        """The words before torchrun: srun with its options, a container, …"""
        found = []
        for word in self.command.words:
            if (word.line, word.column) >= (self.at.line, self.at.column):
                break
            found.append(word)
        return found


def torchruns(script: Script) -> list[Torchrun]:
    """Every torchrun, `python -m torch.distributed.run` and `… .launch` of a script."""
    cached: list[Torchrun] | None = script.__dict__.get("torchruns")
    if cached is None:
        cached = script.__dict__["torchruns"] = list(_torchruns(script))
    return cached


def _torchruns(script: Script) -> Iterator[Torchrun]:
    for command in script.commands:
        if command.name in ("echo", "printf", "which", "command", "export", "pip", "type", "pgrep",
                            "pkill", "killall", "test", "[", "grep"):  # fmt: skip
            continue
        words = script.words(command)
        for number, word in enumerate(words):
            name = word.text.rpartition("/")[2]
            is_module = name in ("torch.distributed.run", "torch.distributed.launch")
            is_module = is_module and number > 0 and words[number - 1].text.endswith("-m")
            if name == "torchrun" or is_module:
                started = starter(command, words[:number])
                yield Torchrun(command, word, _options(words[number + 1 :]), started)
                break


def _options(words: list[Word]) -> dict[str, Word]:
    """The options by their names with hyphens; those behind the program are its own."""
    found: dict[str, Word] = {}
    listed = iter(words)
    for word in listed:
        if word.text in ("-m", "--module"):
            break
        if not word.text.startswith("-"):
            if word.variables or word.substitutes:
                continue  # may be options that are not known here
            break
        name, equals, value = word.text.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if equals or name in _FLAGS:
            found[name] = Word(value, word.line, word.column, word.variables, word.substitutes,
                               word.raw)  # fmt: skip
        elif (following := next(listed, None)) is not None:
            found[name] = following
    return found


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
    mains = {(each.command.line, each.command.column) for each in torchruns(script)}
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
