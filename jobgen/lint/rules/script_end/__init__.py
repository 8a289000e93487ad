"""Rules about the exit status of a job, which is that of its script."""

import re
from functools import lru_cache
from itertools import pairwise

from jobgen.lint.launchers import NO_WORK, PREPARING, SMALL_COMMANDS, work_commands
from jobgen.lint.reader.commands import SHELLS, Path, base_name, starter_of
from jobgen.lint.reader.directives import is_code, program_of
from jobgen.lint.reader.flow import common_length
from jobgen.lint.rules import Command, Findings, Script, finding_at

_PYTHON = re.compile(
    r"(?:(?:uv|poetry|pixi|conda|time|nohup|numactl|env|nsys|taskset)\s[^|]*?)?(?:[\w./-]*/)?"
    r"python[\d.]*\s(?:[^|]*\.py\b|(?:-\S+\s)*-m (?!pip|venv|site|ensurepip))"
)
_STEPS = ("srun", "mpiexec", "mpirun")


@lru_cache(8)  # two rules ask for the runs of the same script
def _runs(script: Script) -> list[Command]:
    """The script's own commands that do the job's work, in the order of the text."""
    work = {id(command) for command in work_commands(script)}
    return [each for each in _programs(script) if id(each) in work or _is_run(script, each)]


def _programs(script: Script) -> list[Command]:
    outside = {"command_substitution", "function_definition"}
    return [each for each in script.own_commands if not each.enclosing & outside]


def _is_run(script: Script, command: Command) -> bool:
    name, arguments, text = command.name, command.arguments, command.text
    if name.startswith("$"):
        words = [word.text for word in script.expanded_words(command)] or [""]
        name, arguments, text = base_name(words[0]), words[1:], " ".join(words)
    if name in _STEPS:
        program = program_of(command) if name == command.name == "srun" else None
        return not program or base_name(program.text) not in PREPARING
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
    return bool(is_file or (is_own and name not in PREPARING) or _PYTHON.match(text))


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
_LOOPS = {"for_statement", "while_statement", "c_style_for_statement"}
_MESSAGES = ("echo", "printf", "cat", "ls", "grep", "sort", "find", "squeue", "sacct", "date")


def jg304_pipe_hides_status(script: Script) -> Findings:
    if "|" not in script.text or "PIPESTATUS" in script.text:
        return
    runs = _runs(script)
    # With set -e, the status of each run counts; without it, only that of the last one.
    counts = {id(each): each.piped_into for each in runs if script.has_set("errexit", each)}
    after = _small_commands_after(script, runs[-1]) if runs else None
    if after is not None:
        keeps_status = any(each.name == "exit" and each.arguments != ["0"] for each in after)
        end = runs[-1].piped_into if keeps_status or not after else after[-1].name
        counts.setdefault(id(runs[-1]), end)
    for command in script.own_commands:
        last = command.piped_into
        is_nested = starter_of(command) == "ssh" or command.enclosing - _MAY_BE_PIPED
        if last not in _PASS_TEXT_ON | _FILTERS or is_nested or script.has_set("pipefail", command):
            continue
        if "tested" in command.enclosing:
            if command.name not in _MESSAGES and last not in _FILTERS:
                text = f"what tests this gets the status of {last}, even if {command.name} fails"
                yield finding_at(command, text, "set -o pipefail")
        elif id(command) in counts:
            text = f"the job counts as done even if {command.name} fails"
            end = counts[id(command)]
            text += f": the status is that of {end}"
            needs_e = end != last or command.enclosing & _LOOPS
            yield finding_at(command, text, f"set -{'e' if needs_e else ''}o pipefail")


