"""Refuses programs that the ranks cannot run: batch scripts, and commands for a shell."""

import re
from collections.abc import Sequence
from contextlib import suppress

from jobgen.errors import problem
from jobgen.paths import is_file, to_path
from jobgen.planning.job_options import Job
from jobgen.quoting import quote

_SHELLS = "module ml source . export cd conda micromamba ulimit unset".split()

# A Python script and its arguments after a launcher, up to an operator of the shell. A line may be
# very long, as in a self-extracting archive: the bounds keep the search fast.
_STARTED = re.compile(
    r"^(?!\s*#).{0,400}\b(?:python[\d.]*|srun|mpirun|mpiexec|torchrun|deepspeed|launch)\s"
    r"(?:.{0,400}?\s)??"
    r"([^\s'\"$;|&]+\.py\b(?:[ \t]+(?!\d?>|\"?\$[@*])[^\s;|&]+)*)",
    re.MULTILINE,
)


def check_first_word(job: Job) -> None:
    """Raise JobgenError if the program is a batch script, sbatch, qsub, or a line for a shell.

    Also for a template that is a batch script without Jinja tags.
    """
    found = directive_in(job.template or "")
    if found and not re.search(rb"\{[{%]", to_path(str(job.template)).read_bytes()):
        text = f"{job.template!r:.80} is a batch script (line {found[1]}: {found[0]})"
        hint = f"leave it out; its program: -- {_program_in(str(job.template))}"
        raise problem("--template", f"{text}, and no template", "value", hint)
    name, *words = job.program or ("",)
    if " " in name and not words and not is_file(to_path(name)):  # a whole line in quotes
        name, *words = re.sub("(;|&&)", r" \1 ", name).split() or [name]
    script = words[0] if name in ("bash", "sh") and words else name
    if found := directive_in(script):
        submit = "qsub" if found[0].startswith("#PBS") else "sbatch"
        text = f"{script!r:.80} is a batch script (line {found[1]}: {found[0]})"
        hint = f"submit it: {submit} {quote(script)}; or give the program in it: "
        hint += f"-- {_program_in(script)}; its other lines are not taken over"
        raise problem("--", text, "value", hint)
    if name in ("sbatch", "qsub"):
        line = " ".join(map(quote, (name, *words)))
        file = next((word for word in words if is_file(to_path(word))), "")
        hint = f"submit it yourself: {line}; or give the program in it: -- {_program_in(file)}"
        raise problem("--", f"{name} would submit a job from each rank", "value", hint)
    options, program = _of_line([name, *words])
    if options:
        text = f"`{' '.join((name, *words)):.60}` is for a shell, and would be each rank's program"
        hint = f"write: {' '.join(options)} -- {' '.join(map(quote, program)) or 'PROGRAM'}"
        raise problem("--", text, "value", hint)


def directive_in(file: str) -> tuple[str, int] | None:
    """The first directive in a file, cut to 60 characters, and its line; None if there is none."""
    lines = first_lines(file).splitlines() if not file.endswith(".py") else ()
    found = (each for each in enumerate(lines, 1) if re.match("#(SBATCH|PBS) +-", each[1]))
    return next(((line[:60], number) for number, line in found), None)


def first_lines(file: str) -> str:
    """The first 60,000 characters of a file, which may be an archive; "" if it cannot be read."""
    if is_file(to_path(file)):
        with suppress(OSError), to_path(file).open(encoding="utf-8", errors="replace") as lines:
            return lines.read(60_000)
    return ""


def _program_in(file: str) -> str:
    """The Python script that a batch script starts, with its arguments, word for word."""
    found = _STARTED.search(first_lines(file).replace("\\\n", " "))
    return " ".join(found[1].split()) if found else "PROGRAM ARGS…"


def _of_line(words: list[str]) -> tuple[list[str], list[str]]:
    """The options that replace shell commands in front of a program, and the program."""
    options: list[str] = []
    while words and words[0] in _SHELLS:
        end = next((at for at, word in enumerate(words) if word in ("&&", ";")), len(words))
        if not (found := _of_shell(words[0], words[1:end])):
            break
        options.append(found)
        words = words[end + 1 :]
    return options, words


def _of_shell(name: str, words: Sequence[str]) -> str:
    """jobgen's words that replace a command of a shell; "" if the command is a program."""
    if name in ("conda", "micromamba") and words[:1] != ["activate"]:
        return ""
    line = f"software.commands=[{' '.join((name, *words))}]"
    if name in ("module", "ml") and [*words[:1], "load"][0] in ("load", "add"):
        line = f"software.modules=[{', '.join(words[1:])}]"
    elif name in ("source", ".") and words[:1] and (found := re.match("(.+)/bin/act", words[0])):
        line = f"software.venv={found[1]}"
    elif words[:1] == ["activate"]:
        line = f"software.conda={' '.join(words[1:])}"
    elif name == "cd":
        line = f"request.chdir={' '.join(words)}"
    elif name == "export":
        return " ".join(f"-e {quote(word)}" for word in words)
    return f"--set {quote(line)}"
