"""The schedulers judge lint's grammars: what they refuse is found, and what they take is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.cluster.harness import Cluster
from tests.cluster.site import OpenPbs, prefix
from tests.test_lint_values import OPENPBS, SLURM, SRUN, pairs, refused

# All differences of an example are shown; to look for a smaller example takes minutes.
WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
Values = list[tuple[str, str]]

# Reads lines of an option and a value; prints a line for each: the exit status, and what the
# command says.
JUDGE = r"""
while IFS=$'\t' read -r option value; do
  output=$(printf '#!/bin/sh\ntrue\n' | COMMAND 2>&1)
  printf '%s\t%s\n' $? "${output//$'\n'/ | }"
done
"""
SBATCH = JUDGE.replace("COMMAND", 'sbatch --test-only "--$option=$value"')
SRUN_TEST = JUDGE.replace("COMMAND", 'srun --test-only "--$option=$value" true')
QSUB = JUDGE.replace("COMMAND", 'timeout 60 qsub -f -h "-$option" "$value"')
# Refused for what the value is; otherwise, for what this cluster does not have.
OF_VALUE = re.compile(
    r"[Ii]nvalid (--|numeric|time spec|generic resource|job array|license|Trackable|plane)"
    r"|not a valid node|unrecognized|Job dependency problem|less than minimum|out of range"
    r"|(Failed to|cannot) (parse|validate)|must be >= 0|missing list|specified: \(null\)"
)
# What other values are made of.
PIECES = {
    "time": "1 05 24 00 : : - d h . infinite",
    "nodes": "1 2 4 - x k",
    "mem": "1 4 0 G M gb K B . i -",
    "ntasks": "0 1 2 - + x .",
    "mail-type": "BEGIN END FAIL NONE START abort , , TIME_LIMIT_80",
    "signal": "USR1 TERM SIG B R : @ 10 60 0 HUP X",
    "array": "1 2 9 10 - - , : % [ ] a",
    "dependency": "afterok afterany singleton : : 1 2 , ? _ + x",
    "distribution": "block cyclic fcyclic * : : , pack nopack plane=2 plane=",
    "hint": "multithread no compute_bound memory_bound ,",
    "begin": "1 2 hour hours + 12:30 16:00:00 01/02 tomorrow noon 2035-01-02 pm x",
    "gres": "gpu a100 1 2 x",
    "gpus": "a100 1 2 x",
    "gpu-bind": "closest none single : 1 map_gpu mask_gpu 0x3 verbose , per_task",
    "gpu-freq": "low high memory = , 900 verbose",
    "mem-bind": "local rank none map_mem:0 mask_mem:0x1 1 , verbose",
    "extra-node-info": "1 2 * : : - x",
    "acctg-freq": "task = 30 , energy x",
    "core-spec": "0 1 x -",
}


@st.composite
def composed(draw: st.DrawFn) -> tuple[str, str]:
    """An option with a value of its pieces."""
    option = draw(st.sampled_from(sorted(PIECES)))
    pieces = draw(st.lists(st.sampled_from(PIECES[option].split()), min_size=1, max_size=5))
    value = {"gres": ":", "gpus": ":", "begin": " "}.get(option, "").join(pieces)
    before = {"gres": "gpu:", "begin": draw(st.sampled_from(["", "now+1hour ", "now+2", "now"]))}
    return option, before.get(option, "") + value


def judged(cluster: Cluster, command: Sequence[str], values: Values) -> list[tuple[int, str]]:
    """What the command says of each value: its exit status and its output."""
    lines = "".join(f"{option}\t{value}\n" for option, value in values)
    shown = cluster.run(command, input=lines, timeout=600).stdout.splitlines()
    assert len(shown) == len(values)
    return [(int(status), text) for status, _, text in (line.partition("\t") for line in shown)]


def differences(cluster: Cluster, loop: str, values: Values) -> list[str]:
    """The values that Slurm judges otherwise than lint."""
    found = []
    for (option, value), (status, text) in zip(
        values, judged(cluster, ["bash", "-c", loop], values), strict=True
    ):
        is_refused = bool(status and OF_VALUE.search(text))
        if is_refused != bool(refused("slurm", option, value)) and not depends_on_the_cluster(
            option, value
        ):
            found.append(f"--{option}={value!r}: {status} {text}")
    return found


def depends_on_the_cluster(option: str, value: str) -> bool:
    """Whether sbatch ignores a part of the list, or the cluster takes no array of that size."""
    if option == "array":
        return bool(re.search(r"\d{4}", value))
    items = value.split(",")
    return option == "mail-type" and any(not refused("slurm", option, item) for item in items)


@pytest.fixture(scope="module")
def with_jobs(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster, with jobs that others may depend on."""
    folder = tmp_path_factory.mktemp("jobs")
    ids = [cluster.sbatch("#!/bin/sh\ntrue\n", "--hold", cwd=folder) for _ in range(2)]
    yield cluster
    cluster.run(["scancel", *map(str, ids)])


@pytest.mark.parametrize("index", [0, 1], ids=["taken", "refused"])
def test_sbatch_and_srun_judge_the_table(with_jobs: Cluster, index: int) -> None:
    assert differences(with_jobs, SBATCH, pairs(SLURM, index)) == []
    assert differences(with_jobs, SRUN_TEST, pairs(SRUN, index)) == []


@settings(max_examples=5, derandomize=True, phases=WITHOUT_SHRINKING)
@given(st.lists(composed(), min_size=40, max_size=40))
def test_sbatch_judges_any_values(with_jobs: Cluster, values: Values) -> None:
    assert differences(with_jobs, SBATCH, values) == []


@pytest.mark.thorough
@settings(max_examples=30, derandomize=True, phases=WITHOUT_SHRINKING)
@given(st.lists(composed(), min_size=100, max_size=100))
def test_sbatch_judges_many_values(with_jobs: Cluster, values: Values) -> None:
    assert differences(with_jobs, SBATCH, values) == []


def test_sbatch_ignores_the_mail_that_it_does_not_know(with_jobs: Cluster, tmp_path: Path) -> None:
    job = with_jobs.sbatch("#!/bin/sh\n", "--hold", "--mail-type=START,END", cwd=tmp_path)
    shown = with_jobs.run(["scontrol", "show", "job", str(job)]).stdout
    with_jobs.run(["scancel", str(job)])
    assert re.findall(r"MailType=(\S+)", shown) == ["END"]
    assert refused("slurm", "mail-type", "START,END") == "START"


def of_select(option: str, value: str) -> bool:
    """Whether OpenPBS takes a value of -l only beside `select`."""
    return option == "l" and value.startswith("place=")


def test_qsub_judges_the_table(cluster: Cluster) -> None:
    if not (folder := prefix()):
        pytest.skip("no OpenPBS here: PBS_LAB_PREFIX names none, and no qsub is on PATH")
    values = [pair for index in (0, 1) for pair in pairs(OPENPBS, index)]
    # OpenPBS takes `place` only beside `select`.
    with_select = [(option, re.sub("^place", "select=1,place", value)) for option, value in values]
    with TemporaryDirectory(prefix="home") as home:
        site = OpenPbs(cluster, folder, Path(home))
        shown = judged(cluster, site.command("bash", "-c", QSUB), with_select)
    wrong = [
        f"-{option} {value}: {text}"
        for (option, value), (status, text) in zip(values, shown, strict=True)
        if bool(status) != bool(refused("openpbs", option, value))
    ]
    assert wrong == []
