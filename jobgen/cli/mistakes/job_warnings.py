"""Warnings about a program and directives that are possible, and probably not meant.

They depend on the files here: the machine of the job may differ.
"""

import os
import re
import shutil
from collections.abc import Iterator

from jobgen.cli.mistakes.shell_words import first_lines
from jobgen.errors import JobgenError, Mark, Problem
from jobgen.generator import Generator
from jobgen.paths import is_file, to_path
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.quoting import quote, split_words


def job_warnings(job: Job, plan: Plan) -> Iterator[Problem]:
    """The warnings about a job, whose plan was made."""
    yield from _program_advice(job, plan)
    yield from _shell_advice(plan)
    yield from _directive_advice(job)


def _program_advice(job: Job, plan: Plan) -> Iterator[Problem]:
    """A warning if the program is a path to no file, or several words in one."""
    name = plan.program.name
    elsewhere = plan.software.workspace or plan.request.chdir  # a relative path counts from there
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
        if is_file(to_path(file)):  # a shell looks for it on PATH alone
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
    """A warning about a program that is several words in one."""
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
    try:
        Generator().plan(job._replace(program=tuple(words)))
        yield Problem(Mark("--"), text, "program", hint)
    except JobgenError as error:  # such as another launcher
        yield from error.problems


def _directive_advice(job: Job) -> Iterator[Problem]:
    """Directives that sbatch refuses: a name almost as it has one, or a value (JG203, JG217)."""
    texts = [text for text in job.directives if text.startswith("--")]
    if not texts or job.command != "sbatch":
        return
    from jobgen.lint.option_values import grammar_of
    from jobgen.lint.reader.sbatch_options import nearest_option

    for name, _, value in (text[2:].partition("=") for text in texts):
        near = nearest_option(name)
        grammar = grammar_of("slurm", name)
        mark = Mark("--directive")
        if near:
            text = f"sbatch has no option --{name}"
            yield Problem(mark, text, "JG203", f"did you mean --{near}?")
        elif grammar and value and (refused := grammar.refused(value)):
            text, hint = f"--{name} does not take `{refused}`", f"it takes {grammar.takes}"
            yield Problem(mark, text, "JG217", hint)


def _shell_advice(plan: Plan) -> Iterator[Problem]:
    """A warning if the program is a shell script, here, that starts ranks itself."""
    words = (plan.program.name, *plan.program.arguments)
    if plan.launch.launcher == "node" or plan.program.kind != "command":
        return
    name = words[words[0] in ("bash", "sh") and len(words) > 1]
    if not name.endswith(".sh"):
        return
    from jobgen.planning.program import launcher_in_shell

    if found := launcher_in_shell(first_lines(name)):
        text = f"{name!r:.80} has {found} in it, and is started for each rank"
        hint = f"give the program that {found} starts, or start {name:.80} once on each node:"
        hint += " --launcher node, with $JOBGEN_NODES, _NODE, _HEAD and _PORT in it"
        yield Problem(Mark("--"), text, "program", hint)
