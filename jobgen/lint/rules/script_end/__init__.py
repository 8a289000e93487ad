"""Rules about the end of a job: its exit status, its signals, and what it waits for."""

import re
from collections.abc import Sequence
from functools import lru_cache

from jobgen.lint.launchers import work_commands
from jobgen.lint.reader.commands import SHELLS, base_name, starter_of
from jobgen.lint.reader.directives import program_of
from jobgen.lint.reader.flow import common_length
from jobgen.lint.rules import Command, Findings, Script, finding_at

_PYTHON = re.compile(
    r"(?:(?:uv|poetry|pixi|conda|time|nohup|numactl|env|nsys|taskset)\s[^|]*?)?(?:[\w./-]*/)?"
    r"python[\d.]*\s(?:[^|]*\.py\b|(?:-\S+\s)*-m (?!pip|venv|site|ensurepip))"
)
# Programs that prepare a job or show something, whose failure may not matter.
_PREPARE = frozenset(
    """
    hostname echo date nvidia-smi rocm-smi rm mkdir cp rsync tar ls cat ray pkill kill sleep true
    env printenv lscpu scontrol enroot podman docker df free dcgmi chmod
    """.split()
)
_STEPS = ("srun", "mpiexec", "mpirun")
_NO_RUNS = frozenset("echo printf which command pip pgrep pkill export grep ssh [ test".split())


@lru_cache(8)  # two rules ask for the runs of the same script
def _runs(script: Script) -> list[Command]:
    """The script's own commands that do the job's work, in the order of the text."""
    work = {id(command) for command in work_commands(script)}
    return [
        command
        for command in script.own_commands
        if not command.enclosing & {"command_substitution", "function_definition"}
        and (id(command) in work or _is_run(script, command))
    ]


def _is_run(script: Script, command: Command) -> bool:
    name, arguments, text = command.name, command.arguments, command.text
    if name.startswith("$"):
        words = [word.text for word in script.expanded_words(command)] or [""]
        name, arguments, text = base_name(words[0]), words[1:], " ".join(words)
    if name in _STEPS:
        program = program_of(command) if name == command.name == "srun" else None
        return not program or base_name(program.text) not in _PREPARE
    if name in ("ssh", "pbs_tmrsh"):
        return len(arguments) > 1 and _is_in_background(script, command)
    if name in ("singularity", "apptainer"):
        return arguments[:1] in (["exec"], ["run"])
    if name in script.functions:
        ranges = [(start, end) for each, start, end in script.function_ranges if each == name]
        return any(
            start < each.offset < end for each in work_commands(script) for start, end in ranges
        )
    is_file = name in SHELLS and arguments[-1:] and arguments[0].endswith(".sh")
    is_own = command.words and re.match(r"\.{0,2}/|\$\w+/", command.words[0].text)
    is_program = is_file or (is_own and name not in _PREPARE | _SMALL_COMMANDS)
    return name not in _NO_RUNS and bool(is_program or _PYTHON.match(text))


def _is_in_background(script: Script, command: Command) -> bool:
    # The reader does not see the & of `ssh HOST bash <<END &`.
    own = script.lines[command.line - 1]
    return "background" in command.enclosing or bool(re.search(r"<<.*&\s*$", own))


# Programs that pass a run's text on; their status says nothing about the run.
_PASS_TEXT_ON = frozenset("tee tail head cat ts".split())
_FILTERS = frozenset("grep sed awk while".split())  # whose own status may be asked for
_MAY_BE_PIPED = {
    "pipeline", "list", "tested", "if_statement", "else_clause", "for_statement", "while_statement"
}  # fmt: skip
_MESSAGES = ("echo", "printf", "cat", "ls", "grep", "sort", "find", "squeue", "sacct", "date")
# Commands that may well succeed after a run that has failed.
_SMALL_COMMANDS = frozenset(
    """
    echo date deactivate printf conda mamba rm module ml set unset cd popd sacct sstat seff squeue
    dcgmi nvidia-smi rocm-smi sleep wait true : kill pkill touch mkdir cp mv rsync tar ls du df cat
    tail head tee sync curl mail [ [[ test export uname pwd env printenv hostname whoami uptime free
    lscpu times
    """.split()
)


def jg304_pipe_hides_status(script: Script) -> Findings:
    runs = _runs(script) if "|" in script.text else []
    for command in script.own_commands if "PIPESTATUS" not in script.text else ():
        last = command.piped_into
        is_nested = starter_of(command) == "ssh" or command.enclosing - _MAY_BE_PIPED
        if last not in _PASS_TEXT_ON | _FILTERS or is_nested or script.has_set("pipefail", command):
            continue
        if "tested" in command.enclosing:
            if command.name not in _MESSAGES and last not in _FILTERS:
                text = f"what tests this gets the status of {last}, even if {command.name} fails"
                yield finding_at(command, text, "set -o pipefail")
            continue
        if command in runs and (script.has_set("errexit", command) or _is_last(script, command)):
            text = f"the job counts as done even if {command.name} fails"
            yield finding_at(command, f"{text}: the status is that of {last}", "set -o pipefail")


