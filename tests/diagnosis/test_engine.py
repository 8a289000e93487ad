"""The engine of `jobgen why`: which lines are read, whose they are, and which failure is first.

The classes' own examples are in test_examples.py; here the rules are tried that hold for all.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from jobgen.diagnosis.classes.fixed_texts import literals
from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import SCHEDULER, Verdict
from jobgen.diagnosis.files import path_label, sources, text_source
from jobgen.diagnosis.lines.labels import Label, Labeller, clock, line_time, plain
from jobgen.diagnosis.lines.process_ends import exit_status
from jobgen.diagnosis.reader import BLOCK, LONGEST_LINE, LineReader
from jobgen.diagnosis.report import LINES, as_json, as_text
from tests.helpers import diagnose_text

HEALTHY = "".join(f"step {i} loss {1 / i:.4f} lr 3e-4\n" for i in range(1, 400))


def traceback(label: str, error: str, file: str = "/home/u/train.py") -> str:
    lines = [
        "Traceback (most recent call last):",
        f'  File "{file}", line 8, in main',
        "    work()",
    ]
    return "".join(f"{label}{line}\n" for line in [*lines, error])


def report(rank: int, node: str, status: int, local: int = 0, others: str = "") -> str:
    """torchrun's final report, of one agent."""
    return (
        traceback(
            "",
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
            "/e/lib/python3.11/site-packages/torch/distributed/run.py",
        )
        + f"=====\ntrain.py FAILED\n-----\nFailures:\n{others or '  <NO_OTHER_FAILURES>'}\n-----\n"
        + "Root Cause (first observed failure):\n"
        + entry(0, rank, node, status, local)
        + "=" * 60
        + "\n"
    )


def entry(number: int, rank: int, node: str, status: int, local: int) -> str:
    return (
        f"[{number}]:\n  time      : 2026-11-22_19:00:00\n  host      : {node}\n"
        f"  rank      : {rank} (local_rank: {local})\n"
        f"  exitcode  : {status} (pid: {4000 + rank})\n"
        "  error_file: <N/A>\n  traceback : To enable traceback see: https://a.example\n"
    )


def verdict_on(*texts: str) -> Verdict:
    streams = [io.BytesIO(text.encode()) for text in texts]
    return diagnose([Source(f"{i}.log", stream) for i, stream in enumerate(streams)])


def place(verdict: Verdict) -> tuple[str | None, str | None, int | None]:
    return verdict.code, verdict.node, verdict.rank


# ---- which lines are read ----


def reader_of(data: bytes, *words: bytes) -> LineReader:
    """A reader to which the lines matter that have one of the words."""
    reader = LineReader(io.BytesIO(data))
    reader.may_matter = lambda shape: any(word in shape for word in words)
    return reader


def test_only_lines_that_may_matter_are_read_and_their_numbers_are_right() -> None:
    reader = reader_of(b"fine\nan Error here\r\nfine\n\nkilled", b"error", b"kill")
    assert list(reader) == [(2, b"an Error here"), (5, b"killed")]
    assert reader.count == 5


