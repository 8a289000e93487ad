"""The hosts of a job by hand, and its lines; tests/cluster/test_byhand.py pastes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobgen import byhand
from jobgen.errors import JobgenError
from jobgen.job import Job
from tests.helpers import jobgen, script


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("smc-r07-[07-08]", "smc-r07-07 smc-r07-08"),
        ("a,b,a,c", "a b c"),
        ("n[9-11],d01", "n9 n10 n11 d01"),
        ("r[1-2]c[1-2]", "r1c1 r1c2 r2c1 r2c2"),
        ("10.0.0.1,10.0.0.2", "10.0.0.1 10.0.0.2"),
        ("blancapeak[003-004].hostmgmt", "blancapeak003.hostmgmt blancapeak004.hostmgmt"),
        ("blancapeak005/0*288+blancapeak003/0*288", "blancapeak005 blancapeak003"),
        ("a/0+a/1+b/0", "a b"),
        ("(a:ncpus=4)+(b:ncpus=4:ngpus=1)", "a b"),
    ],
)
def test_hosts(text: str, hosts: str) -> None:
    assert byhand.hosts(text) == tuple(hosts.split())


def test_a_node_file(tmp_path: Path) -> None:
    """In its own order, each host once, as PBS_NODEFILE repeats them."""
    file = tmp_path / "nodes"
    file.write_text("\ufeffn5.x\nn5.x\n\nn3.x\nn[7-8]\n")
    assert byhand.hosts(str(file)) == ("n5.x", "n3.x", "n7", "n8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no host in ''"),
        ("a[1-", "'a[1-': unbalanced brackets"),
        ("a[1-200000]", "'a[1-200000]': range too large"),
        ("a b", "'a b' is no host's name"),
        ("$(id)", "'$(id' is no host's name"),
        ("-x", "'-x' is no host's name"),
        ("a\nb", r"'a\nb' is no host's name"),
        ("/no/such", "no host in '/no/such'"),
    ],
)
def test_what_is_no_list_of_hosts(text: str, said: str) -> None:
    with pytest.raises(JobgenError) as caught:
        byhand.hosts(text)
    hint = "such as smc-r07-[07-08], a,b,c or a file of hosts that is there [value]"
    assert str(caught.value) == f"--hosts: {said}; {hint}"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_bytes(b"\xff\xfe")
    done = jobgen("byhand", "--profile", "mi210", "--hosts", "nodes", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: --hosts: nodes cannot be read: ")


def test_more_hosts_than_the_cluster_has() -> None:
    words = ("--profile", "mi210", "--set", "limits.nodes=2", "--hosts", "n[1-3]")
    done = jobgen("byhand", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "jobgen: --hosts: 3 nodes asked for, profile mi210 has at most 2; "
        "limits.nodes is said at --set limits.nodes [limit]\n"
    )


def test_no_hosts() -> None:
    done = jobgen("byhand", "--profile", "mi210")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--hosts: no hosts are named" in done.stderr


def lines(job: Job) -> list[str]:
    return [line for line in script(job).splitlines() if " --nnodes=" in line]


def test_one_torchrun_a_host_and_nothing_that_differs_but_its_place() -> None:
    first, second = lines(Job("byhand", profile="eap", hosts="a,b", program=("x.py", "a b")))
    assert first.replace("is_host=1", "is_host=0") == second
    assert "--rdzv-endpoint=a:29500 " in first
    assert first.endswith("--local-addr=\"$own\" x.py 'a b'")


def test_static_ranks() -> None:
    job = Job("byhand", profile="dgx-a100", hosts="a,b,c", rendezvous="static", program=("x.py",))
    for rank, line in enumerate(lines(job)):
        assert f" --master-addr=a --master-port=29400 --node-rank={rank} x.py" in line


def test_the_port_of_torchrun_where_the_profile_says_none() -> None:
    said = lines(Job("byhand", profile="eap", hosts="a,b", sets=("network.port=null",)))
    assert all("--rdzv-endpoint=a:29400 " in line for line in said)


def test_by_hand_it_is_torchrun() -> None:
    """Where no scheduler is, there is no srun."""
    job = Job("byhand", profile="mi210", hosts="a,b", sets=("launch.launcher=srun",))
    assert len(lines(job)) == 2


def test_one_host_is_standalone() -> None:
    (line,) = lines(Job("byhand", profile="mi210", hosts="a", gpus_per_node="2"))
    assert " --nnodes=1 --nproc-per-node=2 --standalone " in line
    assert line.startswith(
        '(container env "${environment[@]}" torchrun '
    )  # the engine takes the place of a subshell
    assert line.endswith(" elastic_ddp.py)")


def test_a_container_s_name() -> None:
    """Podman and docker take no others."""
    for program, name in (("my-prog.py", "my-prog"), ("my prog.py", "job"), ("é", "job")):
        text = script(Job("byhand", profile="mi210", hosts="a", program=(program,)))
        assert f"\nname=jobgen-{name}\n" in text


def test_options_of_a_trainer_are_none_of_torchrun_s() -> None:
    (line,) = lines(
        Job("byhand", profile="eap", hosts="a", trainer="regression", program=("--n=1",))
    )
    assert line.endswith(" -- regression.py --n=1")


def test_names_that_come_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a[1-1024] " * 1100)
    with pytest.raises(JobgenError, match="more than 1048576 names"):
        byhand.hosts(str(tmp_path / "nodes"))
    (tmp_path / "nodes").write_text("a[1-1024] " * 1000)
    assert len(byhand.hosts(str(tmp_path / "nodes"))) == 1024


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a[1]" * 3000, f"{'a[1]' * 3000!r:.80} has 3000 pairs of brackets; at most 8 in a name"),
        ("[]" * 3000, f"{'[]' * 3000!r:.80} has 3000 pairs of brackets; at most 8 in a name"),
        ("b," + "a" * 253 + "[1-999]", f"{'a' * 253!r:.80}: a name of 256 characters; at most 255"),
        (f"a[{1:0300}-9]", f"{'a[' + '0' * 300!r:.80}: a name of 301 characters; at most 255"),
        (
            f"a[1-{'9' * 5000}]",
            f"{'a[1-' + '9' * 99!r:.80}: a name of 5001 characters; at most 255",
        ),
        (f"a[{','.join(['1-99999'] * 11)}]", "more than 1048576 names; each host once"),
        (",".join(f"{c}[1-99999]" for c in "abcdefghijk"), "more than 32768 hosts"),
    ],
)
def test_a_list_that_stands_for_too_much(text: str, said: str) -> None:
    with pytest.raises(JobgenError) as caught:
        byhand.hosts(text)
    assert str(caught.value) == f"--hosts: {said} [limit]"


def test_the_longest_lists_there_are() -> None:
    assert len(byhand.hosts("a" * 250 + "[1-16384]")) == 16384
    assert len(byhand.hosts(",".join(f"node{n:05}.some.cluster" for n in range(16384)))) == 16384
    assert len(byhand.hosts(f"n[{','.join(map(str, range(0, 32768, 2)))}]")) == 16384


def test_a_trainer_is_exported_first() -> None:
    said = script(Job("byhand", profile="eap", hosts="a,b"))
    assert "jobgen trainers export elastic_ddp\n" in said


def test_a_shell_at_a_terminal_is_not_changed() -> None:
    """What is pasted must not leave `set -u` or `set -e` behind."""
    said = script(Job("byhand", profile="eap", hosts="a,b"))
    assert "module load" in said
    assert "set -" not in said
    assert "set +" not in said
