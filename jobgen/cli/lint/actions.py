"""What `jobgen lint` does: writes findings, or mended scripts and what is left to find."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jobgen.errors import USAGE, JobgenError, problem, report
from jobgen.lint.fix import Mended, write_mended
from jobgen.lint.output import FORMATS
from jobgen.lint.run import Outcome, lint
from jobgen.lint.settings import Settings
from jobgen.scripts.write import write, write_to_stdout


def lint_files(
    files: Sequence[str],
    format: str = "text",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    also: Sequence[str] = (),
    jobs_only: bool = False,
    profile: str | None = None,
    fix: bool = False,
    diff: bool = False,
    stdin_filename: str | None = None,
) -> int:
    """Write the findings in job scripts, and report their number.

    With `fix`, mend the scripts first; with `diff`, only write what that would change. Returns 0
    without findings, 1 with findings or, with `diff`, changes, and 2 if a file could not be read
    or written. Raises JobgenError for wrong usage.
    """
    _check_usage(files, format, fix, diff, stdin_filename)
    settings = Settings(tuple(select), tuple(ignore), profile, tuple(also))
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
    """Raise JobgenError for options that exclude each other."""
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
    """Show what changes in a file, and write it with `fix`."""
    from jobgen.repository.diff import diff_lines

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
    """Report which rule each mend belongs to; the lines are those of the file before."""
    for each in mended.findings:
        text = f"{'mended' if fix else 'to be mended'}: {each.text}"
        report(str(each._replace(text=text, hint="")))


def _report(outcome: Outcome, fix: bool) -> None:
    """Report what could not be read, written or mended, and count the findings."""
    for each in outcome.unread:
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
        line += f"; {outcome.skipped} files are not job scripts"
    if changed := len(_changed(outcome)):
        line += f"; {changed} {'mended' if fix else 'to be mended'}"
    elif not outcome.mended and (fixable := sum(bool(each.edits) for each in outcome.problems)):
        line += f"; --fix mends {fixable}"
    report(line)
