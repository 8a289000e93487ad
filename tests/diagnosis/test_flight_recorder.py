"""Dumps of torch's flight recorder: whom the ranks wait for; and hostile pickles."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.events import Event
from jobgen.diagnosis.files import is_dump, sources
from jobgen.diagnosis.flight_recorder.missing_ranks import read_dumps
from jobgen.diagnosis.lines.labels import time_of
from jobgen.errors import JobgenError

SECOND = 10**9


def operation(
    number: int, name: str = "all_reduce", ended: bool = True, **more: Any
) -> dict[str, Any]:
    """An entry as torch writes it for NCCL."""
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "profiling_name": f"nccl:{name}",
        "time_created_ns": number * SECOND,
        "input_sizes": [[4, 2]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 2]],
        "output_dtypes": ["Float"],
        "state": "completed" if ended else "started",
        "frames": [
            {"name": "all_reduce", "filename": "/env/torch/distributed/c10d.py", "line": 3},
            {"name": "step", "filename": "/home/u/train.py", "line": 10 + number},
        ],
        "retired": ended,
        "is_p2p": False,
        **more,
    }


def dump(*entries: dict[str, Any], ranks: str = "[0, 1, 2, 3]") -> dict[str, Any]:
    group = {"name": "0", "desc": "default_pg", "ranks": ranks}
    return {"version": "2.10", "pg_config": {"0": group}, "pg_status": {}, "entries": list(entries)}


def judged(folder: Path, dumps: dict[int, dict[str, Any]], as_json: bool = False) -> list[Event]:
    for rank, value in dumps.items():
        data = json.dumps(value).encode() if as_json else pickle.dumps(value, protocol=2)
        (folder / f"nccl_trace_rank_{rank}").write_bytes(data)
        assert is_dump(data[:4096])
    return read_dumps(str(path) for path in folder.iterdir())


WAITING = dump(operation(1), operation(2, ended=False))


@pytest.mark.parametrize("as_json", [False, True])
def test_the_rank_that_did_not_join(tmp_path: Path, as_json: bool) -> None:
    dumps = {0: WAITING, 1: dump(operation(1)), 2: WAITING, 3: WAITING}
    (event,) = judged(tmp_path, dumps, as_json)
    assert (event.code, event.rank, event.certainty) == ("collective-timeout", 1, "sure")
    assert event.time == time_of(2)  # when the others began to wait
    assert "ranks 0, 2, 3 wait" in event.says
    assert "at train.py:12 step" in event.says
    assert "; its last was all_reduce at train.py:11 step" in event.says or as_json
    assert event.file == str(tmp_path / "nccl_trace_rank_1")


def test_a_rank_without_a_dump(tmp_path: Path) -> None:
    (event,) = judged(tmp_path, {0: WAITING, 1: WAITING, 3: WAITING})
    assert (event.code, event.rank, event.certainty) == ("collective-timeout", 2, "likely")
    assert "no dump" in event.says


def test_of_few_dumps_no_rank_is_named(tmp_path: Path) -> None:
    (event,) = judged(tmp_path, {0: WAITING})
    assert (event.rank, event.certainty) == (None, "possible")


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (operation(2, "broadcast", ended=False), "it called broadcast"),
        (operation(2, ended=False, input_sizes=[[5, 2]]), "10 elements"),
        (operation(2, ended=False, input_dtypes=["Half"]), "8 elements (Half)"),
    ],
)
def test_a_rank_that_called_something_else(tmp_path: Path, other: Any, text: str) -> None:
    dumps = {0: WAITING, 1: WAITING, 2: dump(operation(1), other), 3: WAITING}
    (event,) = judged(tmp_path, dumps)
    assert (event.code, event.rank) == ("desync", 2)
    assert text in event.says


def test_another_shape_of_as_many_elements_is_the_same(tmp_path: Path) -> None:
    other = dump(operation(1), operation(2, ended=False, input_sizes=[[8]]))
    events = judged(tmp_path, {0: WAITING, 1: WAITING, 2: other, 3: WAITING})
    assert [event.code for event in events] == ["collective-timeout"]
    assert events[0].rank is None


def test_two_against_two_name_no_rank(tmp_path: Path) -> None:
    other = dump(operation(1), operation(2, "broadcast", ended=False))
    (event,) = judged(tmp_path, {0: WAITING, 1: WAITING, 2: other, 3: other})
    assert (event.code, event.rank) == ("desync", None)


def test_one_rank_alone_called_it(tmp_path: Path) -> None:
    """As with a barrier below `if rank == 0`."""
    idle = dump(operation(1))
    (event,) = judged(tmp_path, {0: WAITING, 1: idle, 2: idle, 3: idle})
    assert (event.code, event.rank) == ("desync", 0)


def test_blame_is_followed_through_groups(tmp_path: Path) -> None:
    """Rank 1 is behind in the large group, since it waits for rank 3 in a small one."""
    small = {"process_group": ("7", "pairs"), "collective_seq_id": 1, "record_id": 9}
    dumps = {rank: dump(operation(1), operation(2, ended=False)) for rank in (0, 2)}
    dumps[1] = dump(operation(1), operation(9, ended=False, **small))
    dumps[3] = dump(operation(1))
    for value in dumps.values():
        value["pg_config"]["7"] = {"name": "7", "desc": "pairs", "ranks": "[1, 3]"}
    (event,) = judged(tmp_path, dumps)
    assert (event.code, event.rank) == ("collective-timeout", 3)


def test_a_message_between_two_ranks_is_followed(tmp_path: Path) -> None:
    """Rank 1 is behind, since it waits for a message of rank 3."""
    receive = operation(5, "recv 1<-3", ended=False, is_p2p=True, p2p_seq_id=1)
    dumps = {0: WAITING, 1: dump(operation(1), receive), 2: WAITING, 3: dump(operation(1))}
    (event,) = judged(tmp_path, dumps)
    assert event.rank == 3


def test_a_file_of_an_earlier_job_does_not_count(tmp_path: Path) -> None:
    hour = 3600 * SECOND
    later_operations = [
        operation(n, ended=n < 2, time_created_ns=n * SECOND + hour) for n in (0, 1, 2)
    ]
    dumps = {rank: dump(*later_operations) for rank in (0, 1, 2)}
    (event,) = judged(tmp_path, {**dumps, 3: dump(operation(0), operation(1))})
    assert event.rank == 3
    assert "no dump" in event.says


def test_dumps_in_which_nobody_waits(tmp_path: Path) -> None:
    assert judged(tmp_path, {rank: dump(operation(1)) for rank in range(4)}) == []


HANGING = """
import json, os, sys, threading, time, torch, torch.distributed as dist
from torch._C import _distributed_c10d as c10d
rank, folder = int(sys.argv[1]), sys.argv[2]
waiting = [f"{folder}/waiting{other}" for other in (0, 2)]
dist.init_process_group("gloo", rank=rank, world_size=3, init_method=f"file://{folder}/store")
def write():
    while rank != 1 and len(json.loads(c10d._dump_fr_trace_json())["entries"]) < 2:
        time.sleep(0.05)
    open(f"{folder}/waiting{rank}", "w").close()
    while not all(map(os.path.exists, waiting)):
        time.sleep(0.05)
    open(f"{folder}/trace_{rank}", "wb").write(c10d._dump_fr_trace())
    open(f"{folder}/json_{rank}", "wb").write(c10d._dump_fr_trace_json())
    open(f"{folder}/written{rank}", "w").close()  # one that ends would end the others' wait
    while not all(os.path.exists(f"{folder}/written{other}") for other in range(3)):
        time.sleep(0.05)
    os._exit(0)
