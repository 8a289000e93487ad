"""Nodes that are not ready: the job goes back to the queue, and does not get them again."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cluster.harness import Cluster, Finished
from tests.cluster.jobs import ON_CPU, PATH, Desk, generate
from tests.cluster.test_options import wait_for_all

WORDS = ("--profile", "mi210", *ON_CPU, "-t", "10", "--requeue", "--launcher", "node")
BACK = "jobgen: the job goes back to the queue, without "


def script(desk: Desk, bad: str, *words: str) -> str:
    """A job whose nodes with such names are not ready; the others say their names."""
    program = desk.program("where.sh", "#!/bin/sh\necho ran on $SLURMD_NODENAME\n")
    fails = f'software.commands=["[[ ! $SLURMD_NODENAME =~ {bad} ]] || exit 1"]'
    words = (*WORDS, "--set", fails, *words, "--", f"./{program}")
    return generate("sbatch", *words, cwd=desk.folder)


def run(desk: Desk, bad: str, *words: str, options: tuple[str, ...] = ()) -> Finished:
    job = desk.cluster.sbatch(script(desk, bad, *words), *options, cwd=desk.folder)
    return desk.cluster.wait(job, 180)


def shown(desk: Desk) -> str:
    return desk.cluster.run(["scontrol", "show", "job"]).stdout


@pytest.mark.thorough
def test_other_nodes(desk: Desk) -> None:
    """What was excluded before, and the job's own comment, stay."""
    done = run(desk, "07$", "-N", "2", options=("--exclude=dgx01", "--comment=of mine"))
    assert done.state == "COMPLETED", done.labelled
    assert done.labelled.count(BACK + "smc-r07-07\n") == 1
    ran = sorted(line for line in done.output.splitlines() if line.startswith("ran on "))
    assert ran == ["ran on smc-r07-08", "ran on smc-r07-09"]
    assert " ExcNodeList=dgx01,smc-r07-07\n" in shown(desk)
    comment = "Comment=of mine jobgen excludes smc-r07-07: smc-r07-07: its set-up stopped at: "
    assert comment in shown(desk)


def test_an_ordinary_user(cluster: Cluster) -> None:
    for parent in (cluster.folder / "etc", cluster.folder):  # it has to read slurm.conf
        parent.chmod(parent.stat().st_mode | 0o011)
    become = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    become += ["env", f"PATH={PATH}", "sbatch", "--parsable"]
    with TemporaryDirectory(prefix="job") as folder:
        desk = Desk(cluster, Path(folder))
        text = script(desk, "07$", "-N", "2")
        shutil.chown(folder, "nobody", "nogroup")
        sent = cluster.run(become, cwd=desk.folder, input=text)
        assert sent.returncode == 0, sent.stderr
        done = cluster.wait(int(sent.stdout), 180)
    assert done.state == "COMPLETED", done.labelled
    assert BACK + "smc-r07-07\n" in done.labelled


@pytest.mark.thorough
def test_jobs_of_an_array(desk: Desk) -> None:
    """Each that began on the node goes back alone; the second one may never have had it."""
    text = script(desk, "07$", "-N", "2", "--array", "0-1")
    job = desk.cluster.sbatch(text, cwd=desk.folder)
    assert wait_for_all(desk, job) == dict.fromkeys("01", "COMPLETED")
    outputs = [file.read_text() for file in desk.folder.glob("*.out")]
    began = [text.count("\njobgen: smc-r07-07: its set-up stopped at: ") for text in outputs]
    assert [text.count(BACK) for text in outputs] == began, outputs
    assert 1 in began
    assert all("ran on smc-r07-09" in text for text in outputs)


@pytest.mark.parametrize(
    ("bad", "words", "last"),
    [
        ("smc", ("-N", "2"), "its set-up stopped at: "),  # no node's fault
        ("07$", ("-N", "2", "--set", "launch.exclude_at_most=0"), "its set-up stopped at: "),
        (
            *("0[78]$", ("-N", "3", "--set", "launch.exclude_at_most=1")),
            "exclude smc-r07-07,smc-r07-08: look at them",
        ),
    ],
)
def test_a_job_ends(bad: str, words: tuple[str, ...], last: str, desk: Desk) -> None:
    done = run(desk, bad, *words)
    assert done.state == "FAILED", done.labelled
    assert last in done.labelled, done.labelled
    assert BACK not in done.labelled
