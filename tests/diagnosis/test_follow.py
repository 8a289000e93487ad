"""`jobgen why --follow`: a real process watches files that grow, come late, or are written anew."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from jobgen.diagnosis.engine import add_file, collect, verdict_on
from jobgen.diagnosis.files import sources
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.lines.census import Census
from jobgen.diagnosis.lines.labels import Label, Labeller, plain
from jobgen.diagnosis.live import growing_file
from jobgen.diagnosis.live.follow import Watch
from jobgen.diagnosis.live.growing_file import GrowingFile
from jobgen.diagnosis.live.writers import Writers
from jobgen.diagnosis.reader import SAMPLE, LineReader
from jobgen.diagnosis.report import as_text
from tests.diagnosis.job_folders import stderr_of, traceback, write_folder
from tests.diagnosis.test_running_job import SCONTROL
from tests.helpers import jobgen

pytestmark = pytest.mark.slow

LOGS = Path(__file__).parent / "logs"
SECONDS = 60.0  # a limit for a busy machine; most waits take a second or two
HEAD = '[rank5]: Traceback (most recent call last):\n[rank5]:   File "/h/t.py", line 8, in main\n'
OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some were OOM Killed.\n"


class Following:
    """A process of `jobgen why --follow` in a folder, and what it has written."""

    def __init__(self, folder: Path, *words: str, path: str = "") -> None:
        self.folder = folder
        environ = {**os.environ, "PYTHONPATH": os.getcwd(), "PATH": path or os.environ["PATH"]}
        command = [sys.executable, "-m", "jobgen", "why", "--follow", *words]
        with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder, env=environ,
                # A test run in the background of a script ignores Ctrl-C, and so would this.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )  # fmt: skip

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def wait_for(self, text: str) -> None:
        """Wait until it says so."""
        end = time.monotonic() + SECONDS
        while text not in self.stderr:
            assert time.monotonic() < end, self.stderr
            assert self.process.poll() is None, self.stderr
            time.sleep(0.05)

    def wait(self) -> tuple[int, str]:
        """Its exit code, and what it wrote to stdout."""
        return self.process.wait(SECONDS), (self.folder / "stdout").read_text()

    def interrupt(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        return self.wait()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def write(path: Path, text: str) -> None:
    with open(path, "a") as stream:
        stream.write(text)


def test_a_late_file_a_cut_line_a_recovery_and_a_truncation(top: Path) -> None:
    following = Following(top, "x.log")
    try:
        following.wait_for("jobgen: x.log is not there yet; waiting\n")
        following.wait_for("jobgen: this ends with Ctrl-C, or when a last line shows that the job")
        write(top / "x.log", f"step 1\n{HEAD}[rank5]: Value")
        time.sleep(1.5)
        assert "ValueError" not in following.stderr  # the last line has no end yet
        write(top / "x.log", "Error: bad batch\n")
        following.wait_for("rank 5 failed first: ValueError: bad batch  [python-exception, likely]")
        following.wait_for("  x.log:4: ValueError: bad batch")
        write(top / "x.log", "skipped a batch\nstep 7\nstep 8\nstep 9\n")
        following.wait_for("taken back: recovered from: ValueError: bad batch, x.log:4\n")
        write(top / "x.log", OOM)
        following.wait_for("[host-memory, sure]")
        (top / "x.log").write_text("step 1\n")
        following.wait_for("x.log is written anew")
        following.wait_for("taken back: the job went on")
    finally:
        status = following.interrupt()
    assert status[0] == 1
    assert status[1].startswith("no failure found\nnote: nothing here says that the job ended well")


def test_the_usual_verdict_comes_after_an_interrupt(top: Path) -> None:
    write(top / "x.log", OOM)
    following = Following(top, "x.log", "--format", "json")
    following.wait_for("[host-memory, sure]")
    words, environ = ("why", "--format", "json", "x.log"), {"PYTHONPATH": os.getcwd()}
    expected = jobgen(*words, cwd=top, env=environ).stdout.decode()
    assert following.interrupt() == (0, expected)


def test_a_log_s_own_end_ends_it(top: Path) -> None:
    end = "jobgen: the job failed, with status 1: jobgen why 7 reads /h/jobgen-logs/7\n"
    write(top / "x.log", f"{HEAD}[rank5]: ValueError: no\n{end}")
    os.utime(top / "x.log", (0, time.time() - 60))
    status, text = Following(top, "x.log").wait()
    assert status == 0
    assert text.startswith("rank 5 failed first: ValueError: no")


def test_a_job_s_folder_is_followed_to_its_status(top: Path) -> None:
    folder = write_folder(top, {"roll-call": "", stderr_of(0): "step 1\n"})
    (folder / "status").unlink()
    following = Following(top, "jobgen-logs/7")
    write(folder / stderr_of(3), traceback(3, "ValueError: x"))  # a rank's file comes late
    following.wait_for("rank 3 on nB failed first: ValueError: x")
    write(folder / "status", "1 after 5 s\n")
    status, text = following.wait()
    assert status == 0
    assert text.startswith("rank 3 on nB failed first: ValueError: x")


def test_a_folder_that_its_job_removed(top: Path) -> None:
    folder = write_folder(top, {"roll-call": "", stderr_of(0): "step 1\n"})
    (folder / "status").unlink()
    following = Following(top, "jobgen-logs/7")
    write(folder / stderr_of(3), traceback(3, "ValueError: x"))
    following.wait_for("rank 3 on nB failed first: ValueError: x")  # it has begun
    shutil.rmtree(folder)
    assert following.wait() == (1, "")
    assert "jobgen-logs/7 is gone: a job that ends with status 0" in following.stderr


def test_an_empty_folder_is_waited_for(top: Path) -> None:
    (top / "logs").mkdir()
    following = Following(top, "logs")
    following.wait_for("jobgen: logs has no logs yet; waiting\n")
    write(top / "logs" / "rank5.log", f"{HEAD}[rank5]: ValueError: no\n")
    following.wait_for("rank 5 failed first: ValueError: no")
    assert following.interrupt()[0] == 0


def test_the_scheduler_says_when_a_job_has_ended(top: Path) -> None:
    """The output comes late, and the failure is said while the job runs."""
    commands = top / "bin"
    commands.mkdir()
    (top / "state").write_text("PENDING")
    answer = SCONTROL.format(folder=top, state="$state", reason="None")
    script = f"#!/bin/bash\nread -r state < {top}/state\ncat <<END\n{answer}END\n"
    for name in ("scontrol", "scancel"):
        (commands / name).write_text(script)
        (commands / name).chmod(0o755)
    following = Following(top, "7", path=f"{commands}:/usr/bin:/bin")
    following.wait_for("job 7: PENDING")
    (top / "state").write_text("RUNNING")
    write(top / "o.out", OOM)
    following.wait_for("[host-memory, sure]")
    assert "job 7: RUNNING" in following.stderr
    (top / "state").write_text("FAILED")
    status, text = following.wait()
    assert status == 0
    assert text.startswith("first failure: the node ran out of memory")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-"], "--follow: stdin does not grow"),
        (["x", "--host", "a"], "--follow: the files of a job of a are not here"),
        ([], "why: no file"),
        ([""], "why: an empty word names no file"),
        (["gpu-memory"], "--follow: gpu-memory is a class of failure"),
        (["/dev/null"], "--follow: /dev/null is a pipe or a device"),
        (["/dev/null/x.log"], "cannot be read: Not a directory"),
    ],
)
def test_what_cannot_be_followed(words: list[str], text: str) -> None:
    result = jobgen("why", "--follow", *words)
    assert result.returncode == 2
    assert text in result.stderr.decode()


# ---- within one process ----


def growing(path: Path) -> GrowingFile:
    return GrowingFile(str(path), Label(), Census())


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("step 1 of many\n" * SAMPLE)
    file = growing(path)
    assert file.look()
    assert not file.look()
    lines = file.lines
    write(path, f"{HEAD}[rank5]: ValueError: no\n")
    assert file.look()
    assert file.lines is lines
    assert file.news.startswith(b"[rank5]")
    assert lines
    assert [(event.line, event.rank) for event in lines.events] == [(SAMPLE + 3, 5)]


def test_a_file_that_is_replaced_or_written_anew_at_the_same_length(tmp_path: Path) -> None:
    path, other = tmp_path / "x.log", tmp_path / "y.log"
    path.write_text("step 1\n")
    file = growing(path)
    assert (file.look(), file.begins_anew) == (True, False)
    other.write_text("step 2\n")
    os.replace(other, path)
    assert (file.look(), file.begins_anew) == (True, True)
    path.write_text("other text, which is longer\n")
    assert (file.look(), file.begins_anew) == (True, True)
    write(path, "more\n")
    assert (file.look(), file.begins_anew, file.news) == (True, False, b"more\n")
    path.unlink()
    assert not file.look()


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.log")
    assert not growing(tmp_path / "x.log").look()


def test_a_link_is_read_only_if_a_person_names_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(OOM)
    (tmp_path / "logs").mkdir()
    link = tmp_path / "logs" / "rank1.log"
    link.symlink_to(tmp_path / "secret")
    folder, named = Watch("x", [str(tmp_path / "logs")]), Watch("x", [str(link)])
    assert (folder.look(), named.look()) == (False, True)


def test_files_that_are_followed_take_little_memory(tmp_path: Path) -> None:
    path, stream = tmp_path / "x.log", io.BytesIO(b"step 1\n" * SAMPLE)
    path.write_bytes(stream.getvalue())
    reader = LineReader(stream)
    assert [*reader.whole_lines()][-1] == (SAMPLE, b"step 1")
    assert max(len(value) for value in vars(reader).values() if isinstance(value, bytes)) < SAMPLE
    file = growing(path)
    assert file.look()
    Writers().take(file, are_tasks_ranks=True)
    assert not file.news


def writers_of(tmp_path: Path, *pieces: tuple[float, str]) -> Writers:
    """The writers of one log, of which each piece has an age in seconds."""
    path = tmp_path / "x.log"
    file, writers = growing(path), Writers()
    for age, text in pieces:
        write(path, text)
        os.utime(path, (0, time.time() - age))
        assert file.look()
        writers.take(file, are_tasks_ranks=True)
    return writers


def test_the_rank_that_is_silent_for_longest(tmp_path: Path) -> None:
    first = "".join(f"n{rank // 2} rank {rank}: step 1\n" for rank in range(4))
    later = "".join(f"n{rank // 2} rank {rank}: step 2\r 3%\n" for rank in (0, 1, 3))
    level, text = writers_of(tmp_path, (700, first), (3.5, later)).silence()
    assert text == (
        "silent for longest: rank 2 on n1, for 11 minutes: step 1;"
        " rank 3 on n1 wrote 3 seconds ago: step 2"
    )
    assert level == (1, "rank 2 on n1")


def test_ranks_that_are_silent_alike(tmp_path: Path) -> None:
    text = "".join(f"[rank{rank}]: step 1\n" for rank in range(4))
    assert writers_of(tmp_path, (700, text)).silence()[1] == (
        "no rank has written for 11 minutes; the last was rank 3: step 1"
    )
    more = writers_of(tmp_path, (700, text), (2.5, "[rank0]: step 2\n")).silence()[1]
    assert more == (
        "silent for longest: rank 1 and 2 more, for 11 minutes; rank 0 wrote 2 seconds ago: step 2"
    )


def test_silence_of_no_ranks(tmp_path: Path) -> None:
    assert Writers().silence() == (None, "nothing is written yet")
    assert writers_of(tmp_path, (0, "step 1\n")).silence() == (
        None,
        "no rank has written for less than a second; the last line: step 1",
    )


@pytest.mark.parametrize("folder", sorted(os.listdir(LOGS)))
def test_a_log_that_comes_in_pieces_gives_the_same_verdict(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing is read twice, since the labels are known.

    But a job that runs may go on after a line that only looks like a failure.
    """
    random = Random(folder)
    for log in sorted((LOGS / folder).glob("*.log")):
        data, path = log.read_bytes().rstrip(b"\n") + b"\n", tmp_path / log.name
        for sample in (SAMPLE, 0):
            monkeypatch.setattr(growing_file, "SAMPLE", sample)
            path.write_bytes(b"")
            case = Case()
            file = GrowingFile(str(path), Label(), case)
            file.look()
            assert file.lines
            file.lines.labeller = Labeller(map(plain, data.split(b"\n")), Label())
            cuts = sorted(random.choices(range(len(data)), k=5))
            for begin, end in pairwise([0, *cuts, len(data)]):
                with open(path, "ab") as stream:
                    stream.write(data[begin:end])
                file.look()
            add_file(case, file.lines)
            whole = collect(sources([str(path)]))
            whole.ends, whole.breaks_off = [], False
            assert as_text(verdict_on(case)) == as_text(verdict_on(whole))
