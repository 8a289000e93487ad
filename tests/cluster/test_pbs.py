"""Jobs under PBS: each test on the stand-in, and on a real OpenPBS where there is one.

That nothing is left, neither processes nor folders, is checked after every test (`pbs`).
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.cluster.harness import until
from tests.cluster.jobs import PbsDesk, job_folders, own_environment
from tests.cluster.site import DOMAIN, NODES, USER, Ended, OpenPbs
from tests.cluster.test_spares import FAILS
from tests.hostile import ARGUMENTS, literal
from tests.run_trainers import carried

FIRST, SECOND, THIRD = (f"blancapeak00{n}.{DOMAIN}" for n in (3, 4, 5))
SILENT = "its set-up stopped at: no message: see software() in the script"
ALL_TOGETHER = re.compile(r"All (\d+) ranks took one DDP step together")

# What a rank does, by its first argument.
RANKS = """
import glob, os, signal, sys, time
if sys.argv[1] == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(f"{os.environ['PBS_JOBID']}.up{os.environ['RANK']}", "w").close()
while len(glob.glob(f"{os.environ['PBS_JOBID']}.up*")) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.05)
sys.stdout.write(f"up {os.environ['RANK']}\\n")
if sys.argv[1] == "crash" and os.environ["RANK"] == sys.argv[2]:
    sys.exit(3)
time.sleep(1000)
"""
# A rank that only shows its number; importing torch would take seconds.
SHOW = """
import os, sys
sys.stdout.write("rank {RANK} of {WORLD_SIZE}\\n".format(**os.environ))
"""


def started(pbs: PbsDesk, *words: str, ranks: int = 2) -> str:
    """A job whose ranks are all up; its id."""
    job = pbs.submit(*words)
    for rank in range(ranks):
        pbs.site.wait_for(f"up {rank}\n", job, pbs.folder)
    return job


def check_end(done: Ended, host: str, status: int, launcher: int | None = None) -> None:
    """The last lines say which node ended, what the job's status is, and where to read more.

    `launcher` is the status of the node's launcher, if it is another one.
    """
    end = status if launcher is None else launcher
    certain = f"jobgen: {host}: (ended with status {end}|was killed by signal {end - 128})"
    what = f"jobgen: the job failed, with status {status}: jobgen why "
    lines = [line for line in done.output.splitlines() if line.startswith("jobgen: ")][-3:]
    assert any(line.startswith(what) for line in lines[-2:]), done.output
    assert any(re.fullmatch(certain, line) for line in lines[:-1]), done.output
    assert done.last.startswith("jobgen: "), done.output
    if shutil.which("jobgen", path=f"{sys.prefix}/bin"):  # the job has it on PATH, then
        assert not done.last.startswith(what), done.output


def test_two_nodes_from_standard_input(pbs: PbsDesk) -> None:
    done = pbs.run()
    assert done.status == 0, done.output
    assert ALL_TOGETHER.search(done.output)[1] == "2"  # type: ignore[index]
    for host, address in ((FIRST, "10.72.0.3"), (SECOND, "10.72.0.14")):
        assert f"jobgen: {host} is ready, {address} on hsn0" in done.output
    for node in ("blancapeak003", "blancapeak004"):
        assert done.output.count(f"(node {node}, device cpu, backend gloo)") == 1
    assert not job_folders(pbs.folder)


def test_a_folder_with_a_blank(pbs: PbsDesk) -> None:
    folder = pbs.folder / "a [1]* b"
    folder.mkdir()
    inner = PbsDesk(pbs.site, folder)
    done = inner.run("--", inner.program("x.py", "print('here')"))
    assert done.status == 0, done.output
    assert done.output.count("here") == 2
    assert not job_folders(folder)


@pytest.mark.thorough
def test_three_nodes_from_a_file(pbs: PbsDesk) -> None:
    words = ("-N", "3", "--set", "request.chunk.mpiprocs=4", "--", pbs.program("show.py", SHOW))
    done = pbs.run(*words, file=True)
    assert done.status == 0, done.output
    found = sorted(re.findall(r"rank \d of \d", done.output))
    assert found == [f"rank {rank} of 3" for rank in range(3)]


@pytest.mark.thorough
def test_two_gpus_of_one_node(pbs: PbsDesk) -> None:
    words = ("-N", "1", "-G", "2", "--set", "launch.processes_per_node=2")
    done = pbs.run(*words, "--", pbs.program("show.py", SHOW))
    assert done.status == 0, done.output
    assert sorted(re.findall(r"rank \d of \d", done.output)) == ["rank 0 of 2", "rank 1 of 2"]


@pytest.mark.thorough
def test_one_gpu_and_a_program_without_ddp(pbs: PbsDesk) -> None:
    program = pbs.program("single_gpu.py", "import sys, torch; print(torch.ones(1), sys.argv[1:])")
    done = pbs.run("-N", "1", "-G", "1", "--", program, "10", "2")
    assert done.status == 0, done.output
    assert "tensor([1.]) ['10', '2']\n" in done.output


def test_every_rank_gets_the_environment_and_the_arguments(pbs: PbsDesk) -> None:
    """On each node the same: what PBS starts there has nothing of what the script exports."""
    hostile = "".join(ARGUMENTS)[:1000]  # a line of PBS's is not longer than 4094 bytes
    arguments = ARGUMENTS[:40]
    program = pbs.program(
        "show.py",
        "import os, sys\n"
        "names = ('OMP_NUM_THREADS', 'NCCL_PROTO', 'NCCL_NET', 'GLOO_SOCKET_IFNAME', 'MINE')\n"
        "names += ('MASTER_ADDR', 'WORLD_SIZE', 'PBS_JOBID', 'PBS_NODENUM')\n"
        "line = ascii([sys.argv[1:], os.getcwd(), *(os.environ[name] for name in names)])\n"
        "open('rank' + os.environ['RANK'], 'w').write(line)\n",
    )
    done = pbs.run("-e", f"MINE={literal(hostile)}", "--", program, *arguments)
    assert done.status == 0, done.output
    shown = [ast.literal_eval((pbs.folder / f"rank{n}").read_text()) for n in range(2)]
    assert {tuple(line[0]) for line in shown} == {tuple(arguments)}
    assert {line[1] for line in shown} == {str(pbs.folder)}
    assert {tuple(line[2:7]) for line in shown} == {
        ("1", "^LL128", "AWS Libfabric", "hsn0", hostile)
    }
    assert {line[7] for line in shown} <= {"10.72.0.3", "10.72.0.14"}
    assert {line[8] for line in shown} == {"2"}
    assert len({line[9] for line in shown}) == 1
    assert sorted(line[10] for line in shown) == ["0", "1"]
    assert not list(pbs.folder.rglob("pwned"))


@pytest.mark.thorough
def test_an_environment_is_made_once_on_each_node(pbs: PbsDesk) -> None:
    """Before torch is looked for, which it has from the tests by a .pth file."""
    program = "import sys, torch\n"
    program += "sys.stdout.write('made ' + sys.prefix.rpartition('/')[2] + '\\n')\n"
    done = pbs.run(
        "-N", "2", *own_environment("echo made >> made"), "--", pbs.program("made.py", program)
    )
    assert done.status == 0, done.output
    assert (pbs.folder / "made").read_text() == "made\n" * 2
    ranks = re.findall(r"(?:^|: )made (env-\S+)$", done.output, re.MULTILINE)
    assert sorted(ranks) == sorted(path.name for path in pbs.folder.glob("env-*")) != []


@pytest.mark.parametrize("rank", [pytest.param("0", marks=pytest.mark.thorough), "1"])
def test_a_worker_crashes(pbs: PbsDesk, rank: str) -> None:
    """One line says which node ended, and torchrun's report is kept."""
    job = pbs.submit("--", pbs.program("ranks.py", RANKS), "crash", rank)
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 3, done.output
    check_end(done, (FIRST, SECOND)[int(rank)], 3, launcher=1)
    assert "exitcode  : 3" in done.output
    assert "exitcode  : 3" in (pbs.folder / "jobgen-logs" / job / "stderr").read_text()


