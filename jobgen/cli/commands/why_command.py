"""The command `jobgen why`: shows the verdict on a job's files, all classes, or a class's page."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jobgen.cli.app import argument, columns, main, option
from jobgen.diagnosis.classes import class_of, classes, codes
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.named_input import verdict_on_words
from jobgen.diagnosis.report import as_json, as_line, as_text, no_cause
from jobgen.errors import JobgenError, problem, report
from jobgen.paths import to_path
from jobgen.scripts.write import write

if TYPE_CHECKING:
    from jobgen.diagnosis.nodes.many_jobs import Jobs


@main.command()
@argument("words", nargs=-1, metavar="FILE|FOLDER|JOBID|-|CLASS...")
@option("--format text|json|html", "Of the verdict; html: of --timeline alone.", default="text")
@option("--timeline", "Draw nodes and times: the first failure, and what followed.")
@option("--follow", "Watch until the job's end or Ctrl-C, and say what goes wrong.", "follows")
@option("--line", "The verdict in one line, as a job's last line.")
@option("--all", "Also all that follows from the failure.", "everything")
@option("--report", "A mail to the site's administrators, if only they can mend it.", "mail")
@option("--host HOST[:FOLDER]", "Ask the scheduler there, by ssh, and fetch the job's files.")
@option("--list", "The classes of failure that it knows.", "listing")
def why(
    words: tuple[str, ...],
    format: str,
    timeline: bool,
    follows: bool,
    line: bool,
    everything: bool,
    mail: bool,
    host: str | None,
    listing: bool,
) -> int:
    """Find what failed first in a job, from its output.

    Reads the output of any job, not of jobgen's scripts alone: files, folders with a file for each
    rank, dumps of torch's flight recorder, or stdin (-). For a job's number, it reads its folder in
    jobgen-logs, and asks the scheduler for its output and its end. It prints the node and rank that
    failed first, the cause with its lines, what to do, what is not the cause, and how sure that is.
    Of a running job, it says who wrote last, and when. `jobgen why CLASS` explains a class of
    failure. The exit code is 0 if a cause is found, 1 if none is, and 2 if a file cannot be read.
    """
    shapes = {"--list": listing, "--line": line, "--report": mail, "--timeline": timeline}
    shape = _only_shape([name for name, is_given in shapes.items() if is_given], format, everything)
    if listing:
        return _show_classes(words)
    if follows and not _follow(words, host):
        return 1  # the job ended well
    if line:
        return _show_line(words, host)
    _check_words(words)
    if len(words) == 1 and words[0] in codes() and not os.path.lexists(to_path(words[0])):
        return _show_class(words[0])
    if jobs := _several_jobs(words, shape or "--all" * everything):
        return _show_table(jobs, format)
    verdict = verdict_on_words(words, host)
    if mail:
        return _show_mail(verdict)
    write(_shown(verdict, format, everything, timeline))
    _report_more(verdict, words)
    return 0 if verdict.code else 1


def _only_shape(shapes: Sequence[str], format: str, everything: bool) -> str:
    """The option that gives the verdict its shape; "" for text. Raises JobgenError for several."""
    if shapes and shapes[0] != "--timeline":
        shapes = [*shapes, *["--all"] * everything, *["--format"] * (format != "text")]
    if len(shapes) > 1:
        raise problem(shapes[1], f"{shapes[0]} is given, too", "usage", "give one of the two")
    return "".join(shapes)


def _check_words(words: Sequence[str]) -> None:
    if "" in words:
        hint = 'is a variable such as "$LOG" not set?'
        raise problem("why", "an empty word names no file", "usage", hint)


def _follow(words: Sequence[str], host: str | None) -> bool:
    from jobgen.diagnosis.live.follow import follow  # seldom needed

    _check_words(words)
    return follow(words, host)


def _shown(verdict: Verdict, format: str, everything: bool, timeline: bool) -> str:
    """The verdict in a format, as a drawing if `timeline` is true."""
    if timeline:
        from jobgen.diagnosis.timeline.drawing import drawn  # seldom needed

        return drawn(verdict, format, everything)
    _refuse_html(format)
    return (as_json if format == "json" else as_text)(verdict, everything)


def _refuse_html(format: str) -> None:
    if format == "html":
        raise problem("--format", "only a timeline is written as HTML", "usage", "add --timeline")


def _several_jobs(words: Sequence[str], option: str = "") -> Jobs:
    """The jobs in a folder that has the output of several, of which no `option` shows any."""
    for word in (word for word in words if os.path.isdir(to_path(word))):
        from jobgen.diagnosis.nodes.many_jobs import jobs_in  # most words name files

        jobs = jobs_in(word)
        if jobs and (option or len(words) > 1):
            text = "it has the output of several jobs"
            raise problem(word, text, "usage", "name the output or the folder of one")
        if jobs:
            return jobs
    return {}


def _show_table(jobs: Jobs, format: str) -> int:
    """Write the verdicts on the jobs of a folder."""
    from jobgen.diagnosis.nodes.many_jobs import all_as_json, as_table, verdicts_on

    _refuse_html(format)
    verdicts = verdicts_on(jobs)
    write((all_as_json if format == "json" else as_table)(verdicts))
    return 0 if any(verdict.code for verdict in verdicts.values()) else 1


def _show_mail(verdict: Verdict) -> int:
    """Write the mail to the administrators; it is no matter of theirs without `send`."""
    from jobgen.diagnosis.nodes.mail import as_mail

    if verdict.send:
        write(as_mail(verdict))
        return 0
    cause = f"{verdict.code} is no matter of the administrators" if verdict.code else "no cause"
    report(f"no mail: {cause}; jobgen why without --report says what to do")
    return 1


def _report_more(verdict: Verdict, words: Sequence[str]) -> None:
    """Report batch scripts that are no output, and the last events of chains."""
    if not verdict.code:
        _report_scripts(words)
    _report_chains(words)


def _report_scripts(words: Sequence[str]) -> None:
    from jobgen.cli.mistakes.shell_words import directive_in
    from jobgen.quoting import quote

    for word in filter(directive_in, words):
        hint = f"write jobgen why FILE with what it wrote, or jobgen lint {quote(word)}"
        report(f"{word} is a batch script, and no output of a job; {hint}")


def _report_chains(words: Sequence[str]) -> None:
    """Report the last event of the chains whose states are named."""
    for word in words:
        if "chain-" in word and (found := re.fullmatch(r"(.*/)?chain-(\d+)", word)):
            from jobgen.runs.chains import last_event, read_state  # few words need it

            if event := last_event(read_state(to_path(word))):
                report(f"chain {found[2]}: its last event: {event.text}")


def _show_line(words: Sequence[str], host: str | None) -> int:
    """Write the verdict in one line, whatever happens: scripts call this as their last command."""
    try:
        _check_words(words)
        _several_jobs(words, "--line")
        verdict = verdict_on_words(words, host)
        line, status = as_line(verdict), 0 if verdict.code else 1
    except JobgenError as error:
        line, status = no_cause("; ".join(str(error).split("\n"))), 2
    except Exception as error:  # a job's last line must not be a traceback
        line, status = no_cause(f"jobgen why failed: {type(error).__name__}: {error}"), 2
    write(line)
    return status


def _show_classes(words: Sequence[str]) -> int:
    if words:
        raise problem("--list", "it reads no file", "usage", f"leave {words[0]:.80} out")
    write(columns([(code, each.title) for code, each in classes().items()]))
    return 0


def _show_class(code: str) -> int:
    """Write the page of a class."""
    each = class_of(code)
    special = "".join(f"Cure {case}: {text}\n" for case, text in each.special_cures)
    advice = f"Cure: {each.cure_for_everybody}\n{special}Not this: {each.misleads}\n"
    write(f"{each.code}: {each.title}\n\n{advice}\n{each.page}\n")
    return 0