def jg305_last_command_hides_status(script: Script) -> Findings:
    yield from _hidden_in_strings(script)
    yield from _cancels_itself(script)
    is_job = script.active_directives or (script.scheduler and not script.is_in_document)
    if not is_job or _has_own_end(script):
        return
    runs = _runs(script) or _unknown_programs(script)
    yield from _fails_after_success(script) if runs else ()
    behind = [each for each in runs if _is_in_background(script, each)]
    waits = [each for each in script.own_commands if each.name == "wait"] if behind else []
    is_bare = waits and not waits[-1].path and not waits[-1].arguments
    if is_bare and any(_SERVER.search(each.text) for each in behind):
        return  # the job runs until the server ends
    in_front = [each for each in runs if not _is_in_background(script, each)]
    in_front += _waits_for_runs(script) if behind else []
    run = max(in_front, key=lambda command: command.offset, default=None)
    if runs and (not run or run.offset < runs[-1].offset):
        if is_bare and _small_commands_after(script, waits[-1]) is not None:
            text = (
                f"the job counts as done even if {behind[0].name} fails: `wait` alone ends with 0"
            )
            cure = "wait for each process: for p in $(jobs -p); do wait $p || exit 1; done"
            yield finding_at(waits[-1], text, cure)
    elif run and (last := _hidden_by(script, run)):
        if last.name not in _MESSAGES and not _runs(script):
            return  # of a program that is not known
        name = "exit 0" if last.name == "exit" else last.name
        text = f"the job counts as done even if this fails: the status is that of `{name}`"
        cure = f"keep $? and exit with it after line {last.line}"
        after = {each.name for each in _small_commands_after(script, run) or ()}
        if "tested" not in run.enclosing and not after & _UNDOES:  # else set -e is no cure
            cure = f"set -e, or {'remove it' if last.name == 'exit' else cure}"
        yield finding_at(run, text, cure)


# What a job needs at its end even if a run fails: set -e would leave it out.
_UNDOES = frozenset("rm rmdir kill pkill umount ray dcgmi cp mv rsync".split())


def _cancels_itself(script: Script) -> Findings:
    """A finding on a last `scancel $SLURM_JOB_ID`, which hides how the run ended."""
    for last in script.own_commands[-1:] if script.active_directives else ():
        if re.fullmatch(r"scancel \$\{?SLURM_JOB_?ID\}?", last.text) and not last.path:
            text = "the job ends as CANCELLED, however its run ended"
            yield finding_at(last, text, "remove it: the job ends with the script")


def _unknown_programs(script: Script) -> list[Command]:
    """The programs of a job with GPUs that starts none that is known to do a job's work."""
    has_gpus = script.gpus_per_node or script.directive("gpus", "gpus-per-task")
    if not has_gpus or re.search(r"(?m)^\s*(source|\.) (?!.*\bactivate\b)", script.code):
        return []  # a file may have set -e, or a function with the name of a program
    others = NO_WORK | script.functions
    programs = [each for each in _programs(script) if each.name[:1].isalpha()]
    return [each for each in programs if each.name not in others]


_SERVER = re.compile(
    r"\bjupyter[ -](?:notebook|lab|server)|\bdask[ -](?:scheduler|worker)|\bray start|http\.server"
    r"|\btensorboard --|\bmlflow (?:ui|server)|\w serve\b|\bredis-server|\bcode-server"
)
_LONG = re.compile(r"\d{3,}s?|\d+[mhd]")


def _waits_for_runs(script: Script) -> list[Command]:
    """Each `wait` for a process that the script does not end, nor leaves alone for long."""
    own = script.own_commands
    killed = {word for each in own if each.name == "kill" for word in each.arguments}
    return [
        wait
        for before, wait in pairwise(own)
        if wait.name == "wait"
        and set(wait.arguments) - killed
        and not (before.name == "sleep" and _LONG.fullmatch("".join(before.arguments)))
    ]


_CLEANS = frozenset("rm rmdir kill pkill unset deactivate conda ray umount".split())
_MAY_BE_FALSE = re.compile(r"^(?:\[\[?|test)\s+(?:!\s+)?-[a-zA-Z]\s[^|&;]*&&\s*$")


def _fails_after_success(script: Script) -> Findings:
    """A finding on `[ -f file ] && rm file` as the last line, whose status is that of the test."""
    last = max(script.own_commands, key=lambda command: command.offset)
    line = script.lines[last.line - 1][: last.column - 1]
    is_last = not any(map(is_code, script.lines[last.line :]))
    is_in_list = [each.kind for each in last.path] == ["list"]
    if is_last and is_in_list and last.name in _CLEANS and _MAY_BE_FALSE.match(line):
        text = "if the test before this is false, the job counts as failed, however the run ended"
        cure = "keep the run's $? and exit with it after this"
        is_safe = script.has_set("errexit", last)  # else `if` would hide that the run failed
        yield finding_at(last, text, "use if … then … fi" if is_safe else cure)


def _hidden_in_strings(script: Script) -> Findings:
    """Findings on runs in strings for another shell, `srun bash -c 'torchrun …; date'`."""
    strings: dict[Path, list[Command]] = {}
    for command in script.commands:
        strings.setdefault(command.path, []).append(command)
    for run in work_commands(script) if script.active_directives else ():
        commands = strings[run.path] if run.depth and not run.enclosing else []
        after = {each.name for each in commands if each.offset > run.offset}
        has_end = any(each.name in ("set", "exit", "trap") for each in commands)
        if after and not after - SMALL_COMMANDS and not has_end:
            text = f"the status of the string is that of `{commands[-1].name}`, even if this fails"
            yield finding_at(run, text, "set -e before it")


