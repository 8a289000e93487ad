"""Rules about options that a command, or the version that the user asks for, does not have."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobgen.lint.launchers import launchers
from jobgen.lint.options import Option, Options, asked_for, known_options
from jobgen.lint.reader.commands import base_name
from jobgen.lint.reader.directives import command_options
from jobgen.lint.rules import Directive, Edit, Findings, Script, Word, finding_at, replacement

_SLURM = ("sbatch", "salloc", "srun")
# Resources that PBS makes when it is installed, or by its hooks.
_MADE_RESOURCES = {"ngpus", "mpiprocs", "ompthreads"}
_LEAST_LETTERS = 6  # shorter names of resources are too like those that sites make
# NEC's qsub reads #PBS, too, but it has other options.
_OTHER_QSUB = re.compile("NQS|elapstim_req")


class _Given(NamedTuple):
    """An option that a script gives to a command, as written, up to its value."""

    command: str
    spelling: str
    place: Directive | Word

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        return "resource" if self.command == "qsub -l" else "option"

    @property
    def name(self) -> str:
        """The option's name or letter, without hyphens."""
        return self.spelling.lstrip("-")

    def found_in(self, options: Options) -> Option | None:
        """The option that it is, if the command has these options."""
        is_name = self.spelling.startswith("--") or self.command.startswith("qsub")
        return options.find(self.name) if is_name else options.letters.get(self.name)


def jg203_unknown_option(script: Script) -> Findings:
    for given in _given_options(script):
        options = known_options(given.command)
        wanted = asked_for(given.command, script.versions)
        if given.found_in(options) or any(given.found_in(each) for _, _, each in wanted):
            continue
        if cure := _cure(script, given, options):
            text = f"{given.command.removesuffix(' -l')} has no {given.kind} {given.spelling}"
            place = given.place if given.spelling.startswith("--") else None
            edits = _written_right(script, place) if isinstance(place, Directive) else ()
            yield finding_at(given.place, text, cure, edits)


# Names of torch's launcher, and the version that brought each.
_LAUNCHERS = {"torchrun": "1.10", "torch.distributed.run": "1.9"}


def jg222_other_version(script: Script) -> Findings:
    of_others: set[Word] = set()  # options of launchers that the version does not have at all
    for launcher in launchers(script) if script.versions else ():
        name, wanted = base_name(launcher.word.text), asked_for(launcher.name, script.versions)
        for tool, options, _ in wanted if name in _LAUNCHERS else ():
            version, since, place = tool.split()[-1], _LAUNCHERS[name], options.versions.index
            if place(version) < place(since):
                of_others.update(launcher.option_words)
                module = "run" if place(version) >= place("1.9") else "launch"
                text = f"{tool} has no {name}: it came in {since}"
                yield finding_at(launcher.word, text, f"use python -m torch.distributed.{module}")
    for given in _given_options(script) if script.versions else ():
        if given.place in of_others:
            continue
        wanted = asked_for(given.command, script.versions)
        if not wanted or any(given.found_in(options) for _, _, options in wanted):
            continue
        tool, all_options, options = wanted[0]
        text = f"{tool} has no {given.kind} {given.spelling}"
        if option := given.found_in(all_options):
            version, place = tool.split()[-1], options.versions.index
            is_new = option.since and place(option.since) > place(version)
            text += f": it came in {option.since}" if is_new else f": it went after {option.until}"
        if option or given.found_in(known_options(given.command)):
            yield finding_at(given.place, text, _instead(given, option, options))


def _instead(given: _Given, option: Option | None, options: Options) -> str:
    """What to write in a version without an option: its words or its letter name another there."""
    if given.command == "qsub" and given.name == "t":  # Torque's, for an array of jobs
        return "write -J"
    words = {name.replace("_", "-"): name for name in options.by_name}
    same = options.letters.get(option.letter) if option and option.name == given.name else None
    name = words.get(given.name) or (same.name if same else "")
    return f"write --{name}" if name else "leave it out"


