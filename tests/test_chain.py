"""Chains: jobs of one array that go on one after the other, run here by bash alone.

A small scheduler starts one job after the other, as Slurm and PBS do with `%1`: also while ranks of
the job before still live, if that was killed or its node only looks lost.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jobgen.diagnosis.chain_job import in_chain
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import as_line, as_text
from jobgen.errors import JobgenError
from jobgen.planner.amounts import CHAIN_PAUSE
from jobgen.planning.job_options import Job
from jobgen.runs.chains import last_event
from jobgen.scripts.parts import PARTS
from jobgen.scripts.render import part_text
from jobgen.submission.chain import end_of_chain
from jobgen.submission.queues.job_queue import JobStatus
from tests.helpers import jobgen, planned, script

pytestmark = pytest.mark.slow

ROWS = {part.name: part for part in PARTS}
JOBS = 99
EVENT = re.compile(
    r"\S+ job (\d+) (began on \S+"
    r"|(?:goes on|stopped)(?: without progress)?: .+|is done: .+|goes on, no rank had started: .+)"
)
# What the script has around the parts: its values, short sleeps, a kill at a command, the ranks.
BEGIN = """#!/bin/bash
set -euo pipefail
index=$1 jobs=99 job=7_$1 host=$2 progress=${PROGRESS-} stop_grace=0 each_node=(true)
logs=$PWD/logs/$job.$BASHPID chain=$PWD/logs/chain-7 cancel_rest=(touch cancelled)
sleep() { if (($1 < 9)); then command sleep 0.3; else command sleep "0.$((10 * $1))"; fi; }
software() { :; }
fail() { echo "$*"; exit 1; }
record() { :; }
jobgen=$PWD/jobgen
count=0
set -T
trap '((++count != ${KILL_AT:-0})) || kill -KILL $BASHPID' DEBUG
"""
RUN = """
mkdir -p "$logs"
trap 'end_job "$?"; end_part; exit "$status"' EXIT
trap 'outside="was ended from outside"; timeout 3 tail -f --pid="${!-}" /dev/null; exit 143' TERM
"""
RANKS = """
(trap "" TERM; exec bash ./program "$index" "$logs" 2> >(trap "" TERM; tee "$logs/stderr" >&2)) &
status=0
wait "$!" || status=$?
exit "$status"
"""
# Ranks: they live until the order to end, or as long as they are told, and then end as told.
PROGRAM = """
echo "$1 $$ $(date +%s.%N)" >> began
read -r seconds progress ends < plan
[[ $progress != yes ]] || touch "$JOBGEN_PROGRESS"
for ((i = 0; i < seconds; i++)); do
  echo "$1 $$ $(date +%s.%N)" >> alive
  sleep 0.05
  [[ ! -e $2/orders/end ]] || exit 143
done
case $ends in
  warned) mkdir -p "$2/orders"; : > "$2/orders/warn"; exit 0 ;;
  lost) echo "srun: error: Node failure on n1" >&2; exit 0 ;;
  fault) printf 'n1 rank 0: [rank0]: %s\\n' "Traceback (most recent call last):" \
    '  File "/train.py", line 1, in <module>' "NameError: name 'x' is not defined" >&2; exit 1 ;;
  handler) printf 'n1 rank 0: [rank0]: %s\n' "Traceback (most recent call last):" \
    '  File "/train.py", line 1, in <module>' "RuntimeError: NCCL error: unhandled system error" \
    "" "During handling of the above exception, another exception occurred:" "" \
    "Traceback (most recent call last):" '  File "/train.py", line 9, in <module>' \
    "NameError: name 'x' is not defined" >&2; exit 1 ;;
  node) echo "n1 rank 0: RuntimeError: NCCL error: unhandled system error" >&2; exit 1 ;;
  usage) echo "n1 rank 0: train.py: error: unrecognized arguments: --x" >&2; exit 2 ;;
  *) exit "$ends" ;;