@pytest.mark.parametrize("ends", [pytest.param("well", marks=pytest.mark.thorough), "crash"])
def test_ranks_of_many_nodes_write_on_their_own_disks(pbs: PbsDesk, ends: str) -> None:
    """The script for 65 nodes, on two, whose own disk is /var/tmp in these tests."""
    words = ("--", pbs.program("show.py", SHOW))
    if ends == "crash":
        words = ("--", pbs.program("ranks.py", RANKS), "crash", "1")
    text = pbs.script("-N", "65", *words).replace("nodes=65", "nodes=2")
    text = text.replace("=/tmp/jobgen-", "=/var/tmp/jobgen-").replace("select=65:", "select=2:")
    job = pbs.send(text)
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == (3 if ends == "crash" else 0), done.output
    for node in ("blancapeak003", "blancapeak004"):
        found = pbs.site.cluster.on(node, "find", "/var/tmp", "-name", "jobgen-ranks-*")
        assert not found.stdout
    written = [each.read_text() for each in pbs.folder.glob(f"jobgen-logs/{job}/**/stdout.log")]
    assert sorted(written) == (["up 0\n", "up 1\n"] if ends == "crash" else [])


# What is killed by KILL on a node, and what the job's end says of it: a status, the node.
VICTIMS = {
    "torchrun": (r"torch\.distributed\.run", 137, SECOND),
    "keeper": ("keeper.py agent", 137, SECOND),
    "stub": ("keeper.py agent", 137, SECOND),
    "agent": ("keeper.py agent", 1, SECOND),
    "rank": (r"python3 -u ranks\.py", 137, SECOND),
}


OFTEN = ("keeper",)


@pytest.mark.thorough
@pytest.mark.parametrize("victim", [each for each in VICTIMS if each not in OFTEN])
def test_each_process_of_a_remote_node_is_killed(pbs: PbsDesk, victim: str) -> None:
    test_a_process_of_a_remote_node_is_killed(pbs, victim)


@pytest.mark.thorough
@pytest.mark.parametrize("victim", OFTEN)
def test_a_process_of_a_remote_node_is_killed(pbs: PbsDesk, victim: str) -> None:
    """Ranks, in sessions of their own, would else stay."""
    start_and_kill(pbs, victim)


