"""Rules about files, folders and images: where they are, and whether they stay the same."""

import os
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from jobgen.lint.launchers import outer_command, runs_on_all_nodes, work_commands
from jobgen.lint.reader.commands import starter_of
from jobgen.lint.rules import Assignment, Command, Findings, Script, finding_at, optional

_BRANCHES = frozenset(("if_statement", "case_statement", "function_definition"))
_OWN_NAME = re.compile(r"\$0\b|\$\{0\}|BASH_SOURCE")
_OTHER_BRANCHES = frozenset(("else_clause", "elif_clause"))


def jg210_output_folder_made_late(script: Script) -> Findings:
    directives = [each for name in ("output", "error") if (each := script.directive(name))]
    made_by = {
        folder: command
        for command in reversed(script.commands)  # the first mkdir of a folder makes it
        if command.name == "mkdir" and not _submits_then(script, command)
        for word in script.expanded_words(command)[1:]
        for folder in _made(script.origin(word.text, command), _entered(script, command))
    }
    for directive in directives:
        folder = directive.value.rpartition("/")[0].removeprefix("./")
        if folder and (mkdir := made_by.pop(folder, None)):
            text = f"{folder} must exist before the job starts"
            text += f": the mkdir on line {mkdir.line} is too late"
            yield finding_at(directive, text, "make it before you submit")


_OF_THE_JOB = re.compile(r"%\d*[jJA]")  # the number of the job, in the name of a folder


def jg224_output_folder_of_job(script: Script) -> Findings:
    is_slurm = script.scheduler == "slurm"
    for directive in map(script.directive, ("output", "error")) if is_slurm else ():
        folder = directive.value.rpartition("/")[0] if directive else ""
        if directive and (pattern := _OF_THE_JOB.search(folder)):
            text = f"{folder} cannot exist before the job: it has the job's number, {pattern[0]}"
            yield finding_at(directive, text, "use it in the name of the file, as in logs/%j.out")


_SCRIPT_FILE = re.compile(r"\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})")
_SEARCHES_RIGHT = re.compile(r"slurmd\b|SLURM_SUBMIT_DIR|PBS_O_WORKDIR|Command=|\b(sbatch|qsub)\b")
_MAY_NOT_COUNT = re.compile(r":-|&& |\b(?:echo|printf|basename)\b")


def jg610_folder_of_the_copy(script: Script) -> Findings:
    if not script.active_directives or _SEARCHES_RIGHT.search(script.code) or script.is_in_document:
        return
    used = {use.name for use in script.variable_uses}
    for command in script.own_commands:
        word = next((each for each in command.words[1:] if _SCRIPT_FILE.search(each.text)), None)
        if command.name not in ("dirname", "realpath", "readlink") or not word:
            continue
        holder, line = script.flow.holder(command), script.lines[command.line - 1]
        is_one = not holder or len(script.assignments_of(holder.name)) == 1
        is_used = not holder or (holder.name in used and holder.is_certain)
        if is_one and is_used and not _MAY_NOT_COUNT.search(line.replace("&& pwd", "")):
            folder = "$PBS_O_WORKDIR" if script.scheduler == "pbs" else "$SLURM_SUBMIT_DIR"
            text = f"{word.text} is a copy of this script, in a folder of the scheduler"
            yield finding_at(word, text, f"use {folder}, the folder in which you submit")
            return


_WORKING_FOLDER = re.compile(
    r"(\$(PWD|SLURM_SUBMIT_DIR)|\$\{(PWD|SLURM_SUBMIT_DIR)(:?-[^{}]*)?\}|\$\(pwd\)|\.)/"
)


def _made(path: str, entered: str) -> list[str]:
    """The folders that a `mkdir -p` makes, from that of the submission: `a/b` and `a`.

    `entered` is the absolute path of the folder in which it runs, if a `cd` says so.
    """
    folder = _WORKING_FOLDER.sub("", path, count=1).rstrip("/")
    parts = [folder[: found.start()] for found in re.finditer("(?<=.)/", folder)] + [folder]
    return parts + [f"{entered}/{part}" for part in parts if entered and not path.startswith("/")]


