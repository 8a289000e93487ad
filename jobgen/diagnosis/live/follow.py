"""Follows a job until it ends, and says at once what its output shows."""

import copy
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from jobgen.diagnosis.classes import codes
from jobgen.diagnosis.engine import add_file, refuse, verdict_on
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import LOG, as_word, is_job_folder, natural, path_label, sources
from jobgen.diagnosis.job_files import find_job_folder, is_job_id, queue_of
from jobgen.diagnosis.job_folder.layout import changed, read_plain
from jobgen.diagnosis.job_folder.silence import rank_files
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.judging.case import CAUSES, Case
from jobgen.diagnosis.lines.census import Census
from jobgen.diagnosis.lines.labels import Label
from jobgen.diagnosis.live.growing_file import GrowingFile
from jobgen.diagnosis.live.writers import Writers
from jobgen.diagnosis.nodes.many_jobs import jobs_in
from jobgen.diagnosis.report import event_line, head
from jobgen.errors import problem, report
from jobgen.paths import to_path, walk
from jobgen.runs.records import LOGS
from jobgen.submission.follow import FollowedJob, Progress, last_line
from jobgen.submission.queues.job_queue import JobStatus

PAUSE, LONGEST_PAUSE = 1.0, 10.0  # seconds between two looks
RARELY = 100  # how many times as long as a look the pause is: thousands of files are no load
_SETTLED = 10.0  # seconds after which nothing follows the last line of a job
# The last line of a job, if no other follows it; a job that is requeued goes on.
_END = re.compile(
    r"jobgen: (?:the job .*, with status \d+: |no cause found|the ranks hung: )"
    r"|jobgen: .* failed first: |=>> PBS: job killed|.*\*\*\* JOB \d+ ON (?!.*REQUEUE|.*PREEMPT)"
)


def follow(words: Sequence[str], host: str | None = None) -> bool:
    """Say what goes wrong in a job, on stderr, until the job ends, or until Ctrl-C.

    The end is seen if the scheduler, the job's folder or its last line shows it: most jobs that
    jobgen did not make have no such line. Returns whether something is left to judge: a job that
    ends well removes its folder.
    """
    refused = {"-": "stdin does not grow"}
    refused |= {word: f"{word} has several jobs" for word in words if jobs_in(word)}
    refused |= {word: f"the files of a job of {host} are not here" for word in words if host}
    for text in (refused[word] for word in words if word in refused):
        raise problem("--follow", text, "usage", "name the output of one job, which is here")
    if len(words) == 1 and is_job_id(words[0]) and not os.path.lexists(to_path(words[0])):
        if found := queue_of(words[0]):  # if there is none, the verdict says so
            queue, job, cluster = found
            FollowedJob(job, cluster, queue, None, LOGS).follow(_JobWatch(job))
        return True
    return not words or _follow_files(words)


def _say_begin(words: Sequence[str]) -> None:
    """Say what is waited for, and how the waiting ends. Raises JobgenError for what never grows."""
    for word in words:
        _check_may_grow(word)
        if not any(os.path.lexists(to_path(path)) for path, *_ in _logs(word)):
            is_folder = os.path.isdir(to_path(word))
            report(f"{word} {'has no logs' if is_folder else 'is not there'} yet; waiting")
    if not any(map(is_job_folder, words)):
        report("this ends with Ctrl-C, or when a last line shows that the job has ended")


def _check_may_grow(word: str) -> None:
    try:
        mode = os.stat(to_path(word)).st_mode
    except FileNotFoundError:
        if word in codes():
            raise problem(
                "--follow", f"{word} is a class of failure", "usage", "name a log"
            ) from None
        return
    except OSError as error:
        refuse(error, word)
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise problem("--follow", f"{word} is a pipe or a device", "usage", "name a log")
    if not os.access(to_path(word), os.R_OK):
        raise problem(word, "cannot be read: Permission denied", "unreadable")


def _follow_files(words: Sequence[str]) -> bool:
    _say_begin(words)
    watch = Watch(words[0] + ", …" * (len(words) > 1), words)
    folders = [word for word in words if is_job_folder(word)]
    with suppress(KeyboardInterrupt):
        while watch.look() or not (any(map(_has_ended, words)) or _gone(folders)):
            watch.show_silence()
            time.sleep(watch.pause)
    watch.clear()
    for folder in _gone(folders):
        watch.add_line(f"{folder} is gone: a job that ends with status 0 removes its folder")
    return not _gone(folders)