def start_and_kill(pbs: PbsDesk, victim: str, *words: str) -> None:
    """Kill a process of the second node; check the job's end."""
    job = started(pbs, *words, "--", pbs.program("ranks.py", RANKS), "hang")
    pattern, status, host = VICTIMS[victim]
    pids = pbs.site.pids("blancapeak004", pattern)
    which = {"keeper": 2, "stub": 1}.get(victim, 0)  # each is the child of the one before
    pbs.site.cluster.on("blancapeak004", "kill", "-KILL", pids[which])
    start = time.monotonic()
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == status, done.output
    assert time.monotonic() - start < 60
    if victim == "agent":
        assert f"\njobgen: {host}: no longer answers" in done.output
    else:
        check_end(done, host, status, 1 if victim == "rank" else None)  # torchrun ends with 1


@pytest.mark.thorough
def test_the_lead_is_killed(pbs: PbsDesk) -> None:
    """Nobody orders the nodes to stop: they notice that it is gone."""
    job = started(pbs, "--", pbs.program("ranks.py", RANKS), "hang")
    pbs.site.kill("blancapeak003", "keeper.py lead")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 137, done.output
    assert "\njobgen: the job failed, with status 137: " in done.output


@pytest.mark.thorough
def test_strangers_on_the_lead_s_port(pbs: PbsDesk) -> None:
    """They cost nobody anything, and do not stay."""
    job = started(pbs, "--", pbs.program("ranks.py", RANKS), "crash", "-1")
    on = ("blancapeak003", "sh", "-c")
    listening = pbs.site.cluster.on(*on, "ss -Hltnp | grep python").stdout
    ports = re.findall(r"10\.72\.0\.3:(\d+) ", listening)
    assert ports
    line = "import socket, sys, time\nlinks = [socket.create_connection(('10.72.0.3', port), 5)"
    line += f" for port in {list(map(int, ports))} for _ in range(120)]\n"
    line += "for link in links[::2]:\n  link.send(b'x' * 99)\ntime.sleep(11)\n"
    line += "for link in links[1::2]:\n  link.settimeout(3)\n  assert link.recv(1) == b''\n"
    done = pbs.site.cluster.on("blancapeak004", sys.executable, "-c", line)
    assert done.returncode == 0, done.stderr
    assert pbs.site.ended(job) is None
    pbs.site.delete(job)
    assert pbs.site.wait(job, pbs.folder).status == 256 + 15


@pytest.mark.thorough
def test_the_batch_script_is_killed(pbs: PbsDesk) -> None:
    job = started(pbs, "--", pbs.program("ranks.py", RANKS), "hang")
    pbs.site.kill("blancapeak003", r"^ *\d+ /bin/bash \S*(SC|script)$")
    assert pbs.site.wait(job, pbs.folder).status not in (0, None)
    assert pbs.site.leftovers() == {}


@pytest.mark.parametrize("how", [pytest.param("healthy", marks=pytest.mark.thorough), "hang"])
def test_qdel(pbs: PbsDesk, how: str) -> None:
    job = started(pbs, "--", pbs.program("ranks.py", RANKS), how)
    pbs.site.delete(job)
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 256 + 15
    assert pbs.site.leftovers() == {}


@pytest.mark.thorough
def test_qdel_on_one_node(pbs: PbsDesk) -> None:
    job = started(pbs, "-N", "1", "--", pbs.program("ranks.py", RANKS), "hang", ranks=1)
    pbs.site.delete(job)
    assert pbs.site.wait(job, pbs.folder).status == 256 + 15
    assert pbs.site.leftovers() == {}


def test_qdel_before_the_ranks(pbs: PbsDesk) -> None:
    job = pbs.submit("--set", 'software.commands=["touch here; sleep 1000"]')
    until((pbs.folder / "here").exists)
    pbs.site.delete(job)
    assert pbs.site.wait(job, pbs.folder).status == 256 + 15


@pytest.mark.thorough
def test_walltime(pbs: PbsDesk) -> None:
    job = started(pbs, "-t", "100", "--", pbs.program("ranks.py", RANKS), "hang")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status in (256 + 15, -29), done.output


