"""Refuses words of a job that probably mean something else to the user, or warns of them.

The warnings depend on files of this machine, and the machine of the job may have others.
"""

import os
import re
import shutil
from collections.abc import Iterator, Sequence

from jobgen.cli.mistakes.missing_profile import profile_problem
from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.other_words.search import habits
from jobgen.paths import is_file, to_path
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS, Job, job_options
from jobgen.planning.option_row import BATCH
from jobgen.planning.plan import Plan
from jobgen.profiles.search import profile_files
from jobgen.quoting import options_of, quote, split_words

_SETTINGS = (".yaml", ".yml", ".toml", ".json", ".ini", ".cfg")  # names of small files of code
_SCRIPT = re.compile(r"[\w./-]+\.py")  # a program that can only be a Python script


def check_habits(job: Job, script: str | None) -> None:
    """Raise JobgenError for values as other tools have them; `script` is the value of -o."""
    found = [*profile_problem(job), *_several_values(job)]
    for flag, value in _values(job, script):
        found += _missing_value(job.command, flag, value)
        found += _value_problems(job.command, flag, value)
    if job.template or (job.program and not _SCRIPT.fullmatch(job.program[0])):
        from jobgen.cli.mistakes.shell_words import check_first_word  # rarely needed

        try:
            check_first_word(job)
        except JobgenError as error:
            found += error.problems
    if found:
        raise JobgenError(found)


def check_repeated(words: Sequence[str]) -> None:
    """Raise JobgenError for two profiles, and for a list that is split over two options.

    For other options, the last one counts, as with sbatch: the first may come from an alias.
    """
    for flag in ("--profile", "--mail-on", "--hosts"):
        values = [*dict.fromkeys(value for name, value in options_of(words) if name == flag)]
        if len(values) > 1 and flag != "--profile":
            hint = f"write {flag} {quote(','.join(values))}"
            raise problem(flag, "the option has one value, and is given twice", "usage", hint)
        if len(values) > 1:
            hint = f"write {' or '.join(f'{flag} {quote(it)}' for it in values)}; for the"
            hint += f" values of all: a file with `extends: [{', '.join(values)}]`"
            raise problem(flag, "a job is of one cluster, and is given several", "usage", hint)


def check_paths(paths: Sequence[str]) -> None:
    """Raise JobgenError if a path does not exist, and the user probably meant something else."""
    for path in (each for each in paths if each != "-" and not os.path.lexists(to_path(each))):
        if path in profile_files():
            hint = f"write jobgen profiles validate {path}"
            raise problem(path, "it is a profile, and no file here", "usage", hint)
        if re.search("[*?]", path):
            text = "no file has this name: a shell puts names in its place, if no quotes are there"
            raise problem(path, text, "usage", f"write {path} without quotes, or names of files")
        if path.endswith((".yaml", ".yml")) and is_file("jobgen.yaml"):
            hint = "write jobgen build, for jobgen.yaml, which is here"
            raise problem(path, "there is no such file", "usage", hint)


def _values(job: Job, script: str | None) -> Iterator[tuple[str, str]]:
    if script and job.command in BATCH:
        yield "-o", script
    if job.program and job.launcher != "node":
        yield "--", " ".join(job.program)
    for name, row in job_options(job.command):
        value = getattr(job, name) if row.metavar else None
        for text in value if isinstance(value, tuple) else [value] if value else []:
            yield row.flags[0], text


def _missing_value(command: str, flag: str, value: str) -> Iterator[Problem]:
    """The problem of an option right before `--`, which click takes for its value."""
    row = OPTIONS.get(FIELD_OF_FLAG.get(flag, ""))
    if value != "--" or flag == "--":
        return
    if row is None:  # the output
        yield Problem(Mark(flag), "it needs a file", "usage", f"such as {flag} job.sh")
        return
    example = row.example if isinstance(row.example, str) else row.example.get(command, "")
    text = "it needs a number" if row.metavar == "N" else "it needs a value"
    yield Problem(Mark(flag), text, "usage", f"such as {flag} {example or row.placeholder}")