def _is_last(script: Script, run: Command) -> bool:
    """Whether nothing after a run but small commands has a status, or looks at anything else."""
    after = [each for each in script.own_commands if each.offset > run.offset]
    exits = [
        each for each in after if each.name == "exit" and each.arguments[:1] not in ([], ["0"])
    ]
    is_handled = exits and "$?" not in "\n".join(script.lines[run.line - 1 :])
    names = {each.name for each in after} - {run.piped_into, "exit"}
    return not is_handled and not names - _SMALL_COMMANDS


def jg305_last_command_hides_status(script: Script) -> Findings:
    yield from _hidden_in_strings(script)
    runs = _runs(script)
    in_front = [each for each in runs if not _is_in_background(script, each)]
    is_job = script.active_directives or (script.scheduler and not script.is_in_document)
    if not runs or not is_job or _has_own_end(script):
        return
    if len(in_front) < len(runs):
        killed = {
            word for each in script.own_commands if each.name == "kill" for word in each.arguments
        }
        waits = [each for each in script.own_commands if each.name == "wait" and each.arguments]
        in_front += [each for each in waits if not killed.intersection(each.arguments)]
    run = max(in_front, key=lambda command: command.offset, default=None)
    if not run or (runs[-1] not in in_front and run.offset < runs[-1].offset):
        yield from _hidden_by_wait(script, runs)
    elif not run.piped_into and (last := _hidden_by(script, run)):
        is_exit_0 = last.name == "exit"
        name = "exit 0" if is_exit_0 else last.name
        text = f"the job counts as done even if this fails: the status is that of `{name}`"
        cure = "remove it" if is_exit_0 else f"keep $? and exit with it after line {last.line}"
        yield finding_at(run, text, f"set -e, or {cure}")


def _hidden_in_strings(script: Script) -> Findings:
    """Findings on runs in strings for another shell, `srun bash -c 'torchrun …; date'`."""
    for run in work_commands(script) if script.active_directives else ():
        commands = [each for each in script.commands if run.depth and each.path == run.path]
        after = {each.name for each in commands if each.offset > run.offset}
        has_end = run.enclosing or any(each.name in ("set", "exit", "trap") for each in commands)
        if after and not after - _SMALL_COMMANDS and not has_end:
            text = f"the status of the string is that of `{commands[-1].name}`, even if this fails"
            yield finding_at(run, text, "set -e before it")


def _hidden_by(script: Script, run: Command) -> Command | None:
    """The command whose status the script has even if a run fails; None if it has the run's."""
    is_tested = "tested" in run.enclosing
    if script.has_set("errexit", run) and not is_tested:
        return None
    after = [each for each in script.own_commands if each.offset > run.offset]
    after = [each for each in after if _can_follow(each, run)]
    exits = [each for each in after if each.name == "exit"]
    others = [each for each in after if each.name != "exit"]
    large = [each for each in others if each.name not in _SMALL_COMMANDS]
    may_be_repeated = "while_statement" in run.enclosing  # until it succeeds
    if may_be_repeated or any(each.name not in _STEPS or _is_run(script, each) for each in large):
        return None
    has_status = any(each.arguments not in ([], ["0"], ["$?"]) for each in exits)
    if has_status or any(_ON_PURPOSE.search(each.text) for each in others):
        return None
    if exits and exits[-1].arguments == ["0"] and not exits[-1].enclosing:
        return exits[-1]
    last = others[-1] if others else None
    if last and any(each.kind == "list" for each in last.path):
        before = script.lines[last.line - 1][: last.column - 1]
        return last if re.search(r"\|\|[\s({]*$", before) else None  # a && b: the status of a
    return last


_ON_PURPOSE = re.compile(r"(?i)\bwarn|\bcontinu|non-?fatal|ignor|skipp")


def _can_follow(command: Command, run: Command) -> bool:
    """Whether a command may run after another, and is no part of its words or a function."""
    if command.enclosing & {"command_substitution", "function_definition"}:
        return False
    common = common_length(command.path, run.path)
    branches = {each.kind for path in (command.path, run.path) for each in path[common:][:1]}
    return not (common and branches & {"else_clause", "elif_clause", "case_item"})


def _hidden_by_wait(script: Script, runs: Sequence[Command]) -> Findings:
    """A finding on `wait` without a process, which ends with 0, as the last thing that is done."""
    own = [each for each in script.own_commands if "command_substitution" not in each.enclosing]
    waits = [each for each in own if each.name == "wait"]
    after = {each.name for each in own if waits and each.offset > waits[-1].offset}
    if waits and not waits[-1].enclosing and not after - _SMALL_COMMANDS:
        text = f"the job counts as done even if {runs[0].name} fails: `wait` alone ends with 0"
        yield finding_at(waits[-1], text, "wait for each process: wait $!")