@pytest.mark.thorough
def test_a_training_survives(pbs: PbsDesk) -> None:
    """A rank is killed, a torchrun is killed: the weights are those of a run without them."""
    words = ("16", "1", "--size", "8192")
    job = pbs.submit("--max-restarts", "1", "--trainer", "regression", "--", *words)
    site = pbs.site
    site.wait_for("[RANK 0] Epoch 2 ", job, pbs.folder)
    site.kill("blancapeak004", r"python3 -u .*/regression\.py")
    site.wait_for("Resuming from regression.pt", job, pbs.folder)
    site.wait_for("[RANK 0] Epoch 5 ", job, pbs.folder)
    site.kill("blancapeak003", r"torch\.distributed\.run")
    done = site.wait(job, pbs.folder)
    assert done.status == 0, done.output
    assert done.output.count("Resuming from regression.pt") == 2, done.output
    reference = pbs.folder / "reference"
    reference.mkdir()
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    trainer = [*torchrun, str(carried("regression")), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(trainer, cwd=reference, env=environment, check=True, capture_output=True)
    import torch

    ended, wanted = (
        torch.load(folder / "regression.pt", weights_only=True)["model"]
        for folder in (pbs.folder, reference)
    )
    assert ended.keys() == wanted.keys()
    assert all(weights.equal(ended[name]) for name, weights in wanted.items())


@pytest.mark.thorough
def test_the_script_warns_before_the_walltime(pbs: PbsDesk) -> None:
    """PBS warns nobody; ranks that start late are warned when they have a handler."""
    trained = ("--trainer", "regression", "--", "1000", "1000")
    done = pbs.run("-t", "80", "--signal", "65", *trained)
    assert done.status == 0, done.output
    assert "Stopped early" in done.output
    assert done.last.endswith("the ranks have ended: submit again to continue")


@pytest.mark.thorough
def test_a_hang(pbs: PbsDesk) -> None:
    """Each rank writes its stack; the one that is frozen is named."""
    text = "import os, time\nprint('up', os.environ['RANK'])\ntime.sleep(1000)\n"
    job = started(pbs, "--stall", "1", "--", pbs.program("hang.py", text))
    pbs.site.cluster.on("blancapeak004", "pkill", "-STOP", "-f", "^[^ ]*python3 -u hang.py")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status not in (0, 256 + 15), done.output
    assert "jobgen: no rank has written for 1 minutes" in done.output
    assert re.search(rf"^jobgen: .*\b(rank 1|local rank 0) on {SECOND} ", done.last), done.output
    assert 'hang.py", line 3' in done.output


@pytest.mark.thorough
def test_a_node_without_the_interface(pbs: PbsDesk) -> None:
    """Nothing starts, and the last line says where and why."""
    pbs.site.cluster.on("blancapeak004", "ip", "link", "set", "hsn0", "down")
    try:
        done = pbs.run()
    finally:
        pbs.site.cluster.on("blancapeak004", "ip", "link", "set", "hsn0", "up")
    assert done.status == 1
    text = f"jobgen: {SECOND}: no way to the first node, 10.72.0.3: see network.interface\n"
    assert text in done.output
    assert f"jobgen: {SECOND}: no answer, see above\n" in done.output
    check_not_started(done)


def test_a_node_that_is_not_ready_silences_no_other(pbs: PbsDesk) -> None:
    """The roll call hears the others, which are slower, too."""
    slow = "[[ $(uname -n) == blancapeak004* ]] || sleep 2"
    fails = "[[ $(uname -n) != blancapeak004* ]] || fail 'its disk is full: tell the support staff'"
    done = pbs.run("-N", "3", "--set", f"software.commands={json.dumps([slow, fails])}")
    assert done.status == 1
    assert done.output.count(" is ready, ") == 2, done.output
    assert f"jobgen: {SECOND}: its disk is full: tell the support staff\n" in done.output
    assert "no answer" not in done.output
    check_not_started(done)


def check_not_started(done: Ended) -> None:
    assert "Start running" not in done.output
    assert "jobgen: the job failed, with status 1: jobgen why " in done.output
    assert done.last.startswith("jobgen: "), done.output


def test_a_node_whose_set_up_fails(pbs: PbsDesk) -> None:
    """`set -e` holds there, and the last line names the node."""
    done = pbs.run("--set", 'software.commands=["[[ $(hostname) != blancapeak004 ]]"]')
    assert done.status == 1
    assert f"\njobgen: {SECOND}: {SILENT}\n" in done.output
    check_not_started(done)


@pytest.mark.thorough  # test_a_node_that_does_not_answer_is_named has the same of the lead
def test_a_node_that_never_answers(pbs: PbsDesk) -> None:
    hang = 'software.commands=["[[ $(hostname) != blancapeak004 ]] || sleep 1000"]'
    start = time.monotonic()
    done = pbs.run("--set", hang, "--set", "launch.join_timeout=15")
    assert done.status == 1
    assert f"\njobgen: {SECOND}: {SILENT}\n" in done.output
    check_not_started(done)
    assert time.monotonic() - start >= 15


@pytest.mark.thorough
def test_the_first_node_need_not_be_the_first_by_name(pbs: PbsDesk) -> None:
    script = pbs.script("--", pbs.program("show.py", SHOW))
    chunks = "+".join(f"1:ncpus=288:mpiprocs=2:host=blancapeak00{n}" for n in (5, 3))
    job = pbs.send(re.sub("select=.*", f"select={chunks}", script))
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 0, done.output
    ready = re.findall("jobgen: (blancapeak...).* is ready", done.output)
    assert sorted(ready) == ["blancapeak003", "blancapeak005"]
    assert len(re.findall(r"rank \d of 2\n", done.output)) == 2


def test_more_nodes_than_the_script_is_for(pbs: PbsDesk) -> None:
    job = pbs.send(pbs.script().replace("select=2:", "select=3:"))
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 1
    assert done.output.startswith(f"jobgen: {FIRST}: 3 nodes, not 2: -N of jobgen\n")


def test_the_output_folder_is_made(pbs: PbsDesk) -> None:
    if not isinstance(pbs.site, OpenPbs):
        pytest.skip("the stand-in does not have -o")
    words = ("--set", "request.output=new/folder/a b.out", "--set", "request.live_output=false")
    job = pbs.submit("-N", "1", *words)
    pbs.site.wait(job, pbs.folder)
    assert "Start running" in (pbs.folder / "new/folder/a b.out").read_text()


def test_qsub_reads_the_directives_back(pbs: PbsDesk) -> None:
    if not isinstance(pbs.site, OpenPbs):
        pytest.skip("the stand-in reads only what it needs")
    account = "a'b'\"c\"\\#d$(id)`e`é"
    words = ("-J", "x_1+2.3-4", "-A", account, "-t", "1-00:00:01", "--directive=-p 7")
    script_job = pbs.submit(*words, "--directive=-h")
    found = pbs.site.attributes(script_job)
    pbs.site.delete(script_job)
    assert found["Job_Name"] == "x_1+2.3-4"
    assert found["Account_Name"] == account
    assert found["Resource_List.walltime"] == "24:00:01"
    assert found["Resource_List.select"] == "2:ncpus=288:mpiprocs=1:ngpus=4:sales_op=blanca"
    assert found["Resource_List.place"] == "scatter"
    assert (found["queue"], found["Priority"], found["Join_Path"]) == ("blanca", "7", "oe")
    assert found["Keep_Files"] == "doe"


def test_an_array_and_a_job_that_waits_for_it(real: PbsDesk) -> None:
    """Each of the array's jobs knows its number; the one after it begins when all have ended."""
    text = "import os, sys\nprint('I am', os.environ['PBS_ARRAY_INDEX'], sys.argv[1:])\n"
    small = ("-N", "1", "-G", "1")
    first = real.submit(*small, "--array", "1-3:2%1", "--", real.program("i.py", text), "--n=%a")
    assert re.fullmatch(r"\d+\[\]\..*", first)
    check = "import glob\nprint(sorted(glob.glob('i.o*')))\n"
    words = ("--after", first, "--mail", "labuser", "--", real.program("check.py", check))
    done = real.run(*small, *words)
    assert done.status == 0, done.output
    number = first.partition("[")[0]
    assert f"['i.o{number}.1', 'i.o{number}.3']\n" in done.output
    for index in (1, 3):
        output = (real.folder / f"i.o{number}.{index}").read_text()
        assert f"I am {index} ['--n={index}']\n" in output


# ---- what the tutorial did: each of these fails, so that each cure is known to be one ----

WRONG = """#!/bin/bash
#PBS -N wrong
#PBS -q blanca
#PBS -l select={chunks}
#PBS -l place=scatter
#PBS -j oe
#PBS -k doe
PATH=$PATH:/usr/sbin:/sbin
own() {{ ip -4 -o addr show dev "$1" | awk '{{ sub("/.*", "", $4); print $4 }}'; }}
sorted=$(sort "$PBS_NODEFILE" | uniq | head -1)
agent=({python} -m torch.distributed.run --nnodes=2 --nproc-per-node=1 --rdzv-id=1
  --rdzv-backend=c10d --rdzv-conf={conf} --rdzv-endpoint={head}:29500 "$PBS_O_WORKDIR/train.py")
{run}
"""
EVERYWHERE = """
for node in $(uniq "$PBS_NODEFILE"); do
  pbs_tmrsh "$node" "${agent[@]/CONF/is_host=$([[ $node == $(hostname)* ]] && echo 1 || echo 0)}" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
exit "${status-0}"
"""
SOON = "join_timeout=8,read_timeout=8"
CHUNK = "1:ncpus=288:mpiprocs=2:host=blancapeak00"


def wrong(pbs: PbsDesk, **parts: str) -> Ended:
    """Two agents as the tutorial would start them; their ranks only meet."""
    pbs.program("train.py", "import torch.distributed as d; d.init_process_group('gloo')")
    fields = {"chunks": f"{CHUNK}3+{CHUNK}4", "conf": SOON, "run": EVERYWHERE, **parts}
    script = WRONG.format(python=sys.executable, **fields)
    return pbs.site.wait(pbs.send(script), pbs.folder)


@pytest.mark.thorough
def test_the_tutorial_s_agent_on_the_first_node_only(pbs: PbsDesk) -> None:
    done = wrong(pbs, head="$(own eth0)", run='"${agent[@]}"')
    assert done.status == 1
    assert "RendezvousTimeoutError" in done.output


@pytest.mark.thorough
def test_the_tutorial_s_head_of_the_sorted_node_file(pbs: PbsDesk) -> None:
    """The host is the node that runs the script, and nobody listens at the other's address."""
    head = """$(getent ahostsv4 "$sorted" | awk '{ print $1; exit }')"""
    done = wrong(pbs, chunks=f"{CHUNK}5+{CHUNK}3", head=head, conf=f"CONF,{SOON}")
    assert done.status == 1
    assert "RendezvousConnectionError" in done.output


@pytest.mark.thorough
def test_the_fabric_s_address_without_is_host(pbs: PbsDesk) -> None:
    """No agent takes itself for the host, since the hostname is the management network's."""
    done = wrong(pbs, head="$(own hsn0)")
    assert done.status == 1
    assert "RendezvousConnectionError" in done.output


@pytest.mark.thorough
def test_the_same_jobs_with_the_cures(pbs: PbsDesk) -> None:
    """The failures above are not the tests' own."""
    done = wrong(pbs, chunks=f"{CHUNK}5+{CHUNK}3", head="$(own hsn0)", conf="CONF")
    assert done.status == 0, done.output


# ---- on a real PBS alone ----


STARTERS = {
    "pbsdsh": "pbsdsh",
    "mpiexec-openmpi": "mpiexec.openmpi",
    "mpiexec-mpich": "mpiexec.mpich",
}


@pytest.fixture(params=STARTERS)
def starter(request: pytest.FixtureRequest, real: PbsDesk) -> tuple[str, ...]:
    """Options that choose a starter; an mpiexec of that MPI goes into the folder's `bin`."""
    tool = STARTERS[request.param]
    (real.folder / "bin").mkdir()
    if tool != "pbsdsh":
        if not (found := shutil.which(tool)):
            pytest.skip(f"{tool} is not installed")
        (real.folder / "bin/mpiexec").write_text(f'#!/bin/sh\nexec {found} "$@"\n')
        (real.folder / "bin/mpiexec").chmod(0o755)
    return ("--set", f"launch.starter={request.param}")


def with_bin(desk: PbsDesk, *words: str) -> str:
    """Submit a job with the folder's `bin` first on the script's PATH; its id."""
    begin = "\nset -euo pipefail\n"
    first = f"{begin}PATH='{desk.folder}/bin':$PATH\n"
    return desk.send(desk.script(*words).replace(begin, first, 1))


def test_other_starters(real: PbsDesk, starter: tuple[str, ...]) -> None:
    job = with_bin(real, *starter, "-N", "3", "--set", "request.chunk.mpiprocs=2")
    done = real.site.wait(job, real.folder)
    assert done.status == 0, done.output
    assert ALL_TOGETHER.search(done.output)[1] == "3"  # type: ignore[index]


def test_other_starters_tell_of_a_crash(real: PbsDesk, starter: tuple[str, ...]) -> None:
    job = with_bin(real, *starter, "--", real.program("ranks.py", RANKS), "crash", "1")
    done = real.site.wait(job, real.folder)
    assert done.status == 3, done.output
    check_end(done, SECOND, 3, launcher=1)


def test_other_starters_leave_nothing_after_qdel(real: PbsDesk, starter: tuple[str, ...]) -> None:
    job = with_bin(real, *starter, "--", real.program("ranks.py", RANKS), "hang")
    for rank in range(2):
        real.site.wait_for(f"up {rank}\n", job, real.folder)
    real.site.delete(job)
    assert real.site.wait(job, real.folder).status == 256 + 15
    assert real.site.leftovers() == {}


# What PBS's cgroups hook does on each node that has GPUs: it names them by their ids.
GPUS = """
import pbs, socket
pbs.event().env["CUDA_VISIBLE_DEVICES"] = "GPU-" + socket.gethostname()
"""


@pytest.mark.thorough
def test_other_starters_leave_each_node_its_gpus(real: PbsDesk, starter: tuple[str, ...]) -> None:
    """Those of the first node would be none on another."""
    site = real.site
    assert isinstance(site, OpenPbs)
    file = real.folder / real.program("gpus.py", GPUS)
    create = "create hook gpus event=execjob_launch"
    qmgr = (str(site.folder / "bin/qmgr"), "-c")
    try:
        for order in (create, f"import hook gpus application/x-python default {file}"):
            done = site.cluster.run([*qmgr, order])
            assert done.returncode == 0, done.stderr
        limit = time.monotonic() + 30
        for node in NODES[:2]:
            while site.cluster.on(node, "test", "-s", "/mnt/mom_priv/hooks/gpus.PY").returncode:
                assert time.monotonic() < limit
                time.sleep(0.2)
        text = "import os\nprint('sees', os.environ['CUDA_VISIBLE_DEVICES'])\n"
        job = with_bin(real, *starter, "-G", "0", "--", real.program("show.py", text))
        ended = site.wait(job, real.folder)
    finally:
        site.cluster.run([*qmgr, "delete hook gpus"])
    assert ended.status == 0, ended.output
    seen = sorted(re.findall(r"sees (\S+)", ended.output))
    assert seen == ["GPU-blancapeak003", "GPU-blancapeak004"]


def test_a_rerun_goes_on(real: PbsDesk) -> None:
    """What PBS does itself when a node is lost: the job is queued again, and begins anew."""
    site = real.site
    assert isinstance(site, OpenPbs)
    job = real.submit("--requeue", "--trainer", "regression", "--", "20", "1", "--size", "16384")
    site.wait_for("[RANK 0] Epoch 3 ", job, real.folder)
    done = site.cluster.run([str(site.folder / "bin/qrerun"), job])
    assert done.returncode == 0, done.stderr
    site.wait_for("Resuming from regression.pt, epoch ", job, real.folder)
    ended = site.wait(job, real.folder)
    assert ended.status == 0, ended.output
    assert "Done, epoch 20, step 0" in ended.output
    # Of the first try; the second one succeeded.
    (first,) = (real.folder / "jobgen-logs").glob("*[0-9]")
    assert re.fullmatch(re.escape(job) + r"\.\d+", first.name)
    assert list(first.glob("*/*/attempt_0/0/stdout.log"))


def test_ssh(real: PbsDesk) -> None:
    """Success, a crash, and qdel of a job that hangs."""
    site = real.site
    assert isinstance(site, OpenPbs)
    if not (shutil.which("ssh") and shutil.which("sshd", path="/usr/sbin")):
        pytest.skip("ssh and sshd are not installed")
    end = sshd(site)
    words = ("--set", "launch.starter=ssh")
    program = real.program("ranks.py", RANKS)
    try:
        done = real.run(*words)
        assert done.status == 0, done.output
        done = real.run(*words, "--", program, "crash", "1")
        assert done.status == 3, done.output
        job = started(real, *words, "--", program, "hang")
        site.delete(job)
        assert site.wait(job, real.folder).status == 256 + 15
    finally:
        end()


def sshd(site: OpenPbs) -> Callable[[], None]:
    """Start one on every node, which lets the user in; what ends them again."""
    keys = site.home / ".ssh"
    keys.mkdir(exist_ok=True)
    for name in ("id_ed25519", "host"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)]
        subprocess.run(key, check=True)
    (keys / "authorized_keys").write_text((keys / "id_ed25519.pub").read_text())
    (keys / "config").write_text("StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n")
    for path in (keys, *keys.iterdir()):
        shutil.chown(path, USER, USER)
    shutil.chown(keys / "host", 0, 0)
    options = f"-f /dev/null -h {keys}/host -o UsePAM=no -o StrictModes=no"
    for node in NODES:  # which share /run
        line = f"mkdir -p /run/sshd && exec /usr/sbin/sshd {options} -o PidFile=/run/{node}.sshd"
        done = site.cluster.on(node, "sh", "-c", line)
        assert done.returncode == 0, done.stderr

    def end() -> None:
        for node in NODES:
            site.cluster.on(node, "sh", "-c", f"kill $(cat /run/{node}.sshd)")

    return end


