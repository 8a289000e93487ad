"""What a profile says of its machine: a machine that has ended, the limits of each partition, and
the login nodes by which a machine is known.
"""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import pytest

from jobgen.profiles.login_node import host_names
from tests.helpers import jobgen

BASE = "description: a cluster\nscheduler: slurm\nnode: {cpus: 64, gpus: 8, gpu: nvidia}\n"


def made(folder: Path, more: str, *words: str, command: str = "sbatch") -> tuple[int, str, str]:
    """The exit code, the script and the messages of a job with a profile that has `more`."""
    (folder / "mine.yaml").write_text(BASE + more)
    done = jobgen(command, "--profile", "mine.yaml", *words, cwd=folder)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "state: retired\nends: 2026-08-31\nsuccessor: sites/roihu\n",
            "mine.yaml:4:8: the machine of profile mine has ended on 2026-08-31; use sites/roihu",
        ),
        ("state: retired\n", "has ended; choose another profile"),
        (
            "ends: 2020-01-01\n",
            "mine.yaml:4:7: the machine of profile mine has ended on 2020-01-01; choose another "
            "profile; if it has not ended: --set ends=null",
        ),
    ],
)
def test_a_machine_that_has_ended_is_refused(tmp_path: Path, more: str, message: str) -> None:
    code, script, errors = made(tmp_path, more, "-N", "2")
    assert (code, script) == (2, "")
    assert message in errors
    done = jobgen("profiles", "list", cwd=tmp_path)
    assert done.returncode == 0


def test_a_machine_that_ends_later_or_has_not_ended_is_taken(tmp_path: Path) -> None:
    assert made(tmp_path, "ends: 2999-01-01\n", "-N", "2")[0] == 0
    assert made(tmp_path, "ends: 2020-01-01\n", "-N", "2", "--set", "ends=null")[0] == 0


def test_who_extends_a_retired_site_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(f"{BASE}state: retired\nsuccessor: new\n")
    (tmp_path / "own.yaml").write_text("extends: old.yaml\naccount: physics\n")
    done = jobgen("sbatch", "--profile", "own.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert b"the machine of profile own has ended; use new" in done.stderr


LIMITS = """\
partition: whole
limits:
  partitions:
    whole: {nodes: 8, min_nodes: 2, time: "24:00:00", shared: false}
    small: {nodes: 16, gpus: 16, gpus_per_node: 4, shared: true}
network: {port: 29500}
"""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-N 1", "1 nodes requested, profile mine has at least 2; limits.partitions.whole.min"),
        ("-N 9", "9 nodes requested, profile mine has at most 8; limits.partitions.whole.nodes"),
        ("-N 2 -t 25:00:00", "a walltime of 25:00:00 requested, profile mine has at most 24:00"),
        ("-p small -G 8", "8 GPUs on each node requested, profile mine has at most 4; limits.part"),
        ("-p small -G 4 -N 5", "20 GPUs on all nodes together requested, profile mine has at most"),
    ],
)
def test_each_partition_has_its_limits(tmp_path: Path, words: str, message: str) -> None:
    code, script, errors = made(tmp_path, LIMITS, *words.split())
    assert (code, script) == (2, "")
    assert message in errors


def test_the_partition_that_allows_the_job_is_named(tmp_path: Path) -> None:
    errors = made(tmp_path, LIMITS, "-N", "1", "-G", "4")[2]
    assert errors.rstrip().endswith("; -p small allows it [limit]")


def test_a_partition_with_whole_nodes_gives_all_cores_and_the_port(tmp_path: Path) -> None:
    """Without --exclusive, since the site does it; on shared nodes, ports depend on a job's id."""
    whole = made(tmp_path, LIMITS, "-N", "2", "-G", "4")[1]
    shared = made(tmp_path, LIMITS, "-N", "2", "-G", "4", "-p", "small")[1]
    assert "#SBATCH --cpus-per-task=64\n" in whole
    assert "port=29500\n" in whole
    assert "#SBATCH --cpus-per-task=32\n" in shared
    assert "port=$((10000 + SLURM_JOB_ID % 20000))" in shared
    assert "--exclusive" not in whole + shared


@pytest.mark.parametrize(
    ("directives", "message"),
    [
        ("--nodes=1", "1 nodes, but a job there has at least 2"),
        ("--nodes=9", "9 nodes, but a job may have 8"),
        ("--partition=small\n#SBATCH --nodes=5\n#SBATCH --gpus-per-node=4", "20 GPUs, but a job"),
        ("--partition=small\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8", "8 GPUs per node, but"),
    ],
)
def test_lint_knows_the_limits_of_the_partition(
    tmp_path: Path, directives: str, message: str
) -> None:
    (tmp_path / "mine.yaml").write_text(BASE + LIMITS)
    script = f"#!/bin/bash\n#SBATCH {directives}\n#SBATCH --time=1:00:00\nsrun python train.py\n"
    (tmp_path / "job.sh").write_text(script)
    done = jobgen("lint", "--profile", "mine.yaml", "--select", "JG703", "job.sh", cwd=tmp_path)
    assert message in done.stdout.decode()
    assert done.returncode == 1


def test_a_login_node_names_its_own_profile(tmp_path: Path) -> None:
    host = os.uname().nodename
    (tmp_path / "profiles").mkdir()
    mine = tmp_path / "profiles/mine.yaml"
    job = ("sbatch", "-N", "2", "--", "train.py")
    for hosts, environ in ((f"[{host[:3]}*]", {}), ("[SITE=m?ne]", {"SITE": "mine"})):
        mine.write_text(f"{BASE}hosts: {hosts}\n")
        done = jobgen(*job, cwd=tmp_path, env=environ)
        assert done.returncode == 2
        own = "jobgen sbatch --profile mine -N 2 -- train.py"
        assert f"this is a login node of mine; write: {own} [usage]" in done.stderr.decode()
        listed = jobgen("profiles", "list", cwd=tmp_path, env=environ).stdout.decode()
        assert listed.startswith("This is a login node of mine.\n\nYour own:\n")
    mine.write_text(f"{BASE}hosts: [elsewhere, SITE=other]\n")
    assert b"login node of" not in jobgen(*job, cwd=tmp_path, env={"SITE": "mine"}).stderr


