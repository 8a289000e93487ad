"""What broke jobs of 1.0, on a real Slurm: lost heads, late warnings, slow starts, frozen ranks."""

from __future__ import annotations

import json
import re
import sys
import time
from subprocess import run

import pytest

from tests.cluster.harness import Finished, until
from tests.cluster.jobs import ON_CPU, Desk, generate, job_folders

PROFILE = ("--profile", "mi210", *ON_CPU, "-t", "10")
HEAD, OTHER = "smc-r07-07", "smc-r07-08"
STEPS = """
import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = int(os.environ["RANK"])
print("began", flush=True)
for step in range(2000):
    dist.all_reduce(torch.ones(1))
    time.sleep(0.05)
"""


def output(desk: Desk) -> str:
    return "".join(file.read_text(errors="replace") for file in desk.folder.glob("*.out"))


def restarts(desk: Desk, job: int) -> int:
    shown = desk.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    return int(shown.split(" Restarts=")[1].split()[0])


@pytest.mark.thorough
@pytest.mark.parametrize("nodes", ["2+1", "1:2"])
def test_a_lost_first_node_leaves_no_job_without_a_process(desk: Desk, nodes: str) -> None:
    """Its batch script is gone, and --no-kill keeps the job: the others have it begin again."""
    program = desk.program("steps.py", STEPS)
    job = desk.submit(*PROFILE, "-N", nodes, "-G", "1", "--max-restarts", "1", "--", program)
    until(lambda: output(desk).count("began") == 2)
    desk.cluster.crash_node(HEAD)
    try:
        until(lambda: restarts(desk, job) == 1, 180)
    finally:
        desk.cluster.run(["scancel", str(job)])
        desk.cluster.start_node(HEAD)
    desk.cluster.wait(job, 60)
    until(lambda: not desk.cluster.on(OTHER, "pgrep", "-f", "steps.py").stdout)


ENDS = """
import os, pathlib, random, signal, sys, time
def save(*_):
    sys.exit(0)
signal.signal(signal.SIGUSR1, save)
print("began", flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0.01)
time.sleep(random.random() * 2)
"""


def test_a_warning_kills_no_rank_that_ends(desk: Desk) -> None:
    """Sixteen ranks end within two seconds, while the keepers warn those that have a handler."""
    program = desk.program("ends.py", ENDS)
    job = desk.submit(*PROFILE, "-N", "2", "-G", "8", "--signal", "60", "--", program)
    until(lambda: output(desk).count("began") == 16)
    (desk.folder / "go").touch()
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.labelled
    assert "SIGUSR1" not in done.labelled


LOADS = """
import os, pathlib, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")  # which may warn, and that is no line of the program's
time.sleep(90)
print("loaded", flush=True)
first = not pathlib.Path("failed").exists()
dist.barrier()
if os.environ["RANK"] == "1" and first:
    pathlib.Path("failed").touch()
    sys.exit(5)
dist.barrier()
"""


@pytest.mark.thorough
def test_a_start_may_take_three_times_as_long(desk: Desk) -> None:
    """Also the second one, after a rank has failed: the old ranks' lines are not the new ones'."""
    program = desk.program("loads.py", LOADS)
    words = ("-N", "2", "-G", "1", "--stall", "1", "--max-restarts", "1", "--", program)
    done = desk.run(*PROFILE, *words, timeout=400)
    assert done.state == "COMPLETED", done.labelled
    assert done.labelled.count("loaded") == 4
    assert "no rank has written" not in done.labelled


@pytest.mark.thorough
def test_a_frozen_rank_is_named(desk: Desk) -> None:
    program = desk.program("steps.py", STEPS.replace("2000", "200000"))
    job = desk.submit(*PROFILE, "-N", "2", "-G", "2", "--stall", "1", "--", program)
    until(lambda: output(desk).count("began") == 4)
    listed = desk.cluster.on(OTHER, "pgrep", "-f", "python3.* -u steps.py").stdout.split()
    environ = desk.cluster.on(OTHER, "cat", f"/proc/{listed[-1]}/environ").stdout
    rank = re.findall(r"\0RANK=(\d+)", environ)[0]
    desk.cluster.on(OTHER, "kill", "-STOP", listed[-1])
    done = desk.cluster.wait(job, 240)
    assert done.state == "FAILED", done.labelled
    last = done.labelled.splitlines()[-1]
    assert re.match(rf"jobgen: .*rank {rank} on {OTHER} .*(frozen|wrote no stack)", last), (
        done.labelled
    )


