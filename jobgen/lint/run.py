"""Lints files: runs the chosen rules on each script in the files, and mends what they find."""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field

from jobgen.bounds import LINT_NESTING, LINT_TRUSTED_BYTES
from jobgen.errors import JobgenError, Mark, Problem
from jobgen.lint.documents import is_document, is_whole_script, scripts_in
from jobgen.lint.files import (
    check_is_script,
    find_files,
    has_directives,
    out_of_bounds,
    read_file,
    unreadable,
)
from jobgen.lint.fix import Mended, end_of, mended
from jobgen.lint.options import read_versions
from jobgen.lint.reader.directives import Directive
from jobgen.lint.reader.parse import parse
from jobgen.lint.reader.script import Script, SubmittedScript
from jobgen.lint.rules import NEEDS_PROFILE, NEEDS_VERSION, Finding
from jobgen.lint.rules.ignore_comments import ignore_comments, unused_comments
from jobgen.lint.settings import Settings, check, chosen_checks, load_profile, settings_for
from jobgen.untrusted_input import ends_within_bounds

# A template of Jinja, of R's brew, of Python, or with @NAMES@ or <<<names>>>: a script is made from
# it, but it is not itself a script.
_TEMPLATE = re.compile(
    r"^(#(SBATCH|PBS).*(\{\{|<%|%\(\w+\)s|@[A-Z][A-Z_]+@|<<<\w+>>>)|\s*\{%)", re.MULTILINE
)

INVALID_BASH, IGNORE_COMMENT = "JG001", "JG002"  # rules that this module treats specially
Column = Callable[[int, int], int]  # from a line and column of a script to the column in the file
Linted = list[tuple[Script, list[Problem]]]  # the scripts of a file, each with its problems


@dataclass
class Outcome:
    """The problems, and how many `files` have job scripts; the `skipped` files have none.

    `notes` say what a named file is that is no script. `partly_read` has places after which only
    parts of a script were read; `unread` says which files, folders and configurations could not be
    read, and why. `mended` has the new texts of files; with `mended`, `problems` are those that are
    left in the new texts.
    """

    problems: list[Problem] = field(default_factory=list)
    files: int = 0
    skipped: int = 0
    partly_read: list[Mark] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    unread: list[Problem] = field(default_factory=list)
    mended: list[Mended] = field(default_factory=list)


def lint(
    paths: Sequence[str],
    settings: Settings,
    jobs_only: bool = False,
    fix: bool = False,
    stdin_name: str = "-",
) -> Outcome:
    """Lint named files, and the job scripts in folders; with `jobs_only`, only job scripts.

    With `fix`, mend findings that have one right mend; no file is written. "-" is stdin, whose
    findings name the file `stdin_name`. Raises JobgenError if the settings are wrong.
    """
    check(settings)
    outcome = Outcome()

    def on_error(error: OSError) -> None:
        text = f"cannot be read: {error.strerror}"
        outcome.unread.append(Problem(Mark(str(error.filename)), text, "unreadable"))

    for path, is_named in find_files(paths, on_error):
        name = stdin_name if path == "-" else path
        try:
            data = read_file(path)
            note = check_is_script(path, data) if is_named and not jobs_only else None
            outcome.notes += [note] if note else []
            if not note and ((is_named and not jobs_only) or has_directives(data)):
                _lint_data(data, name, settings, fix, outcome)
            else:
                outcome.skipped += 1
                outcome.mended += [Mended(name, data, data)] if path == "-" else []
        except JobgenError as error:
            if not error.problems or error.problems[0].code == "missing":
                raise
            outcome.unread += error.problems
    outcome.unread = sorted(set(outcome.unread))
    return outcome


def _lint_data(data: bytes, path: str, settings: Settings, fix: bool, outcome: Outcome) -> None:
    if b"\0" in data:
        hint = "is it UTF-16? sbatch reads UTF-8"
        raise unreadable(path, "it is not text: it has zero bytes", hint)
    text = data.decode("utf-8", "surrogateescape")
    is_trusted = len(data) <= LINT_TRUSTED_BYTES
    if not is_trusted and not ends_within_bounds(_linted, text, path, settings):
        raise out_of_bounds(path, "is it a script?")
    linted = _linted(text, path, settings)
    new = Mended(path, data, data)
    if with_edits := {each.code for _, found in linted for each in found if each.edits}:
        if is_trusted or ends_within_bounds(_mended, data, path, settings):
            new = _mended(data, path, settings)
            text = new.new_data.decode("utf-8", "surrogateescape")
            linted = _linted(text, path, settings) if fix else _offered(linted, new.refused)
        elif fix:
            raise out_of_bounds(path, "mend it by hand")
        else:
            linted = _offered(linted, with_edits)
    outcome.mended += [new] if fix else []
    for script, problems in linted:
        outcome.problems += problems
        is_reported = any(each.code == INVALID_BASH for each in problems)
        if script.parse_error and not is_reported:
            outcome.partly_read.append(Mark(path, *script.parse_error))
    outcome.files += bool(linted)
    outcome.skipped += not linted


