"""Folders that a rank could have filled to harm: the line comes, and soon; nothing else is read."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from jobgen.diagnosis.files import is_job_folder
from jobgen.diagnosis.job_folder import layout, sources
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import as_line
from tests.diagnosis.job_folders import (
    TORCHRUN,
    ends,
    judged,
    lost,
    place_of,
    stack,
    stderr_of,
    traceback,
    waiting,
    write_folder,
)
from tests.helpers import diagnose_text

SECRET = traceback(0, "ValueError: a secret")


def failed(top: Path) -> Path:
    return write_folder(top, {**lost(0, 1, 2), stderr_of(3): traceback(3, "ValueError: x")})


def test_a_folder_of_many_files_is_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = failed(tmp_path)
    names = folder / "nA" / "7_a" / "attempt_0"
    for number in range(300):
        (names / str(number)).mkdir(exist_ok=True)
    monkeypatch.setattr(layout, "JOB_ENTRIES", 200)
    ranks = layout.read_layout(str(folder)).nodes["nA"].ranks
    assert len(ranks) < 200
    assert as_line(diagnose_folder(str(folder))).startswith("jobgen: ")


def test_of_a_huge_file_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse file of a terabyte takes no disk."""
    folder = failed(tmp_path)
    path = folder / stderr_of(3)
    with path.open("r+b") as stream:
        stream.truncate(1 << 40)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\n" + traceback(3, "KeyError: last").encode())
    monkeypatch.setattr(sources, "JOB_FOLDER_BYTES", 1 << 20)
    verdict = diagnose_folder(str(folder))
    assert (verdict.rank, verdict.says) == (3, "KeyError: last")
    assert f"(its last {sources.FEWEST >> 10} KiB)" in verdict.evidence[0].file


def test_a_huge_error_file_is_cut_off(tmp_path: Path) -> None:
    folder = failed(tmp_path)
    (folder / place_of(3) / "error.json").write_bytes(b"[" * 1_000_000)
    with (folder / place_of(2) / "error.json").open("wb") as stream:
        stream.truncate(1 << 40)
    assert diagnose_folder(str(folder)).says == "ValueError: x"


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "stderr.log").write_text(SECRET)
    folder = failed(tmp_path)
    for name in ("stderr", "status"):
        (folder / name).unlink()
    (folder / "stderr").symlink_to(outside / "stderr.log")
    os.mkfifo(folder / "status")
    (folder / stderr_of(0)).unlink()
    (folder / stderr_of(0)).symlink_to(outside / "stderr.log")
    (folder / stderr_of(1)).unlink()
    os.mkfifo(folder / stderr_of(1))
    (folder / "nA" / "keeper").symlink_to("/dev/zero")
    (folder / "nC").symlink_to(outside)
    (folder / "nB" / "evidence").mkdir()
    os.mkfifo(folder / place_of(3) / "error.json")
    verdict = diagnose_folder(str(folder))
    assert (verdict.rank, verdict.says) == (3, "ValueError: x")
    assert "secret" not in repr(verdict)


def test_a_job_file_that_is_a_pipe_is_no_job_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "status")
    assert not is_job_folder(str(tmp_path))
    assert not is_job_folder("a\0b")
    assert not is_job_folder("/" * 5000)


def test_a_folder_that_is_gone_between(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="cannot be read"):
        diagnose_folder(str(tmp_path / "gone"))


def test_a_job_of_a_billion_ranks_takes_no_memory(tmp_path: Path) -> None:
    labels = "nA rank 9999998: began\nnA rank 9999999: began\n"
    verdict = judged(tmp_path, waiting(0, 1, 2, 3), labels=labels)
    assert (verdict.code, verdict.rank) == ("stalled", None)
    log = "n1:7:9 [0] NCCL INFO comm 0x1 rank 0 nranks 99999999999 busId 5000\n"
    log += "".join(f"[rank{n}]: [Rank {n}] {TIMEOUT}\n" for n in (0, 1, 3))
    assert diagnose_text(log).code == "collective-timeout"


def test_names_and_lines_that_a_terminal_would_obey(tmp_path: Path) -> None:
    folder = failed(tmp_path)
    host = folder / "n\x1b[31m\nX"
    (host / "7_a" / "attempt_0" / "0").mkdir(parents=True)
    text = traceback(9, "ValueError: \x1b]0;title\x07 red\x9b31m \u202e")
    (host / "7_a" / "attempt_0" / "0" / "stderr.log").write_text(text)
    os.mkdir(os.fsencode(folder) + b"/n\xff")
    line = as_line(diagnose_folder(str(folder)))
    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert "\x9b" not in line


TIMEOUT = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, Timeout(ms)=60000)"
PIECES = (
    *("", "\0", "\n", "{", "[" * 5000, "-1", "9" * 5000, "rank 3 ", "nB rank 99999999999: x\n"),
    *("jobgen: ", "jobgen: nB: rank 3 wrote no stack: it is frozen\n", "143 outside\n"),
    *("==> \n", "0, 1\n", "9" * 99 + ", 1\n", "a 1 1 1 999% /\n", "nA rank 9: x\nnA rank ٣: x\n"),
    *("/proc/vmstat:oom_kill 1\n", "/proc/vmstat:oom_kill 99999999999999999999999\n"),
    *("NVRM: Xid (PCI:0): 99999", "Out of memory: Killed process 99999999999999999999 (x)\n"),
    *("srun: error: nB: tasks 0-99999: Killed\n", f"{TORCHRUN} failed (exitcode: -9) local_rank: "),
    *(ends(3, -9), ends(2, 7), traceback(3, "ValueError: x"), stack("/a.py", 1, "f"), "é" * 300),
    *('{"message": {"extraInfo": {"timestamp": "1e999"}}}', '{"message": {"extraInfo": []}}'),
    *('{"message": {"message": 3, "extraInfo": {"timestamp": NaN, "py_callstack": 1}}}', "null"),
)
NAMES = (
    *("stderr", "status", "roll-call", "nA/keeper", "nB/keeper", "nB/evidence"),
    *("nB/oom_kill", "orders/stacks-1", "nB/rank-7/stderr.log", "nB/rank-99999999/stderr.log"),
    *(stderr_of(rank) for rank in range(4)),
    *(f"{place_of(rank)}/error.json" for rank in range(4)),
    *("nB/7_a/attempt_9999999/0/stderr.log", "nB/7_a/attempt_3/99999/stderr.log", "rank-1/x"),
)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_in_a_folder_there_is_one_line(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    files = {}
    for name in chance.sample(NAMES, chance.randint(1, len(NAMES))):
        files[name] = "".join(chance.choices(PIECES, k=chance.randint(0, 6)))
        if "error.json" in name and chance.random() < 0.5:
            files[name] = chance.choice(PIECES)
    folder = write_folder(tmp_path, files)
    line = as_line(diagnose_folder(str(folder)))
    assert line.startswith("jobgen: ")
    assert line.count("\n") == 1
    assert len(line) <= 301
    json.dumps(line.encode("utf-8").decode())