def test_numbers_are_right_over_many_blocks() -> None:
    count = 3 * BLOCK // 20
    lines = [b"step %06d loss 0.12" % i for i in range(count)]
    lines[count // 2] = lines[-1] = b"it failed"
    assert [number for number, _ in reader_of(b"\n".join(lines), b"fail")] == [
        count // 2 + 1,
        count,
    ]


def test_lines_after_one_are_read_when_they_are_asked_for() -> None:
    reader = reader_of(b"error\na\nb\nc\n", b"error")
    found = []
    for number, line in reader:
        found.append(line)
        if number == 1:
            reader.follow(2)
    assert found == [b"error", b"a", b"b"]


def test_a_line_is_read_that_only_its_own_sign_knows() -> None:
    """It has no word such as error or failed."""
    assert diagnose_text("/h/flash_attn_2_cuda.so: undefined symbol: _ZN3c10\n").code == "library"


def test_an_endless_line_is_cut_and_a_progress_bar_shows_its_last_error() -> None:
    endless = b"error " * (BLOCK // 2)
    assert all(len(line) <= LONGEST_LINE + 10 for _, line in reader_of(endless, b"error"))
    bar = b"\r 1%|#| 1/9\rerror: no\r 2%|#| 2/9\n"
    assert list(reader_of(bar, b"error")) == [(1, b"error: no")]


# ---- whose they are ----

NO_GPU = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: not initialized"


@pytest.mark.parametrize(
    ("line", "label", "text"),
    [
        ("nodeA rank 5: lost", Label("nodeA", 5), "lost"),
        ("[rank3]: ValueError: x", Label(None, 3), "ValueError: x"),
        ("nodeA rank 5: [rank5]: lost", Label("nodeA", 5), "lost"),
        ("[default2]:lost", Label(None, None, 2), "lost"),
        ("[1,7]<stderr>:lost", Label(None, 7), "lost"),
        ("[2026-11-22 19:00:00,123] lost", Label(), "lost"),
        ("(Worker pid=77, ip=10.0.0.3) lost", Label("10.0.0.3"), "lost"),
        ("n1:70:91 [0] NCCL WARN lost", Label("n1"), "n1:70:91 [0] NCCL WARN lost"),
        ("[n1:70] lost", Label("n1"), "[n1:70] lost"),
        ("[rank: 4] lost", Label(None, 4), "[rank: 4] lost"),
        ("12: a list", Label(), "12: a list"),
        ("2026-11-26 10:05:13,221 gx02 rank=5 ERROR lost", Label("gx02", 5), "ERROR lost"),
        ("2026-11-26T10:05:13.221 gx02 [5] lost", Label("gx02", 5), "lost"),
        ("2026-11-26T10:05:13 gx02 [5123] lost", Label(), "gx02 [5123] lost"),
        ("2026-11-26T10:05:13 step 5 [3] lost", Label(), "step 5 [3] lost"),
        ("2026-11-26T10:05:13Z worker-3 pytorch [rank3]: lost", Label("worker-3", 3), "lost"),
        ("gx16: [rank4]: lost", Label("gx16", 4), "lost"),
        ("worker-3  | [rank4]: lost", Label("worker-3", 4), "lost"),
        ("stderr of pytorch: [rank4]: lost", Label(None, 4), "lost"),
        ('it says "x [rank4]: lost"', Label(), 'it says "x [rank4]: lost"'),
        ("step-3: [rank4]: lost", Label(None, 4), "lost"),
        (f"gx20: {NO_GPU}", Label("gx20"), NO_GPU),
        ("gx20: RuntimeError: lost", Label(), "gx20: RuntimeError: lost"),
    ],
)
def test_label_of_a_line(line: str, label: Label, text: str) -> None:
    assert Labeller([], Label()).split(line) == (label, text)


def test_numbers_of_srun_are_labels_where_nearly_all_lines_have_them() -> None:
    labeller = Labeller([f"{i}: step" for i in range(9)], Label())
    assert labeller.split(" 5: lost") == (Label(task=5), "lost")


def test_a_host_behind_the_time_is_a_label_where_nearly_all_lines_have_one() -> None:
    labeller = Labeller([f"[2026-11-26 10:00:0{i}] gx0{i % 2}: step" for i in range(4)], Label())
    assert labeller.split("[2026-11-26 10:05:13] gx01: lost") == (Label("gx01"), "lost")
    steps = Labeller([f"[2026-11-26 10:00:0{i}] step{i}: loss" for i in range(4)], Label())
    assert steps.split("[2026-11-26 10:05:13] step9: lost") == (Label(), "step9: lost")


def test_escapes_are_no_part_of_a_line() -> None:
    assert plain(b"\x1b[31merror\x1b[0m \xff\x1b]0;title\x07 ") == "error \ufffd"


def test_a_path_tells_attempt_and_local_rank() -> None:
    assert path_label("logs/n1/abc/attempt_1/3/stderr.log") == Label("n1", None, 3, None, 1)
    assert path_label("out/rank_12.log") == Label(rank=12)
    assert path_label("slurm-12.out") == Label()


def test_time_of_a_line() -> None:
    for line in ("E1122 19:00:01.5 12 a.py:1] x", "[rank1]:[E1122 19:00:01.500 P.cpp:6] x"):
        assert clock(line_time(line) or 0) == "11-22 19:00:01"
    assert line_time("2026-11-22 19:00:01,500 x") == line_time("E1122 19:00:01.5 1 a]")
    assert line_time("E399 29:00:01.5 1 a]") is None
    assert line_time("[E321 02:07:08.4 P.cpp:607]") == line_time("2026-03-21T02:07:08.4")


def test_status_of_a_process() -> None:
    statuses = {
        "  exitcode  : -9 (pid: 42)": (-9, {}),
        "srun: error: n1: task 5: Exited with exit code 3": (3, {"node": "n1", "task": "5"}),
        "srun: error: n1: tasks 4-7: Killed": (-9, {"node": "n1"}),
    }
    for line, expected in statuses.items():
        event = exit_status(line)
        assert event
        assert (event.status, event.groups) == expected
    assert exit_status("the exit is on the left") is None


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"Detected \d+ oom_kill event", [" oom_kill event"]),
        (r"a\.bc|[cd]ef+", ["bc", "ef"]),
        (r"no (?:socket|interface) was found", [" was found"]),
        (r"(?:socket|interface) \w+", ["socket", "interface"]),
        (r"colou?r", ["colo"]),
        (r"(?!never)x(?P<a>\d+)", ["x"]),
        (r"(?i)a(?:bc|(?P<x>de(?:fgh|ij)) k){2} lm\(n\|o\)", [" lm(n"]),
        (r"(?:on(?:e|ly)|(two)+|three(?:four)?)", ["on", "two", "three"]),
    ],
)
def test_fixed_texts_of_a_pattern(pattern: str, texts: list[str]) -> None:
    assert literals([pattern])[0] == texts