def _offered(linted: Linted, refused: Container[str]) -> Linted:
    """`linted` without the edits that `--fix` refuses: an editor applies edits without a check."""
    return [
        (script, [each._replace(edits=()) if each.code in refused else each for each in found])
        for script, found in linted
    ]


def _mended(data: bytes, path: str, settings: Settings) -> Mended:
    own_settings = settings_for(path, settings)
    return mended(path, data, lambda text: problems_in(text, path, own_settings))


def _linted(text: str, path: str, settings: Settings) -> Linted:
    """The scripts of a file, each with the problems of the script."""
    indented = scripts_in(text) if is_document(path) else [(text, 0)]
    return [
        (script, _problems(script, settings_for(path, settings), _indented(indent)))
        for part, indent in indented
        if not _TEMPLATE.search(part)
        for script in [parse(part, path)]
    ]


def problems_in(
    text: str, file: str, settings: Settings, options: Sequence[Directive] = ()
) -> list[Problem]:
    """The problems of one script by the chosen rules, sorted by place; reads no configuration.

    The `options` are those of sbatch's or qsub's command line.
    """
    return _problems(parse(text, file, options=options), settings, _indented(0))


def _problems(
    script: Script, settings: Settings, column: Column, nesting: int = 0
) -> list[Problem]:
    """The problems of a script and of the scripts that it submits; `column` gives file columns."""
    if _TEMPLATE.search(script.text):
        return []
    ignored = {
        (line, code)
        for comment in ignore_comments(script)
        if comment.reason
        for line in comment.ignored_lines
        for code in comment.codes
    }
    problems = {
        _problem(script, each, code, column, can_be_mended=nesting == 0)
        for each, code in _findings(script, settings)
        if (each.line, code) not in ignored
    }
    for inner in script.submitted_scripts if nesting < LINT_NESTING else ():
        if is_whole_script(inner.text):
            job = parse(inner.text, script.file, inner.first_line, inner.options)
            if job.parse_error and not script.parse_error:
                script.parse_error = job.parse_error[0], inner.column(*job.parse_error)
            problems.update(_problems(job, settings, _inside(inner, column), nesting + 1))
    return sorted(problems)


def _indented(indent: int) -> Column:
    """The column function of a script that is indented in a document, or is the whole file."""
    return lambda _, column: column + indent


def _inside(inner: SubmittedScript, column: Column) -> Column:
    """The column function of a script that another script, whose function is `column`, submits."""
    return lambda line, own_column: column(line, inner.column(line, own_column))


def _problem(
    script: Script, finding: Finding, code: str, column: Column, can_be_mended: bool
) -> Problem:
    """A finding as a problem at its place in the file; it has no edits in a document."""
    mark = Mark(script.file, finding.line, column(finding.line, finding.column))
    line, end = end_of(script, finding)
    # The end is one column after the last character, if the line has a character before the end.
    end = column(line, 1) if end == 1 else column(line, end - 1) + 1
    edits = finding.edits if can_be_mended and not script.is_in_document else ()
    return Problem(mark, finding.text, code, finding.cure, end=(line, end), edits=edits)


def _findings(script: Script, settings: Settings) -> Iterable[tuple[Finding, str]]:
    """The findings of the chosen rules, with their codes, before ignore comments suppress any."""
    script.profile = load_profile(settings.profile) if settings.profile else None
    script.versions = read_versions("--for", settings.versions)
    checks = chosen_checks(settings)
    found = [(finding, code) for code, check in checks.items() for finding in check(script)]
    if IGNORE_COMMENT in checks and not script.parse_error:
        unsearched = [NEEDS_PROFILE] * (not script.profile)
        unsearched += [NEEDS_VERSION] * (not script.versions)
        searched = {code for code in checks if not code.startswith(tuple(unsearched))}
        places = {(finding.line, code) for finding, code in found}
        unused = unused_comments(script, searched - {IGNORE_COMMENT}, places)
        found += [(finding, IGNORE_COMMENT) for finding in unused]
    return found
