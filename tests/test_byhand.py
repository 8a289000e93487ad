"""The hosts of a job by hand, and its lines; tests/cluster/test_byhand.py runs these lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobgen.cli.mistakes.job_checks import check_habits
from jobgen.errors import JobgenError
from jobgen.planning.host_list import Hosts, read_hosts
from jobgen.planning.job_options import Job
from tests.helpers import jobgen, script


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("smc-r07-[07-08]", "smc-r07-07 smc-r07-08"),
        ("a,b,a,c", "a b c"),
        ("n[9-11],d01", "n9 n10 n11 d01"),
        ("r[1-2]c[1-2]", "r1c1 r1c2 r2c1 r2c2"),
        ("10.0.0.1,10.0.0.2", "10.0.0.1 10.0.0.2"),
        ("fd00::9,2001:db8:0:1:2:3:4:a", "fd00::9 2001:db8:0:1:2:3:4:a"),
        ("blancapeak[003-004].hostmgmt", "blancapeak003.hostmgmt blancapeak004.hostmgmt"),
        ("blancapeak005/0*288+blancapeak003/0*288", "blancapeak005 blancapeak003"),
        ("a/0+a/1+b/0", "a b"),
        ("(a:ncpus=4)+(b:ncpus=4:ngpus=1)", "a b"),
    ],
)
def test_a_list_of_hosts_is_read_as_its_scheduler_prints_it(text: str, hosts: str) -> None:
    assert read_hosts(text).names == tuple(hosts.split())
    check_habits(Job("byhand", "mi210", hosts=text), None)  # raises for another launcher's list


def test_a_file_of_hosts_is_read_in_its_order(tmp_path: Path) -> None:
    """Each host counts once: PBS_NODEFILE has a line for each rank."""
    file = tmp_path / "nodes"
    file.write_text("\ufeffn5.x\nn5.x\n\nn3.x\nn[7-8]\n")
    assert read_hosts(str(file)) == Hosts(("n5.x", "n3.x", "n7", "n8"))
    file.write_text("n1 slots=4\nn2 max_slots=4  # of a launcher\nn3:8\nfd00::9\nfd00::1:22\n")
    assert read_hosts(str(file)) == Hosts(("n1", "n2", "n3", "fd00::9", "fd00::1:22"), (4,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no host in ''"),
        ("a[1-", "'a[1-': unbalanced brackets"),
        ("a[1-200000]", "'a[1-200000]': range too large"),
        ("a b", "'a b' is not a host name"),
        ("$(id)", "'$(id' is not a host name"),
        ("-x", "'-x' is not a host name"),
        ("fe80::1", "'fe80::1' is not a host name"),
        ("a:1", "'a:1' is not a host name"),
        ("a\nb", r"'a\nb' is not a host name"),
        ("/no/such", "no host in '/no/such'"),
    ],
)
def test_a_text_that_is_no_list_of_hosts_is_refused(text: str, message: str) -> None:
    with pytest.raises(JobgenError) as error:
        read_hosts(text)
    hint = "such as smc-r07-[07-08], a,b,c or a file of hosts that exists [value]"
    assert str(error.value) == f"--hosts: {message}; {hint}"


def test_a_file_of_hosts_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_bytes(b"\xff\xfe")
    done = jobgen("byhand", "--profile", "mi210", "--hosts", "nodes", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: --hosts: nodes cannot be read: ")
    with pytest.raises(JobgenError, match=r"^--hosts: .*nodes cannot be read: .* \[value\]$"):
        read_hosts(str(tmp_path / "nodes"))


def test_more_hosts_than_the_cluster_has_are_refused() -> None:
    words = ("--profile", "mi210", "--set", "limits.nodes=2", "--hosts", "n[1-3]")
    done = jobgen("byhand", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "jobgen: --hosts: 3 nodes requested, profile mi210 has at most 2; "
        "limits.nodes is set at --set limits.nodes [limit]\n"
    )


def test_a_job_by_hand_needs_hosts() -> None:
    done = jobgen("byhand", "--profile", "mi210")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--hosts: no hosts are named" in done.stderr


def torchrun_lines(job: Job) -> list[str]:
    """The lines to paste on the hosts, in their order."""
    return [line for line in script(job).splitlines() if " --nnodes=" in line]


def test_the_lines_of_the_hosts_differ_in_who_is_the_first_alone() -> None:
    first, second = torchrun_lines(
        Job("byhand", profile="eap", hosts="a,b", program=("x.py", "a b"))
    )
    second = second.replace("is_host=0", "is_host=1")
    assert first.replace('--local-addr="a" ', '--local-addr="a-10001" ') == second
    assert '--rdzv-endpoint="a:29500" ' in first
    assert first.endswith(",join_timeout=600\" x.py 'a b'")
    assert ' --local-addr="a" ' in first


def test_with_the_static_rendezvous_each_line_has_its_node_rank() -> None:
    job = Job("byhand", profile="dgx-a100", hosts="a,b,c", rendezvous="static", program=("x.py",))
    for rank, line in enumerate(torchrun_lines(job)):
        assert f' --master-addr="a" --master-port="29400" --node-rank="{rank}" x.py' in line


def test_without_a_port_in_the_profile_it_is_the_one_of_torchrun() -> None:
    lines = torchrun_lines(
        Job("byhand", profile="eap", hosts="a,b", set_values=("network.port=null",))
    )
    assert ['--rdzv-endpoint="a:29400" ' in line for line in lines] == [True, True]


def test_by_hand_the_launcher_is_always_torchrun() -> None:
    """Without a scheduler, there is no srun."""
    job = Job("byhand", profile="mi210", hosts="a,b", set_values=("launch.launcher=srun",))
    assert len(torchrun_lines(job)) == 2


def test_a_single_host_is_standalone() -> None:
    (line,) = torchrun_lines(Job("byhand", profile="mi210", hosts="a", gpus_per_node="2"))
    assert " --nnodes=1 --nproc-per-node=2 --standalone --local-addr=127.0.0.1 " in line
    # The container's engine takes the place of the subshell.
    assert line.startswith('(container env "${environment[@]}" torchrun ')
    assert line.endswith(" elastic_ddp.py)")
    (line,) = torchrun_lines(Job("byhand", profile="eap", hosts="a"))
    assert " --standalone --local-addr=127.0.0.1 " in line  # the lines of hosts have no $head


def test_the_rendezvous_id_is_a_plain_name() -> None:
    """Whatever the program is called; the container has no name, which engines restrict."""
    for program, name in (("my-prog.py", "my-prog"), ("my prog.py", "job"), ("é", "job")):
        job = Job("byhand", profile="mi210", hosts="a,b", program=(program,))
        assert all(f' --rdzv-id="{name}" ' in line for line in torchrun_lines(job))
        assert "--name" not in script(job)


def test_torchrun_does_not_take_the_options_of_a_trainer_for_its_own() -> None:
    (line,) = torchrun_lines(
        Job("byhand", profile="eap", hosts="a", trainer="regression", program=("--n=1",))
    )
    assert line.endswith(" -- regression.py --n=1")


def test_one_host_a_million_times_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a[1-1024] " * 1024 + "a1")
    with pytest.raises(JobgenError, match="more than 1048576 names"):
        read_hosts(str(tmp_path / "nodes"))
    (tmp_path / "nodes").write_text("a[1-1024] " * 1023 + "a[1] b[1-1] " * 512)
    assert len(read_hosts(str(tmp_path / "nodes")).names) == 1025


@pytest.mark.parametrize(
    ("text", "message"),
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
def test_lists_that_stand_for_too_much(text: str, message: str) -> None:
    with pytest.raises(JobgenError) as error:
        read_hosts(text)
    assert str(error.value) == f"--hosts: {message} [limit]"


def test_lists_of_the_largest_clusters_are_read() -> None:
    assert len(read_hosts("a" * 250 + "[1-16384]").names) == 16384
    assert len(read_hosts("a[1-16384],b[1-16384]").names) == 32768
    assert (
        len(read_hosts(",".join(f"node{n:05}.some.cluster" for n in range(16384))).names) == 16384
    )
    assert len(read_hosts(f"n[{','.join(map(str, range(0, 32768, 2)))}]").names) == 16384
    assert read_hosts("n" + "[0-1]" * 8).names[-1] == "n" + "1" * 8


def test_a_trainer_is_exported_first() -> None:
    text = script(Job("byhand", profile="eap", hosts="a,b"))
    assert "jobgen trainers export elastic_ddp\n" in text


def test_a_shell_at_a_terminal_is_not_changed() -> None:
    """The pasted lines must not change its options, such as `set -u` or `set -e`."""
    text = script(Job("byhand", profile="eap", hosts="a,b"))
    assert "module load" in text
    assert "set -" not in text
    assert "set +" not in text


def test_what_is_made_once_on_each_host_comes_before_the_line_of_the_host() -> None:
    lines = "software.once_per_node=[python3 -m venv /tmp/env]"
    job = Job("byhand", "dgx-a100", hosts="a,b", set_values=("software.venv=/tmp/env", lines))
    text = script(job)
    assert text.count("\npython3 -m venv /tmp/env\nls -L") == 1
    assert text.index("python3 -m venv /tmp/env\nls") < text.index("# ---- on a ----")
