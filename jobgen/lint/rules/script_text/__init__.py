"""Rules about text in scripts that bash or the scheduler cannot read, or misreads."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache

from jobgen.lint.reader.directives import is_code
from jobgen.lint.rules import (
    Command,
    Edit,
    Finding,
    Findings,
    Script,
    finding_at,
    replacement,
    without_line,
)

_ENVIRONMENT = {"LC_ALL": "C"}  # no BASH_ENV, and messages in English


def jg001_invalid_bash(script: Script) -> Findings:
    if not (error := bash_error(script)):
        return
    number, message = error
    before = "\n".join(script.lines[: number - 1])
    if re.search(r"^exit\b", before, re.MULTILINE):
        return  # bash exits before this line; another language may follow, such as Julia
    if found := re.search(r"<\w[^<>]*(?<!\s)>", script.lines[number - 1]):
        text = f"bash cannot parse the placeholder {found[0]}: < and > are redirections"
        yield Finding(number, found.start() + 1, text, "replace it by a value")
    else:
        cure = "close the quote, bracket or heredoc that is open before it"
        yield Finding(number, 1, f"bash cannot parse this: {message}", cure)


@lru_cache(8)  # JG208 asks for the error of the same script
def bash_error(script: Script) -> tuple[int, str] | None:
    """The line at which bash stops, and its message.

    None if bash parses all of the script, or is not installed.
    """
    if not script.parse_error or not (bash := shutil.which("bash")):
        return None
    argv = [bash, "-O", "extglob", "-n"]  # with -n, bash runs no `shopt -s extglob`
    source = script.text.encode("utf-8", "surrogateescape")
    done = subprocess.run(argv, input=source, capture_output=True, env=_ENVIRONMENT, check=False)
    found = re.search(r"line (\d+): (.*)", done.stderr.decode("utf-8", "replace"))
    if not done.returncode or not found:
        return None
    return min(int(found[1]), len(script.lines)), found[2]


_ASKS_FOR_VALUE = re.compile(
    r"(?i)your|user|name|path|account|project|dir|insert|put|replace|email|address|id\b"
)
# In a message or a pattern, < and > may be right.
_MESSAGE = re.compile(r"(?i)\b(echo|printf|sed|awk|grep|perl|usage|error)\b")


def jg208_placeholder(script: Script) -> Findings:
    if script.is_in_document:  # readers of a document replace the placeholders
        return
    yield from _names_to_replace(script)
    yield from _paths_to_replace(script)
    error = bash_error(script)
    for number, line in enumerate(script.lines, 1):
        if "<" not in line or number in script.quoted_lines:
            continue
        if re.match("#(SBATCH|PBS) ", line):
            found = re.finditer("(?<!<)<+[^<>@]+>+", re.split(r"\s#", line)[0])
        elif script.is_other_language or (error and error[0] == number):  # JG001 reports it
            continue
        else:
            found = _in_command(line)
        for each in found:
            text = f"the placeholder {each[0]} was not replaced"
            yield Finding(number, each.start() + 1, text, "replace it by a value")


_NAMES = ("account", "partition", "qos", "reservation", "mail-user", "A", "q", "M")
_PLACEHOLDER_NAME = re.compile(
    r"(?i)\[[a-z][\w -]*\]|your[_.-].*|(\w*[_-])?x{3,}|changeme|todo"
    r"|(your|(my|insert|enter)[_.-])(account"
    r"|group|project|allocation|partition|queue|qos|reservation|e?-?mail|user|name|address)\w*(@.*)?"
)


# At the beginning of a path, or of a value: elsewhere, a folder may have such a name.
_NO_PATH = re.compile(
    r"(?i:(?<![\w./}*?\]])/path[/_-]to(?![a-z]))[\w./-]*"
    r"|(?<![^=])\[[a-z]+(?:[-_][a-z]+)*[-_](?:dir|path|name|file|folder)\](?=/|$)"
)
_NO_PROGRAM = re.compile(r"(?:.*/)?your[_-]\w+\.(?:py|sh)", re.IGNORECASE)
# Their words may be patterns.
_TAKE_PATTERNS = ("[", "test", "[[", "find", "tr", "rename")


def _paths_to_replace(script: Script) -> Findings:
    """The first of /path/to/data, [data-dir], your_script.py and the like, and how many more."""
    words = [word for command in script.commands for word in command.words[1:] if _is_used(command)]
    words += [each.value for each in script.assignments]
    words.sort(key=lambda word: (word.line, word.column))
    found = [
        (word, path[0])
        for word in words
        if (path := _NO_PATH.search(word.text) or _NO_PROGRAM.fullmatch(word.text))
    ]
    for word, placeholder in found[:1]:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        text = f"the placeholder {placeholder} was not replaced{more}"
        yield finding_at(word, text, "replace it by a value")


def _is_used(command: Command) -> bool:
    return not _MESSAGE.fullmatch(command.name) and command.name not in _TAKE_PATTERNS


def _names_to_replace(script: Script) -> Findings:
    """Findings on values such as [account] and your_account, where a cluster's own name belongs."""
    for directive in script.active_directives:
        if directive.option in _NAMES and _PLACEHOLDER_NAME.fullmatch(directive.value):
            text = f"the placeholder {directive.value} was not replaced"
            yield finding_at(directive, text, "replace it by a value")
    for each in script.assignments:
        is_used = re.compile(rf"(?m)^#(?:SBATCH|PBS) .*\$\{{?{re.escape(each.name)}\b")
        if each.value.text in ("...", "…") and is_used.search(script.text):
            text = f"the placeholder {each.value.text} was not replaced"
            yield finding_at(each, text, "replace it by a value")