def test_a_lost_mom(real: PbsDesk) -> None:
    """The nodes do not depend on it to stop: they are connected."""
    site = real.site
    assert isinstance(site, OpenPbs)
    job = started(real, "--", real.program("ranks.py", RANKS), "hang")
    (mom,) = site.pids("blancapeak004", "pbs_mom")
    site.cluster.on("blancapeak004", "kill", "-KILL", mom)
    try:
        site.delete(job)
        limit = time.monotonic() + 60
        while site.pids("blancapeak004", "ranks.py") and time.monotonic() < limit:
            time.sleep(0.5)
        assert not site.pids("blancapeak003", "ranks.py")
        assert not site.pids("blancapeak004", "ranks.py")
    finally:
        site.start_mom("blancapeak004")
        site.wait(job, real.folder)


# A rank that waits for the loss of a node, and the rank that is started after it.
LOSES = """
import os, sys, time
sys.stdout.write("up {RANK}\\non ".format(**os.environ) + os.uname().nodename + "\\n")
sys.stdout.flush()
time.sleep(0 if os.path.exists("lost") else 1000)
"""
SPARE = ("-N", "2+1", "--max-restarts", "2")


def test_a_node_is_lost_and_a_spare_takes_its_place(real: PbsDesk) -> None:
    """Its mom is killed with the rest; the job ends while PBS still waits for that."""
    site = real.site
    assert isinstance(site, OpenPbs)
    job = started(real, *SPARE, "--", real.program("loses.py", LOSES))
    victim = max(re.findall(r"\bon (blanca\w+)\n", site.output(job, real.folder)))
    (real.folder / "lost").touch()
    site.kill(victim, r"pbs_mom|keeper\.py|job\.sh|torch\.distributed|loses\.py")
    try:
        done = site.wait(job, real.folder, 120)
    finally:
        site.start_mom(victim)
    assert done.status == 0, done.output
    lost = f"\njobgen: {victim}.{DOMAIN}: no longer answers\n"
    assert f"{lost}jobgen: blancapeak005.{DOMAIN}: takes its place\n" in done.output
    hosts = re.findall(r"\bon (blanca\w+)\n", done.output)
    assert sorted(hosts[2:]) == sorted({*NODES} - {victim}), done.output


