"""The commands `jobgen lint` and `jobgen rules`."""

import sys
from collections.abc import Sequence

from jobgen.cli.app import argument, columns, main, option
from jobgen.cli.mistakes.job_checks import check_paths
from jobgen.errors import USAGE, JobgenError, problem, report
from jobgen.lint.fix import Mended, write_mended
from jobgen.lint.output import FORMATS
from jobgen.lint.rules import rules
from jobgen.lint.run import Outcome, lint
from jobgen.lint.settings import Settings, code_hint
from jobgen.repository.diff import diff_lines
from jobgen.scripts.write import write, write_to_stdout


@main.command("lint")
@argument("files", nargs=-1, metavar="[FILE...]")
@option(f"--format {'|'.join(FORMATS)}", "The format of the findings.", default="text")
@option("--select CODE...", "Only these rules. JG2 selects all codes that begin with JG2.")
@option("--ignore CODE...", "Without these rules.")
@option("--also CODE...", "These rules, too, which are off by default.")
@option("--jobs-only", "Skip files without #SBATCH or #PBS lines, also if they are named.")
@option("--profile PROFILE|FILE", "The cluster of the scripts; its limits are checked, too.")
@option("--for NAME=VERSION...", "The version of a tool: slurm=23.11, torch=2.4.", "versions")
@option("--fix", "Mend what has only one right mend, show the changes, and report what is left.")
@option("--diff", "Only show what --fix would change.")
@option("--stdin-filename FILE", "What file - stands for: its name and its pyproject.toml count.")
def lint_files(
    files: Sequence[str],
    format: str,
    select: Sequence[str],
    ignore: Sequence[str],
    also: Sequence[str],
    jobs_only: bool,
    profile: str | None,
    versions: Sequence[str],
    fix: bool,
    diff: bool,
    stdin_filename: str | None,
) -> int:
    """Find what goes wrong with job scripts.

    Reads any sbatch or PBS script, generated or not; in a folder, the files with #SBATCH or #PBS
    lines; in a .md or .rst file, the scripts that it shows; - is stdin; without a FILE, the working
    folder. The exit code is 1 if there is a finding, and 2 if a file cannot be read or written. A
    comment `# jobgen: ignore=CODE reason`, on a line or above it, turns a rule off there;
    [tool.jobgen.lint] in pyproject.toml may have `select`, `ignore`, `also`, `for` and `profile`.
    --fix changes no command. With -, it writes the script to stdout and the findings to stderr.
    """
    files = files or ["."]
    _check_usage(files, format, fix, diff, stdin_filename)
    settings = Settings(tuple(select), tuple(ignore), profile, tuple(also), tuple(versions))
    outcome = lint(files, settings, jobs_only, fix or diff, stdin_filename or "-")
    found = FORMATS[format](outcome.problems)
    if fix and "-" in files:
        for each in outcome.mended:
            write_to_stdout(each.new_data)
            _report_mended(each, fix)
        sys.stderr.write(found)
    else:
        for each in _changed(outcome):
            _act(each, outcome, fix, shows=format == "text")
        write("" if diff else found)
    _report(outcome, fix)
    has_findings = outcome.problems or (diff and _changed(outcome))
    return USAGE if outcome.unread else 1 if has_findings else 0


def _check_usage(
    files: Sequence[str], format: str, fix: bool, diff: bool, stdin_filename: str | None
) -> None:
    """Raise JobgenError for wrong paths, and for options that cannot be used together."""
    if "" in files:
        hint = "is a variable that should name it not set?"
        raise problem("FILE", "an empty word names no file", "usage", hint)
    check_paths(files)
    if fix and diff:
        raise problem("--diff", "--fix is given, too", "usage", "give one of the two")
    if diff and format != "text":
        raise problem("--diff", f"it has no format {format}", "usage", "leave --format out")
    if fix and "-" in files and len(files) > 1:
        text = "with -, the mended script goes to stdout"
        raise problem("--fix", text, "usage", "name no other file")
    if stdin_filename is not None and "-" not in files:
        raise problem("--stdin-filename", "stdin is not read", "usage", "name the file -, too")


def _changed(outcome: Outcome) -> list[Mended]:
    return [each for each in outcome.mended if each.data != each.new_data]


def _act(mended: Mended, outcome: Outcome, fix: bool, shows: bool) -> None:
    """Show the changes in a file; with `fix`, write them."""
    try:
        if fix:
            write_mended(mended)
    except JobgenError as error:
        outcome.unread += error.problems
        return
    if shows:
        write("".join(diff_lines(mended.path, mended.data, mended.new_data, "mended")))
    _report_mended(mended, fix)


def _report_mended(mended: Mended, fix: bool) -> None:
    """Report the finding of each mend; line numbers are those of the file before mending."""
    for each in mended.findings:
        text = f"{'mended' if fix else 'to be mended'}: {each.text}"
        report(str(each._replace(text=text, hint="")))


def _report(outcome: Outcome, fix: bool) -> None:
    """Report files that were not read or written, findings not mended, and the counts."""
    for each in (*outcome.notes, *outcome.unread):
        report(str(each))
    refused = {each.path: each.refused for each in outcome.mended}
    for each in outcome.problems:
        if each.edits and (reason := refused.get(each.mark.file, {}).get(each.code)):
            report(f"{each.mark}: {each.code} is left: {reason}; mend it by hand")
    for place in outcome.partly_read:
        report(f"{place}: this cannot be parsed; what follows was read in part")
    with_findings = len({finding.mark.file for finding in outcome.problems})
    count = len(outcome.problems)
    line = f"{count} finding{'s' * (count != 1)} in {with_findings} of {outcome.files} scripts"
    if outcome.skipped:
        others = "file is no job script" if outcome.skipped == 1 else "files are no job scripts"
        line += f"; {outcome.skipped} {others}"
    if changed := len(_changed(outcome)):
        line += f"; {changed} {'mended' if fix else 'to be mended'}"
    elif not outcome.mended and (fixable := sum(bool(each.edits) for each in outcome.problems)):
        line += f"; --fix mends {fixable}"
    report(line)


@main.command("rules")
@argument("code", required=False, metavar="[CODE]")
def show_rules(code: str | None) -> int:
    """The rules of lint, or the page of one.

    A page explains what the rule finds, why that fails, the evidence, and the cure.
    """
    all_rules = rules()
    if code is None:
        note = "; off by default"
        write(
            columns([(each, rule.title + note * rule.optional) for each, rule in all_rules.items()])
        )
        return 0
    if not (rule := all_rules.get(code.upper())):
        raise problem("rules", f"no rule `{code:.40}`", "usage", code_hint(code))
    page = f"{rule.code}: {rule.title}\n\n{rule.page}\n"
    if rule.optional:
        page += f"\nOff by default; turn it on with --also {rule.code}\n"
    for heading, text in (("Found in", rule.bad), ("Not in", rule.good)):
        lines = "".join(f"    {line}\n" for line in text.rstrip("\n").split("\n"))
        page += f"\n{heading}:\n\n{lines}"
    write(page)
    return 0
