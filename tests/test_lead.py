"""The lead and its agents, with real processes; each node is one on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.kept import SOON, Marked, marked, parent, wait_for

pytestmark = pytest.mark.slow  # they wait for real processes


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Marked]:
    with marked(tmp_path) as processes:
        yield processes


def lead(
    nodes: Marked,
    command: str,
    count: int = 3,
    stream: int = 2,
    starter: str = "%a",
    timeout: float = 40,
    within: Sequence[str] = (),
    spares: int = 0,
) -> subprocess.Popen[str]:
    hosts = " ".join(f"h{number}" for number in range(count))
    words = [nodes.folder, "127.0.0.1", timeout, 1, stream, spares, hosts, starter]
    return nodes.start("lead", *words, "bash", "-c", command, within=within)


def up(nodes: Marked) -> str:
    return f"touch {nodes.folder}/$JOBGEN_HOST.up; "


def all_up(nodes: Marked) -> bool:
    return wait_for(lambda: len(list(nodes.folder.glob("*.up"))) == 3)


def until(nodes: Marked, file: str) -> str:
    return f"until [[ -e {nodes.folder}/{file} ]]; do sleep 0.1; done"


def deaf(nodes: Marked) -> str:
    return f"python3 {nodes.folder}/deaf.py {nodes.folder} & wait"


def all_deaf(nodes: Marked, count: int = 3) -> bool:
    return wait_for(lambda: len(list(nodes.folder.glob("deaf.*[0-9]"))) == 4 * count)


@pytest.mark.parametrize("starter", ["%a", "bash -c %q", "bash -c 'exec %a' %h"])
def test_output_and_environment(nodes: Marked, starter: str) -> None:
    command = 'echo "$JOBGEN_NUMBER $JOBGEN_HOST $PWD" "a  b"; printf half; sleep .2; echo " line"'
    started = lead(nodes, command, stream=1, starter=starter)
    output, errors = started.communicate(timeout=SOON)
    lines = [f"{n} h{n} {Path.cwd()} a  b" for n in range(3)] + ["half line"] * 3
    assert (sorted(output.splitlines()), errors, started.returncode) == (sorted(lines), "", 0)
    assert not list(nodes.folder.glob("join.*"))
    assert not nodes.remaining()


def test_without_output_it_goes_its_natural_way(nodes: Marked) -> None:
    started = lead(nodes, "echo x", starter=f"%a >> {nodes.folder}/%h.out")
    assert started.communicate(timeout=SOON) == ("", "")
    assert [(nodes.folder / f"h{n}.out").read_text() for n in range(3)] == ["x\n"] * 3


def test_the_first_failure_ends_all_and_gives_the_status(nodes: Marked) -> None:
    command = f"if [[ $JOBGEN_NUMBER = 1 ]]; then sleep 1; exit 7; fi; {deaf(nodes)}"
    started = lead(nodes, command)
    assert started.communicate(timeout=SOON)[1] == "jobgen: h1: ended with status 7\n"
    assert started.returncode == 7
    assert not nodes.remaining()


@pytest.mark.parametrize("victim", ["agent", "stub", "keeper", "command"])
def test_nothing_is_left_when_a_process_of_a_node_is_killed(nodes: Marked, victim: str) -> None:
    started = lead(nodes, deaf(nodes))
    assert all_deaf(nodes)
    agent, stub, keeper = [pid for pid in nodes.named(" h1 1") if "agent" in nodes.pids()[pid]]
    command = next(pid for pid in nodes.named("bash -c") if parent(pid) == keeper)
    os.kill({"agent": agent, "stub": stub, "keeper": keeper, "command": command}[victim], 9)
    errors = started.communicate(timeout=SOON)[1]
    problem = "no longer answers" if victim == "agent" else "ended with status 137"
    assert errors == f"jobgen: h1: {problem}\n"
    assert started.returncode == (1 if victim == "agent" else 137)
    assert not nodes.remaining()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_for_the_lead_ends_all(nodes: Marked, number: int) -> None:
    started = lead(nodes, deaf(nodes))
    assert all_deaf(nodes)
    started.send_signal(number)
    assert started.communicate(timeout=SOON)[1] == ""
    assert started.returncode == 143
    assert not nodes.remaining()


def test_a_killed_lead_leaves_nothing(nodes: Marked) -> None:
    started = lead(nodes, deaf(nodes))
    assert all_deaf(nodes)
    started.kill()
    assert not nodes.remaining()


def test_a_killed_starter_does_not_matter(nodes: Marked) -> None:
    command = up(nodes) + until(nodes, "killed")
    started = lead(nodes, command, starter="bash -c '%a; :' starter")
    assert all_up(nodes)
    for pid in nodes.pids():
        if parent(pid) == started.pid:
            os.kill(pid, 9)
    (nodes.folder / "killed").touch()
    assert started.communicate(timeout=SOON)[1] == ""
    assert started.returncode == 0


def test_a_starter_that_fails_is_named(nodes: Marked) -> None:
    started = lead(nodes, deaf(nodes), starter="bash -c '[[ %h = h1 ]] && exit 5; exec %a'")
    problem = "jobgen: h1: cannot be started: the starter ended with status 5\n"
    assert started.communicate(timeout=SOON)[1] == problem
    assert started.returncode == 1
    assert not nodes.remaining()


@pytest.mark.thorough
def test_a_node_that_does_not_answer_is_named(nodes: Marked) -> None:
    starter = "bash -c '[[ %h = h1 ]] && exec sleep 60; exec %a'"
    started = lead(nodes, "sleep 60", starter=starter, timeout=8)
    assert started.communicate(timeout=SOON)[1] == "jobgen: h1: cannot be started: no answer\n"
    assert started.returncode == 1
    assert not nodes.remaining()


CASES = "case $JOBGEN_HOST in {} esac"


def test_a_node_is_lost_and_a_spare_takes_its_place(nodes: Marked) -> None:
    command = "echo $JOBGEN_HOST $JOBGEN_NUMBER; " + up(nodes)
    command += CASES.format(f"h1) sleep 1; exit 137;; h2) exit;; *) {until(nodes, 'h2.up')};;")
    started = lead(nodes, command, stream=1, spares=1)
    output, errors = started.communicate(timeout=SOON)
    assert sorted(output.splitlines()[:2]) + output.splitlines()[2:] == ["h0 0", "h1 1", "h2 2"]
    assert errors == "jobgen: h1: ended with status 137\njobgen: h2: takes its place\n"
    assert started.returncode == 0


def test_a_spare_starts_when_a_node_no_longer_answers(nodes: Marked) -> None:
    command = up(nodes) + CASES.format(f"h2) exit;; *) {until(nodes, 'h2.up')};;")
    started = lead(nodes, command, spares=1)
    assert wait_for(lambda: len(list(nodes.folder.glob("*.up"))) == 2)
    agent = next(pid for pid in nodes.named(" h1 1") if "agent" in nodes.pids()[pid])
    os.kill(agent, 9)
    errors = started.communicate(timeout=SOON)[1]
    assert errors == "jobgen: h1: no longer answers\njobgen: h2: takes its place\n"
    assert started.returncode == 0


@pytest.mark.thorough
def test_a_node_that_cannot_be_started_takes_a_spare(nodes: Marked) -> None:
    """And the spare has all the time to answer that the node had."""
    starter = "bash -c '[[ %h = h1 ]] && exec sleep 60; [[ %h = h2 ]] && sleep 1; exec %a'"
    command = up(nodes) + until(nodes, "h2.up")
    started = lead(nodes, command, starter=starter, timeout=8, spares=1)
    problem = "jobgen: h1: cannot be started: no answer\njobgen: h2: takes its place\n"
    assert started.communicate(timeout=SOON)[1] == problem
    assert started.returncode == 0


def test_two_nodes_are_lost_and_there_is_one_spare(nodes: Marked) -> None:
    command = CASES.format(f"h1) exit 137;; h2) sleep 1; exit 139;; *) {deaf(nodes)};;")
    started = lead(nodes, command, spares=1)
    errors = "jobgen: h1: ended with status 137\njobgen: h2: takes its place\n"
    assert started.communicate(timeout=SOON)[1] == errors + "jobgen: h2: ended with status 139\n"
    assert started.returncode == 139
    assert not nodes.remaining()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("h0", 137),  # where the ranks meet
        ("h1", 1),  # a rank has failed for good, and so will others
    ],
)
def test_what_no_spare_replaces(nodes: Marked, host: str, status: int) -> None:
    command = up(nodes) + CASES.format(f"{host}) sleep 1; exit {status};; *) {deaf(nodes)};;")
    started = lead(nodes, command, spares=1)
    assert started.communicate(timeout=SOON)[1] == f"jobgen: {host}: ended with status {status}\n"
    assert started.returncode == status
    assert not (nodes.folder / "h2.up").exists()
    assert not nodes.remaining()


def test_a_node_lost_at_the_end_is_not_replaced(nodes: Marked) -> None:
    """The ranks of another have ended with 0: a spare would wait for it."""
    command = up(nodes)
    command += CASES.format(f"h0) exit;; *) {until(nodes, 'h0.up')}; sleep 1; exit 137;;")
    started = lead(nodes, command, spares=1)
    assert started.communicate(timeout=SOON)[1] == "jobgen: h1: ended with status 137\n"
    assert (started.returncode, (nodes.folder / "h2.up").exists()) == (137, False)


def test_a_spare_that_is_not_needed_is_not_started(nodes: Marked) -> None:
    started = lead(nodes, up(nodes) + "sleep 1", spares=1)
    assert started.communicate(timeout=SOON)[1] == ""
    assert (started.returncode, (nodes.folder / "h2.up").exists()) == (0, False)


def test_if_all_may_fail_each_is_awaited(nodes: Marked) -> None:
    """The roll call: a node that cannot be started silences no other."""
    starter = "bash -c '[[ %h = h1 ]] && exit 5; exec %a'"
    command = "sleep $((1 + JOBGEN_NUMBER)); echo $JOBGEN_HOST"
    started = lead(nodes, command, stream=1, starter=starter, spares=3)
    problem = "jobgen: h1: cannot be started: the starter ended with status 5\n"
    assert started.communicate(timeout=SOON) == ("h0\nh2\n", problem)


@pytest.mark.thorough
def test_a_suspend_ends_nothing(nodes: Marked) -> None:
    waits = "import time; [time.sleep(0.1) for _ in range(40)]"  # while it is not stopped
    started = lead(nodes, up(nodes) + f"exec python3 -c {shlex.quote(waits)}", timeout=8)
    assert all_up(nodes)
    for number, pause in ((signal.SIGSTOP, 9), (signal.SIGCONT, 0)):
        for pid in nodes.pids():
            with contextlib.suppress(ProcessLookupError):  # a short one has ended
                os.kill(pid, number)
        time.sleep(pause)
    assert started.communicate(timeout=30)[1] == ""
    assert started.returncode == 0


@pytest.mark.thorough
def test_a_lead_that_is_slow_loses_no_node(nodes: Marked) -> None:
    """The agents wait for its answer; a busy first node may need seconds for 512 of them."""
    started = lead(nodes, "echo $JOBGEN_NUMBER", stream=1, starter="bash -c 'sleep 1; exec %a'")
    assert joined(nodes)
    started.send_signal(signal.SIGSTOP)
    time.sleep(8)
    started.send_signal(signal.SIGCONT)
    output, errors = started.communicate(timeout=30)
    assert (sorted(output.split()), errors, started.returncode) == (["0", "1", "2"], "", 0)


def test_a_full_disk_ends_no_lead(nodes: Marked) -> None:
    words = [nodes.folder, "127.0.0.1", 10, 1, 1, 0, "h0 h1", "%a"]
    with open("/dev/full", "w") as full:
        started = nodes.start("lead", *words, "bash", "-c", "echo line; exit 0", stdout=full)
        assert started.communicate(timeout=30)[1] == ""
    assert started.returncode == 0


def joined(nodes: Marked) -> tuple[tuple[str, int], str, Path]:
    """Address, token and file of the lead that runs."""
    assert wait_for(lambda: list(nodes.folder.glob("join.*")))
    join = next(nodes.folder.glob("join.*"))
    assert wait_for(lambda: join.read_text().endswith("]"))
    address, token, *_ = json.loads(join.read_text())
    return (address[0], address[1]), token, join


def test_the_token_is_in_no_command_line_and_in_no_file_of_others(nodes: Marked) -> None:
    started = lead(nodes, up(nodes) + "sleep 60")
    _, token, join = joined(nodes)
    assert all_up(nodes)
    assert join.stat().st_mode & 0o777 == 0o600
    for entry in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                assert token.encode() not in (entry / name).read_bytes()
            except OSError:
                continue
    started.terminate()
    started.communicate(timeout=SOON)


def test_strangers_cost_nobody_anything(nodes: Marked) -> None:
    """While nodes start late: noise, wrong tokens, one byte at a time, and idle connections."""
    dice = random.Random(5)
    starter = "bash -c 'host=%h; sleep 1.$((${host#h} * 3)); exec %a'"
    started = lead(nodes, "echo $JOBGEN_NUMBER; sleep 1", stream=1, starter=starter)
    address, token, _ = joined(nodes)
    strangers = []
    words = [b"", b"\n", b"\0" * 100, f"{token} 7\n".encode(), f"{token} -1\n".encode()]
    words += [f"{token}\n".encode(), token.encode(), b"0 0\n", b"\xff" * 65536, b"\0" + b"1\n"]
    words += [dice.randbytes(dice.randrange(1, 3000)) for _ in range(150)]
    for word in words + [b""] * 500:
        link = socket.create_connection(address, 5)
        link.setblocking(False)
        with contextlib.suppress(OSError):
            link.send(word[:1] if dice.random() < 0.2 else word)
        strangers.append(link)
    output, errors = started.communicate(timeout=SOON)
    assert (sorted(output.split()), errors, started.returncode) == (["0", "1", "2"], "", 0)
    for link in strangers:
        link.close()


def test_a_token_is_good_for_one_connection_of_each_node(nodes: Marked) -> None:
    started = lead(nodes, up(nodes) + until(nodes, "tried"))
    address, token, _ = joined(nodes)
    assert all_up(nodes)
    with socket.create_connection(address, 5) as again:
        again.sendall(f"{token} 0\n".encode())
        assert again.recv(1) == b""
    (nodes.folder / "tried").touch()
    assert started.communicate(timeout=SOON)[1] == ""
    assert started.returncode == 0


# A network of its own, in which at most 128 connections wait to be accepted, as in old kernels.
SHORT_QUEUE = """
ip link set lo up && echo 128 > /proc/sys/net/core/somaxconn && exec "$@"
"""


def short_queue() -> list[str]:
    """The command that starts others in that network."""
    within = ["unshare", "-n", "bash", "-c", SHORT_QUEUE, "bash"]
    read_bound = [*within, "cat", "/proc/sys/net/core/somaxconn"]
    try:
        done = subprocess.run(read_bound, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no network of its own: {error}")
    if done.stdout != "128\n":
        pytest.skip(f"no network of its own: {done.stderr.strip()}")
    return within


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("has_short_queue", [False, True])
def test_512_connections_with_1024_descriptors(nodes: Marked, has_short_queue: bool) -> None:
    """Each agent is a thread: only its side of the connection is tried."""
    within = short_queue() if has_short_queue else []
    script = nodes.folder / "many.py"
    script.write_text(MANY)
    starter = f"{nodes.folder}/starter %h %a"
    (nodes.folder / "starter").write_text(
        f'#!/bin/bash\n[[ $1 = h0 ]] && exec python3 {script} "$7"\nexec sleep 200\n'
    )
    (nodes.folder / "starter").chmod(0o700)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        started = lead(
            nodes, "true", count=512, stream=1, starter=starter, timeout=150, within=within
        )
        output, errors = started.communicate(timeout=200)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert errors == ""
    assert sorted(map(int, output.split())) == list(range(512))
    assert started.returncode == 0


# 512 agents in one process, each as `agent` of lead.py comes to its connection.
MANY = """
import contextlib, json, socket, sys, threading, time
address, token, *_ = json.load(open(sys.argv[1]))
def agent(number):
    for _ in range(60):
        with contextlib.suppress(OSError):
            link = socket.create_connection(address, 5)
            link.settimeout(60)
            link.sendall(f"{token} {number}\\n".encode())
            if link.recv(1):
                break
        time.sleep(0.5)
    else:
        sys.exit(f"agent {number}: no way to the lead")
    link.sendall(b"%d\\n" % number + b"\\0" + b"0")
for number in range(512):
    threading.Thread(target=agent, args=(number,)).start()
"""