dist.all_reduce(torch.ones(4))
threading.Thread(target=write).start()
if rank == 1:
    time.sleep(600)
dist.all_reduce(torch.ones(4))
time.sleep(600)
"""


@pytest.mark.torch
def test_real_dumps_of_three_ranks(tmp_path: Path) -> None:
    ranks = [
        subprocess.Popen([sys.executable, "-c", HANGING, str(rank), str(tmp_path)])
        for rank in range(3)
    ]
    assert [process.wait(500) for process in ranks] == [0, 0, 0]
    for kind in ("trace", "json"):
        (event,) = read_dumps(str(path) for path in tmp_path.glob(f"{kind}_*"))
        assert (event.code, event.rank) == ("collective-timeout", 1)


LOG = """\
[rank0]:[E1122 10:00:00.1 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.
[rank3]:[E1122 10:00:00.1 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.
"""  # noqa: E501


def test_why_joins_dumps_with_the_log(tmp_path: Path) -> None:
    """The log alone does not show which of the ranks 1 and 2 did not join."""
    judged(tmp_path, {0: WAITING, 1: WAITING, 2: dump(operation(1)), 3: WAITING})
    (tmp_path / "job.out").write_text(LOG)
    verdict = diagnose(sources([str(tmp_path)]))
    assert (verdict.code, verdict.rank) == ("collective-timeout", 2)
    assert {Path(event.file).name for event in verdict.evidence} >= {"nccl_trace_rank_2"}
    verdict = diagnose(sources([str(path) for path in sorted(tmp_path.iterdir())]))
    assert (verdict.code, verdict.rank) == ("collective-timeout", 2)


def test_a_folder_of_dumps_alone(tmp_path: Path) -> None:
    judged(tmp_path, {0: WAITING, 1: dump(operation(1)), 2: WAITING, 3: WAITING})
    (tmp_path / "weights1").write_bytes(b"\x80\x02}q\x00.")
    assert diagnose(sources([str(tmp_path)])).rank == 1


class Runs:
    """What a hostile pickle does: a command when it is read."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def hostile(marker: Path) -> dict[str, bytes]:
    command = f"touch {marker}"
    start = b"\x80\x02}(X\x09\x00\x00\x00pg_config"
    return {
        **{f"reduce-{n}": pickle.dumps({"pg_config": Runs(command)}, n) for n in range(2, 6)},
        "inst": start + f"(S'{command}'\nios\nsystem\nu.".encode(),
        "obj": start + f"(cos\nsystem\nX{chr(9)}\0\0\0{command}ou.".encode(),
        "persistent": start + b"X\x01\x00\x00\x00aQu.",
        "extension": start + b"\x82\x01u.",
        "build": start + b"}}bu.",
        "huge-text": start + b"X\xff\xff\xff\xffu.",
        "huge-text-8": start + b"\x8d" + b"\xff" * 8 + b"u.",
        "huge-bytes-8": start + b"\x8e" + b"\xff" * 8 + b"u.",
        "huge-number": start + b"\x8b\xff\xff\xff\x7fu.",
        "key-number": start + b"}\x8b\x00\x00\x10\x00" + b"\x01" * (1 << 20) + b"}su.",
        "numbered": start + b"]r\xff\xff\xff\xffu.",  # a table of so many values
        "copies": start + b"]" + b"2" * 1000 + b"u.",
        "no-mark": b"\x80\x02X\x09\x00\x00\x00pg_configu.",
        "empty-stack": b"\x80\x02X\x09\x00\x00\x00pg_config00.",
        "no-end": start,
        "unknown-number": start + b"h\x07u.",
        "key": start + b"]u}" + b")" + b"\x85" * 100_000 + b"Ns.",
        "text": b'{"pg_config": ' + b"[" * 100_000,
        "digits": b'{"pg_config": ' + b"9" * 100_000 + b"}",
        "list": b'["pg_config"]',
    }


@pytest.mark.parametrize("name", sorted(hostile(Path())))
def test_a_hostile_file_runs_nothing_and_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "nccl_trace_rank_0"
    file.write_bytes(hostile(tmp_path / "marker")[name])
    with pytest.raises(JobgenError, match="nccl_trace_rank_0: no dump of torch's flight recorder"):
        read_dumps([str(file)])
    assert list(tmp_path.iterdir()) == [file]


def test_lists_in_lists_take_no_time(tmp_path: Path) -> None:
    """Each list holds the one before ten times: no part is looked at deeper than torch writes."""
    data = b"\x80\x02}(X\x07\x00\x00\x00entries](]q\x00"
    for number in range(60):
        data += b"](" + b"h%c" % number * 10 + b"eq%c" % (number + 1)
    data += b"}(X\x0b\x00\x00\x00input_sizesh\x3cX\x0e\x00\x00\x00profiling_nameh\x3cue"
    (tmp_path / "rank_0").write_bytes(data + b"u.")
    assert read_dumps([str(tmp_path / "rank_0")]) == []


def test_deep_lists_are_read(tmp_path: Path) -> None:
    data = b"\x80\x02}(X\x07\x00\x00\x00entries" + b"]" * 200_000 + b"a" * 199_999 + b"u."
    (tmp_path / "rank_0").write_bytes(data)
    assert read_dumps([str(tmp_path / "rank_0")]) == []


BEGIN = b"\x80\x02}(X\x09\x00\x00\x00pg_config"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "value", "data"),
    [
        ("diagnosis.flight_recorder.dump.DUMP_BYTES", 100, pickle.dumps(WAITING, 2)),
        (
            "untrusted_input.PARSE_SECONDS",
            0.2,
            BEGIN + b"}" + b")" + b"2\x86" * 60 + b"Nsu.",
        ),  # hash() of 2^60
        ("untrusted_input.PARSE_MEMORY", 1 << 28, BEGIN + b"]" * 8_000_000 + b"u."),
    ],
    ids=["bytes", "seconds", "memory"],
)
def test_a_huge_dump_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: float, data: bytes
) -> None:
    monkeypatch.setattr(f"jobgen.{limit}", value)
    (tmp_path / "rank_0").write_bytes(data)
    with pytest.raises(JobgenError, match=r"rank_0: .* more than"):
        read_dumps([str(tmp_path / "rank_0")])