def _entered(script: Script, command: Command) -> str:
    before = [each for each in script.own_commands if each.offset < command.offset]
    texts = [
        script.resolved(" ".join(each.arguments), each) for each in before if each.name == "cd"
    ]
    return texts[-1].rstrip("/") if texts and texts[-1].startswith("/") else ""


def _submits_then(script: Script, mkdir: Command) -> bool:
    """Whether, after the mkdir, its branch submits a job, or the script submits itself anywhere."""
    branch = mkdir.enclosing & _BRANCHES

    def is_in_branch(command: Command) -> bool:
        leaves = (command.enclosing - mkdir.enclosing) & _OTHER_BRANCHES
        return bool(branch) and command.enclosing >= branch and not leaves

    after = [command for command in script.commands if command.offset > mkdir.offset]
    return any(map(_submits, takewhile(is_in_branch, after))) or any(
        _submits(command) and any(_OWN_NAME.search(word.text) for word in command.words)
        for command in after
    )


def _submits(command: Command) -> bool:
    return any(word.text in ("sbatch", "qsub") for word in command.words[:2])


# Off by default: only the machine that submits the job knows which folders exist.
@optional
def jg212_output_folder_missing(script: Script) -> Findings:
    if script.file == "-" or script.directive("chdir"):
        return
    is_slurm = script.scheduler == "slurm"
    makers = [each for each in script.commands if each.name in ("mkdir", "install")]
    for directive in map(script.directive, ("output", "error") if is_slurm else ("o", "e")):
        folder = directive.value.rpartition("/")[0].removeprefix("./") if directive else ""
        if not directive or not folder or folder.startswith(("/", "~", "..")):
            continue
        if set(folder) & set("%$^:<{") or any(folder in maker.text for maker in makers):
            continue  # with PBS, the job may make the folder; with Slurm, JG210 reports this
        if not any(map(os.path.isdir, _paths(script.file, folder))):
            effect = "the job fails without a message" if is_slurm else "the output is lost"
            text = f"the output goes to {folder}, which does not exist: {effect}"
            yield finding_at(directive, text, "make it before you submit")


def _paths(file: str, folder: str) -> Iterator[str]:
    """The paths of the folder below each folder from which a person may submit the job."""
    yield folder
    for above in Path(os.path.abspath(file)).parents:
        yield os.path.join(above, folder)
        if os.path.exists(above / ".git"):
            return


# Text that differs between tasks: the number of the task, its job, or (mostly) its node.
_DIFFERS = re.compile(r"%\d*[ajJN]|\$|[{}<>]|^/dev/")


def jg219_array_with_one_output(script: Script) -> Findings:
    array, mode = script.directive("array"), script.directive("open-mode")
    has_several = array and re.search("[-,:]", array.value.split("%")[0])
    appends = mode and mode.value.startswith("a")
    if script.scheduler != "slurm" or not array or not has_several or appends:
        return
    for directive in map(script.directive, ("output", "error")):
        if directive and directive.value and not _DIFFERS.search(directive.value):
            text = f"all tasks of the array (see line {array.line}) overwrite {directive.value}"
            yield finding_at(directive, text, "add %a, the number of the task, to the name")


_MAKERS = {"mkdir", "cp", "rsync", "tar", "unzip", "mktemp", "wget", "sbcast"}
_LOCAL = re.compile(r"/(?:tmp|dev/shm)/[\w./$\{\}-]+")
_MAKES_NAME = re.compile(r"[$`]\(?\s*mktemp(?:\s+-[dqu]+)*(?:\s+/tmp/\S+)?\s*[)`]")
# A file that srun's command line names before the program is read by srun, on the first node.
_PROGRAM = re.compile(
    r"(^|/)(python[\d.]*|(ba)?sh|torchrun|accelerate|singularity|apptainer)$|\.py$"
)


def jg124_local_file_on_first_node(script: Script) -> Findings:
    if (script.nodes or 1) < 2 or script.runs_itself:
        return
    runs = [each for each in work_commands(script) if runs_on_all_nodes(script, each)]
    for name, line in _local_names(script) if runs else ():
        users: list[Command | Assignment] = []
        users += [run for run in runs if run.line > line and name in _arguments(script, run)]
        users += [
            each
            for each in script.assignments
            if each.line > line and each.name in script.exports and name[0] == "$"
            if re.search(rf"\${{?{name[1:]}\b", each.value.text)
        ]
        for user in users[:1]:
            text = f"{name} (see line {line}) is on the first node only"
            yield finding_at(user, text, "make it on each node: srun --ntasks-per-node=1 …")


