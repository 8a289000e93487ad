"""What the options ask of a real Slurm, and get: programs without torch, started by srun."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from tests.cluster.jobs import Desk, generate
from tests.helpers import unlabelled
from tests.site_build import hook

ONE = ("--profile", "dgx-a100", "--set", "node.gpu=none", "-G", "1")
PLAIN = (*ONE, "-N", "1", "--launcher", "srun")


def wait_for_all(desk: Desk, job: int) -> dict[str, str]:
    """The state of every job of an array, by number, when all have ended."""
    limit = time.monotonic() + 120
    while desk.cluster.run(["squeue", "-h", "-j", str(job)]).stdout:
        assert time.monotonic() < limit
        time.sleep(0.3)
    shown = desk.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    return dict(re.findall(r"ArrayTaskId=(\d+) .*?JobState=(\w+)", shown, re.DOTALL))


def test_array(desk: Desk) -> None:
    program = desk.program("show.sh", '#!/bin/sh\necho "$SLURM_ARRAY_TASK_ID: $*"\n')
    job = desk.submit(*PLAIN, "--array", "1-7:2%2", "--", f"./{program}", "--seed=%a", "a '%a")
    shown = desk.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    assert "ArrayTaskThrottle=2" in shown
    states = wait_for_all(desk, job)
    assert states == dict.fromkeys("1357", "COMPLETED")
    output = unlabelled("".join(file.read_text() for file in desk.folder.glob("*.out")))
    lines = sorted(re.findall(r"^\d: .*", output, re.MULTILINE))
    assert lines == [f"{number}: --seed={number} a '{number}" for number in (1, 3, 5, 7)]


def test_one_of_an_array_goes_on_from_the_queue(desk: Desk) -> None:
    """The last, whose number is the array's own; none of the others begins anew."""
    text = """import os, pathlib, signal, sys
number = os.environ["SLURM_ARRAY_TASK_ID"]
if os.environ.get("SLURM_RESTART_COUNT", "0") != "0":
    pathlib.Path("again" + number).touch()
elif number == "1":
    signal.signal(signal.SIGUSR1, lambda *_: sys.exit())
    pathlib.Path("ready").touch()
    while True:
        signal.pause()
"""
    program = desk.program("warned.py", text)
    words = ("--array", "0-1", "--requeue", "-t", "60", "--", program)
    job = desk.submit(*PLAIN, *words)
    limit = time.monotonic() + 120
    while not (desk.folder / "ready").exists():
        assert time.monotonic() < limit
        time.sleep(0.2)
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", f"{job}_1"])
    while not (desk.folder / "again1").exists():
        assert time.monotonic() < limit
        time.sleep(0.2)
    assert wait_for_all(desk, job) == dict.fromkeys("01", "COMPLETED")
    outputs = [file.read_text() for file in desk.folder.glob("*.out")]
    assert not any("ended from outside" in text for text in outputs), outputs
    shown = desk.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    found = re.findall(r"ArrayTaskId=(\d+) .*?Restarts=(\d+)", shown, re.DOTALL)
    assert sorted(found) == [("0", "0"), ("1", "1")]


def test_dependencies(desk: Desk) -> None:
    """What waits for a success that never comes ends, where Slurm would let it wait for ever."""
    first = desk.submit(*PLAIN, "--", desk.program("fail.sh", "#!/bin/sh\nsleep 1; exit 3\n"))
    words = {kind: ("--after", f"{first}{kind}", "--", "true") for kind in ("", ":notok", ":any")}
    jobs = {kind: desk.submit(*PLAIN, *options) for kind, options in words.items()}
    states = {kind: desk.cluster.wait(job, 120).state for kind, job in jobs.items()}
    assert states == {"": "CANCELLED", ":notok": "COMPLETED", ":any": "COMPLETED"}


def test_what_else_is_asked_for(desk: Desk) -> None:
    """Slurm has read it as it was meant."""
    words = ("--mail", "me@example.org", "--mail-on", "begin,fail", "--exclusive", "--", "true")
    script = generate("sbatch", *PLAIN, *words, cwd=desk.folder)
    job = desk.cluster.sbatch(script, "--hold", cwd=desk.folder)
    shown = desk.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    desk.cluster.run(["scancel", str(job)])
    assert "MailUser=me@example.org MailType=BEGIN,FAIL" in shown
    assert "OverSubscribe=NO" in shown


