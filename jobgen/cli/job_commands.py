"""The commands that plan a job: sbatch, qsub, local, interactive, byhand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from jobgen.cli.app import TEXTS, Command, RowOption, complete_value, main
from jobgen.errors import Mark, Problem, report
from jobgen.paths import is_file, is_folder, to_path
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import BATCH, GROUPS, RANKS, Option, option
from jobgen.quoting import quote
from jobgen.scripts.write import make_folder, write

if TYPE_CHECKING:
    from jobgen.planning.plan import Plan

# What to do with a script; the options of the job are in planning/job_options.
_output = partial(option, "Output")
OUTPUT_OPTIONS: dict[str, Option] = {
    "output": _output(
        "-o --output FILE",
        "Write to FILE, atomically and executable; its folder is created.",
        commands=RANKS,
    ),
    "submit": _output(
        "--submit",
        "Submit the script; print the job's id instead of the script.",
        commands=BATCH,
        effect={"sbatch": "`sbatch`", "qsub": "`qsub`"},
    ),
    "wait": _output(
        "--wait",
        "Submit, follow the job on stderr, and exit with its status.",
        commands=BATCH,
        effect={"sbatch": "`scontrol show job`", "qsub": "`qstat -f`, `qsub -W block=true`"},
    ),
    "mkdir": _output("--mkdir", "Create the folder of the job's output now.", commands=BATCH),
}


def output_options(command: str) -> dict[str, Option]:
    """The options of a command that say what to do with its script, by name."""
    return {name: row for name, row in OUTPUT_OPTIONS.items() if command in row.commands}


class JobCommand(Command):
    """A command whose options are rows: it lists them under their headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Returns the words that click leaves.

        Raises JobgenError for words that are silently the program's, and probably were not meant
        so.
        """
        others = super().parse_args(ctx, args)
        program = ctx.params.get("program") or ()
        head = args[: len(args) - len(program)]
        if program and head[-1:] != ["--"] and not ctx.resilient_parsing:
            from jobgen.cli.lookup.word_order import order_problem

            if found := order_problem(self, head, program):
                raise found
        return others

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                rows[getattr(parameter, "group", GROUPS[-1])].append(record)
        for heading in filter(rows.get, GROUPS):
            with formatter.section(heading):  # the columns have one width under all headings
                formatter.write_dl([(f"{name:<28}", text) for name, text in rows[heading]], 28)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if ctx.params.get("program"):  # what follows is the program's, also options
            return [CompletionItem(incomplete, "file")]
        return super().shell_complete(ctx, incomplete)


# What the help of each command says after the line in the list of all commands.
_PROGRAM = (
    "PROGRAM is a Python script (*.py), -m MODULE or a command; without it, the profile's trainer"
    " runs. Example:\n\n"
)
_HELP = {
    "sbatch": _PROGRAM + "  jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch",
    "qsub": _PROGRAM + "  jobgen qsub --profile eap -N 2 -- train.py --lr 0.1 | qsub",
    "local": "Its nodes are loopback addresses. The default profile is `local`. Example:\n\n"
    "  jobgen local -N 2 -- train.py | bash",
    "interactive": "salloc for Slurm, qsub -I for PBS. Example:\n\n"
    '  eval "$(jobgen interactive --profile mi210 -N 2)"',
    "byhand": "The hosts as Slurm prints them, as PBS's exec_host, or a file of them"
    " (a PBS_NODEFILE). Example:\n\n"
    "  jobgen byhand --profile mi210 --hosts smc-r07-[07-08] -- train.py --lr 0.1",
}


def _job_command(name: str) -> JobCommand:
    def run(**fields: Any) -> int:
        output = {each: fields.pop(each) for each in output_options(name)}
        return run_job(Job(name, **fields), output)

    rows = (*job_options(name), *output_options(name).items())
    params: list[click.Parameter] = [RowOption(field, row) for field, row in rows]
    if name in RANKS:
        program = click.Argument(
            ["program"],
            nargs=-1,
            type=click.UNPROCESSED,
            metavar="[-- PROGRAM ARGS...]",
            shell_complete=complete_value,
        )
        params.append(program)
    settings = {"allow_interspersed_args": False}
    return JobCommand(name, settings, run, params, help=f"{TEXTS[name]}\n\n{_HELP[name]}")


for _name in _HELP:
    main.add_command(_job_command(_name))


def run_job(job: Job, output: dict[str, Any]) -> int:
    """Run the command of a job, with the options that say what to do with its script."""
    if job.profile is None and job.command != "local":  # which has a default of its own
        job = job._replace(profile=default_profile())
    from jobgen.cli.lookup.habits import check_habits  # completion and --help do without

    check_habits(job, output.get("output"))
    if job.command == "interactive":
        return interactive(job)
    return by_hand(job, **output) if job.command == "byhand" else generate(job, **output)


def default_profile() -> str | None:
    """The profile of a command without --profile."""
    return os.environ.get("JOBGEN_PROFILE") or None


def generate(
    job: Job,
    output: str | None = None,
    mkdir: str | None = None,
    submit: str | None = None,
    wait: str | None = None,
) -> int:
    """Write the script for a job; or submit it, and write it too if there is an `output`.

    With `mkdir`, the folder of the job's output is created first; with `wait`, the exit code is the
    job's.
    """
    from jobgen.generator import Generator  # completion and --help do without

    generator = Generator()
    plan = generator.plan(job)
    script = generator.render(plan, job.template)
    submits = bool(submit or wait)
    if submits:
        from jobgen.submission.submit import check_submission

        check_submission(plan.scheduler, output)
    _prepare_output_folder(plan, bool(mkdir))
    _report_array(plan, job)
    warnings = (*generator.advice(job, plan), *_program_advice(plan), *_shell_advice(plan))
    for warning in (*warnings, *_directive_advice(job)):
        report(f"warning: {warning}")
    if not submits or output:
        write(script, output)
    if not submits:
        return 0
    from jobgen.cli.progress import Progress
    from jobgen.submission.submit import submit_script

    return submit_script(script, plan.scheduler, Progress if wait else None)


def _prepare_output_folder(plan: Plan, create: bool) -> None:
    from jobgen.schedulers import get_scheduler

    scheduler = get_scheduler(plan.scheduler)
    folder = scheduler.output_folder(plan)
    if create and folder:
        make_folder(folder)
    elif create:
        report("--mkdir: the job's output needs no folder of its own")
    elif folder and (loss := scheduler.lost_without_folder(plan)) and not is_folder(folder):
        report(f"{loss}: create that folder first, or use --mkdir")


def _report_array(plan: Plan, job: Job) -> None:
    """Report what does not differ between the jobs of an array."""
    if not plan.request.array:
        return
    if plan.program.source and "%a" not in "".join(plan.program.arguments):
        hint = "use %a in the arguments for the array index"
        report(f"every job of the array runs the same command: {hint}")
    if any("%a" in text for text in job.environment):
        report(f"-e: %a is not expanded here; write ${plan.array_index}")


def _program_advice(plan: Plan) -> Iterator[Problem]:
    """A warning if the program is a path to no file, or several words in one.

    It is no error: the machine of the job may differ.
    """
    name = plan.program.name
    elsewhere = plan.software.workspace or plan.request.chdir  # a relative path counts from there
    in_workspace = elsewhere and not name.startswith("/")
    is_path = plan.program.kind == "script" or (plan.program.kind == "command" and "/" in name)
    if plan.program.kind not in ("script", "command") or in_workspace or "$" in name:
        return
    if is_file(to_path(name)):
        return
    first, *others = name.split()
    if others and not plan.program.arguments:
        words = others if first in ("python", "python3") and others[0].endswith(".py") else []
        hint = f"write the words apart: -- {' '.join(words or [first, *others])}"
        text = f"{name!r:.80} is one word with blanks, and no file here"
        yield Problem(Mark("--"), text, "program", hint)
    elif is_path:
        where = "" if name.startswith("/") else " in the folder that it is submitted from"
        text = f"there is no file {name!r:.80} here"
        yield Problem(Mark("--"), text, "program", f"the job needs it{where}")


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
    if not name.endswith(".sh") or not is_file(to_path(name)):
        return
    from jobgen.planning.program import launcher_in_shell

    with to_path(name).open(encoding="utf-8", errors="replace") as file:
        found = launcher_in_shell(file.read(60_000))  # an archive that unpacks itself is long
    if found:
        text = f"{name!r:.80} has {found} in it, and is started for each rank"
        hint = f"give the program that {found} starts, or start {name:.80} once on each node:"
        hint += " --launcher node, with $JOBGEN_NODES, _NODE, _HEAD and _PORT in it"
        yield Problem(Mark("--"), text, "program", hint)


def by_hand(job: Job, output: str | None = None) -> int:
    """Write the commands that start a job host by host."""
    from jobgen.generator import Generator

    generator = Generator()
    plan = generator.plan(job)
    lines = generator.render(plan, job.template)
    for warning in generator.advice(job, plan):
        report(f"warning: {warning}")
    write(lines, output)
    return 0


def interactive(job: Job) -> int:
    """Write the command that requests a job's nodes and a shell on the first."""
    from jobgen.generator import Generator
    from jobgen.schedulers import get_scheduler

    plan = Generator().plan(job)
    words = get_scheduler(plan.scheduler).interactive(plan)
    write(" ".join(map(quote, words)) + "\n")
    return 0
