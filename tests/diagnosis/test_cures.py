"""The cure fits the line in hand, and its words fit together."""

from __future__ import annotations

import re
from io import BytesIO

import pytest

from jobgen.diagnosis.classes import choices, classes, cure
from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict

CURES = {
    (each.code, text)
    for each in classes().values()
    for cures in (each.cures, *(sign.event.cures for sign in each.signs))
    for _, text in choices(cures)
    if text
}


def verdict_on(text: str) -> Verdict:
    return diagnose([Source("a.log", BytesIO(text.encode()))])


@pytest.mark.parametrize(("code", "text"), sorted(CURES))
def test_the_words_of_a_cure_fit_together(code: str, text: str) -> None:
    everybody, _, jobgens = cure(text, is_jobgens=False).partition("; with jobgen: ")
    for words in (everybody, cure(text, is_jobgens=True)):
        assert not re.search(r"<[^>]*\||  | [;,]|[;,:]{2}|\( |[;,:(] *$", words), words
    for option in jobgens.split("; ") if jobgens else []:
        assert re.fullmatch(r"(?!(?:or|and|to|set)\b)[\w-].*[^\s;:,]", option), option
        assert not re.search(r" (?:or|and|to|from|the)$", option), option
        assert option.count("(") == option.count(")"), option


LINES = [
    ("sbatch: error: Batch script contains DOS line breaks (\\r\\n)", "dos2unix"),
    ("s.sh: line 3: $'\\r': command not found", "dos2unix"),
    ("/spool/slurm_script: line 7: MASTER_ADDR: unbound variable", "a default there"),
    ("FATAL:   could not open image /p/a.sif: lstat /p/a.sif: no such file or directory", "`ls`"),
    ("FATAL:   could not open image /p/a.sif: image format not recognized", "file whole"),
    ("slurmstepd: error: execve(): python: Exec format error", "uname -m"),
    ("slurmstepd: error: execve(): python: No such file or directory", "every node sees"),
    ("=>> PBS: job killed: walltime 3642 exceeded limit 3600", "more time: -l walltime"),
    ("=>> PBS: job killed: mem 203kb exceeded limit 201kb", "mem=SIZE in -l select"),
    ("srun: error: CPU binding outside of job step allocation", "SLURM_CPU_BIND"),
    (
        "srun: error: Task launch for StepId=3.0 failed on node n4: Unable to satisfy cpu bind"
        " request",
        "SLURM_CPU_BIND",
    ),
    ("srun: error: Node failure on n4", "by itself"),
    (
        "Error: crun: cannot find `/dev/nvidia0` : OCI runtime attempted\n"
        "srun: error: n1: task 0: Exited with exit code 127",
        "nvidia-ctk cdi",
    ),
    (
        "train.py: error: unrecognized arguments: --epoch 10\n"
        "srun: error: n1: task 0: Exited with exit code 2",
        "usage line",
    ),
    (
        "ImportError: cannot import name 'Tokeniser' from 'a.b' (/v/a/b.py)\n"
        "srun: error: n1: task 0: Exited with exit code 1",
        "is Tokeniser spelt right",
    ),
    (
        "RuntimeError: Error(s) in loading state_dict for DistributedDataParallel:\n"
        '\tMissing key(s) in state_dict: "module.a.weight".\n'
        '\tUnexpected key(s) in state_dict: "a.weight".\n',
        "model.module.state_dict()",
    ),
    (
        "RuntimeError: Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "a.weight".\n',
        "the right checkpoint",
    ),
    (
        "slurmstepd: error: pyxis: child 5 failed with error code: 1\n"
        "slurmstepd: error: pyxis:     [INFO] Querying registry for permission grant\n"
        "slurmstepd: error: pyxis:     [ERROR] URL https://r/v2/x returned error"
        " code: 403 Forbidden",
        ".credentials",
    ),
]


@pytest.mark.parametrize(("text", "words"), LINES, ids=[words for _, words in LINES])
def test_the_cure_is_for_the_line_in_hand(text: str, words: str) -> None:
    verdict = verdict_on(text)
    assert words in verdict.cure, verdict


def test_the_surest_line_of_a_message_is_cited() -> None:
    pyxis = verdict_on(LINES[-1][0])
    assert (pyxis.evidence[0].line, pyxis.certainty) == (3, "likely")
    apart = "CondaError: Run 'conda init' before 'conda activate'\ns: line 12: python: not found\n"
    assert verdict_on(apart).evidence[0].line == 1
    script = (
        "s.sh: line 7: ./run.sh: Permission denied\ns.sh: line 8: syntax error: unexpected end\n"
    )
    assert verdict_on(script).evidence[0].line == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Permission denied (publickey).\nORTE was unable to reliably start", "without a password"),
        ("u@n7: Permission denied (publickey).\nORTE was unable to", "without a password: n7"),
        (
            'Lmod has detected the following error: The following module(s) are unknown: "a/1"\n'
            "ModuleNotFoundError: No module named 'torch'\n"
            "srun: error: n1: task 0: Exited with exit code 1",
            "cannot be loaded: a/1",
        ),
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n"
            "srun: error: n1: task 0: Exited with exit code 1",
            "CUDA 11.4)",
        ),
    ],
)
def test_what_failed_is_a_sentence(text: str, says: str) -> None:
    assert f"{says} ".strip() in verdict_on(text).says


def watchdog(rank: int, number: int) -> str:
    return (
        f"[rank{rank}]:[E1126 12:30:01.100 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught"
        f" collective operation timeout: WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, NumelIn=1,"
        " NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
    )


@pytest.mark.parametrize(
    ("numbers", "rank"), [((8, 8, 7, 8), 2), ((8, 8, 8, 8), None), ((8, 8, 2, 8), None)]
)
def test_a_rank_that_waits_in_the_collective_before_is_behind(
    numbers: tuple[int, ...], rank: int | None
) -> None:
    """Without its group in the line, a number far off may be that of another group."""
    text = "".join(watchdog(rank, number) for rank, number in enumerate(numbers))
    verdict = verdict_on(text)
    assert verdict.rank == rank
    assert ("it was behind, in ALLREDUCE 7, others in ALLREDUCE 8" in verdict.says) == bool(rank)
