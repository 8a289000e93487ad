"""`jobgen why` on what torch and NCCL leave in a job's folder: dumps, and the answer of RAS."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from tests.diagnosis.job_folders import judged, place_of, traceback, waiting, write_folder
from tests.diagnosis.test_flight_recorder import WAITING, dump, operation

WATCHDOG = "[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=A"
TIMED_OUT = {f"{place_of(rank)}/stderr.log": WATCHDOG.format(rank) for rank in (0, 1, 3)}
READY = "".join(f"jobgen: n{n} is ready, 172.16.64.21{i} on ib0\n" for i, n in enumerate("AB"))
# From NCCL's user guide, Troubleshooting, RAS, Sample Output (docs/userguide/source/
# troubleshooting/ras.rst of 2.30.7); its job of 4 nodes and 32 ranks is one of 2 and 4 here.
TABLE = """\
Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2       1-2         4         4   RUNNING  INCOMPLETE

"""
INCOMPLETE = """\
Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 3487984 on node 172.16.64.211 managing GPU 1

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 3

Warnings
========

TIMEOUT
  Encountered 2 communication timeouts while gathering communicator data
"""
MISMATCH = """\
Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different collective operation counts
  3 ranks have launched up to operation 6650
  Rank 2 has launched up to operation 6649 -- GPU 0 managed by process 483072 on node 172.16.64.211
"""
# As src/ras/client_support.cc of 2.30 prints them: a rank's process, each kind of operation.
MISSING_RANK = """\
#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 3 -- GPU 1 managed by process 3487984 on node 172.16.64.211
"""
KINDS = """\
#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different status
  3 ranks have status RUNNING
  Rank 0 has status ABORT -- GPU 0 managed by process 483070 on node 172.16.64.210
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 12
  Rank 1 has not launched any operations -- GPU 1 managed by process 483071 on node 172.16.64.210
"""


def with_dumps(top: Path, dumps: Mapping[int, Any], files: Mapping[str, str] = TIMED_OUT) -> Path:
    """A folder in which ranks have written dumps, where a script has torch write them."""
    folder = write_folder(top, files)
    for rank, value in dumps.items():
        path = folder / f"n{'AB'[rank // 2]}" / f"nccl-rank-{rank}"
        path.write_bytes(pickle.dumps(value, protocol=2))
    return folder


def test_the_dumps_name_the_rank_that_the_others_waited_for(tmp_path: Path) -> None:
    dumps = {0: WAITING, 1: WAITING, 2: dump(operation(1)), 3: WAITING}
    verdict = diagnose_folder(str(with_dumps(tmp_path, dumps)))
    assert (verdict.code, verdict.rank, verdict.node) == ("collective-timeout", 2, "nB")
    assert "it did not join all_reduce (number 2 of default_pg)" in verdict.says


def test_dumps_of_an_earlier_start_say_nothing_of_the_last_one(tmp_path: Path) -> None:
    dumps = {0: WAITING, 1: WAITING, 2: dump(operation(1)), 3: WAITING}
    own = {f"{place_of(1, attempt=1)}/stderr.log": traceback(1, "ValueError: no such sample")}
    others = {f"{place_of(rank, attempt=1)}/stderr.log": "" for rank in (0, 2, 3)}
    folder = with_dumps(tmp_path, dumps, {**TIMED_OUT, **own, **others})
    for file in folder.glob("n?/nccl-rank-?"):
        os.utime(file, (1, 1))
    verdict = diagnose_folder(str(folder))
    assert (verdict.code, verdict.rank) == ("python-exception", 1)


def hung(top: Path, answer: str) -> Verdict:
    """A job of four ranks that are all in the same collective, and what NCCL answered."""
    files = {"ras": TABLE + answer, "roll-call": READY, "orders/stacks-1": ""}
    return judged(top, {**waiting(0, 1, 2, 3), **files})


@pytest.mark.parametrize("answer", [INCOMPLETE, MISSING_RANK])
def test_nccl_names_the_rank_that_does_not_answer(tmp_path: Path, answer: str) -> None:
    verdict = hung(tmp_path, answer)
    assert (verdict.code, verdict.rank, verdict.node) == ("stalled", 3, "nB")
    assert verdict.says == "it does not answer NCCL"
    assert "nvidia-smi" in verdict.cure
    assert verdict.evidence[0].file.endswith("/ras")


@pytest.mark.parametrize(
    ("answer", "rank", "says"),
    [
        (MISMATCH, 2, "it has called 6649 times, and others 6650 times, as NCCL knows"),
        (KINDS, 1, "it has called AllReduce 0 times, and others 12 times, as NCCL knows"),
    ],
)
def test_nccl_names_the_rank_that_is_behind(
    tmp_path: Path, answer: str, rank: int, says: str
) -> None:
    verdict = hung(tmp_path, answer)
    assert (verdict.code, verdict.certainty, verdict.rank) == ("stalled", "likely", rank)
    assert verdict.says == says


def test_a_rank_of_a_smaller_communicator_is_known_by_its_node_alone(tmp_path: Path) -> None:
    verdict = hung(tmp_path, INCOMPLETE.replace("#0-0", "#1-0"))
    assert (verdict.code, verdict.rank, verdict.node) == ("stalled", None, "nB")


@pytest.mark.parametrize(
    "answer", ["", "Warnings\n========\n\n", MISMATCH.replace("3 ranks", "1 ranks")]
)
def test_an_answer_without_a_finding_names_no_rank(tmp_path: Path, answer: str) -> None:
    verdict = hung(tmp_path, answer)
    assert (verdict.code, verdict.rank, verdict.node) == ("stalled", None, None)


@pytest.mark.parametrize("answer", [INCOMPLETE, MISSING_RANK, MISMATCH, KINDS])
def test_an_answer_with_endless_numbers_names_no_rank(tmp_path: Path, answer: str) -> None:
    """Whoever can write into the folder can write this; int() refuses so many digits."""
    verdict = hung(tmp_path, re.sub(r"(?<![#.\d-])\d+(?![.\d-])", "9" * 5000, answer))
    assert (verdict.code, verdict.rank) == ("stalled", None)


def test_a_stack_tells_more_than_nccl(tmp_path: Path) -> None:
    """A rank that is elsewhere than the others names a line of the program."""
    files = {"ras": TABLE + MISMATCH, "roll-call": READY, "orders/stacks-1": ""}
    loading = waiting(1)[f"{place_of(1)}/stderr.log"].replace("/torch/", "/home/")
    verdict = judged(tmp_path, {**waiting(0, 2, 3), f"{place_of(1)}/stderr.log": loading, **files})
    assert verdict.rank == 1


def test_an_answer_before_a_restart_says_nothing_of_the_last_start(tmp_path: Path) -> None:
    own = {f"{place_of(1, attempt=1)}/stderr.log": traceback(1, "ValueError: no such sample")}
    others = {f"{place_of(rank, attempt=1)}/stderr.log": "" for rank in (0, 2, 3)}
    folder = write_folder(
        tmp_path, {"ras": TABLE + INCOMPLETE, "roll-call": READY, **own, **others}
    )
    os.utime(folder / "ras", (1, 1))
    verdict = diagnose_folder(str(folder))
    assert (verdict.code, verdict.rank) == ("python-exception", 1)