# ---- which failure is first ----


def test_an_exception_of_one_rank_comes_before_the_lost_peers_of_the_others() -> None:
    lost = "RuntimeError: [pair.cc:553] Connection closed by peer [10.0.0.2]:5000"
    log = HEALTHY + traceback("[rank0]: ", lost) + traceback("[rank1]: ", "ValueError: bad label")
    verdict = diagnose_text(log + report(1, "nodeB", 1))
    assert place(verdict) == ("python-exception", "nodeB", 1)
    assert verdict.evidence[0].where == "/home/u/train.py:8 in main"
    assert verdict.evidence[0].line == 400 + 7


def test_the_same_on_all_ranks_names_none() -> None:
    log = "".join(traceback(f"n{i} rank {i}: ", "ValueError: no such option") for i in range(4))
    verdict = diagnose_text(log + report(0, "n0", 1))
    assert verdict.everywhere
    assert place(verdict) == ("python-exception", None, None)


def test_interleaved_tracebacks_are_told_apart_by_their_labels() -> None:
    one = traceback("a rank 0: ", "KeyError: 'x'").splitlines()
    other = traceback(
        "b rank 1: ", "RuntimeError: Connection closed by peer [10.0.0.1]:50"
    ).splitlines()
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    verdict = diagnose_text("\n".join(mixed) + "\n" + report(0, "a", 1))
    assert place(verdict) == ("python-exception", "a", 0)


def test_of_two_reports_that_contradict_the_signal_decides() -> None:
    lost = traceback("[rank0]: ", "RuntimeError: Connection closed by peer [10.0.0.2]:5000")
    verdict = verdict_on(lost + report(0, "nodeA", 1), report(5, "nodeB", -9, local=1))
    assert place(verdict) == ("killed", "nodeB", 5)


def test_local_ranks_of_two_agents_are_told_apart_by_their_processes() -> None:
    agent = "E1122 19:00:00.1 7 a.py:1] failed (exitcode: -9) local_rank: 0 (pid: 4006) of b: p\n"
    closed = entry(1, 0, "nodeA", -15, 0)
    log = report(2, "nodeA", 1, 2, closed) + agent + report(6, "nodeB", -9, local=0)
    assert place(diagnose_text(log)) == ("killed", "nodeB", 6)


