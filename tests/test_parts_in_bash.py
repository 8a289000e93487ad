"""Parts of the machinery, run by bash alone: what a healthy cluster does not show."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from jobgen.paths import bundled
from jobgen.scripts.parts import PARTS
from jobgen.scripts.render import part_text

ROWS = {part.name: part for part in PARTS}


def run(folder: Path, *texts: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script of these parts and texts, in a folder with the job's own folder `logs`."""
    (folder / "logs").mkdir(exist_ok=True)
    beginning = (
        f"set -euo pipefail\nlogs={folder}/logs job=7 each_node=(true)\nsoftware() {{ :; }}\n"
    )
    script = beginning + "\n".join(
        part_text(ROWS[text]) if text in ROWS else text for text in texts
    )
    (folder / "script").write_text(f"#!/bin/bash\n{script}\n")
    return subprocess.run(
        ["bash", f"{folder}/script"],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_full_disk_hides_no_failure(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("status", "evidence"):
        (tmp_path / "logs" / name).symlink_to("/dev/full")
    done = run(tmp_path, "job/end-job", "trap end_job EXIT", "exit 42")
    assert done.returncode == 42
    assert f"jobgen: the job failed, with status 42: jobgen why 7 reads {tmp_path}" in done.stderr


def test_a_folder_that_cannot_be_removed_fails_no_job(tmp_path: Path) -> None:
    """On NFS, a file that somebody still has open stays, as .nfs…"""
    done = run(tmp_path, "job/end-job", "rm() { false; }", "trap end_job EXIT", "true")
    assert done.returncode == 0


def test_a_job_that_excludes_no_node_says_why_it_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "job/end-job", "job/exclude-nodes", "exit 3", nodes="2")
    assert done.returncode == 3
    assert "jobgen: the job failed, with status 3: " in done.stderr
    assert (tmp_path / "logs/status").read_text().startswith("3 after ")


def test_a_job_with_pyxis_says_why_it_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "job/end-job", "pyxis-end", "exit 3")
    assert done.returncode == 3
    assert "jobgen: the job failed, with status 3: " in done.stderr


@pytest.mark.parametrize(
    ("looks", "changes", "ordered"), [(5, 0, False), (14, 0, True), (14, 9, False), (30, 9, True)]
)
def test_minutes_without_a_line_are_counted_by_looks(
    tmp_path: Path, looks: int, changes: int, ordered: bool
) -> None:
    """A file that is old at the first look, as after a suspend, says nothing."""
    (tmp_path / "logs").mkdir()
    file = tmp_path / "logs/std.log"
    file.write_text("a line\n")
    os.utime(file, (1, 1))
    watch = part_text(ROWS["job/stall"]).replace("\nwatch_ranks &\n", "\n")
    sleep = (
        'count=0\nsleep() { count=$((count + 1)); [[ $count != "$CHANGES" ]] ||'
        ' echo more >> "$logs/std.log"; ((count < LOOKS)) || exit 0; }'
    )
    done = run(
        tmp_path, watch, sleep, "watch_ranks", stall="1", LOOKS=str(looks), CHANGES=str(changes)
    )
    assert (done.returncode, "has written for 1 minutes" in done.stderr) == (0, ordered)
    orders = [int(each.name[7:]) for each in (tmp_path / "logs/orders").iterdir()]
    assert len(orders) == ordered
    assert all(time.time() + 30 < order < time.time() + 90 for order in orders)


SCONTROL = """#!/bin/bash
[[ ! $3 ]] || printf '%s\\n' $3
"""
SRUN = """#!/bin/bash
if [[ $* == *run_node* ]]; then  # it ends well when c has started
  for _ in {1..80}; do [[ ! -e c.up ]] || exit 0; sleep 0.1; done
  exit 9
fi
[[ $* != *--nodelist=c* ]] || touch c.up
[[ $* != *--nodelist=b* ]] || echo "$B_SAYS" >&2
exec sleep 60
"""