def _in_command(line: str) -> Iterator[re.Match[str]]:
    if _MESSAGE.search(line) or line.lstrip().startswith("#"):
        return
    code = line[:1] + re.split(r"\s#", line[1:])[0]  # without a comment
    code = re.sub(r"\$\{\w+:?\?[^}]*", lambda message: " " * len(message[0]), code)
    code = re.sub(r'[\[,:] ?"<', lambda start: " " * len(start[0]), code)  # JSON: text of a model
    for found in re.finditer(r"(?<![<$(@])<([A-Za-z][\w /-]*)>(?![>(])", code):
        if _ASKS_FOR_VALUE.search(found[1]):
            yield found


def jg209_carriage_returns(script: Script) -> Findings:
    edits = tuple(
        replacement(number, len(line), "\r", "")
        for number, line in enumerate(script.lines, 1)
        if line.endswith("\r")
    )
    if edits:
        line, column, *_ = edits[0]
        text = "the line ends with a carriage return"
        yield Finding(line, column, text, "run dos2unix on the file", "\r", edits)


_PROMPT = re.compile(r"\s*(\[?[\w.-]+@[\w.-]+[: ][~\w./-]*\]?[$#]|\$)\s+[a-z./]")


def jg214_prompt(script: Script) -> Findings:
    # A line that the parser cannot read may be inside a heredoc.
    may_be_heredoc = script.parse_error and "<<" in script.text
    if script.is_other_language or may_be_heredoc:
        return
    for number, line in enumerate(script.lines, 1):
        prompt = _PROMPT.match(line)
        if prompt and number not in script.quoted_lines:
            text = f"`{prompt[1]}` is a prompt: bash takes it for a command"
            yield Finding(number, prompt.start(1) + 1, text, "remove it")


def jg216_no_interpreter(script: Script) -> Findings:
    if script.is_in_document:  # documents show parts of scripts
        return
    if script.has_byte_order_mark:
        text = "a byte order mark (BOM) hides the first line from sbatch, qsub and the kernel"
        edits = (Edit(1, 0, 1, 1, ""),)
        yield Finding(1, 1, text, "save the file as UTF-8 without BOM", "", edits)
        return
    has_interpreter = script.lines[script.first_line - 1].startswith("#!")
    is_slurm = any(directive.scheduler == "slurm" for directive in script.active_directives)
    if is_slurm and not has_interpreter and script.commands:  # else a header for other scripts
        text = "sbatch refuses a script whose first line does not begin with #!"
        cure = "make #!/bin/bash the first line"
        yield Finding(script.first_line, 1, text, cure, "", tuple(_moved_up(script)))


def _moved_up(script: Script) -> Iterator[Edit]:
    """The edits that make the #! line the first one."""
    for number, line in enumerate(script.lines, 1):
        if re.match(r"#!\s*/.*sh\b", line):
            yield Edit(1, 1, 1, 1, f"{line}\n")
            yield without_line(script, number)
            return
        if is_code(line):
            return