@pytest.mark.parametrize(("words", "status"), [((), 0), (("always",), 3)])
def test_a_rank_fails_and_the_reserve_has_no_part_in_it(
    real: PbsDesk, words: tuple[str, ...], status: int
) -> None:
    """With a torchrun that stood by, the others would restart each other without an end."""
    job = real.submit("-N", "2+1", "--max-restarts", "1", "--", real.program("f.py", FAILS), *words)
    done = real.site.wait(job, real.folder, 120)
    assert done.status == status, done.output
    hosts = re.findall(r"\bon (blanca\w+)\n", done.output)
    assert sorted(hosts) == ["blancapeak003"] * 2 + ["blancapeak004"] * 2, done.output


@pytest.mark.thorough
def test_a_spare_that_is_not_needed(real: PbsDesk) -> None:
    done = real.run(*SPARE)
    assert done.status == 0, done.output
    assert ALL_TOGETHER.search(done.output)[1] == "2"  # type: ignore[index]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(SPARE, id="restarts"),
        pytest.param(SPARE[:2], id="", marks=pytest.mark.thorough),
    ],
)
def test_a_node_that_is_not_ready_is_left_out(pbs: PbsDesk, words: tuple[str, ...]) -> None:
    fails = 'software.commands=["[[ $(hostname) != blancapeak004 ]]"]'
    program = pbs.program("loses.py", LOSES)
    (pbs.folder / "lost").touch()
    done = pbs.run(*words, "--set", fails, "--", program)
    assert done.status == 0, done.output
    assert f"\njobgen: {SECOND}: {SILENT}\n" in done.output
    hosts = re.findall(r"\bon (blanca\w+)\n", done.output)
    assert sorted(hosts) == ["blancapeak003", "blancapeak005"]


