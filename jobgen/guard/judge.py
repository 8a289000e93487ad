"""Judges one submission: its script by the rules of lint, and the site's choice of rules."""

from collections.abc import Sequence
from typing import NamedTuple

from jobgen.errors import JobgenError, Problem
from jobgen.guard.settings import Choice
from jobgen.lint.reader.commands import Command, Word
from jobgen.lint.reader.directives import Directive, command_options
from jobgen.lint.reader.parse import parse
from jobgen.lint.reader.script import Script
from jobgen.lint.run import IGNORE_COMMENT, problems_in
from jobgen.schedulers import get_scheduler

ACCEPTED, WARNED, REFUSED, EXEMPT = "accepted", "warned", "refused", "exempt"
UNREAD, REHEARSED = "unread", "rehearsed"  # the latter is the word of the log for --test-only
PROGRAMS = {"slurm": "sbatch", "pbs": "qsub"}


class Submission(NamedTuple):
    """A script, its name in messages, and the words after sbatch or qsub."""

    user: str
    scheduler: str
    name: str
    words: Sequence[str]
    script: bytes | None  # None for a pipe with a name, which sbatch alone may read

    @property
    def options(self) -> list[Directive]:
        """The options of the command line; they replace the script's directives."""
        words = [PROGRAMS[self.scheduler], *self.words]
        return [*command_options(Command(tuple(Word(word, 1, 1) for word in words), 1, 1, 0))]


class Verdict(NamedTuple):
    """What is to be done with a job, and why; `gpu_hours` is what a refused job asks for."""

    word: str
    problems: Sequence[Problem] = ()
    codes: Sequence[str] = ()  # that refuse the job, or else that warn
    gpu_hours: float | None = None

    @property
    def text(self) -> str:
        """The verdict's word on a line, and then what its user reads."""
        if not self.problems:
            return f"{self.word}\n"
        lines = str(JobgenError(self.problems))
        head, last = "jobgen warns, and the job is submitted:", ""
        if self.word == REFUSED:
            head, code = "jobgen: the job is not submitted:", self.codes[0]
            line = next(each.mark.line for each in self.problems if each.code == code)
            where = "above that line" if line > 1 else "below the first line"
            last = f"`jobgen rules {code}` explains it. If it is wrong here, write {where}:"
            last += f" # jobgen: ignore={code} REASON\n"
        return f"{self.word}\n{head}\n{lines}\n{last}"


def judge(submission: Submission, choice: Choice) -> Verdict:
    """The verdict on a submission; reads no file. Raises ValueError for what is no text."""
    if submission.script is None:
        return Verdict(UNREAD)
    if b"\0" in submission.script:
        raise ValueError("the script has zero bytes")
    if not choice.lint:
        return Verdict(ACCEPTED)
    text = submission.script.decode("utf-8", "surrogateescape")
    problems = problems_in(text, submission.name, choice.lint, submission.options)
    # That no GPUs are requested is said, as by lint, of scripts with directives alone.
    problems = [each for each in problems if (each.code, each.mark.line) != ("JG702", 1)]
    refusing = [each for each in problems if each.code in choice.refused]
    codes = sorted({each.code for each in refusing or problems})
    if not refusing:
        return Verdict(WARNED if problems else ACCEPTED, problems, codes)
    script = parse(text, submission.name, options=submission.options)
    hours = _gpu_hours(script, submission.scheduler)
    shown = [each for each in problems if each.code in choice.refused | {IGNORE_COMMENT}]
    return Verdict(REFUSED, shown, codes, hours)


def _gpu_hours(script: Script, scheduler: str) -> float | None:
    """The GPU-hours of one job of a script; None if it does not say its GPUs or its time."""
    total, per_node = script.directive("gpus"), script.gpus_per_node
    gpus = total.gpus if total else per_node and per_node.count * (script.nodes or 1)
    _, walltime = script.walltime or (None, "")
    seconds = get_scheduler(scheduler).seconds(walltime)
    return gpus * seconds / 3600 if gpus and seconds else None