def test_a_rank_that_does_not_report_a_timeout_is_named() -> None:
    line = (
        "[rank{0}]:[E1122 19:00:00.1 ProcessGroupNCCL.cpp:6] [Rank {0}] Watchdog caught collective"
        " operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, Timeout(ms)=600000)\n"
    )
    log = "world_size=4\n" + "".join(line.format(rank) for rank in (0, 1, 3))
    verdict = diagnose_text(log + report(0, "n", -6))
    assert (verdict.code, verdict.rank) == ("collective-timeout", 2)


def test_only_consequences_are_no_verdict_without_a_peer() -> None:
    lost = traceback("[rank0]: ", "torch.distributed.DistBackendError: NCCL error in: x.cpp:1")
    verdict = diagnose_text(lost + report(0, "n", 1))
    assert verdict.code is None
    assert verdict.evidence
    assert "cannot tell" in as_text(verdict)


def test_a_status_of_its_own_names_the_rank() -> None:
    """1 is what ranks end with that lost another one; 7 is the program's own."""
    lost = "".join(
        traceback(f"nodeA rank {n}: ", "RuntimeError: Connection closed by peer [10.0.0.2]:70")
        for n in (0, 1, 2)
    )
    verdict = diagnose_text(lost + report(0, "nodeA", 1) + report(3, "nodeB", 7))
    assert place(verdict) == ("launcher-report", "nodeB", 3)
    assert (verdict.says, verdict.certainty) == ("ended with status 7", "possible")


def test_an_exit_without_a_reason_is_seen_and_is_no_verdict() -> None:
    verdict = diagnose_text(report(3, "nodeB", 1))
    assert place(verdict) == (None, "nodeB", 3)
    assert "rank 3 on nodeB: exit status 1" in as_text(verdict)


def test_an_exception_after_which_the_job_went_on_is_no_failure() -> None:
    log = HEALTHY + traceback("", "ValueError: one bad sample, skipped") + HEALTHY
    assert diagnose_text(log).code is None
    later = log + traceback("", "KeyError: 'label'") + report(0, "n", 1)
    assert diagnose_text(later).says == "KeyError: 'label'"


def test_the_first_of_quick_restarts_is_the_cause() -> None:
    restart = "E1122 19:00:00.1 7 api.py:9] Worker group FAILED; will restart worker group\n"
    first = traceback("[rank1]: ", "ValueError: bad label")
    verdict = diagnose_text(first + restart + traceback("[rank0]: ", "KeyError: 'x'"))
    assert (verdict.says, verdict.attempt) == ("ValueError: bad label", 0)


def test_a_launchers_own_traceback_is_no_exception_of_the_program() -> None:
    error = "subprocess.CalledProcessError: Command '['python']' returned non-zero exit status 1."
    assert diagnose_text(traceback("", error)).code is None


def test_code_that_a_traceback_shows_is_no_sign() -> None:
    log = 'Traceback (most recent call last):\n  File "/a.py", line 3, in f\n'
    log += '    raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")\nKeyError: 1\n'
    assert diagnose_text(log).code == "python-exception"


# ---- hostile input ----


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 5000,
        bytes(range(256)) * 100,
        b"Traceback (most recent call last):\n" * 5000,
        b"Root Cause (first observed failure):\n[0]:\n" * 3000,
        b"error " * 400_000,
        b"a" + b"1" * 60_000 + b"\n",
        b"error\r" * 100_000,
        b"Traceback (most recent call last):\n" + b"  File" * 100_000,
    ],
)
def test_garbage_has_no_verdict(data: bytes) -> None:
    assert diagnose([Source("x", io.BytesIO(data))]).code is None


def test_a_verdict_has_no_escapes_and_few_lines() -> None:
    evil = "ValueError: \x1b]0;owned\x07\x9b31m \u202e " + "x" * 90_000
    verdict = diagnose_text(traceback("", evil), "a\x1b[2Jb")
    text = as_text(verdict)
    assert text.replace("\n", "").isprintable()
    assert len(text.splitlines()) <= LINES
    assert max(map(len, text.splitlines())) < 400
    assert as_json(verdict).isascii()