@pytest.mark.thorough
def test_a_suspend_is_no_hang(desk: Desk) -> None:
    """Slurm stops all processes of the job, for longer than --stall would wait."""
    program = desk.program("steps.py", STEPS.replace("2000", "200"))
    job = desk.submit(*PROFILE, "-N", "2", "-G", "1", "--stall", "1", "--", program)
    until(lambda: output(desk).count("began") == 2)
    assert desk.cluster.run(["scontrol", "suspend", str(job)]).returncode == 0
    time.sleep(80)
    assert desk.cluster.run(["scontrol", "resume", str(job)]).returncode == 0
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.labelled
    assert "no rank has written" not in done.labelled


@pytest.mark.thorough
def test_a_slurmd_that_stays_dead(desk: Desk) -> None:
    """Slurm gives the node up. The job begins again, and nothing of it stays on that node."""
    program = desk.program("steps.py", STEPS)
    job = desk.submit(*PROFILE, "-N", "2", "-G", "1", "--requeue", "--", program)
    until(lambda: output(desk).count("began") == 2)
    assert desk.cluster.on(OTHER, "pkill", "-KILL", "-x", "slurmd").returncode == 0
    try:
        until(lambda: restarts(desk, job) == 1, 90)
        until(lambda: not desk.cluster.on(OTHER, "pgrep", "-f", "steps.py").stdout, 60)
    finally:
        desk.cluster.run(["scancel", str(job)])
        desk.cluster.crash_node(OTHER)
        desk.cluster.start_node(OTHER)
    desk.cluster.wait(job, 60)


@pytest.mark.thorough
def test_a_killed_torchrun_of_a_job_that_may_be_requeued(desk: Desk) -> None:
    """Nothing asks for a restart, so the job ends, with its reason, and leaves nothing."""
    program = desk.program("steps.py", STEPS)
    job = desk.submit(*PROFILE, "-N", "2", "-G", "1", "--requeue", "--", program)
    until(lambda: output(desk).count("began") == 2)
    desk.cluster.on(OTHER, "pkill", "-KILL", "-f", "torch.distributed.run")
    done = desk.cluster.wait(job, 120)
    assert done.state == "FAILED", done.labelled
    assert f"launcher on {OTHER} failed first: killed by signal 9" in done.labelled, done.labelled
    until(lambda: not desk.cluster.on(OTHER, "pgrep", "-f", "steps.py").stdout)


@pytest.mark.thorough
def test_a_full_folder_for_temporary_files(desk: Desk) -> None:
    """torchrun and its ranks need none of it, and neither does the script."""
    full = desk.folder / "full"
    full.mkdir()
    for node in (HEAD, OTHER):
        desk.cluster.on(node, "mount", "-t", "tmpfs", "-o", "size=4k", "full", str(full))
        desk.cluster.on(node, "sh", "-c", f"cat /dev/zero > {full}/filler || true")
    program = desk.program("steps.py", STEPS.replace("2000", "20"))
    words = ("-N", "2", "-G", "1", "--stall", "5", "-e", f"TMPDIR={full}", "--", program)
    try:
        done = desk.run(*PROFILE, *words)
    finally:
        for node in (HEAD, OTHER):
            desk.cluster.on(node, "umount", str(full))
    assert done.state == "COMPLETED", done.labelled


@pytest.mark.thorough
def test_a_killed_slurmstepd_ends_the_job_with_its_training(desk: Desk) -> None:
    """srun does not hear of that node's end, and waits no more than it was told to."""
    program = desk.program("steps.py", STEPS.replace("2000", "150"))
    wait = ("--set", "launch.srun_options=[--wait=10]")  # instead of the two hours of a script
    job = desk.submit(*PROFILE, "-N", "2", "-G", "1", *wait, "--", program)
    until(lambda: output(desk).count("began") == 2)
    killed = desk.cluster.on(OTHER, "pkill", "-KILL", "-f", rf"slurmstepd: \[{job}\.1\]")
    assert killed.returncode == 0, killed
    done = desk.cluster.wait(job, 180)
    assert "srun: error: Timed out waiting for job step to complete" in done.output, done.output


def test_a_python_that_is_not_there_is_not_ready(desk: Desk) -> None:
    """Another python3 on PATH has torch, and is not the one that was asked for."""
    program = desk.program("steps.py", STEPS)
    venv = ("--set", f"software.venv={desk.folder}/venv")
    done = desk.run(*PROFILE, "-N", "2", "-G", "1", *venv, "--", program)
    assert done.state == "FAILED", done.labelled
    assert " is ready, " not in done.labelled
    assert f"{desk.folder}/venv" in done.labelled