# Commands that take paths; the words of other commands may be patterns.
_TAKES_PATHS = ("source", ".", "cd", "python", "python3", "ls", "cp", "mv", "mkdir", "bash")


def jg601_backslash_path(script: Script) -> Findings:
    for command in script.commands:
        for word in command.words[1:] if command.name in _TAKES_PATHS else ():
            # In $NAME\_x, `\_` ends the name of the variable.
            if not word.variables and re.fullmatch(r"[\w.~-]+(\\[A-Za-z\d][\w.-]*)+", word.raw):
                text = f"bash reads `{word.raw}` as `{word.text}`"
                yield finding_at(word, text, "write / for \\")


def jg605_command_cut(script: Script) -> Findings:
    for command in script.commands if not script.parse_error else ():
        if command.name == "exit" and not command.depth and not command.enclosing:
            return  # bash never runs the lines below
        if not re.match(r"--?[A-Za-z]", command.name) or command.words[0].variables:
            continue
        begin = script.lines[command.line - 1][: command.column - 1]
        if begin.strip() or command.line in script.quoted_lines:
            continue  # an option of a site's shell function, or a part of a template
        above = [line.strip() for line in script.lines[: command.line - 1] if line.strip()]
        if above[-1:] in (["..."], ["…"]):
            continue  # the beginning of the command is not shown
        if command.assignments:
            name = command.assignments[-1].name
            cause, cure = f"the value of {name} ends before the blank", "put the value in quotes"
        else:
            cause = _cut_by(script.lines, command.line)
            cure = "end each line of the command but the last with \\"
        yield finding_at(command, f"bash runs `{command.name}` as a command: {cause}", cure)


def _cut_by(lines: list[str], line: int) -> str:
    """Why the command before `line` does not continue on `line`."""
    number = line - 1
    while number > 1 and not is_code(lines[number - 1]):
        number -= 1
    if number < line - 1:
        return f"a comment or an empty line cuts the one of line {number}"
    if re.search(r"\\\s+$", lines[number - 1]):
        return f"blanks follow the \\ of line {number}"
    if re.search(r"\\\s+#", lines[number - 1]):
        return f"a comment follows the \\ of line {number}"
    return f"line {number} has no \\ at its end"


def jg606_csh(script: Script) -> Findings:
    shell = script.directive("S") if script.scheduler == "pbs" else None
    if (shell and "csh" in shell.value) or not script.interpreter:
        return
    for command in script.own_commands:
        cure = _in_bash(command)
        if cure and command.name not in script.functions:
            shown = " ".join(word.raw for word in command.words[:3])
            text = f"`{shown}` is of csh, and this script is for bash"
            yield finding_at(command, text, cure)


def _in_bash(command: Command) -> str:
    """The cure for a command of csh: its equivalent in bash; "" for any other command."""
    first, others = command.words[0].text if command.words else "", command.arguments
    if first == "setenv" and others and re.fullmatch(r"\w+", others[0]):
        return f"use export {others[0]}={' '.join(others[1:])}"
    if first == "unsetenv" and others:
        return f"use unset {others[0]}"
    if first == "set" and len(others) > 1 and re.fullmatch(r"[A-Za-z]\w*", others[0]):
        value = " ".join(others[1:]).removeprefix("=").strip()
        return f"use {others[0]}={value}" if others[1].startswith("=") else ""
    return "use for NAME in …; do …; done" if first == "foreach" else ""


_TOKENS = {
    "Hugging Face": r"\bhf_\w{30,}",
    "GitHub": r"\b(gh[oprsu]_\w{36,}|github_pat_\w{40,})",
    "Weights & Biases": r"(?:WANDB_API_KEY=|wandb login )['\"]?[0-9a-f]{40}\b",
    "OpenAI": r"(?<![\w/-])sk-(?:[A-Za-z0-9]{40,}|proj-[\w-]{40,})",
    "AWS": r"\bAKIA[A-Z0-9]{16}\b",
}


def jg609_token(script: Script) -> Findings:
    for owner, pattern in _TOKENS.items():
        has_token = re.search(pattern, script.text)  # most scripts have none
        for number, line in enumerate(script.lines, 1) if has_token else ():
            found = re.search(pattern, line)
            if found and len(set(found[0])) > 12:  # else it is hf_xxxx…
                text = f"a token of {owner}: all who can read the script can use it"
                cure = "revoke it, and read the new one from a file that only you can read"
                yield Finding(number, found.start() + 1, text, cure)