def test_the_full_names_of_a_host_are_found_without_a_name_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = tmp_path / "resolv.conf"
    resolver.write_text("nameserver 192.0.2.1\nsearch hpc.example.org example.org.\n\n")
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("", "login1", "", "", "")))
    names = ["login1", "login1.hpc.example.org", "login1.example.org"]
    assert host_names(resolver) == names
    assert host_names(tmp_path / "none") == ["login1"]
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("", "a.example.org", "", "", "")))
    assert host_names(resolver) == ["a.example.org"]


def test_a_profile_of_the_user_s_own_wins_on_a_login_node(tmp_path: Path) -> None:
    """One that extends a site's has its hosts, too."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/mine.yaml").write_text("extends: sites/juwels-booster\n")
    env = {"SYSTEMNAME": "juwelsbooster"}
    done = jobgen("sbatch", "-N", "2", "--", "train.py", cwd=tmp_path, env=env)
    assert b"this is a login node of mine; write: jobgen sbatch --profile mine" in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("request.tim", "did you mean `request.time`?"),
        ("conda", "write software.conda"),
        ("time", "write limits.time or request.time"),
        ("zzz", "such as account, or request.time"),
        ("network.environment.A", ""),
    ],
)
def test_a_need_is_a_key(tmp_path: Path, name: str, hint: str) -> None:
    (tmp_path / "mine.yaml").write_text(f"scheduler: slurm\nneeds: [{name}]\n")
    done = jobgen("profiles", "validate", tmp_path / "mine.yaml")
    assert done.returncode == bool(hint)
    assert f":2:9: unknown key `{name}`; {hint} [" in done.stdout.decode() or not hint


def test_what_a_site_needs_of_each_job_is_said_in_one_warning(tmp_path: Path) -> None:
    more = "needs: [account, software.conda, request.qos]\n"
    code, script, errors = made(tmp_path, more, "-N", "2")
    assert (code, script.startswith("#!/bin/bash")) == (0, True)
    wanted = "mine.yaml:4:8: each job there needs -A and --set software.conda=… and --qos, which"
    assert wanted in errors
    given = ("-A", "physics", "--qos", "long", "--set", "software.conda=torch")
    assert "needs" not in made(tmp_path, more, *given)[2]


def test_torchrun_is_refused_where_each_task_has_one_gpu(tmp_path: Path) -> None:
    more = 'launch: {srun_options: ["--gpus-per-task=1"]}\n'
    code, script, errors = made(tmp_path, more, "-N", "2")
    assert (code, script) == (2, "")
    assert (
        "with the launcher torchrun, --gpus-per-task=1 gives all ranks of a node one GPU" in errors
    )
    assert made(tmp_path, more, "-N", "2", "--launcher", "srun")[0] == 0


def test_only_the_file_of_a_retired_machine_itself_is_valid(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(f"{BASE}state: retired\n")
    (tmp_path / "own.yaml").write_text("extends: old.yaml\n")
    assert jobgen("profiles", "validate", "old.yaml", cwd=tmp_path).returncode == 0
    done = jobgen("profiles", "validate", "own.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count(b"the machine of profile own has ended") == 1


def test_after_its_last_day_a_machine_s_file_is_valid_with_a_warning(tmp_path: Path) -> None:
    """Else all pull requests of a registry fail from that day on."""
    (tmp_path / "old.yaml").write_text(f"{BASE}ends: 2020-01-01\n")
    done = jobgen("profiles", "validate", "old.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"warning: old.yaml:4:7: the machine has ended on 2020-01-01; write" in done.stderr


@pytest.mark.parametrize(("days", "is_said"), [(0, True), (60, True), (61, False)])
def test_a_job_on_a_machine_that_ends_soon_says_so(
    tmp_path: Path, days: int, is_said: bool
) -> None:
    day = date.today() + timedelta(days=days)
    code, _, errors = made(tmp_path, f"ends: {day}\nsuccessor: sites/roihu\n", "-N", "2")
    text = f"mine.yaml:4:7: the machine ends on {day}; its successor is sites/roihu [retired]"
    assert (code, text in errors) == (0, is_said)


@pytest.mark.parametrize(
    ("successor", "text"),
    [
        ("sites/roihu", ""),
        ("null", ""),
        ("sites/roihuu", "no profile `sites/roihuu`; did you mean `sites/roihu`?"),
        ("mine.yaml", "a machine does not follow itself; the profile of the machine that follows"),
    ],
)
def test_a_successor_is_another_profile(tmp_path: Path, successor: str, text: str) -> None:
    (tmp_path / "mine.yaml").write_text(f"{BASE}state: retired\nsuccessor: {successor}\n")
    done = jobgen("profiles", "validate", "mine.yaml", cwd=tmp_path)
    assert done.returncode == bool(text)
    assert (f"mine.yaml:5:12: {text}" in done.stdout.decode()) == bool(text)


def test_a_name_that_is_nearly_a_site_s_is_proposed(tmp_path: Path) -> None:
    done = jobgen("profiles", "show", "sites/fronter", cwd=tmp_path)
    assert b"did you mean `sites/frontier`?" in done.stderr
    done = jobgen("profiles", "show", "sites/elsewhere", cwd=tmp_path)
    assert b"no profile of this site comes with jobgen" in done.stderr