def _given_options(script: Script) -> Iterator[_Given]:
    """The options of the directives, of Slurm's commands and qsub, and of launchers."""
    for directive in script.active_directives:
        if directive.line >= script.first_line and directive.option != "hetjob":
            command = "sbatch" if directive.scheduler == "slurm" else "qsub"
            yield from _of_directive(command, directive)
    for each in script.commands:
        is_pbs = each.name == "qsub" and script.scheduler == "pbs"  # else it is Grid Engine's
        if each.name not in script.functions and (each.name in _SLURM or is_pbs):
            for option in command_options(each):
                yield from _of_directive(each.name, option)
    for launcher in launchers(script):
        for word in launcher.option_words:
            yield _Given(launcher.name, word.text.partition("=")[0], word)


def _of_directive(command: str, directive: Directive) -> Iterator[_Given]:
    long_name = re.match(r"--[A-Za-z][\w-]*(?==|$)", directive.raw)
    if long_name or not directive.raw.startswith("--"):
        yield _Given(command, long_name[0] if long_name else directive.raw[:2], directive)
    for name, _ in directive.resources if "+" not in directive.value else ():
        yield _Given("qsub -l", name, directive)


def _cure(script: Script, given: _Given, options: Options) -> str:
    """What to write instead; "" if a site or a placeholder may have such an option."""
    if given.command not in (*_SLURM, "qsub", "qsub -l"):
        near = options.nearest(given.name, 0.6)
        newest = f"lint knows the options up to {options.versions[-1]}"
        return f"did you mean --{near}?" if near else f"see `{given.command} --help`; {newest}"
    if given.command == "qsub -l":
        names = [name for name in options.newest if len(name) >= _LEAST_LETTERS]
        near = next((name for name in names if _differs_by_one_letter(given.name, name)), "")
        return f"did you mean {near}?" if near and given.name not in _MADE_RESOURCES else ""
    if given.spelling.startswith("--"):  # a plug-in (SPANK) may have others
        near = options.nearest(given.name.replace("_", "-"))
        return f"did you mean --{near}?" if near else ""
    if given.command == "qsub" and _OTHER_QSUB.search(script.text):
        return ""
    if any(word.line == given.place.line for word in script.stray_words):
        return ""  # JG204 reports both
    return instead_of(given.command, given.name)


def instead_of(command: str, letter: str) -> str:
    """The cure for an option -x: the same letter in the other case, if there is one."""
    options, other = known_options(command), letter.swapcase()
    if command == "qsub":
        return f"did you mean -{other}?" if other in options.by_name else "remove it"
    option = options.letters.get(other)
    return f"did you mean -{other}, --{option.name}?" if option else "remove it"


def _written_right(script: Script, directive: Directive) -> list[Edit]:
    """The edit that corrects the spelling of an option, if only one option can be meant."""
    name = directive.raw[2:].partition("=")[0]
    plain = name.replace("_", "-").lower()
    options = known_options("sbatch").newest
    is_beginning = any(option.startswith(plain) for option in options)
    near = [option for option in options if _differs_by_one_letter(plain, option)]
    meant = [plain] if plain in options else [] if is_beginning else near
    column = directive.column + 2
    is_there = script.lines[directive.line - 1].startswith(name, column - 1)
    is_certain = len(meant) == 1 and is_there
    return [replacement(directive.line, column, name, meant[0])] if is_certain else []


def _differs_by_one_letter(word: str, other: str) -> bool:
    """Whether two words differ by one added, missing or changed letter, or two swapped letters."""
    while word and other and word[0] == other[0]:
        word, other = word[1:], other[1:]
    while word and other and word[-1] == other[-1]:
        word, other = word[:-1], other[:-1]
    return max(len(word), len(other)) <= 1 or (len(word) == 2 and word == other[::-1])