_ON_PURPOSE = re.compile(r"(?i)\bwarn|\bcontinu|non-?fatal|ignor|skipp")


def _hidden_by(script: Script, run: Command) -> Command | None:
    """The command whose status the script has even if a run fails; None if it has the run's."""
    is_tested = "tested" in run.enclosing
    after = _small_commands_after(script, run)
    may_be_repeated = "while_statement" in run.enclosing  # until it succeeds
    if not after or may_be_repeated or (script.has_set("errexit", run) and not is_tested):
        return None
    others = [each for each in after if each.name != "exit"]
    is_or_true = others and others[0].name in ("true", ":") and _is_alternative(script, others[0])
    if _is_lost(script, run) or is_or_true or any(_ON_PURPOSE.search(each.text) for each in others):
        return None
    exits = [each for each in after if each.name == "exit"]
    if exits and exits[-1].arguments == ["0"] and not exits[-1].enclosing:
        return exits[-1]
    last = others[-1] if others else None
    if last and any(each.kind == "list" for each in last.path):
        return last if _is_alternative(script, last) else None
    return last


def _small_commands_after(script: Script, run: Command) -> list[Command] | None:
    """What runs after a run, if a failed run does not change the status that this gives the script.

    None if a large command follows, or the script ends with a status of its own.
    """
    later = [each for each in script.own_commands if each.offset > run.offset]
    parts = [each for each in later if _takes_text_of(each, run)]
    if any(each.name not in SMALL_COMMANDS | {run.piped_into} for each in parts):
        return None
    after = [each for each in later if each not in parts and _can_follow(each, run)]
    for each in after:
        is_step = each.name in _STEPS and not _is_run(script, each)
        if not is_step and each.name not in SMALL_COMMANDS | {"exit"}:
            return None
    is_lost = _is_lost(script, run) and "$?" in "\n".join(script.lines[run.line - 1 :])
    exits = [each.arguments for each in after if each.name == "exit"]
    has_status = any(each not in ([], ["0"], ["$?"]) for each in exits)
    return None if has_status and not is_lost else after


def _is_lost(script: Script, run: Command) -> bool:
    """Whether $? after a run is the status of a later part of its pipe."""
    return bool(run.piped_into) and not script.has_set("pipefail", run)


def _takes_text_of(command: Command, run: Command) -> bool:
    """Whether a command is a later part of the pipe that a run is in."""
    pipes = {each for each in run.path if each.kind == "pipeline"}
    is_same_part = command.piped_into == run.piped_into and command.name != run.piped_into
    return bool(run.piped_into) and bool(pipes.intersection(command.path)) and not is_same_part


def _is_alternative(script: Script, command: Command) -> bool:
    """Whether a command comes after ||; `a && b`, with the status of a, has no such command."""
    *above, line = script.lines[max(0, command.line - 2) : command.line]
    before = "\n".join((*above, line[: command.column - 1]))
    return bool(re.search(r"\|\|[\s\\({]*$", before))


def _can_follow(command: Command, run: Command) -> bool:
    """Whether a command may run after another, and is no part of its words or a function."""
    if command.enclosing & {"command_substitution", "function_definition"}:
        return False
    common = common_length(command.path, run.path)
    branches = {each.kind for path in (command.path, run.path) for each in path[common:][:1]}
    return not (common and branches & {"else_clause", "elif_clause", "case_item"})


def _has_own_end(script: Script) -> bool:
    """Whether a trap, or a function, may end the script with a status."""
    return any(
        "function_definition" in each.enclosing
        if each.name == "exit"
        else each.name == "trap" and {"ERR", "EXIT", "0"}.intersection(each.arguments[1:])
        for each in script.own_commands
    )


_STATUS_FILES = ("exit_code", "status", ".rc", "returncode", ".done")


def jg405_pbsdsh_status(script: Script) -> Findings:
    if script.scheduler != "pbs":  # pbsdsh is in a branch that another scheduler does not take
        return
    writes_status = any(name in script.text for name in _STATUS_FILES)
    for command in script.commands if not script.functions and not writes_status else ():
        if command.name == "pbsdsh":
            text = "pbsdsh ends with 0 whatever its tasks do: a failed job counts as done"
            yield finding_at(command, text, "use pbs_tmrsh, which ends with the task's status")