def test_nodes_without_select(pbs: PbsDesk) -> None:
    """The node file has a line for each core."""
    keys = ("--set", "request.resource_option=nodes", "--set", "request.gpu_option=none")
    done = pbs.run(*keys, "-N", "3", "--", pbs.program("show.py", SHOW))
    assert done.status == 0, done.output
    found = sorted(re.findall(r"rank \d of \d", done.output))
    assert found == [f"rank {rank} of 3" for rank in range(3)]


# As on NCI's Gadi, which makes whole nodes of the numbers of a job itself.
NO_SELECT = """
import pbs
wanted = pbs.event().job.Resource_List
if wanted["select"] is not None or wanted["place"] is not None:
    pbs.event().reject("write -l ncpus=")
"""


def test_a_site_that_refuses_select(real: PbsDesk) -> None:
    """OpenPBS makes one chunk of ncpus, ngpus and mem."""
    site = real.site
    assert isinstance(site, OpenPbs)
    file = real.folder / real.program("hook.py", NO_SELECT)
    words = ("-N", "1", "-G", "1", "--set", "request.memory=2G")
    program = ("--", real.program("show.py", SHOW))
    qmgr = (str(site.folder / "bin/qmgr"), "-c")
    try:
        for order in (
            "create hook form event=queuejob",
            f"import hook form application/x-python default {file}",
        ):
            done = site.cluster.run([*qmgr, order])
            assert done.returncode == 0, done.stderr
        with pytest.raises(RuntimeError, match="write -l ncpus"):
            real.submit(*words, *program)
        one = real.run("--set", "request.resource_option=ncpus", *words, *program)
    finally:
        site.cluster.run([*qmgr, "delete hook form"])
    assert one.status == 0, one.output
    assert "rank 0 of 1" in one.output
    chunk = "1:mem=2gb:ncpus=72:ngpus=1:sales_op=blanca"
    assert site.attributes(real.jobs[-1])["Resource_List.select"] == chunk