def test_a_long_number_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "rank_0").write_bytes(BEGIN + b"\x8a\xff" + b"\x01" * 255 + b"u.")
    assert read_dumps([str(tmp_path / "rank_0")]) == []


@pytest.mark.thorough
@pytest.mark.slow
def test_values_of_another_kind_are_left_out(tmp_path: Path) -> None:
    """Whatever a field has, reading ends: with an event or without."""
    for place, bad in enumerate([None, -1, 2**100, "x\x1b[2J" * 999, [[[]]], {"a": []}, b""]):
        for key in operation(1):
            folder = tmp_path / f"{place}-{key}"
            folder.mkdir()
            entry = {**operation(2, ended=False), key: bad}
            entry = {k: v for k, v in entry.items() if not isinstance(v, bytes)}
            for event in judged(folder, {0: dump(operation(1), entry), 1: WAITING}):
                assert event.says.isprintable()


def test_a_file_without_a_rank_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(pickle.dumps(WAITING, 2))
    with pytest.raises(JobgenError, match="its rank"):
        read_dumps([str(tmp_path / "trace")])


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x02}q\x00.", b"epoch 1\n", b'{"loss": 1}\n', b"PK\3\4"]
)
def test_other_files_are_no_dumps(data: bytes) -> None:
    assert not is_dump(data)
