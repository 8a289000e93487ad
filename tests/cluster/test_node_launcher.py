"""The launcher node: a program once on each node, on the real Slurm and under PBS."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.cluster.jobs import ON_CPU, Desk, PbsDesk, without_memory_of_others
from tests.cluster.test_pbs import SECOND, check_end
from tests.hostile import ARGUMENTS

NODE = ("--launcher", "node")
TWO = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "2", *NODE)
PLACES = ("%n", "--rank=%n", "%N", "%h:%p", "%g", "100%%", "%x")
SHOW = """#!/usr/bin/env python3
import json, os, sys
names = ("NODE", "NODES", "HEAD", "PORT", "PROCESSES")
with open("shown-" + os.environ["JOBGEN_NODE"], "w") as file:
    json.dump([sys.argv[1:], [os.environ["JOBGEN_" + name] for name in names]], file)
"""
# Two processes on each node, as a launcher starts them, which are told apart by their names.
PAIR = """#!/bin/bash
echo "$JOBGEN_NODE" >> started
for rank in 0 1; do
  LOCAL_RANK=$rank setsid bash -c 'exec -a node-rank sleep 1000' &> /dev/null &
done
echo "up $JOBGEN_NODE"
wait
"""
FAIL_ONCE = """#!/bin/bash
echo "$JOBGEN_NODE" >> started
if [[ $(grep -c . started) -lt 3 ]]; then
  until [[ $(grep -c . started) -ge 2 ]]; do sleep 0.1; done  # the one that fails ends the other
  if ((JOBGEN_NODE == 1)); then exit 7; fi
  sleep 1000
fi
"""
# A launcher that handles no signal, and its ranks that do.
WARNED = """#!/bin/bash
for rank in 0 1; do
  LOCAL_RANK=$rank python3 -c '
import os, signal, sys, time
def stop(*_):
    os.write(1, ("warned " + os.environ["JOBGEN_NODE"] + os.environ["LOCAL_RANK"] + "\\n").encode())
    sys.exit(0)