def _local_names(script: Script) -> Iterator[tuple[str, int]]:
    """The local files and folders that only the batch script makes, each with its line."""
    for assignment in script.assignments:
        is_own = assignment.depth == 0 and assignment.is_certain
        if is_own and _MAKES_NAME.fullmatch(assignment.value.text):
            yield f"${assignment.name}", assignment.line
    made: dict[str, int] = {}
    made_everywhere = ""
    for command in script.commands:
        texts = [script.resolved(word.text, command) for word in command.words]
        found = _LOCAL.match(texts[-1]) if command.name in _MAKERS else None
        if found and not command.enclosing and not script.functions:
            made.setdefault(found[0].rstrip("/"), command.line)
        if (starter_of(command) or command.name == "sbcast") and _MAKERS.intersection(texts):
            made_everywhere += " ".join(texts)
    yield from ((path, line) for path, line in made.items() if path not in made_everywhere)


def _arguments(script: Script, run: Command) -> str:
    """The program of a command and its arguments, with the values of constants."""
    words = outer_command(script, run).words
    start = next((n for n, word in enumerate(words) if _PROGRAM.search(word.text)), len(words))
    text = " ".join(word.text for word in words[start:])
    return script.resolved(text, run).replace("${", "$")


def jg602_privileged(script: Script) -> Findings:
    for command in script.commands if "--privileged" in script.text else ():
        words = script.expanded_words(command)
        texts = [word.text for word in words]
        for start in [texts.index(engine) for engine in ("podman", "docker") if engine in texts]:
            writes_settings = any("/proc/sys" in text for text in texts[start:])  # needs the option
            if "run" not in texts[start : start + 3] or writes_settings:
                continue
            for word in words[start:]:
                if word.text in ("--privileged", "--privileged=true"):
                    text = f"--privileged gives the container all of the node ({command.name})"
                    yield finding_at(word, text, "name the devices that it needs")


# An image whose name has a host or a folder: an image with neither was built on this machine.
_IMAGE = re.compile(r"(?:--container-image=)?(docker://)?([\w.-]+(?::\d+)?[/#][\w./-]+)(:latest)?")


def jg603_unpinned_image(script: Script) -> Findings:
    if "\n# sha256 of the other lines: " in script.text:  # jobgen made the script
        return
    for command in script.commands:
        if "build" in command.arguments[:1]:  # a build makes one image for all nodes
            continue
        for word in command.words:
            image = _IMAGE.fullmatch(word.text)
            if not image or not (image[3] or image[1]) or image[2].startswith("localhost/"):
                continue
            name = word.text.removeprefix("--container-image=")
            text = f"{name} may be another image tomorrow"
            yield finding_at(word, text, "add a tag with a version, or a digest")


def jg604_pull_in_job(script: Script) -> Findings:
    if not script.active_directives or not work_commands(script):
        return
    for command in script.commands:
        if command.name == "git" and "pull" in command.arguments[:3]:
            text = "the job runs the code of the branch as it is when the job starts"
            yield finding_at(command, text, "fetch one commit before you submit")


_FOLDER_CHANGES = re.compile(r"\bcd\b|pushd|PBS_O_WORKDIR|PBS_O_INITDIR|-wdir|--chdir|\bsource\b")
_FILE = re.compile(
    r"\.{1,2}/.*|(?![-/~$]|\w+://|\w+=)[\w./-]+\.(py|sh|R|jl|m|exe|inp|in|dat|lmp|pl)"
)


# Off by default: the home folder may be the right one.
@optional
def jg608_pbs_stays_home(script: Script) -> Findings:
    if script.scheduler != "pbs" or not script.active_directives or script.directive("d", "w"):
        return
    for command in script.commands if not _FOLDER_CHANGES.search(script.code) else ():
        names_file = any(_FILE.fullmatch(word.text) for word in command.words)
        if names_file and command.name not in ("echo", "printf", "module"):
            text = "this path begins in the home folder: PBS starts the script there"
            yield finding_at(command, text, 'cd "$PBS_O_WORKDIR" first')
            return
