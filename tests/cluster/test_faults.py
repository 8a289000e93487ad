"""Jobs that cannot work: they end soon, and their last lines say which node, what, and the cure.

Soon is before a wait for another node runs out: that takes 1800 s here, `Desk.run` takes 180.
"""

from __future__ import annotations

import importlib.metadata
import re
import time

import pytest

from tests.cluster.harness import Finished
from tests.cluster.jobs import ON_CPU, Desk
from tests.helpers import diagnose_text

TWO = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1")
STOPPED = "jobgen: smc-r07-0{}: its set-up stopped at: {}: see software() in the script"
SILENT = "no message"
NOT_THERE = "ls: cannot access '/not/there': No such file or directory"
IN_USE = "jobgen: smc-r07-07: port 29400 is used: --set network.port=N"


def last(done: Finished, lines: int) -> list[str]:
    """The last lines about a node; what follows says where the evidence is."""
    assert done.state == "FAILED", done.output
    assert "\njobgen: the job failed, with status 1: jobgen why " in f"\n{done.output}"
    return re.findall(r"(?m)^jobgen: smc-r07-0\d: .*$", done.output)[-lines:]


def blamed(done: Finished) -> tuple[str | None, str | None]:
    """The class and the node that `jobgen why` names."""
    verdict = diagnose_text(done.labelled)
    return verdict.code, verdict.node


def test_no_such_interface(desk: Desk) -> None:
    done = desk.run(*TWO, "--set", "network.interface=ib0")
    text = r"jobgen: smc-r07-0\d: no address on ib0: --set network\.interface=NAME, one of "
    text += r"eth0 10\.71\.0\.(9|10)/24,hsn0 10\.72\.0\.(9|10)/24"
    assert all(re.fullmatch(text, line) for line in last(done, 2)), done.output


def test_loopback_interface(desk: Desk) -> None:
    done = desk.run(*TWO, "--set", "network.interface=lo")
    assert all(": no address on lo: " in line for line in last(done, 2)), done.output


def test_no_such_program(desk: Desk) -> None:
    done = desk.run(*TWO, "--", "nothere.py")
    text = f": no program nothere.py in {desk.folder}: submit from its folder"
    assert [line.partition(" smc-r07-0")[2][1:] for line in last(done, 2)] == [text, text]
    assert blamed(done) == ("node-not-ready", None)


def test_no_such_command(desk: Desk) -> None:
    text = f": no program ./nothere in {desk.folder}: "
    assert text in last(desk.run(*TWO, "--", "./nothere"), 1)[0]


def test_no_such_module(desk: Desk) -> None:
    """Python says it itself, in each rank."""
    done = desk.run(*TWO, "--", "-m", "nothere.train")
    assert done.state == "FAILED"
    assert "No module named 'nothere'" in done.output


def test_wrong_number_of_gpus(desk: Desk) -> None:
    done = desk.run("--profile", "mi210", "-N", "2", "--set", "software.container=null")
    version = importlib.metadata.version("torch")
    text = f": torch {version} sees 0 GPUs; the job asked for 8 GPUs: "
    text += "see software() in the script, or change -G"
    assert all(line.endswith(text) for line in last(done, 2)), done.output


def test_wrong_architecture(desk: Desk) -> None:
    done = desk.run(*TWO, "--set", "node.arch=ppc64le")
    assert ": it is not ppc64le: --set node.arch=" in last(done, 1)[0]


def test_python_that_is_not_for_this_machine(desk: Desk) -> None:
    """A virtual environment of another architecture: its python3 cannot be executed."""
    folder = desk.folder / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python3").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    (folder / "python3").chmod(0o755)
    done = desk.run(*TWO, "--set", f"software.venv={desk.folder}/venv")
    line = last(done, 1)[0]
    assert "python3 has no torch: " in line
    assert line.endswith("Exec format error: see software() in the script")


def test_failing_setup(desk: Desk) -> None:
    done = desk.run(*TWO, "--set", 'software.commands=["ls /not/there"]')
    assert last(done, 2) == [STOPPED.format(number, NOT_THERE) for number in (7, 8)]
    assert done.output.splitlines().count(NOT_THERE) == 2


def test_failing_setup_on_one_node(desk: Desk) -> None:
    """The others are heard all the same: srun must not kill them for the one that failed."""
    setup = "[[ $(hostname) == smc-r07-08 ]] || sleep 2; [[ $(hostname) != smc-r07-08 ]]"
    done = desk.run(*TWO, "--set", f'software.commands=["{setup}"]')
    assert last(done, 1) == [STOPPED.format(8, SILENT)]
    assert "jobgen: smc-r07-07 is ready" in done.output
    assert blamed(done) == ("node-not-ready", "smc-r07-08")


