"""`jobgen why` on logs that nobody wrote: damaged, cut, mixed, and with endless lines."""

from __future__ import annotations

import io
import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from jobgen.diagnosis.classes import FailureClass, classes
from jobgen.diagnosis.classes.fixed_texts import literals
from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.lines.aftermath import _patterns
from jobgen.diagnosis.lines.matching import LONGEST_TEXT, matches
from jobgen.diagnosis.lines.translated import _messages
from jobgen.diagnosis.reader import LONGEST_LINE
from jobgen.diagnosis.report import CHARACTERS, as_json, as_line, as_text
from tests.helpers import diagnose_text

LOGS = [log.read_bytes() for log in sorted((Path(__file__).parent / "logs").glob("*/*.log"))]
# CPU time for a line: a hundred times what the slowest takes; with the cube of a line's length, it
# would be minutes.
SECONDS = 20.0


def long_texts(pattern: str, length: int) -> Iterator[str]:
    """Texts of a length, of what is in each match of a pattern."""
    pieces = [piece for piece in literals([pattern])[0] if piece] or ["a"]
    written = re.split(r"[(\[?*+{|^$]|\\[sdSwWDbB]", pattern.lstrip("^"))[0].replace("\\", "")
    for piece in (*pieces[:2], "".join(pieces), written or pieces[0]):
        yield piece * (length // len(piece))
        for filler in (" ", "a.", "1", "/", ": "):
            yield piece + filler * (length // len(filler))


@pytest.mark.slow
@pytest.mark.parametrize("each", classes().values(), ids=lambda each: each.code)
def test_no_pattern_takes_long_on_a_long_line(each: FailureClass) -> None:
    for sign in each.signs:
        pattern = re.compile(sign.pattern)
        for text in long_texts(sign.pattern, LONGEST_TEXT):
            start = time.process_time()
            pattern.search(text)
            assert time.process_time() - start < SECONDS / 10, (sign.pattern, text[:80])


OTHERS = [
    *("srun: error: ", "slurmstepd: error: a: ", "ERROR ", "CRITICAL:", "jobgen: a: ", "pdsh@a: "),
    *('  File "', "host : ", "exited with code ", "\x1b[", "[rank", "[1,", "(a pid=", "a: line "),
    *("Traceback (most recent call last):", "Root Cause (first observed failure):"),
    "restart_count=",
    *[pattern for kind in _patterns().values() for pattern in kind],
    *[texts[0] for texts in _messages().values()],
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("filler", [" ", "a", "1", "a.", ".", "[", "a1-", "\t", ": ", "0x1 ", ","])
def test_an_endless_line_takes_no_longer_than_many(filler: str) -> None:
    """64 KiB behind a beginning that a pattern has, besides those of the classes."""
    start = time.process_time()
    long = filler * (LONGEST_LINE // len(filler))
    diagnose_text("".join(f"{begin}{long}\n{long}{begin}\n" for begin in OTHERS))
    assert time.process_time() - start < SECONDS


def damaged(log: bytes, random: Random) -> bytes:
    """A log with lines that are lost, repeated, exchanged, cut or of another encoding."""
    lines = log.split(b"\n")
    for _ in range(random.randrange(1, 6)):
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        line = lines[at]
        match random.randrange(8):
            case 0:
                lines[at : at + random.randrange(1, 5)] = []
                lines = lines or [b""]
            case 1:
                lines[at:at] = lines[other : other + random.randrange(1, 40)]
            case 2:
                lines[at], lines[other] = lines[other], line
            case 3:
                lines[at] = line[: random.randrange(len(line) + 1)] + lines[other]
            case 4:
                lines[at] = line.decode("utf-8", "replace").encode(
                    random.choice(("utf-16", "utf-7"))
                )
            case 5:
                lines[at] = line + random.randbytes(random.randrange(60))
            case 6:
                lines[at] = line.replace(
                    b" ", random.choice((b"\r", b"\0", b"\x1b[1m", b"\xff", b""))
                )
            case 7:
                lines[at] = re.sub(rb"\d+", lambda _: b"9" * random.randrange(1, 30), line)
    return b"\n".join(lines)


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_log_has_a_verdict(seed: int) -> None:
    random = Random(seed)
    for log in random.sample(LOGS, 60):
        texts = [damaged(log, random), damaged(random.choice(LOGS) + log, random)]
        verdict = diagnose(Source(f"{n}.log", io.BytesIO(text)) for n, text in enumerate(texts))
        assert as_text(verdict, everything=True)
        assert as_json(verdict)
        assert as_line(verdict).count("\n") == 1


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes_have_no_failure(seed: int) -> None:
    random = Random(seed)
    for size in (1, 100, 10_000, 200_000):
        verdict = diagnose([Source("x", io.BytesIO(random.randbytes(size)))])
        assert verdict.code is None
        assert not matches(random.randbytes(size).decode("latin-1"))


@pytest.mark.parametrize("digits", [30, 5000])
def test_a_number_may_have_any_digits(digits: int) -> None:
    many = "1" * digits
    lines = (f"[rank{many}]: ValueError: x", f"exited with code {many}", f"restart_count={many}")
    report = f"Root Cause (first observed failure):\n  rank : {many} (local_rank: {many})\n"
    verdict = diagnose_text("".join(f"{line}\n" for line in lines) + report)
    assert as_text(verdict, everything=True).count("\n") > 0
    assert len(as_line(verdict)) <= CHARACTERS + 1


def test_a_rank_that_cannot_be_takes_no_memory() -> None:
    error = "[E1122 19:00:00.1 ProcessGroupNCCL.cpp:632] [Rank {}] Watchdog caught collective"
    error += " operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    error += "Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"
    ranks = (*range(40), 5_000_000)
    lines = "".join(f"[rank{rank}]:{error.format(rank)}" for rank in ranks)
    tracemalloc.start()
    diagnose_text(f"{lines}srun: error: a: task 0: Exited with exit code 1\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000