@pytest.mark.thorough
def test_a_killed_torchrun_of_an_elastic_job(desk: Desk) -> None:
    """Its ranks do not go on; the first node does, alone."""
    program = desk.program("steps.py", STEPS.replace("2000", "300"))
    words = ("-N", "1:2", "-G", "1", "--max-restarts", "2")
    job = desk.submit(*PROFILE, *words, "--", program)
    until(lambda: output(desk).count("began") == 2)
    desk.cluster.on(OTHER, "pkill", "-KILL", "-f", "torch.distributed.run")
    until(lambda: not desk.cluster.on(OTHER, "pgrep", "-f", "--", "-u steps.py").stdout, 60)
    done = desk.cluster.wait(job, 180)
    assert done.state == "COMPLETED", done.labelled
    assert done.labelled.count("began") == 3


def ended_by(desk: Desk, minutes: str, *command: str) -> Finished:
    program = desk.program("steps.py", STEPS)
    job = desk.submit(*PROFILE, "-t", minutes, "-N", "2", "-G", "1", "--", program)
    until(lambda: output(desk).count("began") == 2)
    if command:
        desk.cluster.run([*command, str(job)])
    desk.cluster.wait(job, 200)
    until(lambda: "jobgen: the job was ended from outside" in output(desk), 60)
    time.sleep(3)
    return desk.cluster.wait(job, 20)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    [("scancel",), pytest.param((), marks=pytest.mark.thorough)],
    ids=["scancel", "limit"],
)
def test_nothing_comes_after_the_last_line(desk: Desk, command: tuple[str, ...]) -> None:
    done = ended_by(desk, "10" if command else "1", *command)
    *_, end, line = done.labelled.splitlines()
    assert re.match("jobgen: the job was ended from outside, with status 143: ", end), done.labelled
    assert line.startswith("jobgen: the job was ended from outside"), done.labelled


SHOWS = """
import json, os, sys
rank = os.environ["RANK"]
agent = open(f"/proc/{os.getppid()}/cmdline").read().replace("\\0", " ")
open(f"shown-{rank}", "w").write(json.dumps({**os.environ, "agent": agent}))
for number in range(50):
    sys.stdout.write(f"line {number} " + "x" * 3000)
    sys.stdout.flush()
    sys.stdout.write("\\n")
sys.stdout.write("the last")
"""


def test_ranks_on_shared_nodes(desk: Desk) -> None:
    """The port is the one that was set; no name of the script reaches a rank; files are whole."""
    program = desk.program("shows.py", SHOWS)
    words = ("--set", "network.port=23456", "--log-dir", str(desk.folder / "kept"))
    done = desk.run("--profile", "dgx-a100", *ON_CPU, "-N", "2", "-G", "2", *words, "--", program)
    assert done.state == "COMPLETED", done.labelled
    for rank in range(4):
        found = json.loads((desk.folder / f"shown-{rank}").read_text())
        assert re.search(r"--rdzv-endpoint=[\d.]+:23456 ", found.pop("agent"))
        ours = r"BASH_FUNC|JOBGEN_|job$|nodes$|hosts$|node$|head$|address$|port$|logs$|each_"
        assert [name for name in found if re.match(ours, name)] == []
    wanted = "".join(f"line {number} {'x' * 3000}\n" for number in range(50)) + "the last"
    files = list((desk.folder / "kept").glob("*/dgx*/*/attempt_0/*/stdout.log"))
    assert [file.read_text() for file in files] == [wanted] * 4


@pytest.mark.thorough
def test_each_try_of_a_job_has_its_own_folder(desk: Desk) -> None:
    program = desk.program("try.py", TRY)
    words = ("-N", "2", "-G", "1", "--requeue", "--log-dir", str(desk.folder / "kept"))
    job = desk.submit(*PROFILE, *words, "--", program)
    until(lambda: output(desk).count("began") == 2)
    (desk.folder / "again").touch()
    desk.cluster.run(["scontrol", "requeue", str(job)])
    until(lambda: restarts(desk, job) == 1)
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.labelled
    tries = job_folders(desk.folder, "kept")
    assert [each.name for each in tries] == [str(job), f"{job}.1"]
    for each in tries:
        files = each.glob("smc*/*/attempt_0/0/stdout.log")
        assert [file.read_text() for file in files] == ["began\n"] * 2


