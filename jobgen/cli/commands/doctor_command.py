"""The command `doctor`, and `profiles prove` and `profiles proof`, which have a job of doctor's."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import click

from jobgen import __version__
from jobgen.cli.app import Command, RowOption, argument, main, option
from jobgen.cli.commands.job_commands import OUTPUT_OPTIONS, JobCommand, default_profile, run_job
from jobgen.doctor import html_report, read_results
from jobgen.doctor.proof import in_words, option_words, profile_hash, profile_name, read_proof
from jobgen.doctor.proof_rules import check_counts, replaced_keys
from jobgen.errors import JobgenError, printable, problem, report
from jobgen.generator import Generator, find_profiles, no_profile
from jobgen.paths import to_path
from jobgen.planning.job_options import OPTIONS, Job
from jobgen.scripts.write import write

FOLDER = "jobgen-doctor"  # to which trainers/doctor.py writes its results
VERDICT = "jobgen doctor:"  # begins the first line of the verdict in a job's output
WALLTIME = "0:30:00"  # a round of pairs takes about a second: enough for 1,000 nodes
PROOF_WALLTIME = "0:15:00"  # of which most is for containers and imports
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
    generator = Generator()
    if fields["profile"] is None:
        fields["profile"] = default_profile()
    command, given = _given(generator, fields)
    name = generator.profiles.load(fields["profile"]).name
    # With --exit-zero, torchrun prints no error after the ranks: the verdict is the last output.
    words = ("--exit-zero", "--cluster", Path(name).stem)
    return _doctor_job(command, {"time": WALLTIME, **given}, words)


def _given(generator: Generator, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The command for the profile's scheduler, and the options that were given.

    Raises JobgenError for an option that this command does not have.
    """
    if fields["profile"] is None:
        raise no_profile()
    command = generator.command(fields["profile"])
    given = {field: value for field, value in fields.items() if value not in (None, ())}
    for field in given:
        if command not in OPTIONS[field].commands:
            flag, name = OPTIONS[field].flags[-1], given["profile"]
            text = f"`jobgen {command}`, which makes the scripts for {name:.80}, has no such option"
            raise problem(flag, text, "usage", f"see `jobgen {command} --help`")
    return command, given


def _doctor_job(command: str, given: dict[str, Any], words: tuple[str, ...]) -> Job:
    has_time = command in OPTIONS["time"].commands
    fields = {name: value for name, value in given.items() if has_time or name != "time"}
    return Job(command, **fields, trainer="doctor", program=words)


@click.command(
    "prove",
    cls=JobCommand,
    params=[RowOption(name, row) for name, row in _rows.items() if name not in ("profile", "host")],
)
@argument("name", metavar="PROFILE|FILE")
@option("--json FILE", "The file that the job writes; the default is proof-NAME.json.", "file")
def prove(name: str, file: str | None, **options: Any) -> int:
    """The script of a job that proves that a profile works on its machine.

    The job takes some minutes on two nodes or more. It measures the network between them, takes a
    step of a training, and leaves one small file in the folder that it is submitted from: whether
    all passed, versions and speeds, but no name of a user, host, folder, account or job. In a pull
    request, the file makes the profile's state `ran`. Examples:

      jobgen profiles prove sites/lumi-g -N 2 -A project_465000001 | sbatch

      jobgen profiles prove sites/polaris -N 2 -A datascience -q debug | qsub
    """
    fields = {field: options.pop(field) for field in FIELDS if field != "profile"}
    return run_job(_proof_job(name, file, fields), options)


def _proof_job(profile: str, file: str | None, fields: dict[str, Any]) -> Job:
    """The job that writes the proof of a profile. Raises JobgenError."""
    generator = Generator()
    command, given = _given(generator, {"profile": profile, **fields})
    name = profile_name(generator.profiles, profile)
    if command == "local":
        is_base = not generator.profiles.load(profile).profile.scheduler
        why = "of this machine alone, where a job proves nothing"
        text = f"{name:.80} is {'a base for other profiles' if is_base else why}"
        raise problem("PROFILE", text, "usage", "name the profile of a cluster")
    named = [field for field in fields if field in given and field != "nodes"]  # it counts them
    flags = [(OPTIONS[field].flags[0], given[field]) for field in named]
    facts = {
        "profile": name,
        "hash": profile_hash(generator.profiles.load(profile)),
        "options": [word for flag, value in flags for word in option_words(flag, value)],
        "jobgen": __version__,
    }
    for word, path in replaced_keys(facts["options"], generator.profiles.load(profile).profile):
        report(f"warning: with {word}, the proof is none of {name:.80}: it replaces its `{path}`")
    words = ("--proof", file or f"proof-{Path(name).name}.json", "--of", json.dumps(facts))
    job = _doctor_job(command, {"time": PROOF_WALLTIME, "nodes": "2", **given}, words)
    if generator.plan(job).request.nodes < 2:
        raise problem("-N", "a proof needs two nodes or more", "value", "write -N 2")
    return job


@click.command("proof", cls=Command)
@argument("files", nargs=-1, required=True, metavar="FILE...")
def proof(files: tuple[str, ...]) -> int:
    """Check proofs that a profile works.

    The exit code is 0 if each file is one, its job passed, and the values of its profile are still
    the same; 1 if a job did not pass, or a profile has changed since; 2 if a file is no proof, or
    counts for no profile: its job had another node or network than the profile, or other ranks.
    """
    return max([_check_proof(file) for file in files])


def _check_proof(file: str) -> int:
    try:
        found = read_proof(to_path(file))
        resolved = find_profiles().load(found.profile)
        is_same = found.hash == profile_hash(resolved)
        check_counts(found, to_path(file), resolved.profile if is_same else None)
    except JobgenError as error:
        report(str(error))
        return error.exit_code
    text = f"{found.profile} {in_words(found, is_same, date.today())}"
    write(printable(f"{file}: {text}") + "\n")
    return 0 if found.passed and is_same else 1


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