def test_port_in_use(desk: Desk) -> None:
    """A store of somebody else on node 0 must not be joined."""
    serve = "python3 -m http.server 29400 >/dev/null 2>&1 & echo $!; "
    serve += "until (: </dev/tcp/127.0.0.1/29400) 2>/dev/null; do sleep 0.1; done"
    pid = desk.cluster.on("smc-r07-07", "bash", "-c", serve).stdout.strip()
    try:
        done = desk.run(*TWO)
    finally:
        desk.cluster.on("smc-r07-07", "kill", pid)
    assert last(done, 1) == [IN_USE]
    assert blamed(done) == ("node-not-ready", "smc-r07-07")


def test_node_that_never_answers(desk: Desk) -> None:
    hang = 'software.commands=["[[ $(hostname) != smc-r07-08 ]] || sleep 1000"]'
    done = desk.run(*TWO, "-N", "3", "--set", hang, "--set", "launch.join_timeout=20")
    assert last(done, 1) == [STOPPED.format(8, SILENT)]
    assert done.seconds >= 20
    assert blamed(done) == ("node-not-ready", "smc-r07-08")


@pytest.mark.thorough
def test_node_that_cannot_reach_the_first(desk: Desk) -> None:
    """Its interface is up and has an address, but on another network."""
    move = "ip addr flush dev hsn0; ip addr add 10.{}.0.10/24 dev hsn0"
    desk.cluster.on("smc-r07-08", "sh", "-c", move.format(99))
    try:
        words = ("--set", "network.interface=hsn0", "--set", "launch.join_timeout=20")
        done = desk.run(*TWO, *words)
    finally:
        desk.cluster.on("smc-r07-08", "sh", "-c", move.format(72))
    assert done.state == "FAILED"
    assert "did not find one another at the start: " in done.output.splitlines()[-1]
    assert blamed(done)[0] == "rendezvous"


def test_node_that_dies_in_its_setup(desk: Desk) -> None:
    done = desk.run(*TWO, "--set", "software.commands=['kill -9 $$']")
    assert last(done, 2) == [STOPPED.format(number, SILENT) for number in (7, 8)]


def test_number_of_nodes_that_was_changed_by_sbatch(desk: Desk) -> None:
    done = desk.run(*TWO, options=["-N3"])
    assert done.state == "FAILED"
    assert done.output == "jobgen: smc-r07-07: 3 nodes, not 2: -N of jobgen\n"
    assert not (desk.folder / "jobgen-logs").exists()


def test_banner_does_not_hide_what_is_wrong(desk: Desk) -> None:
    (desk.folder / "sitecustomize.py").write_text("print('BANNER')\nprint('of two lines')\n")
    words = ("-e", f"PYTHONPATH={desk.folder}", "--", "nothere.py")
    assert ": no program nothere.py in " in last(desk.run(*TWO, *words), 1)[0]


def test_warning_of_the_scheduler_is_the_program_s(desk: Desk) -> None:
    text = """import os, signal, sys, time
def stop(*_):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # Slurm may send it twice; the end restores it
    sys.stdout.write("saved\\n")
    sys.exit(0)
signal.signal(signal.SIGUSR1, stop)
open("ready" + os.environ["RANK"], "w").close()
while True:
    time.sleep(0.1)
"""
    program = desk.program("warned.py", text)
    job = desk.submit(*TWO, "--launcher", "srun", "--", program)
    limit = time.monotonic() + 120
    while len(list(desk.folder.glob("ready?"))) < 2:
        assert time.monotonic() < limit
        time.sleep(0.2)
    desk.cluster.run(["scancel", "--signal=USR1", str(job)])
    done = desk.cluster.wait(job, 120)
    assert (done.state, done.output.count("saved\n")) == ("COMPLETED", 2), done.output


def test_failed_rank_ends_the_job(desk: Desk) -> None:
    program = "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(7)\ntime.sleep(1000)\n"
    done = desk.run(*TWO, "--", desk.program("fail.py", program), timeout=120)
    assert done.state == "FAILED"
    assert done.exit_code != 0


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_cancelled_job_leaves_nothing(desk: Desk, launcher: str) -> None:
    marker = f"jobgen-test-{launcher}"
    program = f"import os, time\nos.write(1, b'{marker}\\n')\ntime.sleep(1000)\n"
    words = (*TWO, "--launcher", launcher, "--", desk.program(f"{marker}.py", program))
    job = desk.submit(*words)
    log = desk.folder / f"{marker}-{job}.out"
    limit = time.monotonic() + 120
    while not log.exists() or log.read_text().count(marker + "\n") < 2:
        assert time.monotonic() < limit, log.read_text() if log.exists() else "no output"
        time.sleep(0.2)
    desk.cluster.run(["scancel", str(job)])
    assert desk.cluster.wait(job, 120).state == "CANCELLED"
    for node in ("smc-r07-07", "smc-r07-08"):
        found = desk.cluster.on(node, "pgrep", "-f", marker)
        assert found.stdout == "", (node, found.stdout)
