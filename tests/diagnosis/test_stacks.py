"""Python stacks in a log: which ranks of a hang differ from the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobgen.diagnosis.stacks import MOST_STACKS, Stack, StackReader, stalled_ranks

LOGS = Path(__file__).parent / "logs" / "stalled"
LABEL = re.compile(r"^(\S+) rank (\d+): ?")
WAITING = ("/e/site-packages/torch/distributed/distributed_c10d.py", "9", "all_reduce")


def stacks_of(text: str) -> list[Stack]:
    reader = StackReader("x.log")
    for number, line in enumerate(text.splitlines(), start=1):
        label = LABEL.match(line)
        node, rank = (label[1], int(label[2])) if label else (None, None)
        reader.take(number, node, rank, line[label.end() :] if label else line)
    return reader.stacks


def stack(rank: int | None, *frames: tuple[str, str, str], line: int = 1) -> Stack:
    return Stack("x.log", line, None if rank is None else f"n{rank}", rank, list(frames))


def train(line: int, function: str = "train") -> tuple[str, str, str]:
    return ("/home/u/train.py", str(line), function)


@pytest.mark.parametrize(
    ("name", "rank", "text"),
    [
        ("data-loader", 5, "it is in shards.py:61 read_shard, while 7 ranks are in all_reduce"),
        ("checkpoint", 0, "it is in save.py:74 write_state, while ranks 1, 2, 3 are in barrier"),
        ("queue", 3, "it is in tokens.py:19 next_batch, while ranks 0, 1, 2, 4, 5 are in loop.py"),
        ("py-spy", 2, "it is in metrics.py:12 histogram, while ranks 0, 1, 3 are in all_gather"),
    ],
)
def test_the_rank_that_differs(name: str, rank: int, text: str) -> None:
    (event,) = stalled_ranks(stacks_of((LOGS / f"{name}.log").read_text()))
    assert (event.code, event.rank) == ("stalled", rank)
    assert event.says.startswith(text)
    assert event.where


def test_all_at_one_place_name_no_rank() -> None:
    (event,) = stalled_ranks(stacks_of((LOGS / "all-the-same.log").read_text()))
    assert (event.rank, event.certainty) == (None, "possible")
    assert "broadcast (start.py:24 share_weights)" in event.says


def test_a_rank_without_a_stack() -> None:
    (event,) = stalled_ranks([stack(rank, WAITING, train(3)) for rank in (0, 1, 3)], world=4)
    assert (event.rank, event.certainty) == (2, "likely")
    assert "no stack" in event.says


def test_another_collective_is_a_desync() -> None:
    other = (WAITING[0], "5", "broadcast")
    (event,) = stalled_ranks([stack(r, other if r == 1 else WAITING, train(3)) for r in range(4)])
    assert (event.code, event.rank) == ("desync", 1)


def test_one_rank_alone_in_a_collective_blames_nobody() -> None:
    stacks = [stack(rank, train(3)) for rank in range(1, 4)]
    (event,) = stalled_ranks([stack(0, WAITING, train(9)), *stacks])
    assert (event.rank, event.certainty) == (None, "possible")


def test_two_against_two_blame_nobody() -> None:
    (event,) = stalled_ranks([stack(rank, train(3 + rank % 2)) for rank in range(4)])
    assert event.rank is None


def test_ranks_without_labels_are_counted() -> None:
    stacks = [stack(None, WAITING, train(3), line=line) for line in (1, 20, 40)]
    (event,) = stalled_ranks([*stacks, stack(None, train(8, "load"), line=60)])
    assert event.rank is None
    assert (
        event.says
        == "it is in train.py:8 load, while 3 processes are in all_reduce (train.py:3 train)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Fatal Python error: Aborted\n\nCurrent thread 0x00007f12 (most recent call first):\n"
        '  File "a.py", line 1 in f\n',
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
        '  File "a.py", line 1 in f\n' * 3,
        "n1 rank 1: Fatal Python error: Aborted\nn1 rank 2: Fatal Python error: Aborted\n",
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError\n',
    ],
)
def test_what_is_no_hang(text: str) -> None:
    assert stalled_ranks(stacks_of(text)) == []


def test_stacks_without_end_are_counted_to_a_bound() -> None:
    reader = StackReader("x.log")
    for number in range(MOST_STACKS + 10):
        reader.take(number, "n1", number, "Fatal Python error: Aborted")
    assert len(reader.stacks) == MOST_STACKS
