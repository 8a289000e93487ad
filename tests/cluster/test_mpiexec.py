"""The launcher mpiexec of PBS: a process for each rank, by OpenMPI, MPICH and a stand-in for PALS.

As in test_pbs.py: each on the stand-in, and on a real OpenPBS where there is one; after every test
no process of a job may be left, and no folder.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.jobs import PbsDesk, job_folders, own_environment
from tests.cluster.test_pbs import (
    ALL_TOGETHER,
    FIRST,
    RANKS,
    SECOND,
    SILENT,
    check_end,
    check_not_started,
)

MPIEXECS = {"mpiexec-openmpi": "mpiexec.openmpi", "mpiexec-mpich": "mpiexec.mpich"}
# What PALS does, as far as a script can see: `ppn` processes on each host of the node file, each
# with its numbers; their output is its own; if one fails, all end. Its words are kept beside it.
PALS = """#!{python}
import os, subprocess, sys, tempfile, time
words = sys.argv[1:]
options = {{}}
told = words[:]
while words[0].startswith("-"):
    options[words[0]] = words[1]
    words = words[2:]
with open({words!r}, "a") as file:
    file.write(" ".join(told[: -len(words)]) + "\\n")
hosts = list(dict.fromkeys(open(os.environ["PBS_NODEFILE"]).read().split()))
per_node = int(options["--ppn"])
assert int(options["-n"]) == per_node * len(hosts), options
names = [name for name in os.environ if name != "PBS_NODENUM"]
running, copies, folder = [], [], tempfile.mkdtemp(dir=os.path.dirname({words!r}))
for rank in range(int(options["-n"])):
    own = {{"PALS_RANKID": rank, "PALS_LOCAL_RANKID": rank % per_node}}
    pairs = [f"{{name}}={{os.environ[name]}}" for name in names]
    pairs += [f"{{name}}={{value}}" for name, value in own.items()]
    output = f"{{folder}}/{{rank}}"  # pbs_tmrsh brings none back
    os.mkfifo(output)
    copies.append(subprocess.Popen(["cat", output]))
    command = ["pbs_tmrsh", hosts[rank // per_node], "env", *pairs]
    command += ["bash", "-c", 'echo $$ > "$0.pid"; exec "$@" > "$0"', output, *words]
    running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
status, started = 0, running[:]
while running and not status:
    time.sleep(0.1)
    for process in [each for each in running if each.poll() is not None]:
        running.remove(process)
        status = status or process.returncode % 256
for rank, each in enumerate(started):
    if status and each.poll() is None:
        end = ["bash", "-c", 'kill "$(< "$0.pid")"', f"{{folder}}/{{rank}}"]
        subprocess.run(["pbs_tmrsh", hosts[rank // per_node], *end], stdin=subprocess.DEVNULL)
for each in started:
    each.wait()
while not status and any(each.poll() is None for each in copies):
    time.sleep(0.1)
for each in copies:
    each.kill()
sys.exit(status)
"""


@pytest.fixture(
    params=[
        "mpiexec-openmpi",
        pytest.param("mpiexec-mpich", marks=pytest.mark.thorough),
        pytest.param("mpiexec-pals", marks=pytest.mark.thorough),
    ]
)
def mpiexec(request: pytest.FixtureRequest, pbs: PbsDesk) -> tuple[str, ...]:
    """Options that choose a flavour; its mpiexec goes into the folder's `bin`."""
    (pbs.folder / "bin").mkdir()
    tool = MPIEXECS.get(request.param)
    if tool and not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    text = PALS.format(python=sys.executable, words=str(pbs.folder / "words"))
    if tool:
        root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"  # the stand-in's user
        # Not by its path, by which it would know where its daemon is.
        text = f'#!/bin/sh\nPATH=$PATH:/usr/bin exec env {root} {tool} "$@"\n'
    (pbs.folder / "bin/mpiexec").write_text(text)
    (pbs.folder / "bin/mpiexec").chmod(0o755)
    starter = f"launch.starter={request.param}"
    return ("--launcher", "mpiexec", "--set", starter, "--set", "launch.processes_per_node=2")


def submit(desk: PbsDesk, *words: str, path: str = "$PATH") -> str:
    """Submit a job with the folder's `bin` first on the script's PATH; its id."""
    text = desk.script(*words)
    assert "\nset -euo pipefail\n" in text
    first = f"\nset -euo pipefail\nPATH='{desk.folder}/bin':{path}\n"
    return desk.send(text.replace("\nset -euo pipefail\n", first, 1))


def started(desk: PbsDesk, *words: str, ranks: int = 4) -> str:
    """A job whose ranks are all up; its id."""
    job = submit(desk, *words)
    for rank in range(ranks):
        desk.site.wait_for(f"up {rank}\n", job, desk.folder)
    return job


def test_ddp(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    """Four ranks on two nodes take one DDP step; rank 0 is where MASTER_ADDR is."""
    job = submit(pbs, *mpiexec, "-N", "2")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 0, done.output
    assert ALL_TOGETHER.search(done.output)[1] == "4"  # type: ignore[index]
    for node in ("blancapeak003", "blancapeak004"):
        assert done.output.count(f"(node {node}, device cpu, backend gloo)") == 2
    assert not job_folders(pbs.folder)


NUMBERS = """
import os, sys
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR")
line = " ".join(os.environ[name] for name in names)
sys.stdout.write(f"numbers {line} {os.getcwd()}\\n")
"""


@pytest.mark.parametrize("plain", [(), ("--plain",)])
@pytest.mark.parametrize("nodes", ["1", "3"])
def test_numbers(pbs: PbsDesk, mpiexec: tuple[str, ...], nodes: str, plain: tuple[str]) -> None:
    if plain and "launch.starter=mpiexec-mpich" in mpiexec:
        pytest.skip("refused")
    words = (*mpiexec, *plain, "-N", nodes, "--", pbs.program("show_numbers.py", NUMBERS))
    done = pbs.site.wait(submit(pbs, *words), pbs.folder)
    assert done.status == 0, done.output
    head = "127.0.0.1" if nodes == "1" else "10.72.0.3"
    ranks = 2 * int(nodes)
    assert sorted(re.findall("numbers (.*)", done.output)) == [
        f"{rank} {rank % 2} {ranks} {head} {pbs.folder}" for rank in range(ranks)
    ]


def test_shell_lines_run_once_on_each_node(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    """They may make the environment; the mpiexec is looked for before that."""
    text = "import os, sys\nassert os.environ['AFTER'] == '1' and '/env-' in sys.prefix\n"
    lines = own_environment("echo prepared $AFTER >> prepared")
    exports = ("--set", "software.after_modules=['export AFTER=1']")
    words = (*mpiexec, *lines, *exports, "-N", "2", "--", pbs.program("p.py", text))
    done = pbs.site.wait(submit(pbs, *words), pbs.folder)
    assert done.status == 0, done.output
    assert (pbs.folder / "prepared").read_text() == "prepared 1\n" * 2


@pytest.mark.parametrize("rank", ["0", "3"])
def test_a_rank_crashes(pbs: PbsDesk, mpiexec: tuple[str, ...], rank: str) -> None:
    words = (*mpiexec, "--", pbs.program("ranks.py", RANKS), "crash", rank)
    done = pbs.site.wait(submit(pbs, *words), pbs.folder)
    assert done.status == 3, done.output
    check_end(done, FIRST if rank == "0" else SECOND, 3)


def test_a_rank_crashes_in_the_plain_form(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    if "launch.starter=mpiexec-mpich" in mpiexec:
        pytest.skip("refused")
    words = (*mpiexec, "--plain", "--", pbs.program("ranks.py", RANKS), "crash", "3")
    done = pbs.site.wait(submit(pbs, *words), pbs.folder)
    assert done.status == 3, done.output


@pytest.mark.thorough
def test_a_rank_is_killed(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    job = started(pbs, *mpiexec, "--", pbs.program("ranks.py", RANKS), "hang")
    pid = pbs.site.pids("blancapeak004", r"python3 ranks\.py hang")[0]
    pbs.site.cluster.on("blancapeak004", "kill", "-KILL", pid)
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 137, done.output
    check_end(done, SECOND, 137)


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["healthy", "hang"])
def test_qdel(pbs: PbsDesk, mpiexec: tuple[str, ...], how: str) -> None:
    job = started(pbs, *mpiexec, "--", pbs.program("ranks.py", RANKS), how)
    pbs.site.delete(job)
    assert pbs.site.wait(job, pbs.folder).status == 256 + 15
    assert pbs.site.leftovers() == {}


@pytest.mark.thorough
def test_the_walltime(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    words = ("-t", "45", "--", pbs.program("ranks.py", RANKS), "hang")
    done = pbs.site.wait(started(pbs, *mpiexec, *words), pbs.folder)
    assert done.status in (256 + 15, -29), done.output
    assert pbs.site.leftovers() == {}


@pytest.mark.thorough
@pytest.mark.parametrize("victim", ["stub", "keeper"])
def test_a_process_of_the_keeper_is_killed(
    pbs: PbsDesk, mpiexec: tuple[str, ...], victim: str
) -> None:
    """The ranks of a node that nobody watches are ended, and the job with them."""
    job = started(pbs, *mpiexec, "--", pbs.program("ranks.py", RANKS), "hang")
    pids = pbs.site.pids("blancapeak004", "python3 -I -S .*keeper.py keep")
    pid = pids[victim == "keeper"]
    pbs.site.cluster.on("blancapeak004", "kill", "-KILL", pid)
    done = pbs.site.wait(job, pbs.folder)
    assert done.status not in (0, 256 + 15), done.output
    assert re.search("^jobgen: the job failed, with status ", done.output, re.MULTILINE)


@pytest.mark.thorough
def test_mpiexec_is_killed(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    job = started(pbs, *mpiexec, "--", pbs.program("ranks.py", RANKS), "hang")
    pbs.site.kill("blancapeak003", r"mpiexec\S* -n ")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 137, done.output


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["crash", "qdel", "torchrun is killed"])
def test_faults_of_torchrun_below_an_mpiexec(
    pbs: PbsDesk, mpiexec: tuple[str, ...], how: str
) -> None:
    test_torchrun_below_an_mpiexec(pbs, mpiexec, how)


@pytest.mark.parametrize("how", ["end"])
def test_torchrun_below_an_mpiexec(pbs: PbsDesk, mpiexec: tuple[str, ...], how: str) -> None:
    """One process of it on each node; if one ends with a status, the other one has to end, too."""
    words = ("--set", "launch.launcher=torchrun", *mpiexec[2:])
    if how == "end":
        done = pbs.site.wait(submit(pbs, *words), pbs.folder)
        assert done.status == 0, done.output
        assert ALL_TOGETHER.search(done.output)[1] == "4"  # type: ignore[index]
        return
    rank = "2" if how == "crash" else "-1"
    program = pbs.program("ranks.py", RANKS.replace('== "hang"', '!= "x"'))
    job = started(pbs, *words, "--", program, "crash", rank)
    if how == "qdel":
        pbs.site.delete(job)
    elif how != "crash":
        pbs.site.kill("blancapeak004", r"torch\.distributed\.run")
    start = time.monotonic()
    done = pbs.site.wait(job, pbs.folder)
    assert time.monotonic() - start < 150
    # Behind what PALS writes before each line, the report of torchrun is not found: its own status.
    crash = 1 if any("mpiexec-pals" in word for word in mpiexec) else 3
    assert done.status == {"qdel": 256 + 15, "crash": crash}.get(how, 137), done.output
    if how != "qdel":
        check_end(done, SECOND, done.status, launcher=1 if how == "crash" else None)
    assert pbs.site.leftovers() == {}


HANDLER = """
import os, signal, sys, time
warned = []
signal.signal(signal.SIGUSR1, lambda *_: warned.append(1))
sys.stdout.write(f"up {os.environ['RANK']}\\n")
while not warned:
    time.sleep(0.1)
sys.stdout.write(f"saved {os.environ['RANK']}\\n")
"""


@pytest.mark.thorough
def test_the_script_warns_before_the_walltime(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    words = ("-t", "60", "--signal", "50", "--", pbs.program("handler.py", HANDLER))
    done = pbs.site.wait(submit(pbs, *mpiexec, *words), pbs.folder)
    assert done.status == 0, done.output
    assert sorted(re.findall(r"saved (\d)", done.output)) == ["0", "1", "2", "3"]
    assert done.last.endswith("the ranks have ended: submit again to continue")


def test_a_node_that_is_not_ready(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    """No rank starts."""
    failing = 'software.commands=["[[ $(hostname) != blancapeak004 ]]"]'
    done = pbs.site.wait(submit(pbs, *mpiexec, "--set", failing), pbs.folder)
    assert done.status == 1
    assert f"\njobgen: {SECOND}: {SILENT}\n" in done.output
    check_not_started(done)


def test_what_pals_is_told(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    if "launch.starter=mpiexec-pals" not in mpiexec:
        pytest.skip("the words of PALS")
    cores = "launch.cpu_bind=list:1-8:9-16"
    words = ("--set", cores, "--", pbs.program("show_numbers.py", NUMBERS))
    done = pbs.site.wait(submit(pbs, *mpiexec, *words), pbs.folder)
    assert done.status == 0, done.output
    assert (pbs.folder / "words").read_text().splitlines() == [
        "-n 2 --ppn 1 --cpu-bind none",
        "-n 4 --ppn 2 --cpu-bind list:1-8:9-16",
    ]


# As the real ones: what is loaded already is not loaded again.
MODULE = """
module() {{
  [[ :${{LOADEDMODULES-}}: != *:"$2":* ]] || return 0
  export LOADEDMODULES=${{LOADEDMODULES:+$LOADEDMODULES:}}$2 PATH={mpi}:$PATH
}}
"""
PLAIN = [(), pytest.param(("--plain",), marks=pytest.mark.thorough)]
OF_AN_MPI = re.compile("mpi|hydra|orte|ompi|prte|prun")


def without_mpi(folder: Path) -> Path:
    """A folder with the programs of this machine, and no MPI among them."""
    bare = folder / "bare"
    bare.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not OF_AN_MPI.match(program.name):
            (bare / program.name).symlink_to(program)
    return bare


def mpi_module(folder: Path) -> tuple[str, ...]:
    """Options for an MPI that a module has: what was in `bin`, and what that needs."""
    mpi = (folder / "bin").rename(folder / "mpi")
    for program in Path("/usr/bin").iterdir():
        if OF_AN_MPI.match(program.name) and not (mpi / program.name).exists():
            (mpi / program.name).symlink_to(program)
    for command in mpi.glob("mpi*"):
        if not command.is_symlink():
            command.write_text(command.read_text().replace("PATH=$PATH:/usr/bin ", ""))
    (folder / "modules.sh").write_text(MODULE.format(mpi=mpi))
    source = f"software.commands=['source {folder}/modules.sh']"
    return ("--set", source, "--set", "software.modules=[mpi/4]")


@pytest.mark.parametrize("plain", PLAIN)
def test_an_mpi_that_a_module_has(
    pbs: PbsDesk, mpiexec: tuple[str, ...], plain: tuple[str, ...]
) -> None:
    """The nodes load it, too, whatever of the first node's environment mpiexec gives them."""
    if plain and "launch.starter=mpiexec-mpich" in mpiexec:
        pytest.skip("refused")
    path = f"{without_mpi(pbs.folder)}:{pbs.site.folder}/bin"
    program = pbs.program(
        "p.py", "import shutil\nprint(f\"has {shutil.which('mpiexec')}\\n\", end='')\n"
    )
    once = () if plain else ("--set", "software.once_per_node=['echo here >> prepared']")
    words = (*mpiexec, *mpi_module(pbs.folder), *once, *plain, "--", program)
    done = pbs.site.wait(submit(pbs, *words, path=path), pbs.folder)
    assert done.status == 0, done.output
    assert done.output.count(f"has {pbs.folder}/mpi/mpiexec\n") == 4
    assert plain or (pbs.folder / "prepared").read_text() == "here\n" * 2


@pytest.mark.thorough
def test_an_environment_that_the_nodes_make(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    """The first node has none when it starts the others."""
    venv = pbs.folder / "env"
    make = f"software.once_per_node=['ln -sfn {sys.prefix} {venv}']"
    words = ("--set", f"software.venv={venv}", "--set", make, "--", pbs.program("p.py", NUMBERS))
    done = pbs.site.wait(submit(pbs, *mpiexec, *words), pbs.folder)
    assert done.status == 0, done.output
    assert "No such file" not in done.output
    assert done.output.count("numbers ") == 4


@pytest.mark.parametrize("plain", PLAIN)
def test_no_mpi(pbs: PbsDesk, mpiexec: tuple[str, ...], plain: tuple[str, ...]) -> None:
    """The last line says so at once. The real PBS has an mpiexec of its own, which is none."""
    if plain and "launch.starter=mpiexec-mpich" in mpiexec:
        pytest.skip("refused")
    path = f"{without_mpi(pbs.folder)}:{pbs.site.folder}/bin"
    shutil.rmtree(pbs.folder / "bin")
    start = time.monotonic()
    done = pbs.site.wait(submit(pbs, *mpiexec, *plain, path=path), pbs.folder)
    assert time.monotonic() - start < 90
    assert done.status == 1, done.output
    assert not job_folders(pbs.folder)
    assert done.last == (
        f"jobgen: {FIRST}: no mpiexec of an MPI on PATH after software(): add the site's MPI to"
        " software.modules, or choose another starter (--set launch.starter=NAME)"
    )


BOUND = """
import os, sys
sys.stdout.write(f"bound {os.environ['LOCAL_RANK']} {sorted(os.sched_getaffinity(0))}\\n")
"""


def test_ranks_bound_to_cores(pbs: PbsDesk, mpiexec: tuple[str, ...]) -> None:
    """One core for each rank of a node."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2 or "launch.starter=mpiexec-pals" in mpiexec:
        pytest.skip("the stand-in of PALS binds nothing, and two ranks need two cores")
    kinds = ["core", "depth:1"] + ["list:0:1"] * ("launch.starter=mpiexec-mpich" in mpiexec)
    for kind in kinds:
        words = ("--set", f"launch.cpu_bind={kind}", "--", pbs.program("bound.py", BOUND))
        done = pbs.site.wait(submit(pbs, *mpiexec, *words), pbs.folder)
        assert done.status == 0, done.output
        found = dict(re.findall(r"bound (\d) (.*)", done.output))
        assert len(set(found.values())) == 2, (kind, found)