@pytest.mark.slow
def test_events_without_number_take_bounded_memory() -> None:
    log = "".join(traceback(f"[rank{i % 3}]: ", f"ValueError: {i}") for i in range(9000))
    verdict = diagnose_text(log)
    assert verdict.code == "python-exception"
    assert len(verdict.chain) <= 5100


def test_a_folder_of_ranks_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "nodeB" / "none_x" / "attempt_0"
    for rank in range(2):
        (folder / str(rank)).mkdir(parents=True)
        (folder / str(rank) / "stdout.log").write_text(HEALTHY)
    (folder / "1" / "stderr.log").write_text(traceback("", "ValueError: bad label"))
    (folder / "1" / "error.json").write_text('{"message": "ValueError"}')
    verdict = diagnose(sources([str(tmp_path)]))
    assert place(verdict) == ("python-exception", "nodeB", None)
    assert verdict.local_rank == 1  # other nodes may have other folders


def test_lines_with_labels_are_read_instead_of_torchrun_s_files(tmp_path: Path) -> None:
    """Both have the same lines; torchrun's do not say which rank wrote them."""
    folder = tmp_path / "nodeB" / "none_x" / "attempt_0" / "1"
    folder.mkdir(parents=True)
    (folder / "stderr.log").write_text(traceback("", "ValueError: bad label"))
    text = traceback("nodeB rank 3: ", "ValueError: bad label")
    (tmp_path / "stderr").write_text(text)
    verdict = diagnose(sources([str(tmp_path)]))
    assert place(verdict) == ("python-exception", "nodeB", 3)
    assert len(verdict.chain) == len(diagnose_text(text).chain)


def test_lines_alike_are_read_only_until_they_tell_nothing_new() -> None:
    line = "[rank{0}]: RuntimeError: CUDA error: an illegal memory access was encountered"
    log = "".join(f"{line.format(n % 4)}\n" for n in range(40_000))
    verdict = diagnose_text(log + "[rank7]: MemoryError\nsrun: error: n1: task 1: Aborted\n")
    assert verdict.code == "device-assert"
    assert len(verdict.chain) < 1000


def test_a_job_that_its_scheduler_calls_completed_has_no_failure() -> None:
    def code(log: str) -> str | None:
        facts = text_source(SCHEDULER, ["sacct: State=COMPLETED JobID=12 ExitCode=0:0"])
        return diagnose([facts, Source("a.log", io.BytesIO(log.encode()))]).code

    log = 'Traceback (most recent call last):\n  File "/a.py", line 3, in f\nKeyError: 1\n'
    assert code(log) is None
    assert code(f"{log}srun: error: n1: task 0: Exited with exit code 1\n") == "python-exception"


def test_a_lost_message_between_two_nodes_names_both() -> None:
    verdict = diagnose_text(
        "gx05:1230:1310 [0] net_ib.cc:1290 NCCL WARN NET/IB: Got completion from peer"
        " 10.2.0.6<41222> with status=12 opcode=0 len=0\n"
    )
    assert (verdict.code, verdict.node) == ("fabric", None)
    assert "gx05 says: a message between it and 10.2.0.6 was lost" in verdict.says


CRASH = """\
gx02 rank 5: Fatal Python error: Segmentation fault
gx02 rank 5:
gx02 rank 5: Thread 0x00007f01 (most recent call first):
gx02 rank 5:   File "/h/data.py", line 8 in fetch
gx02 rank 4: Fatal Python error: Segmentation fault
gx02 rank 5: Current thread 0x00007f02 (most recent call first):
gx02 rank 5:   File "/v/site-packages/torch/nn/functional.py", line 2 in linear
gx02 rank 4: Current thread 0x00007f02 (most recent call first):
gx02 rank 4:   File "/h/other.py", line 3 in forward
gx02 rank 5:   File "/h/model.py", line 33 in forward
gx02 rank 5:   File "/h/train.py", line 9 in <module>
"""