def test_what_else_a_site_of_pbs_wants(real: PbsDesk) -> None:
    """The account by -P or by group_list; a variable for its hooks; output in the home folder."""
    site = real.site
    assert isinstance(site, OpenPbs)
    keys = ("--set", "request.account_option=P", "-A", "ab12", "--directive=-v RTYPE=rt_HF")
    text = "import os\nprint('hook', os.environ['RTYPE'], os.environ['B'])\n"
    program = real.program("show.py", text)
    done = real.run(*keys, '--directive=-v B="c,d e"', "--", program)
    assert done.output.count("hook rt_HF c,d e\n") == 2, done.output
    shown = site.attributes(real.jobs[-1])
    assert shown["project"] == "ab12"
    assert "RTYPE=rt_HF,B=c" in shown["Variable_List"]
    group = ("--set", "request.account_option=group_list", "-A", "labuser", "--after")
    keeps_output = ("--set", "request.live_output=false", "--directive=-k oe")
    more = (*keeps_output, "--directive=-v RTYPE=,B=", "-N", "1", "--", program)
    job = real.submit(*group, f"{real.jobs[-1]}:any", *more)
    site.wait(job, real.folder)
    assert site.attributes(job)["group_list"] == "labuser"
    assert "hook" in site.output(job, site.home)


def test_values_of_the_node_and_of_who_submits(
    pbs: PbsDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """qsub gets the name alone, and refuses one that is not set."""
    text = "import os\nwith open('rank' + os.environ['RANK'], 'w') as file:\n"
    text += "    file.write(os.environ['DATA'] + ' ' + os.environ['HF_TOKEN'])\n"
    program = pbs.program("show.py", text)
    words = ("-e", "DATA=<$PBS_JOBID>$(touch pwned)", "-e", "HF_TOKEN", "--", program)
    with pytest.raises(RuntimeError, match="cannot send environment"):
        pbs.submit(*words)
    monkeypatch.setattr(pbs.site, "environment", {"HF_TOKEN": "hf-$x"})
    job = pbs.submit(*words)
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 0, done.output
    for rank in range(2):
        shown = (pbs.folder / f"rank{rank}").read_text()
        assert shown == f"<{job}>$(touch pwned) hf-$x"
    assert not (pbs.folder / "pwned").exists()