signal.signal(signal.SIGUSR1, stop)
time.sleep(1000)
' &
done
wait -n && wait -n
"""


def check_shown(folder: Path, head: str, processes: str, words: tuple[str, ...] = ()) -> None:
    """What SHOW was given on both nodes, with PLACES and `words` as its arguments."""
    for node in ("0", "1"):
        arguments, variables = json.loads((folder / f"shown-{node}").read_text())
        port = variables[3]
        assert variables == [node, "2", head, port, processes]
        places = [node, f"--rank={node}", "2", f"{head}:{port}", processes, "100%", "%x"]
        assert arguments == [*places, *words]


HOSTILE = tuple(word for word in ARGUMENTS if "%" not in word)


@pytest.mark.parametrize("form", [(), ("--plain",)], ids=["checked", "plain"])
def test_each_node_of_slurm_gets_its_number(desk: Desk, form: tuple[str, ...]) -> None:
    program = "./" + desk.program("show", SHOW)
    done = desk.run(*TWO, *form, "--", program, *PLACES, *HOSTILE)
    assert done.state == "COMPLETED", done.output
    check_shown(desk.folder, "10.71.0.9", "2", HOSTILE)
    assert not list(desk.folder.rglob("pwned"))


def test_one_node_of_slurm(desk: Desk) -> None:
    done = desk.run(*TWO, "-N", "1", "--", "./" + desk.program("show", SHOW), "%n", "%N")
    assert done.state == "COMPLETED", done.output
    shown = json.loads((desk.folder / "shown-0").read_text())
    assert (shown[0], shown[1][:3]) == (["0", "1"], ["0", "1", "127.0.0.1"])


def test_a_killed_program_ends_the_job_on_all_nodes(desk: Desk) -> None:
    job = desk.submit(*TWO, "--", "./" + desk.program("pair", PAIR))
    log = desk.folder / f"pair-{job}.out"
    limit = time.monotonic() + 120
    while not log.exists() or log.read_text().count("up ") < 2:
        assert time.monotonic() < limit
        time.sleep(0.2)
    desk.cluster.on("smc-r07-08", "pkill", "-KILL", "-f", "^/bin/bash ./pair")
    done = desk.cluster.wait(job, 180)
    assert done.state == "FAILED", done.output  # with 143, the highest: that of the other node
    assert "\nsrun: error: smc-r07-08: task 1: Killed\njobgen: the job failed, with" in done.output
    wanted = "jobgen: launcher on smc-r07-08 failed first: killed by signal 9"
    last_line = without_memory_of_others(done.output).splitlines()[-1]
    assert last_line.startswith(wanted), done.output
    # The one that was killed has orphans, which only Slurm's cgroups find; this Slurm has none.
    assert desk.cluster.on("smc-r07-07", "pgrep", "-f", "node-rank").stdout == ""
    desk.cluster.on("smc-r07-08", "pkill", "-KILL", "-f", "node-rank")


def test_all_nodes_start_again_on_slurm(desk: Desk) -> None:
    program = "./" + desk.program("fail", FAIL_ONCE)
    done = desk.run(*TWO, "--max-restarts", "2", "--", program)
    assert done.state == "COMPLETED", done.output
    assert "the program failed on a node: all nodes start again, restart 1 of 2" in done.output
    assert sorted((desk.folder / "started").read_text().split()) == ["0", "0", "1", "1"]


def test_ranks_of_the_program_are_warned_by_slurm(desk: Desk) -> None:
    program = "./" + desk.program("warned", WARNED)
    job = desk.submit(*TWO, "-t", "10:00", "--signal", "60", "--", program)
    limit = time.monotonic() + 120
    while len(desk.cluster.on("smc-r07-08", "pgrep", "-f", "python3 -c").stdout.split()) < 2:
        assert time.monotonic() < limit
        time.sleep(0.2)
    time.sleep(1)  # their handlers
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", str(job)])
    done = desk.cluster.wait(job, 180)
    assert done.state == "COMPLETED", done.output
    for name in ("00", "01", "10", "11"):
        assert done.output.count(f"warned {name}\n") == 1, done.output


@pytest.mark.parametrize("form", [(), ("--plain",)], ids=["checked", "plain"])
def test_each_node_of_pbs_gets_its_number(pbs: PbsDesk, form: tuple[str, ...]) -> None:
    (pbs.folder / pbs.program("show", SHOW)).chmod(0o755)
    done = pbs.run(*NODE, *form, "--", "./show", *PLACES, *HOSTILE[:40])
    assert done.status == 0, done.output
    check_shown(pbs.folder, "10.72.0.3", "1", HOSTILE[:40])


@pytest.mark.parametrize("form", [(), ("--plain",)], ids=["checked", "plain"])
def test_one_node_of_pbs(pbs: PbsDesk, form: tuple[str, ...]) -> None:
    (pbs.folder / pbs.program("show", SHOW)).chmod(0o755)
    done = pbs.run(*NODE, *form, "-N", "1", "--", "./show", "%n", "%N")
    assert done.status == 0, done.output
    shown = json.loads((pbs.folder / "shown-0").read_text())
    assert (shown[0], shown[1][:3]) == (["0", "1"], ["0", "1", "127.0.0.1"])


def test_a_killed_program_ends_the_job_of_pbs(pbs: PbsDesk) -> None:
    """That its processes, in sessions of their own and with the output open, are gone on both nodes
    is checked by `pbs`."""
    (pbs.folder / pbs.program("pair", PAIR.replace(" &> /dev/null", ""))).chmod(0o755)
    job = pbs.submit(*NODE, "--", "./pair")
    for node in ("0", "1"):
        pbs.site.wait_for(f"up {node}\n", job, pbs.folder)
    pbs.site.kill("blancapeak004", r"/bin/bash \./pair")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 137, done.output
    check_end(done, SECOND, 137)


@pytest.mark.thorough
def test_all_nodes_start_again_under_pbs(pbs: PbsDesk) -> None:
    (pbs.folder / pbs.program("fail", FAIL_ONCE)).chmod(0o755)
    done = pbs.run(*NODE, "--max-restarts", "2", "--", "./fail")
    assert done.status == 0, done.output
    assert "all nodes start again, restart 1 of 2" in done.output
    assert sorted((pbs.folder / "started").read_text().split()) == ["0", "0", "1", "1"]


@pytest.mark.thorough
def test_ranks_of_the_program_are_warned_under_pbs(pbs: PbsDesk) -> None:
    (pbs.folder / pbs.program("warned", WARNED)).chmod(0o755)
    done = pbs.run(*NODE, "-t", "60", "--signal", "50", "--", "./warned")
    assert done.status == 0, done.output
    for name in ("00", "01", "10", "11"):
        assert done.output.count(f"warned {name}\n") == 1, done.output