def _value_problems(command: str, flag: str, value: str) -> Iterator[Problem]:
    """The problem of the first habit, a form of another tool, that matches a value."""
    is_letter = len(flag) == 2 and flag not in ("-e", "--")
    for table in (f"{flag} of {command}", flag, "any letter" if is_letter else ""):
        for pattern, answer in habits().get(table, {}).items():
            if found := re.fullmatch(pattern, value):
                text, _, hint = answer.partition("; ")
                raw = (value, *found.groups(""))
                words = [word and quote(word) for word in raw]
                text = text.format(f"{value!r:.80}")
                parts = re.split(r"[,;\s]+", value)
                commas = re.sub(r"((?:^|,)[^:,]+):\d+(?=,|$)|,slots=\d+", r"\1", ",".join(parts))
                each = " ".join(f"{flag} {quote(part)}" for part in parts)
                more = {"flag": flag, "lower": value.lower(), "commas": commas, "each": each}
                hint = hint.format(*words, **more, raw=raw)
                yield Problem(Mark(flag), text, "value", hint)
                return


def _several_values(job: Job) -> Iterator[Problem]:
    """The problems of --set options with values of several keys."""
    for text in job.set_values:
        pairs = re.split(r",(?=[A-Za-z_][\w.]*=)", text)
        if len(pairs) > 1 and text.count("=") == len(pairs) and not re.search(r"=[\[{]", text):
            group = pairs[0].partition("=")[0].rpartition(".")[0]
            hint = f"write {' '.join(_set_words(each, group, job.command) for each in pairs)}"
            yield Problem(Mark("--set"), f"{text!r:.80} has values of several keys", "value", hint)


def _set_words(pair: str, group: str, command: str) -> str:
    """The words to write for NAME=VALUE; the name may belong to `group`, the first key's group."""
    from jobgen.planning.key_words import KEYS, option_words  # only a mistake needs it

    path, _, value = pair.partition("=")
    if f"{group}.{path}" in KEYS or (group == "network.environment" and "." not in path):
        return f"--set {quote(f'{group}.{pair}')}"
    words = "" if "." in path else option_words(path, command, value).partition(", ")[0]
    return words or f"--set {quote(pair)}"


def job_warnings(job: Job, plan: Plan, is_here: bool = True) -> Iterator[Problem]:
    """The warnings about a job for which a plan was made; of its program, if that is here."""
    if is_here:
        yield from _program_advice(job, plan)
        yield from _copy_advice(plan)
        yield from _shell_advice(plan)
    yield from _progress_advice(job, plan)
    yield from _directive_advice(job)


def _progress_advice(job: Job, plan: Plan) -> Iterator[Problem]:
    """Warnings about launch.progress: a job that is no chain does not read it, or it is a folder.

    A profile may have it for the jobs that are chains.
    """
    files, is_chain = plan.launch.progress, bool(plan.launch.chain)
    if not files or job.command not in BATCH:
        return
    is_option = any(each.startswith("launch.progress=") for each in job.set_values)
    if is_option and not is_chain:
        text = "only a chain looks whether the training got further"
        yield Problem(Mark("--set launch.progress"), text, "conflict", "add --chain N")
    if is_chain and (files.endswith("/") or os.path.isdir(to_path(files))):
        text = f"{files!r:.80} is a folder, which a file that is written again does not change"
        hint = f"name the files in it, such as '{files.rstrip('/')}/*'"
        yield Problem(Mark("launch.progress"), text, "value", hint)


def _program_advice(job: Job, plan: Plan) -> Iterator[Problem]:
    """A warning if the program's file does not exist here, or if the program is a quoted line."""
    name = plan.program.name
    elsewhere = plan.software.workspace or plan.request.chdir  # relative paths start there
    in_workspace = elsewhere and not name.startswith("/")
    is_path = plan.program.kind == "script" or (plan.program.kind == "command" and "/" in name)
    if plan.program.kind == "trainer" or in_workspace or "$" in name:
        return
    module = name.replace(".", "/")
    if plan.program.kind == "module":
        folder = to_path(name.partition(".")[0])
        if not folder.is_dir() or to_path(module).is_dir():
            return
        name, is_path = f"{module}.py", True
    is_elsewhere = plan.program.kind == "command" and "/" not in name and not shutil.which(name)
    files = {f"{module}.py": f"-m {name}", f"./{name}": f"./{name}", f"{name}.py": f"{name}.py"}
    for file, right in files.items() if is_elsewhere else ():
        if is_file(to_path(file)):  # a shell searches a name without / only on PATH
            text = f"no command {name!r:.80} is on PATH, and a file {file.lstrip('./')} is here"
            yield Problem(Mark("--"), text, "program", f"write -- {right}")
            return
    if is_file(to_path(name)):
        if plan.program.kind == "command" and is_path and not os.access(to_path(name), os.X_OK):
            text, hint = f"the file {name!r:.80} cannot be executed", f"chmod +x {quote(name)}"
            yield Problem(Mark("--"), text, "program", f"{hint}, or write -- bash {quote(name)}")
        return
    if len(name.split()) > 1 and not plan.program.arguments:
        yield from _words_advice(job, name)
    elif is_path:
        where = "" if name.startswith("/") else " in the folder that it is submitted from"
        text = f"there is no file {name!r:.80} here"
        yield Problem(Mark("--"), text, "program", f"the job needs it{where}")


