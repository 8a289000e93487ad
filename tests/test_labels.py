"""Labels of lines: whatever a rank writes comes out whole, in its order, with its node and rank."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen.paths import bundled

MARK = "\036"
LINE = st.text(st.sampled_from("ab :é0[]"), max_size=20)
LONG = st.integers(min_value=1000, max_value=2100).map("x".__mul__)
# What each rank of a node writes: lines, each in one or two halves; the last line may have no end.
WRITTEN = st.lists(
    st.tuples(st.integers(0, 2), st.one_of(LINE, LONG), st.integers(0, 2200), st.booleans()),
    max_size=12,
)


def pieces(node: str, written: Sequence[tuple[int, str, int, bool]]) -> str:
    """The stream of a torchrun: halves of its ranks' lines; those of two ranks mix."""
    first, later = "", ""
    for rank, line, cut, in_halves in written:
        mark = f"{MARK}{node} rank {rank}: "
        halves = (line[:cut], line[cut:] + "\n") if in_halves and line[:cut] else ("", line + "\n")
        if later and halves[0]:  # another rank's half comes between the two of this one
            first, later = first + later, ""
        if halves[0]:
            first, later = first + mark + halves[0], later + mark + halves[1]
        else:
            first, later = first + later + mark + halves[1], ""
    return first + later


def srun(streams: dict[int, str]) -> bytes:
    """What `srun --label` prints of its tasks: it cuts lines at 1024 bytes."""
    lines = []
    for task, text in streams.items():
        for line in text.encode().splitlines(keepends=True):
            for start in range(0, len(line), 1024):
                lines.append(b"%d: %s\n" % (task, line[start : start + 1024].removesuffix(b"\n")))
    return b"".join(lines)


def labelled(part: str, given: bytes, folder: Path) -> list[str]:
    """The lines that a part's function makes of its input; its file has the same."""
    file = bundled("templates") / "machinery" / part / "label-lines.sh"
    log = folder / ("stdout" if part == "slurm" else "stdout.nodeA")
    log.unlink(missing_ok=True)
    program = f"set -euo pipefail; logs='{folder}' host=nodeA; . '{file}'; label_lines stdout"
    done = subprocess.run(["bash", "-c", program], input=given, capture_output=True, check=True)
    assert log.read_bytes() == done.stdout
    return done.stdout.decode().split("\n")[:-1]


@settings(max_examples=40)
@given(WRITTEN, WRITTEN)
def test_lines_of_two_nodes_come_out_whole(
    tmp_path_factory: pytest.TempPathFactory,
    written: list[tuple[int, str, int, bool]],
    others: list[tuple[int, str, int, bool]],
) -> None:
    nodes = {"nodeA": written, "nodeB": others}
    streams = {
        number: f"{MARK}{MARK}{node}: \nI am torchrun of {node}\n{pieces(node, lines)}"
        for number, (node, lines) in enumerate(nodes.items())
    }
    found = labelled("slurm", srun(streams), tmp_path_factory.mktemp("logs"))
    for node, lines in nodes.items():
        assert f"{node}: I am torchrun of {node}" in found
        for rank in range(3):
            label = f"{node} rank {rank}: "
            own = [line.removeprefix(label) for line in found if line.startswith(label)]
            assert own == [line for number, line, *_ in lines if number == rank]


@settings(max_examples=20)
@given(WRITTEN)
def test_lines_of_a_node_come_out_whole(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[int, str, int, bool]]
) -> None:
    text = f"I am torchrun\n{pieces('nodeA', written)}"
    found = labelled("node", text.encode(), tmp_path_factory.mktemp("logs"))
    assert found[0] == "nodeA: I am torchrun"
    for rank in range(3):
        label = f"nodeA rank {rank}: "
        own = [line.removeprefix(label) for line in found if line.startswith(label)]
        assert own == [line for number, line, *_ in written if number == rank]


@pytest.mark.parametrize("part", ["slurm", "node"])
def test_progress_bars_and_a_last_line_without_end(part: str, tmp_path: Path) -> None:
    lines = ["10%\r20%\r", "jobgen: nodeA: no answer", "", f"half{MARK}nodeA rank 1: the last"]
    texts = [f"{MARK}{MARK}nodeA: ", *lines] if part == "slurm" else lines
    given = "\n".join(f"0: {text}" if part == "slurm" else text for text in texts)
    found = labelled(part, given.encode(), tmp_path)
    assert found[:4] == ["nodeA: 10%", "nodeA: 20%", "jobgen: nodeA: no answer", "nodeA: "]
    assert sorted(found[4:]) == ["nodeA rank 1: the last", "nodeA: half"]


def test_lines_of_srun_itself_and_before_a_name_have_no_label(tmp_path: Path) -> None:
    own = "srun: error: nodeA: task 0: Killed"
    assert labelled("slurm", f"{own}\n 0: a banner\n".encode(), tmp_path) == [own, "a banner"]
