"""The commands that plan a job: sbatch, qsub, local, interactive, byhand."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from jobgen.cli.app import TEXTS, Command, RowOption, complete_value, main
from jobgen.errors import JobgenError, problem, report, report_lines
from jobgen.paths import to_path
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import BATCH, GROUPS, RANKS, Option, option
from jobgen.quoting import quote
from jobgen.scripts.write import check_output, make_folder, write

if TYPE_CHECKING:
    from jobgen.generator import Generator
    from jobgen.planning.plan import Plan

# The options for the use of a script; the options of the job are in planning/job_options.
_output = partial(option, "Output")
OUTPUT_OPTIONS: dict[str, Option] = {
    "output": _output(
        "-o --output FILE",
        "Write to FILE, atomically and executable; its folder is created.",
        commands=RANKS,
    ),
    "submit": _output(
        "--submit", "Submit the script; print the job's id instead of the script.", commands=BATCH
    ),
    "wait": _output(
        "--wait", "Submit, follow the job on stderr, and exit with its status.", commands=BATCH
    ),
    "host": _output(
        "--host HOST[:FOLDER]",
        "With --submit or --wait: on this login node, by ssh.",
        commands=BATCH,
    ),
    "mkdir": _output("--mkdir", "Create the folder of the job's output now.", commands=BATCH),
}


def output_options(command: str) -> dict[str, Option]:
    """The options for the use of a script that a command has, by name."""
    return {name: row for name, row in OUTPUT_OPTIONS.items() if command in row.commands}


class JobCommand(Command):
    """A command that makes a job; its help lists the options under headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; returns those that click did not use.

        Raises JobgenError for words that click reads, but not as the user probably meant them, such
        as options after the program.
        """
        if self.name == "qsub" and "-h" in args and "--" in args[args.index("-h") :]:
            hint = "for a job on hold, as with qsub: --directive=-h"
            raise problem("-h", "here it shows the help, and no script is written", "usage", hint)
        others = super().parse_args(ctx, args)
        program = ctx.params.get("program") or ()
        head = args[: len(args) - len(program)]
        if not ctx.resilient_parsing:
            from jobgen.cli.mistakes.job_checks import check_repeated

            check_repeated(head)
        if program and head[-1:] != ["--"] and not ctx.resilient_parsing:
            from jobgen.cli.mistakes.usage_errors import later_problems
            from jobgen.cli.mistakes.word_order import order_problem

            if found := order_problem(self, head, program, partial(later_problems, self, ctx)):
                raise found
        return others

    def check(self, fields: dict[str, Any]) -> None:
        """Raise JobgenError if no job can be made of the options; `fields` has them by name."""
        from jobgen.generator import Generator

        name = str(self.name)
        if name not in _HELP:  # doctor has options of its own
            return
        output = {each: fields.pop(each) for each in output_options(name)}
        job = _checked(Job(name, **fields), output)
        if name != "byhand":  # whose hosts may not be known yet
            Generator().plan(job)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                rows[getattr(parameter, "group", GROUPS[-1])].append(record)
        for heading in filter(rows.get, GROUPS):
            with formatter.section(heading):  # all headings have the same column width
                formatter.write_dl([(f"{name:<28}", text) for name, text in rows[heading]], 28)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if ctx.params.get("program"):  # all words after the program are its arguments
            return [CompletionItem(incomplete, "file")]
        return super().shell_complete(ctx, incomplete)


# The help of each command; before it stands the command's line from the list of commands.
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


def run_job(job: Job, options: dict[str, Any]) -> int:
    """Run the command of a job; `options` are the options for the use of its script.

    A script is also written before it is submitted if there is an `output`. Returns the exit code:
    with `wait`, the job's.
    """
    from jobgen.generator import Generator  # not needed for completion and --help
    from jobgen.schedulers import get_scheduler

    job = _checked(job, options)
    generator, output = Generator(), options.get("output")
    plan = generator.plan(job)
    if job.command == "interactive":
        words = get_scheduler(plan.scheduler).interactive(plan)
        write(" ".join(map(quote, words)) + "\n")
        return 0
    script = generator.render(plan, job.template)
    submits, host = bool(options.get("submit") or options.get("wait")), options.get("host")
    _check_use(plan, script, options, submits)
    if job.command != "byhand":
        if host is None:
            _prepare_output_folder(plan, bool(options.get("mkdir")))
        _report_array(plan, job)
    _report_warnings(generator, plan, job, submits, is_here=host is None)
    if host is None:
        report_lines(generator.keep_codes())
    if not submits or output:
        write(script, output)
    return _submit(generator, plan, script, options) if submits else 0


def _submit(generator: Generator, plan: Plan, script: str, options: dict[str, Any]) -> int:
    """Submit the script here or on the host; returns the exit code."""
    from jobgen.submission.submit import submit_script

    host, follows = options.get("host"), bool(options["wait"])
    if host is None:
        status = submit_script(script, plan.scheduler, follows, _log_folder(plan))
    else:
        from jobgen.remote.job import submit_there

        mkdir = bool(options.get("mkdir"))
        status = submit_there(host, plan, script, generator.codes.codes, follows, mkdir)
    if status.exit_status and status.output:
        report_cause(status.output)
    return status.exit_status or 0


def _check_use(plan: Plan, script: str, options: dict[str, Any], submits: bool) -> None:
    """Raise JobgenError if the script cannot be written or submitted as the options say."""
    output, is_here = options.get("output"), options.get("host") is None
    if not is_here and not submits:
        raise problem("--host", "the script is only written", "usage", "add --submit or --wait")
    if submits:
        from jobgen.submission.submit import check_submission

        check_submission(plan.scheduler, output, is_here)
    if submits and is_here and plan.software.lock:
        from jobgen.submission.environments import check_environments

        check_environments([plan], Path())
    check_output(script, output)


def _log_folder(plan: Plan) -> Path | None:
    """The folder of the job's record; None if a $NAME in its path is not set here."""
    from jobgen.submission.submit import log_folder

    try:
        return log_folder(plan, Path.cwd())
    except JobgenError:
        report("warning: the job has no record yet: its folder of logs is not known here")
        return None