def test_a_crash_is_shown_where_the_program_was() -> None:
    verdict = diagnose_text(CRASH)
    assert verdict.code == "crash"
    found = {event.rank: event.where for event in verdict.chain}
    assert found == {4: "/h/other.py:3 in forward", 5: "/h/model.py:33 in forward"}
    end = "srun: error: gx02: task 5: Segmentation fault (core dumped)\n"
    begin = CRASH.partition("gx02 rank 5:\n")[0]
    far_away = begin + "step\n" * 300 + '  File "a", line 3 in f\n' + end
    assert diagnose_text(far_away).evidence[0].where == ""


def test_a_line_in_another_language_is_shown_as_it_is() -> None:
    line = "/var/spool/slurmd/job88123/slurm_script: Zeile 14: torchrun: Kommando nicht gefunden."
    verdict = diagnose_text(f"{line}\n")
    assert verdict.code == "batch-script"
    assert verdict.evidence[0].text == line


def test_the_exception_of_a_missing_file_is_as_sure_as_another() -> None:
    def certainty(error: str) -> str:
        log = traceback("[rank0]: ", error) + traceback("[rank1]: ", error)
        return diagnose_text(log).certainty

    missing = "FileNotFoundError: [Errno 2] No such file or directory: 'config.yaml'"
    assert certainty(missing) == certainty("ValueError: no config.yaml") == "likely"
    assert diagnose_text(f"{missing}\n{HEALTHY}").code is None


OF_SYNTAX = """\
  File "/home/u/models/vit.py", line 41
    def forward(self, x)
                        ^
SyntaxError: expected ':'
"""


@pytest.mark.parametrize("label", ["", "gpu07 rank 0: "])
@pytest.mark.parametrize(
    "head",
    [
        "",
        'Traceback (most recent call last):\n  File "/home/u/train.py", line 5, in <module>\n'
        "    from models.vit import ViT\n",
    ],
)
def test_the_place_of_an_error_in_the_syntax_is_its_own_line(head: str, label: str) -> None:
    log = "".join(f"{label}{line}\n" for line in (head + OF_SYNTAX).splitlines())
    verdict = diagnose_text(f"step 1\n{log}")
    assert (verdict.says, verdict.certainty) == ("SyntaxError: expected ':'", "sure")
    assert verdict.evidence[0].where == "/home/u/models/vit.py:41"


def test_only_an_error_in_the_syntax_has_no_head() -> None:
    quoted = OF_SYNTAX.replace("SyntaxError: expected ':'", "ValueError: bad")
    assert diagnose_text(quoted).certainty == "possible"
    verdict = diagnose_text('  File "/a.py", line 3\n' + traceback("", "ValueError: bad label"))
    assert verdict.evidence[0].where == "/home/u/train.py:8 in main"


AGENT = "E1126 11:00:03.100000 912 torch/distributed/elastic/multiprocessing/api.py:869] "
AGENT += "failed (exitcode: {}) local_rank: 3 (pid: 9124) of binary: /usr/bin/python3\n"


@pytest.mark.parametrize(
    ("log", "head"),
    [
        (f"gpu07: step 1\ngpu08: {AGENT.format(1)}", "this is seen: local rank 3 on gpu08: exit"),
        (AGENT.format(-9), "local rank 3 on gpu08 failed first"),
        (traceback("", "ValueError: x") + AGENT.format(1), "local rank 3 on gpu08 failed first: V"),
    ],
)
def test_a_local_rank_of_a_second_agent_is_no_rank(log: str, head: str) -> None:
    verdict = diagnose_text(f"{log}srun: error: gpu08: task 1: Exited with exit code 1\n")
    assert (verdict.node, verdict.rank, verdict.local_rank) == ("gpu08", None, 3)
    assert head in as_text(verdict)


@pytest.mark.parametrize(("world", "rank"), [(4, 3), (8, None)])
def test_a_local_rank_is_the_rank_if_there_is_room_for_one_node_only(
    world: int, rank: int | None
) -> None:
    verdict = diagnose_text(f"world_size: {world}\n{AGENT.format(-9)}")
    assert (verdict.rank, verdict.local_rank) == (rank, None if rank else 3)