def test_two_jobs_at_once_on_the_same_nodes(desk: Desk) -> None:
    """Each has torchruns on both nodes, and a port from its own number."""
    text = """#!/bin/sh
touch "here-$SLURM_JOB_ID-$RANK"
until [ "$(ls here-* | wc -l)" = 4 ]; do sleep 0.1; done
echo "met on $(hostname)"
"""
    # Slurm gives a job that names no memory all of a node's, and no other job fits beside it.
    words = (
        *ONE,
        "--set",
        "request.memory=10G",
        "-N",
        "2",
        "--",
        "./" + desk.program("meet.sh", text),
    )
    jobs = [desk.submit(*words) for _ in range(2)]
    for job in jobs:
        done = desk.cluster.wait(job, 180)
        assert done.state == "COMPLETED", done.output
        assert sorted(re.findall("^met on .*", done.output, re.M)) == [
            "met on dgx01",
            "met on dgx02",
        ]


def test_srun_of_the_program_gets_all_cores(desk: Desk) -> None:
    """Without SRUN_CPUS_PER_TASK, Slurm 22.05 gives it one."""
    shown = "scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep -o CPUs=[0-9]*"
    text = f"#!/bin/sh\nsrun --overlap --exact -n 1 sh -c '{shown}'\n"
    done = desk.run(*PLAIN, "--", "./" + desk.program("nested.sh", text))
    assert done.state == "COMPLETED", done.output
    assert "CPUs=16\n" in done.output


def test_directives_are_options_of_sbatch(desk: Desk) -> None:
    """What the manual's table names; `sbatch --help` leaves some out, so sbatch itself is asked."""
    table = hook("option_effects").table()
    column = [line.split(" | ")[2] for line in table.splitlines()[2:]]
    named = set(re.findall(r"`--([a-z-]+)", "".join(column)))
    assert {"array", "dependency", "mail-type", "qos", "requeue", "signal"} <= named
    for name in (*sorted(named), "nonsense"):
        message = desk.cluster.run(["sbatch", f"--{name}", "--usage"]).stderr
        assert ("unrecognized option" in message) == (name == "nonsense"), message


def repository(folder: Path) -> str:
    """A repository with one commit; its number."""
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org")
    folder.mkdir()
    (folder / "deep").mkdir()
    (folder / "deep/show.sh").write_text('#!/bin/sh\necho "from ${0%/*} in $PWD with $*"\n')
    (folder / "deep/show.sh").chmod(0o755)
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_workspace(desk: Desk) -> None:
    """Two jobs fetch it at once; it is there once, as a whole, and programs are found in it."""
    commit = repository(desk.folder / "source")
    folder = desk.folder / "work space"
    words = (
        *(*PLAIN, "--set", f"workspace.url=file://{desk.folder}/source"),
        *("--set", f"workspace.commit={commit}", "--set", f"workspace.folder={folder}"),
        *("--", "deep/show.sh", "a b"),
    )
    for job in [desk.submit(*words) for _ in range(2)]:
        done = desk.cluster.wait(job, 120)
        assert done.state == "COMPLETED", done.output
        assert f"from {folder}/{commit}/deep in {desk.folder} with a b\n" in done.output
    assert [path.name for path in folder.iterdir()] == [commit]


def test_workspace_that_cannot_be_fetched(desk: Desk) -> None:
    repository(desk.folder / "source")
    words = ("--set", f"workspace.url=file://{desk.folder}/source")
    words += ("--set", f"workspace.commit={'0' * 40}", "--set", f"workspace.folder={desk.folder}/w")
    done = desk.run(*PLAIN, *words, "--", "deep/show.sh")
    assert done.exit_code == 1
    assert ": the workspace cannot be fetched, as git says above: " in done.output
    assert list((desk.folder / "w").iterdir()) == []