esac
"""
DONE, GOES_ON, STOPPED = "is done", "goes on", "stopped"
VERDICTS = {
    **dict.fromkeys(("0", "93"), DONE),
    **dict.fromkeys(("fault", "usage"), STOPPED),
    **dict.fromkeys(("warned", "lost", "node", "handler", "1", "137"), GOES_ON),
}


def write_job(folder: Path) -> None:
    parts = ("job/end-job", "job/chain", RUN, "watch-chain", RANKS)
    texts = [part_text(ROWS[each]) if each in ROWS else each for each in parts]
    (folder / "job").write_text("\n".join([BEGIN, *texts]))
    (folder / "program").write_text(PROGRAM)
    judge = folder / "jobgen"
    judge.write_text(f'#!/bin/bash\nexec {sys.executable} -m jobgen "$@"\n')
    judge.chmod(0o755)
    (folder / "logs").mkdir(exist_ok=True)


def start(folder: Path, index: int, kill_at: int = 0, progress: str = "") -> subprocess.Popen[str]:
    """Begin a job of the chain; `kill_at` is the number of the command at which it is killed."""
    variables = {"KILL_AT": str(kill_at), "PROGRESS": progress}
    variables["JOBGEN_PROGRESS"] = str(folder / "logs/chain-7.progress")
    with (folder / f"{index}.out").open("w") as output:
        return subprocess.Popen(
            ["bash", str(folder / "job"), str(index), "n1"],
            cwd=folder, env={**os.environ, **variables}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, text=True,
        )  # fmt: skip


def end(folder: Path, index: int, job: subprocess.Popen[str]) -> str:
    """Wait for a job, and end what it leaves, as a scheduler does; what it printed."""
    job.wait(60)
    with suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)
    return (folder / f"{index}.out").read_text()


def state(folder: Path) -> list[str]:
    file = folder / "logs/chain-7"
    return file.read_text(errors="replace").splitlines() if file.exists() else []


def plan(folder: Path, ends: str, progress: bool = False, seconds: int = 2) -> None:
    """What the next program does: 20 `seconds` are one."""
    (folder / "plan").write_text(f"{seconds} {'yes' if progress else 'no'} {ends}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_job(tmp_path)
    return tmp_path


def run(folder: Path, index: int, ends: str, progress: bool = False, files: str = "") -> str:
    """One job to its end; the last line that it printed."""
    plan(folder, ends, progress)
    return end(folder, index, start(folder, index, progress=files)).rstrip().rpartition("\n")[2]


@pytest.mark.parametrize("ends", VERDICTS)
def test_how_a_job_ends(folder: Path, ends: str) -> None:
    last = run(folder, 1, ends, progress=True)
    assert last.startswith(f"jobgen: chain of 99 jobs: job 1 {VERDICTS[ends]}"), last
    assert (folder / "cancelled").exists() == (VERDICTS[ends] != GOES_ON)
    before = (folder / "began").read_text()
    again = run(folder, 2, "0")
    assert (before == (folder / "began").read_text()) == (VERDICTS[ends] != GOES_ON)
    assert VERDICTS[ends] != GOES_ON or again.startswith("jobgen: chain of 99 jobs: job 2 is done")


def test_a_program_that_never_gets_further_stops_after_two(folder: Path) -> None:
    assert " job 1 goes on without progress: it failed with status 1" in run(folder, 1, "1")
    assert " job 2 stopped without progress: it failed with status 1" in run(folder, 2, "1")
    assert " job 2 stopped without progress" in run(folder, 3, "0")
    assert len((folder / "began").read_text().splitlines()) == 2


def roll_call(folder: Path, line: str, *texts: str) -> None:
    """The next jobs have other lines in place of the ranks: a check that fails before them."""
    write_job(folder)
    job = (folder / "job").read_text()
    checks = job.replace(part_text(ROWS["watch-chain"]), "\n".join((*texts, line)) + "\n")
    assert checks != job
    (folder / "job").write_text(checks)


def test_a_job_whose_ranks_never_start_says_nothing_of_their_progress(folder: Path) -> None:
    assert " job 1 goes on without progress: " in run(folder, 1, "1")
    roll_call(folder, 'echo "jobgen: n1: 7 GPUs" > "$logs/roll-call"; exit 1')
    for index in (2, 3):
        never = f" job {index} goes on, no rank had started: it failed with status 1"
        assert never in run(folder, index, "0")
    roll_call(folder, "kill -KILL $$")
    run(folder, 4, "0")
    write_job(folder)
    assert " job 5 stopped without progress: " in run(folder, 5, "1")
    assert any(
        " job 4 goes on, no rank had started: it was ended" in line for line in state(folder)
    )
    assert all(map(EVENT.fullmatch, state(folder)))


@pytest.mark.parametrize(
    ("answers", "event"),
    [
        ("n1: no program train.py in /home/x: submit from its folder",
         "stopped: no program train.py in /home/x: submit from its folder"),
        ("n1: no program /scratch/train.py in /home/x: submit from its folder",
         "goes on, no rank had started: it failed with status 1"),  # perhaps n1 lacks a file system
        ("n1: no program train.py in /home/x: submit from its folder\njobgen: n2: no answer",
         "goes on, no rank had started: it failed with status 1"),
    ],
)  # fmt: skip
def test_what_each_job_would_lack_stops_the_chain(folder: Path, answers: str, event: str) -> None:
    roll_call(folder, f'printf "%s\\n" "jobgen: {answers}" > "$logs/roll-call"; exit 1')
    assert run(folder, 1, "0").endswith(f" job 1 {event}")


def test_a_copy_of_the_code_that_is_gone_stops_the_chain(folder: Path) -> None:
    parts = ("job/code", "check-code-of-chain")
    texts = ["workspace=$PWD/gone", *(part_text(ROWS[each]) for each in parts)]
    roll_call(folder, "echo not here", *texts)
    event = " job 1 stopped: the copy of the code is not what was submitted"
    assert run(folder, 1, "0").endswith(event)
    assert "there is no copy of the code" in (folder / "1.out").read_text()
    assert (folder / "cancelled").exists()


@pytest.mark.slow
def test_progress_between_two_failures_goes_on(folder: Path) -> None:
    for index, progress in enumerate((False, True, False, True, False), 1):
        assert GOES_ON in run(folder, index, "1", progress)
    assert "stopped without progress" in run(folder, 6, "1")


@pytest.mark.slow
def test_progress_is_a_newer_file_of_the_pattern_or_else_a_snapshot_by_its_name(
    folder: Path,
) -> None:
    program = PROGRAM + "\n"
    (folder / "a b").mkdir()
    for number, (name, pattern, goes_on) in enumerate(
        [
            ("a b/new.state", "a b/*.state", True),
            ("model.pt", "a b/*.state", False),
            ("a b/epoch=1.ckpt", "", True),
            ("lightning_logs/version_0/checkpoints/epoch=1.ckpt", "", True),
            ("a b/step-9/__0_0.distcp", "", True),
            ("a b/other.state", "", False),
            ("train-7_1.out", "", False),
            ("wait.log", "", False),  # such as jobgen … --wait > wait.log
            ("logs/7_1/n1/nccl-rank-0", "", False),
            (".jobgen/store/code/model.pt", "", False),
        ]
    ):
        saves = f'mkdir -p "{Path(name).parent}"; touch "{name}"\n'
        (folder / "program").write_text(saves + program)
        for file in (folder / "logs").glob("chain*"):
            file.unlink()
        last = run(folder, number + 1, "1", files=pattern)
        assert ("without progress" not in last) == goes_on, (name, last)


def test_a_warned_job_has_saved_unless_the_profile_says_where(folder: Path) -> None:
    assert "without progress" not in run(folder, 1, "warned")
    assert "without progress" in run(folder, 2, "warned", files="*.never")


def test_a_line_that_a_full_disk_has_cut_is_no_event(folder: Path) -> None:
    run(folder, 1, "1", progress=True)
    file = folder / "logs/chain-7"
    file.write_text(file.read_text() + "2026-11-26T21:00:00 job 2 be")
    assert " job 2 is done: " in run(folder, 2, "0")
    assert [bool(EVENT.fullmatch(line)) for line in state(folder)] == [
        True,
        True,
        False,
        True,
        True,
    ]


def test_a_state_that_cannot_be_written_begins_nothing(folder: Path) -> None:
    (folder / "logs/chain-7").mkdir()
    assert "the state of the chain cannot be written" in run(folder, 1, "0")
    assert not (folder / "began").exists()


def test_a_job_whose_node_only_looks_lost_ends_before_the_next_begins(folder: Path) -> None:
    plan(folder, "0", progress=True, seconds=400)
    first = start(folder, 1)
    until(lambda: (folder / "alive").exists())
    plan(folder, "0")
    last = end(folder, 2, start(folder, 2)).rstrip().rpartition("\n")[2]
    output = end(folder, 1, first)
    assert "another job of the chain has begun, so this one ends" in output
    assert first.returncode == 143
    assert last.startswith("jobgen: chain of 99 jobs: job 2 is done")
    check_one_at_a_time(folder)


def test_ranks_of_this_chain_alone_are_ended_by_the_next_job(tmp_path: Path) -> None:
    chain, keeper = f"{tmp_path}/chain-7", {"JOBGEN_KEEPER": "9"}
    mine = {"JOBGEN_PROGRESS": f"{chain}.progress"}
    of_another = {"JOBGEN_PROGRESS": f"{chain}7.progress"}
    ranks = [
        subprocess.Popen(["sleep", "60"], env={**os.environ, **variables})
        for variables in (mine | keeper, mine, of_another | keeper)  # the second one is no rank
    ]
    text = f"chain={chain}\n{part_text(ROWS['older-ranks'])}\nend_older_ranks"
    subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)
    until(lambda: ranks[0].poll() == -signal.SIGKILL)
    assert [each.poll() for each in ranks[1:]] == [None, None]
    for each in ranks[1:]:
        each.kill()
        each.wait()


def until(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def check_one_at_a_time(folder: Path) -> None:
    """No program was alive when the next one had begun."""
    if not (folder / "began").exists():
        return
    began = [line.split() for line in (folder / "began").read_text().splitlines()]
    lines = (folder / "alive").read_text().splitlines() if (folder / "alive").exists() else []
    alive = [line.split() for line in lines]
    for (_, pid, _), (_, _, later) in pairwise(began):
        assert all(float(when) < float(later) for _, own, when in alive if own == pid)


@pytest.mark.parametrize(
    ("command", "profile", "lines"),
    [
        (
            "sbatch",
            "dgx-a100",
            (
                *("--array=1-5%1", "--open-mode=append", "--signal=B:USR1@120"),
                "--output=%x-%A_%a.out",  # not %j, of which nobody knows the job's place
            ),
        ),
        ("qsub", "eap", ("-J 1-5%1",)),
    ],
)
def test_the_directives(command: str, profile: str, lines: tuple[str, ...]) -> None:
    plan = planned(Job(command, profile, chain="5", time="2:00:00", program=("train.py",)))
    words = {line.partition(" ")[2] for line in plan.directives}
    assert set(lines) <= words
    assert plan.launch.signal == 120
    text = script(Job(command, profile, chain="5", nodes="1", program=("train.py",)))
    assert "keep() {" in text or "class Lead" in text  # a keeper, which obeys an order to end


def test_the_walltime_of_a_chain_is_longer_than_its_pause() -> None:
    assert f"sleep $(({CHAIN_PAUSE} + stop_grace))" in part_text(ROWS["job/chain"])
    short, enough = (
        Job("sbatch", "mi210", chain="5", time=time, program=("train.py",)) for time in ("4m", "5m")
    )
    assert planned(enough).launch.signal == 120
    with pytest.raises(JobgenError, match="may have to wait for 95 s before they start"):
        planned(short)


def test_the_files_of_a_job_have_its_place_in_the_chain() -> None:
    changes = ("request.output=%x-%j-%%j.out", "request.error=%a.err")
    job = Job("sbatch", "mi210", chain="5", set_values=changes, program=("train.py",))
    assert {"--output=%x-%A_%a-%%j.out", "--error=%a.err"} <= {
        line.partition(" ")[2] for line in planned(job).directives
    }
    assert "\njob=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID " in script(job)


def test_the_chain_begins_before_all_that_takes_long() -> None:
    """A job that finds it done ends within seconds."""
    names = [part.name for part in PARTS]
    first = min(names.index(each) for each in ("job/workspace", "job/code", "job/roll-call"))
    assert names.index("enter-by-srun") < names.index("job/chain") < first


DONE_93 = "2026-11-27T20:58:09 job 2 is done: the program ended with 93"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("2026-11-27T20:58:09 job 2 is done: the program ended by itself, with 0", 0),
        ("2026-11-27T20:58:09 job 2 is done: the program ended by itself, with 0\n2026-11 jo", 0),
        (DONE_93, 93),
        ("2026-11-27T20:58:09 job 2 stopped without progress: it failed with status 1", 1),
        ("2026-11-27T20:58:09 job 5 goes on: it was ended from outside, as at the walltime", 1),
    ],
)
def test_the_status_of_a_chain_is_not_that_of_its_worst_job(state: str, status: int) -> None:
    ended = JobStatus("1 FAILED, 3 CANCELLED", exit_status=1)
    event = last_event(state)
    assert event
    assert end_of_chain(ended, event).exit_status == status


def test_the_outputs_of_a_chain_of_pbs_are_known_by_their_pattern() -> None:
    event = last_event(DONE_93)
    assert event
    ended = end_of_chain(JobStatus("FINISHED", output="/x/n.o12.^array_index^"), event)
    assert ended.output == "/x/n.o12.2"
    assert [job.output for job in ended.array_jobs] == ["/x/n.o12.^array_index^"]


def test_why_shows_the_last_event(tmp_path: Path) -> None:
    (tmp_path / "chain-12").write_text(DONE_93)
    done = jobgen("why", "chain-12", cwd=tmp_path)
    event = b"chain 12: its last event: job 2 is done: the program ended with 93"
    assert event in done.stderr
    folder = tmp_path / "jobgen-logs/12_2"
    folder.mkdir(parents=True)
    (folder / "status").write_text("93 after 9 s \n")
    (tmp_path / "jobgen-logs/12_2.json").write_text('{"job": "12_2", "logs": "12_2"}')
    (tmp_path / "chain-12").rename(tmp_path / "jobgen-logs/chain-12")
    for word in ("12_2", "12"):
        assert b"note: " + event in jobgen("why", word, cwd=tmp_path).stdout
    rmtree(folder)  # as after a success
    assert b"note: " + event in jobgen("why", "12", cwd=tmp_path).stdout


@pytest.mark.parametrize("kind", ["pipe", "link", "huge"])
def test_a_stranger_s_state_does_no_harm(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "chain-12"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "link":
        (tmp_path / "other").write_text(DONE_93)
        file.symlink_to("other")
    else:
        file.write_text(f"{DONE_93}\n" * 100_000)
    assert in_chain(Verdict(None), tmp_path, "12") == Verdict(None)


OUTSIDE = "it was ended from outside, as at the walltime"
LIMIT = "slurmstepd: error: *** STEP 13.0 ON n1 CANCELLED AT 2026-11-27T01:00:00 DUE TO TIME LIMIT"
LIMIT_HERE = "the job reached its time limit, as a job of a chain may"


@pytest.mark.parametrize(
    ("end", "code", "line"),
    [
        ("", None, LIMIT_HERE),  # the script asks before it writes the event
        (f" goes on: {OUTSIDE}", None, f"{LIMIT_HERE}; the next one goes on"),
        (
            f" stopped without progress: {OUTSIDE}", "scheduler-limit",
            "the job was ended from outside: the job reached its time limit: two jobs in a row",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("file", ["12_2", "12_2_.server"])
def test_the_walltime_is_no_failure_in_a_chain_that_goes_on(
    tmp_path: Path, end: str, code: str | None, line: str, file: str
) -> None:
    folder = tmp_path / file
    folder.mkdir()
    (folder / "status").write_text("143 after 99 s was ended from outside\n")
    (folder / "stderr").write_text(f"{LIMIT} ***\n")
    began = "2026-11-26T21:00:01 job 2 began on n1\n"
    (tmp_path / "chain-12").write_text(began + f"2026-11-26T22:00:01 job 2{end}\n" * bool(end))
    verdict = diagnose_folder(str(folder))
    assert verdict.code == code
    assert as_line(verdict).startswith(f"jobgen: {line}")
    assert f"chain 12: its last event: job 2{end or ' began on n1'}" in verdict.notes
    assert "-t TIME" not in as_text(verdict)


def test_a_failure_is_one_in_a_chain_too(tmp_path: Path) -> None:
    folder = tmp_path / "12_1"
    folder.mkdir()
    (folder / "status").write_text("1 after 9 s \n")
    (folder / "stderr").write_text("n1 rank 0: RuntimeError: CUDA error: out of memory\n" * 4)
    without = diagnose_folder(str(folder))
    events = ("began on n1", "goes on: it failed with status 1")
    state = "".join(f"2026-11-26T21:00:01 job 1 {each}\n" for each in events)
    (tmp_path / "chain-12").write_text(f"{state}2026-11-26T21:00:09 job 2 began on n2\n")
    notes = (f"chain 12: job 1 {events[1]}", "chain 12: its last event: job 2 began on n2")
    assert diagnose_folder(str(folder)) == without._replace(notes=(*without.notes, *notes))


class Chain(RuleBasedStateMachine):
    """Any ends of jobs, kills at any command, nodes that only look lost, a disk that is full."""

    def __init__(self) -> None:
        super().__init__()
        self.made = TemporaryDirectory(prefix="chain", ignore_cleanup_errors=True)
        self.folder = Path(self.made.name)
        write_job(self.folder)
        self.index = 0
        self.idle = 0  # jobs in a row without progress
        self.over = False
        self.knows = True  # whether the model knows how often there was no progress
        self.living: list[tuple[int, subprocess.Popen[str]]] = []

    def teardown(self) -> None:
        for _, job in self.living:
            with suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        self.made.cleanup()

    def programs(self) -> int:
        file = self.folder / "began"
        return len(file.read_text().splitlines()) if file.exists() else 0

    @rule(ends=st.sampled_from(sorted(VERDICTS)), progress=st.booleans())
    def job(self, ends: str, progress: bool) -> None:
        """One that ends as its program does."""
        self.index += 1
        before = self.programs()
        last = run(self.folder, self.index, ends, progress)
        self.reap()
        if self.over:
            assert self.programs() == before
            return
        if self.programs() == before:  # the job before was the second without progress
            assert not self.knows or self.idle >= 2
            self.over = True
            return
        verdict = VERDICTS[ends]
        self.idle = 0 if progress or ends in ("warned", "lost") else self.idle + 1
        if self.knows and verdict == GOES_ON and self.idle >= 2:
            verdict = STOPPED
        assert f": job {self.index} {verdict}" in last or not self.knows, last
        self.over = f": job {self.index} goes on" not in last
        self.knows = self.knows or self.idle == 0

    @rule(at=st.integers(1, 400), progress=st.booleans())
    def kill(self, at: int, progress: bool) -> None:
        """SIGKILL of the batch script at one of its commands; its ranks may live a while."""
        self.index += 1
        plan(self.folder, "0", progress)
        job = start(self.folder, self.index, kill_at=at)
        job.wait(60)
        self.kill_ranks(job)
        if job.returncode != -signal.SIGKILL and " is done" in "\n".join(state(self.folder)[-1:]):
            self.over = True
        self.follow_the_state()

    @rule(progress=st.booleans())
    def end_from_outside(self, progress: bool) -> None:
        """As scancel, qdel, a preemption or the walltime do."""
        self.index += 1
        before = self.programs()
        plan(self.folder, "0", progress, seconds=400)
        job = start(self.folder, self.index)
        until(lambda: self.programs() > before or job.poll() is not None)
        job.terminate()
        self.kill_ranks(job, signal.SIGTERM)
        end(self.folder, self.index, job)
        self.reap()
        self.follow_the_state()

    @precondition(lambda self: not self.over)
    @rule()
    def lose_sight(self) -> None:
        """The scheduler gives a job up that lives."""
        self.index += 1
        before = self.programs()
        plan(self.folder, "0", progress=True, seconds=400)
        job = start(self.folder, self.index)
        until(lambda: self.programs() > before or job.poll() is not None)
        self.reap()
        self.living.append((self.index, job))
        self.follow_the_state()

    @precondition(lambda self: bool(state(self.folder)) and not self.living)
    @rule(size=st.integers(1, 30))
    def cut(self, size: int) -> None:
        """The last line is torn, as on a full disk, where the job that writes it ends."""
        file = self.folder / "logs/chain-7"
        os.truncate(file, max(file.stat().st_size - size, 0))
        self.follow_the_state()

    def kill_ranks(self, job: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
        """As the scheduler does when a batch script has ended."""
        for line in subprocess.run(
            ["pgrep", "-s", str(job.pid), "-f", "program"], capture_output=True, text=True
        ).stdout.split():  # fmt: skip
            try:
                os.kill(int(line), number)
            except ProcessLookupError:
                continue

    def reap(self) -> None:
        """Jobs that the scheduler had given up have ended when another one has run."""
        for index, job in self.living:
            end(self.folder, index, job)
        self.living = []

    def follow_the_state(self) -> None:
        """The model takes what the file says: here, only the invariants are checked."""
        events = [line for line in state(self.folder) if EVENT.match(line)]
        last = events[-1] if events else ""
        self.over = " is done" in last or " stopped" in last
        self.knows, self.idle = False, 0

    @invariant()
    def one_at_a_time(self) -> None:
        check_one_at_a_time(self.folder)

    @invariant()
    def the_state_is_readable(self) -> None:
        lines = state(self.folder)
        ends = [line for line in lines[:-1] if " is done: " in line or " stopped" in line]
        began = [line for line in lines if " began on " in line]
        assert not ends or lines.index(ends[0]) > lines.index(began[-1]) - 1 or self.living


Chain.TestCase.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestChain = pytest.mark.thorough(Chain.TestCase)