@pytest.mark.parametrize(
    ("ready", "job_has", "b_says", "status", "last"),
    [
        ("a b c", "a c", "", 0, "jobgen: c: takes the place of a node that is lost\n"),
        ("a b c", "a b c", "jobgen: b: its place is free", 0, "that is lost\n"),
        ("a b c", "a b c", "jobgen: b: ended with status 3", 3, "status 3\n"),  # it goes on
        ("a b c", "a b c", "b rank 1: jobgen: c: its place is free", 9, "is free\n"),
        ("a b", "a", "", 1, "jobgen: no node in reserve is left\n"),
        ("a b c", "", "", 9, "\n"),  # Slurm does not say
    ],
)
def test_a_node_in_reserve_starts_when_a_place_is_free(
    tmp_path: Path, ready: str, job_has: str, b_says: str, status: int, last: str
) -> None:
    """With stubs of Slurm's commands; the looks are shorter than those of a job."""
    (tmp_path / "bin").mkdir()
    squeue = "#!/bin/bash\necho $JOB_HAS\n"
    for name, text in (("srun", SRUN), ("squeue", squeue), ("scontrol", SCONTROL)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    values = f"nodes=2 spares=1 id=7 address=x ready=({ready}) start_ranks=(srun)"
    shorter = 'timeout() { command timeout 0.5 "${@:2}"; }'
    done = run(
        *(tmp_path, values, shorter, "job/run-with-spares", 'exit "$status"'),
        PATH=f"{tmp_path}/bin:{os.environ['PATH']}",
        B_SAYS=b_says,
        JOB_HAS=job_has,
    )
    assert (done.returncode, done.stderr[-len(last) :]) == (status, last), done.stderr
    assert (tmp_path / "c.up").exists() == (status == 0)


def test_the_address_of_a_route_with_a_table(tmp_path: Path) -> None:
    route = "10.9.0.2 dev ib0 table 100 src 10.9.0.1 uid 0 "
    stand_ins = f'ip() {{ echo "{route}"; }}\ngetent() {{ echo "10.9.0.2 STREAM n2"; }}'
    show = 'hosts=(n1 n2) node=0; find_address; echo "$address $interface"'
    done = run(tmp_path, "node/address-route", stand_ins, show)
    assert done.stdout == "10.9.0.1 ib0\n"


def test_a_node_whose_peer_has_no_address_says_so(tmp_path: Path) -> None:
    show = 'hosts=(n1 nowhere) node=0; find_address; echo "<${address-}>"'
    done = run(tmp_path, "node/address-route", "getent() { return 2; }", show)
    assert done.stdout == "<>\n"


@pytest.mark.parametrize(("hosts", "status"), [("x {0} y", 0), ("x {0}.site y", 0), ("x y", 1)])
def test_a_node_finds_its_number_in_the_node_file(tmp_path: Path, hosts: str, status: int) -> None:
    name = os.uname().nodename
    names = f"hosts=({hosts.format(name.split('.')[0])})"
    done = run(tmp_path, names, "node/number-by-name", 'echo "$node"')
    assert (done.returncode, done.stdout) == (status, "" if status else "1\n")
    assert ("the node file has it by another name" in done.stderr) == bool(status)


def test_a_ready_node_says_how_many_cores_it_has(tmp_path: Path) -> None:
    """nproc of coreutils would print OMP_NUM_THREADS, which `software` sets to a rank's cores."""
    stand_ins = "find_address() { address=10.9.0.1; }\ncheck_torch() { torch=ok; }\nss() { :; }"
    values = "host=n1 node=0 nodes=2 interface=ib0 port=1\nsoftware() { export OMP_NUM_THREADS=9; }"
    done = run(tmp_path, stand_ins, values, "node/check-node", "check_node")
    cores = len(os.sched_getaffinity(0))
    wanted = f"jobgen: n1 is ready, 10.9.0.1 on ib0: ok, {cores} cores, memlock "
    assert done.stdout.startswith(wanted), done.stderr


def test_a_node_has_its_own_gpus(tmp_path: Path) -> None:
    """What the batch script's node was given is not passed on to other nodes."""
    text = (bundled("templates") / "machinery/start/copy-environment.sh").read_text()
    values = {"CUDA_VISIBLE_DEVICES": "GPU-of-first", "HOST": "first", "MINE": "a b"}
    done = run(tmp_path, text, **values)
    assert done.returncode == 0, done.stderr
    copied = (tmp_path / "logs/job.sh").read_text()
    assert 'MINE="a b"' in copied
    assert "GPU-of-first" not in copied
    assert "HOST=" not in copied


@pytest.mark.parametrize("version", ["none", "old", "broken", "good"])
def test_a_node_without_a_python_for_the_keeper_says_so(tmp_path: Path, version: str) -> None:
    """One of 3.5 or older ends with a syntax error at an f-string."""
    python = tmp_path / "python"
    if version != "none":
        status = {"old": 'case "$*" in *f\\"*) exit 1;; esac', "broken": "exit 127"}
        python.write_text(f"#!/bin/sh\n{status.get(version, 'exit 0')}\n")
        python.chmod(0o755)
    text = part_text(ROWS["python"])
    for name in ("/usr/libexec/platform-python", "=/usr/bin/python3"):
        assert text.count(name) == 1
        text = text.replace(name, f"{'=' * name.startswith('=')}{python}")
    done = run(tmp_path, "host=n1", part_text(ROWS["fail"]), text)
    line = (
        "jobgen: n1: no /usr/bin/python3 of 3.6 or newer, which the keeper needs:"
        " --plain needs none"
    )
    output = (done.stdout + done.stderr).strip()
    assert (done.returncode, output) == ((0, "") if version == "good" else (1, line))