def _gone(folders: Sequence[str]) -> list[str]:
    return [folder for folder in folders if not os.path.lexists(to_path(folder))]


def _has_ended(word: str) -> bool:
    """Whether the folder or the last line of a job's output shows that the job has ended."""
    if is_job_folder(word):
        return bool(read_plain(os.path.join(to_path(word), "status"), 1))
    path = str(to_path(word))
    return time.time() - changed(path) > _SETTLED and bool(_END.match(last_line(path)))


class Watch(Progress):
    """The output of a job that runs: the files and folders of `words`, and what they show."""

    def __init__(self, subject: str, words: Sequence[str]) -> None:
        super().__init__(subject)
        self.words = words
        self.shown = (None, None)  # no line is needed as long as all is well
        self.pause = PAUSE
        self._files: dict[str, GrowingFile] = {}
        self._census, self._writers = Census(), Writers()
        self._is_settled = True
        self._failure: object = None

    def look(self) -> bool:
        """Read what is new, and say what it shows. Returns whether anything was new."""
        begun = time.monotonic()
        old, self._files = self._files, {}
        for path, label, is_named in (log for word in self.words for log in _logs(word)):
            file = old.get(path) or GrowingFile(path, label, self._census, is_named=is_named)
            file.label = label  # a rank's number may become known later
            self._files[path] = file
        grown = [file for file in self._files.values() if file.look()]
        for file in grown:
            if file.begins_anew:
                self._say(f"{file.path} is written anew")
            self._writers.take(file, are_tasks_ranks="torchrun" not in self._census.launchers)
        if grown or not self._is_settled:
            self._is_settled = self._tell(self._verdict(), is_quiet=not grown)
        self.pause = min(max(PAUSE, RARELY * (time.monotonic() - begun)), LONGEST_PAUSE)
        return bool(grown)

    def show_silence(self, status: str = "", state: object = None) -> None:
        """Show the longest silence: on a terminal always, elsewhere when it has doubled."""
        level, text = self._writers.silence()
        text = f"{status}; {text}" if status else text
        self.rewrite((state, level), text, text)

    def _verdict(self) -> Verdict:
        case = Case()
        vars(case).update(vars(copy.deepcopy(self._census)))
        for lines in filter(None, (file.lines for file in self._files.values())):
            add_file(case, lines)
        folder = next(filter(is_job_folder, self.words), "")
        if folder and (case.events or case.stacks):
            logs = [word for word in self.words if os.path.isfile(to_path(word))]
            return diagnose_folder(folder, sources(logs))
        return verdict_on(case)

    def _tell(self, verdict: Verdict, *, is_quiet: bool) -> bool:
        """Say what the verdict has that is new; false if it may change with the next lines."""
        failure = None
        if verdict.code or verdict.evidence:
            main = verdict.evidence[0]
            is_cause = verdict.code and main.role in CAUSES and main.certainty != "possible"
            if not is_quiet and not is_cause:
                return False
            place = (verdict.node, verdict.rank, verdict.one_of)
            failure = (verdict.code or verdict.says, *place)
        if failure and failure != self._failure:
            self._say(head(verdict))
            self._say(f"  {event_line(verdict.evidence[0])}")
        elif self._failure and not failure:
            recovered = "; ".join(note for note in verdict.notes if note.startswith("recovered"))
            self._say(f"taken back: {recovered or 'the job went on'}")
        self._failure = failure
        return True

    def _say(self, text: str) -> None:
        self.add_line(f"{time.strftime('%H:%M:%S')} {text}")


class _JobWatch(Watch):
    """Looks at the files of a job whenever the scheduler tells its status."""

    def __init__(self, job: str) -> None:
        super().__init__(f"job {job}", ())
        self._job = job

    def show(self, status: JobStatus) -> None:
        self.words = [*filter(None, (find_job_folder(self._job), status.output))]
        self.look()
        self.show_silence(str(status), (status.state, status.restarts))


def _logs(word: str) -> Iterator[tuple[str, Label, bool]]:
    """The logs that a word names, the labels of their lines, and whether it names the log itself.

    If it does not, the log was found in a folder.
    """
    if not os.path.isdir(to_path(word)):
        yield word, path_label(word), True
        return
    ranks = dict(rank_files(word)) if is_job_folder(word) else {}
    for folder, _, names in walk(to_path(word), lambda error: None):
        for name in sorted(filter(re.compile(LOG).search, names), key=natural):
            path = os.path.join(folder, name)
            label = ranks.get(path) or path_label(os.path.relpath(path, to_path(word)))
            yield as_word(path), label, False
