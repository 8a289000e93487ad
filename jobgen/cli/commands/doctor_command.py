"""The command `jobgen doctor`: writes the script of a measuring job, and its results as a page."""

from pathlib import Path
from typing import Any

from jobgen.cli.app import RowOption, main, option
from jobgen.cli.commands.job_commands import OUTPUT_OPTIONS, JobCommand, default_profile, run_job
from jobgen.doctor import html_report, read_results
from jobgen.errors import printable, problem, report
from jobgen.generator import Generator, no_profile
from jobgen.paths import to_path
from jobgen.planning.job_options import OPTIONS, Job
from jobgen.scripts.write import write

FOLDER = "jobgen-doctor"  # to which trainers/doctor.py writes its results
VERDICT = "jobgen doctor:"  # begins the first line of the verdict in a job's output
WALLTIME = "0:30:00"  # a round of pairs takes about a second: enough for 1,000 nodes
# The options of a job that the user may give: where the job runs, and its size.
FIELDS = (
    *(
        name
        for name, row in OPTIONS.items()
        if row.group in ("Cluster", "Size and time")
        and name not in ("hosts", "exclusive", "shared")
    ),
    *("environment", "set_values", "directives"),
)
_rows = {**{field: OPTIONS[field] for field in FIELDS}, **OUTPUT_OPTIONS}


@main.command(cls=JobCommand, params=[RowOption(name, row) for name, row in _rows.items()])
@option(
    "--report FILE",
    "Draw the results of a job that has ended (jobgen-doctor/JOBID.json), as one HTML file:"
    " -o, else FILE with .html.",
)
def doctor(report: str | None, **options: Any) -> int:
    """The script of a job that measures each node and the network.

    The job takes some minutes. It names the nodes that are slower than the others, prints the line
    that excludes them, and leaves all values in jobgen-doctor/JOBID.json. With --wait, this command
    follows the job and draws the report. With --wait, or with --report, the exit code is 1 if
    something is wrong. Examples:

      jobgen doctor --profile mi210 -N 8 | sbatch

      jobgen doctor --report jobgen-doctor/4711.json
    """
    if report is not None:
        return _write_report(report, options)
    return _write_script({field: options.pop(field) for field in FIELDS}, options)


def _write_script(fields: dict[str, Any], output: dict[str, Any]) -> int:
    """Write or submit the script; with `wait`, also write the report. Raises JobgenError."""
    job = _job(fields)
    if job.command == "local":
        _refuse(output, ("submit", "wait", "mkdir"), "a job of this machine alone")
    before = _results()
    status = run_job(job, output)
    new_results = sorted(_results() - before) if output["wait"] else []
    return max([status, *(_write_report(str(path), {}, summary=True) for path in new_results)])


def _job(fields: dict[str, Any]) -> Job:
    """The measuring job, for the scheduler of its profile. Raises JobgenError."""
    if fields["profile"] is None:
        fields["profile"] = default_profile()
    if fields["profile"] is None:
        raise no_profile()
    generator = Generator()
    command = generator.command(fields["profile"])
    given = {field: value for field, value in fields.items() if value not in (None, ())}
    for field in given:
        if command not in OPTIONS[field].commands:
            flag, name = OPTIONS[field].flags[-1], given["profile"]
            text = f"`jobgen {command}`, which makes the scripts for {name:.80}, has no such option"
            raise problem(flag, text, "usage", f"see `jobgen {command} --help`")
    if command in OPTIONS["time"].commands:
        given.setdefault("time", WALLTIME)
    name = generator.profiles.load(fields["profile"]).name
    # With --exit-zero, torchrun prints no error after the ranks: the verdict is the last output.
    words = ("--exit-zero", "--cluster", Path(name).stem)
    return Job(command, **given, trainer="doctor", program=words)


def _write_report(file: str, options: dict[str, Any], summary: bool = False) -> int:
    """Write the results in a file as an HTML page; 1 if there is a fault. Raises JobgenError.

    With `summary`, also report the job's verdict on stderr.
    """
    output = options.pop("output", None) or f"{file.removesuffix('.json')}.html"
    _refuse(options, tuple(options), "--report, which only draws a file")
    results = read_results(file)
    write(html_report(results), output, executable=False)
    begin = next((n for n, line in enumerate(results.lines) if line.startswith(VERDICT)), 0)
    for line in results.lines[begin:] if summary else ():
        report(printable(line.removeprefix("jobgen ")))
    if output != "-":
        report(f"the report is {output}")
    return 1 if results.verdict.findings or results.network.problem else 0


def _results() -> set[Path]:
    return set(to_path(FOLDER).glob("*.json"))


def _refuse(options: dict[str, Any], names: tuple[str, ...], subject: str) -> None:
    for name in names:
        if options[name]:
            flag = {**OPTIONS, **OUTPUT_OPTIONS}[name].flags[-1]
            raise problem(flag, f"it is not for {subject}", "usage", f"leave {flag} out")