def _has_own_end(script: Script) -> bool:
    """Whether a trap, or a function, may end the script with a status."""
    traps = [each.arguments for each in script.commands if each.name == "trap"]
    return any({"ERR", "EXIT", "0"}.intersection(arguments[1:]) for arguments in traps) or any(
        each.name == "exit" and "function_definition" in each.enclosing
        for each in script.own_commands
    )


_NUMBERS = {"1": "HUP", "2": "INT", "10": "USR1", "12": "USR2", "15": "TERM"}
_ELSEWHERE = {"background", "function_definition"}


def jg307_signal_never_handled(script: Script) -> Findings:
    directive = script.directive("signal")
    targets, _, signal = (directive.value if directive else "").partition("@")[0].rpartition(":")
    if script.scheduler != "slurm" or not directive:
        return
    runs = [each for each in work_commands(script) if each.depth == 0]
    trap, is_for_batch = _trap(script, _name(signal)), "B" in targets
    if not trap:
        if is_for_batch and runs and not _MAY_HANDLE.search(script.code):
            text = f"without a trap, {signal} ends the script, and with it the job"
            yield finding_at(directive, text, f"add a trap: trap '…' {_name(signal)}")
        elif not is_for_batch and runs and not _MAY_START_STEPS.search(script.code):
            text = f"only what srun starts gets {signal}, and the script starts no srun"
            yield finding_at(directive, text, "start the program with srun")
        return
    if not is_for_batch:
        text = f"only what srun starts gets {signal}: the trap on line {trap.line} never runs"
        yield finding_at(directive, text, f"use --signal=B:{directive.value}, and srun … & wait $!")
        return
    has_wait = any(command.name == "wait" for command in script.commands)
    is_foreground = len(runs) == 1 and not runs[0].enclosing & _ELSEWHERE
    if is_foreground and runs[0].offset > trap.offset and not has_wait:
        text = f"the trap on line {trap.line} runs only when this has ended"
        yield finding_at(runs[0], text, "start it in the background, and wait: srun … & wait $!")


# What may set a trap, or get the signal instead of the batch script; and what may start a step.
_MAY_HANDLE = re.compile(r"\btrap\b|\bexec\b|\$0\b|BASH_SOURCE")
_MAY_START_STEPS = re.compile(r"\b(?:srun|mpi\w+|prun|submitit|ray)\b|\.sh\b|\bbash\s|\$0\b")


def _name(signal: str) -> str:
    """The name of a signal, such as USR1, from its name with or without SIG, or its number."""
    name = signal.upper().removeprefix("SIG")
    return _NUMBERS.get(name, name)


def _trap(script: Script, name: str) -> Command | None:
    """The trap of the batch script for a signal, if it does something."""
    for command in script.own_commands:
        action, *signals = [word for word in command.arguments if word != "--"] or [""]
        if command.name == "trap" and action not in ("", "-") and name in map(_name, signals):
            return command
    return None


_STATUS_FILES = ("exit_code", "status", ".rc", "returncode", ".done")


def jg405_pbsdsh_status(script: Script) -> Findings:
    if script.scheduler != "pbs":  # pbsdsh is in a branch that another scheduler does not take
        return
    writes_status = any(name in script.text for name in _STATUS_FILES)
    for command in script.commands if not script.functions and not writes_status else ():
        if command.name == "pbsdsh":
            text = "pbsdsh ends with 0 whatever its tasks do: a failed job counts as done"
            yield finding_at(command, text, "use pbs_tmrsh, which ends with the task's status")


_NO_WAIT = ("echo", "date", "printf", "true", ":", "exit", "deactivate")
# Syntax that may not run: a command in it that seems to be the last may not be the last.
_UNCERTAIN = {"function_definition", "if_statement", "case_statement", "command_substitution"}


def jg607_ends_before_background(script: Script) -> Findings:
    own = script.own_commands
    if not script.active_directives or any(command.name in ("wait", "fg") for command in own):
        return
    others = [command for command in own if command.name not in _NO_WAIT]
    last = max(others, key=lambda command: command.offset, default=None)
    if last and "background" in last.enclosing and not last.enclosing & _UNCERTAIN:
        text = f"the script ends here, and the job with it: nothing waits for `{last.name}`"
        yield finding_at(last, text, "add `wait` at the end")


def jg308_wait_for_server(script: Script) -> Findings:
    small = _SMALL_COMMANDS - {"wait", "kill"}
    own = [each for each in script.own_commands if each.name not in small]
    own = [each for each in own if "command_substitution" not in each.enclosing]
    last = own[-1] if own else None
    if not last or last.name != "wait" or last.arguments or last.enclosing:
        return
    ends = any("stop" in each.arguments or each.name in ("kill", "scancel") for each in own)
    for command in own if not ends else ():
        words = {base_name(word.text) for word in command.words}
        if "background" in command.enclosing and {"ray", "start", "--block"} <= words:
            text = f"this never ends: the ray of line {command.line} runs until it is stopped"
            yield finding_at(last, text, "wait for the program, wait $!, and then `ray stop`")
            return