TRY = """
import os, time
print("began", flush=True)
while not os.path.exists("again"):
    time.sleep(0.1)
if "SLURM_RESTART_COUNT" not in os.environ:
    time.sleep(100)
"""


FAILS = """
import glob, os, sys, time
sys.stdout.write(f"rank {os.environ['RANK']} {sys.argv[1]}\\n")  # whole: others write, too
open(f"{sys.argv[1]}-up{os.environ['RANK']}", "w").close()
while len(glob.glob(f"{sys.argv[1]}-up?")) < 4:  # the one that fails ends the others
    time.sleep(0.05)
if sys.argv[1] == "fail" and os.environ["RANK"] == "3":
    raise ValueError("no such sample")
if sys.argv[1] != "pass":
    time.sleep(600)
"""


def as_of_many_nodes(desk: Desk, *arguments: str) -> int:
    """The script for 65 nodes, on two; their own disk is /var/tmp in the nodes of the tests."""
    program = desk.program("fails.py", FAILS)
    script = generate(
        "sbatch", *PROFILE, "-N", "65", "-G", "2", "--", program, *arguments, cwd=desk.folder
    )
    script = script.replace("nodes=65", "nodes=2").replace("=/tmp/jobgen-", "=/var/tmp/jobgen-")
    return desk.send(script)


def files_of_ranks(desk: Desk, job: int) -> list[str]:
    """What ranks have written on the nodes' own disks, of both nodes."""
    found = [desk.cluster.on(node, "find", "/var/tmp", "-path", f"*/jobgen-ranks-{job}/*", "-name",
             "std*.log").stdout.split() for node in (HEAD, OTHER)]  # fmt: skip
    return [line for lines in found for line in lines]


@pytest.mark.thorough
def test_ranks_of_many_nodes_write_on_their_own_disks(desk: Desk) -> None:
    """After a success nothing is left; after a failure, the files are in the job's folder."""
    old = "/var/tmp/jobgen-ranks-0"
    desk.cluster.on(OTHER, "sh", "-c", f"mkdir {old} && touch -d '40 days ago' {old}")
    job = as_of_many_nodes(desk, "pass")
    done = desk.cluster.wait(job, 120)
    assert done.exit_code == 0, done.labelled
    for folder in (old, f"/var/tmp/jobgen-ranks-{job}"):
        assert desk.cluster.on(OTHER, "test", "-e", folder).returncode, folder
    assert not job_folders(desk.folder)

    job = as_of_many_nodes(desk, "fail")
    done = desk.cluster.wait(job, 120)
    assert done.exit_code, done.labelled
    line = f"jobgen: rank 3 on {OTHER} failed first: ValueError: no such sample"
    assert done.output.splitlines()[-1].startswith(line), done.labelled
    logs = desk.folder / f"jobgen-logs/{job}"
    written = {file.read_text() for file in logs.rglob("stdout.log")}
    assert written == {f"rank {rank} fail\n" for rank in range(4)}
    assert all((logs / node / "evidence").is_file() for node in (HEAD, OTHER))
    assert files_of_ranks(desk, job) == []


def test_a_node_s_own_disk_that_cannot_be_written(desk: Desk) -> None:
    """It cannot be made, as on a disk that may only be read: the node says so."""
    desk.cluster.on(OTHER, "mount", "-t", "tmpfs", "-o", "ro", "tmp", "/var/tmp")
    try:
        done = desk.cluster.wait(as_of_many_nodes(desk, "pass"), 120)
    finally:
        desk.cluster.on(OTHER, "umount", "/var/tmp")
    assert done.exit_code == 1, done.labelled
    assert f"\njobgen: {OTHER}: /var/tmp/jobgen-ranks-" in done.output
    assert f"{HEAD}: no answer" not in done.output


def test_many_nodes_that_are_ended_from_outside(desk: Desk) -> None:
    """Slurm starts no step then: the ranks' files stay on the nodes, and why reads what is here."""
    job = as_of_many_nodes(desk, "hang")
    until(lambda: output(desk).count(" hang") == 4)
    desk.cluster.run(["scancel", str(job)])
    desk.cluster.wait(job, 120)
    until(lambda: "jobgen: the job was ended from outside" in output(desk), 60)
    assert len(files_of_ranks(desk, job)) == 8
    logs = str(desk.folder / f"jobgen-logs/{job}")
    done = run([sys.executable, "-m", "jobgen", "why", logs], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ended from outside" in done.stdout