def _words_advice(job: Job, name: str) -> Iterator[Problem]:
    """A warning about a program that is a whole command line in one word."""
    first, *others = name.split()
    words = others if first in ("python", "python3") and others[0].endswith(".py") else []
    words = words or [first, *others]
    hint = f"write the words apart: -- {' '.join(words)}"
    if to_file := re.fullmatch(r"([^;|&<>]+?)\s*&?>>?\s*(\S+?)(?:\s+2>&1)?", name):
        words = split_words(to_file[1])
        hint = f"write --set request.output={to_file[2]} -- {to_file[1]}"
    elif re.search("[;|&<>]", name):
        hint = f"for a shell on the node: -- bash -c {quote(name)}"
    text = f"{name!r:.80} is one word with blanks, and no file here"
    from jobgen.generator import Generator  # only a mistake needs it

    try:
        Generator().plan(job._replace(program=tuple(words)))
        yield Problem(Mark("--"), text, "program", hint)
    except JobgenError as error:  # such as another launcher
        yield from error.problems


def _directive_advice(job: Job) -> Iterator[Problem]:
    """Warnings about directives that sbatch refuses: a misspelt name (JG203), a value (JG217)."""
    texts = [text for text in job.directives if text.startswith("--")]
    if not texts or job.command != "sbatch":
        return
    from jobgen.lint.option_values import grammar_of
    from jobgen.lint.options import known_options

    for name, _, value in (text[2:].partition("=") for text in texts):
        options = known_options("sbatch")
        near = "" if options.find(name) else options.nearest(name)
        grammar = grammar_of("slurm", name)
        mark = Mark("--directive")
        if near:
            text = f"sbatch has no option --{name}"
            yield Problem(mark, text, "JG203", f"did you mean --{near}?")
        elif grammar and value and (refused := grammar.refused(value)):
            text, hint = f"--{name} does not take `{refused}`", f"it takes {grammar.takes}"
            yield Problem(mark, text, "JG217", hint)


def _copy_advice(plan: Plan) -> Iterator[Problem]:
    """A warning that the job does not read a file of settings from the copy of the code."""
    copy = plan.software.workspace
    words = plan.program.arguments if copy and not copy.url else ()
    for word in words:
        file = word.rpartition("=")[2]
        if file.endswith(_SETTINGS) and is_file(to_path(file)):
            text = f"the job reads {file:.80} in the working folder, as it is then"
            hint = "a program opens what is in the copy by Path(__file__).parent"
            yield Problem(Mark("--code"), text, "edit", hint)
            return


def _shell_advice(plan: Plan) -> Iterator[Problem]:
    """A warning if the program is a shell script on this machine that starts ranks itself."""
    words = (plan.program.name, *plan.program.arguments)
    if plan.launch.launcher == "node" or plan.program.kind != "command":
        return
    name = words[words[0] in ("bash", "sh") and len(words) > 1]
    if not name.endswith(".sh"):
        return
    from jobgen.cli.mistakes.shell_words import first_lines
    from jobgen.planning.program import launcher_in_shell

    if found := launcher_in_shell(first_lines(name)):
        text = f"{name!r:.80} has {found} in it, and is started for each rank"
        hint = f"give the program that {found} starts, or start {name:.80} once on each node:"
        hint += " --launcher node, with $JOBGEN_NODES, _NODE, _HEAD and _PORT in it"
        yield Problem(Mark("--"), text, "program", hint)