def report_cause(output: str) -> None:
    """Report the verdict of `jobgen why` on a job's output file; without one, its last line."""
    from jobgen.diagnosis.engine import diagnose  # most jobs end well
    from jobgen.diagnosis.files import sources
    from jobgen.diagnosis.job_folder.silence import last_words
    from jobgen.diagnosis.report import as_text

    with suppress(JobgenError):  # the output may be on another machine
        verdict = diagnose(sources([output]))
        if verdict.code:
            report(as_text(verdict, False).rstrip())
        elif words := last_words(output):
            report(f"no cause is known; the last line of {output}: {words}")


def _checked(job: Job, output: dict[str, Any]) -> Job:
    if job.profile is None and job.command != "local":  # `local` has its own default profile
        job = job._replace(profile=default_profile())
    from jobgen.cli.mistakes.job_checks import check_habits  # not needed for --help

    check_habits(job, output.get("output"))
    return job


def default_profile() -> str | None:
    """The profile in $JOBGEN_PROFILE, for a command without --profile; None if it is not set."""
    return os.environ.get("JOBGEN_PROFILE") or None


def _prepare_output_folder(plan: Plan, create: bool) -> None:
    from jobgen.schedulers import get_scheduler

    scheduler = get_scheduler(plan.scheduler)
    folder = scheduler.output_folder(plan)
    is_missing = folder and not os.path.isdir(to_path(folder))
    if create and folder:
        make_folder(folder)
    elif create:
        report("--mkdir: the job's output needs no folder of its own")
    elif is_missing and (loss := scheduler.lost_without_folder(plan)):
        report(f"{loss}: create that folder first, or use --mkdir")


def _report_array(plan: Plan, job: Job) -> None:
    """Report probable mistakes in the options of an array job."""
    if not plan.request.array or plan.launch.chain:
        return
    if plan.program.source and "%a" not in "".join(plan.program.arguments):
        hint = "use %a in the arguments for the array index"
        report(f"every job of the array runs the same command: {hint}")
    if (number := job.array or "").isdigit() and int(number) > 1:
        hint = f"for {number} jobs, --array 0-{int(number) - 1}"
        report(f"--array {number} is one job, with this number; {hint}")
    if any("%a" in text for text in job.environment):
        report(f"-e: %a is not expanded here; write ${plan.array_index}")


def _report_warnings(
    generator: Generator, plan: Plan, job: Job, submits: bool, is_here: bool = True
) -> None:
    from jobgen.cli.mistakes.job_checks import job_warnings

    warnings = generator.advice(job, plan)
    if job.command != "byhand":
        warnings += job_warnings(job, plan, is_here)
    if submits and is_here:
        from jobgen.submission.edits import edit_warnings

        warnings += edit_warnings([plan], Path())
    for warning in warnings:
        report(f"warning: {warning}")
