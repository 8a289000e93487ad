"""Parts of the machinery, run by bash alone: what a healthy cluster does not show."""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from jobgen.paths import bundled
from jobgen.runs.records import read_records
from jobgen.scripts.parts import PARTS
from jobgen.scripts.render import part_text

ROWS = {part.name: part for part in PARTS}


def run(
    folder: Path, *texts: str, within: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """A script of these parts and texts, in a folder with the job's own folder `logs`.

    `within` is a command that starts others.
    """
    (folder / "logs").mkdir(exist_ok=True)
    beginning = (
        f"set -euo pipefail\nlogs={folder}/logs job=7 each_node=(true)\nsoftware() {{ :; }}\n"
    )
    script = beginning + "\n".join(
        part_text(ROWS[text]) if text in ROWS else text for text in texts
    )
    (folder / "script").write_text(f"#!/bin/bash\n{script}\n")
    return subprocess.run(
        [*within, "bash", f"{folder}/script"],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


TRAP = """trap 'end_job "$?"; exit "$status"' EXIT"""


def test_a_full_disk_hides_no_failure(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("status", "evidence"):
        (tmp_path / "logs" / name).symlink_to("/dev/full")
    done = run(tmp_path, "job/end-job", TRAP, "exit 42")
    assert done.returncode == 42
    assert f"jobgen: the job failed, with status 42: jobgen why 7 reads {tmp_path}" in done.stderr


def test_a_folder_that_cannot_be_removed_fails_no_job(tmp_path: Path) -> None:
    """On NFS, a file that somebody still has open stays, as .nfs…"""
    done = run(tmp_path, "job/end-job", "rm() { false; }", TRAP, "true")
    assert done.returncode == 0


RECORD = ("job/record", "host=n1")


def test_a_job_s_record(tmp_path: Path) -> None:
    """At the begin, then at the end; the script stays, too."""
    file = tmp_path / "7.json"
    file.write_text('{"job": "7", "script": "", "submitted": 1790000000}\n')
    ready = 'jobgen: n1 is ready, ::1 on lo: torch 2 "x\\y"\t\x1b, CUDA 12.6, 8 cores, memlock 1'
    answers = f"cat > \"$logs/roll-call\" << 'END'\nother line\n{ready}\nEND"
    done = run(tmp_path, *RECORD, "record", f"cp {file} begun", answers, "outside=so; record 3")
    assert (done.returncode, done.stdout) == (0, "")
    begun, ended = (json.loads(each.read_text()) for each in (tmp_path / "begun", file))
    script = (tmp_path / "script").read_bytes()
    digits = hashlib.sha256(script).hexdigest()
    assert (tmp_path / f"scripts/{digits}.sh").read_bytes() == script
    assert {name: begun[name] for name in ("job", "script", "nodes", "logs")} == {
        "job": "7",
        "script": digits,
        "nodes": "n1",
        "logs": "logs",
    }
    assert "end" not in begun
    assert (ended["status"], ended["outside"]) == (3, "so")
    assert abs(ended["end"] - ended["begin"]) < 60
    assert read_records(tmp_path)[0].versions == "torch 2 xy, CUDA 12.6"


@pytest.mark.parametrize("name", ["7.json.new", "7.json", "scripts"])
def test_a_record_that_cannot_be_written_fails_no_job(tmp_path: Path, name: str) -> None:
    if name == "7.json":
        (tmp_path / name / "x").mkdir(parents=True)
    else:
        (tmp_path / name).symlink_to("/dev/full")
    done = run(tmp_path, *RECORD, "job/end-job", "begin-record", TRAP, "echo ran; exit 0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")


@pytest.mark.slow
def test_a_record_is_whole_whenever_its_job_is_killed(tmp_path: Path) -> None:
    choose = random.Random(7)
    text = "\n".join(map(part_text, [ROWS["job/record"]]))
    loop = f"logs={tmp_path}/7 job=7 host=n1; mkdir -p $logs; {text}\nwhile true; do record 3; done"
    (tmp_path / "script").write_text(f"{loop}\n")
    for _ in range(30):
        with subprocess.Popen(["bash", tmp_path / "script"], stderr=subprocess.DEVNULL) as process:
            time.sleep(choose.uniform(0.02, 0.15))
            process.kill()
        for file in tmp_path.glob("*.json"):
            assert json.loads(file.read_text())["status"] == 3
        for file in tmp_path.glob("scripts/*.sh"):
            assert file.read_bytes() == (tmp_path / "script").read_bytes()


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


@pytest.mark.parametrize("answers", [True, False])
def test_nccl_is_asked_for_its_state_and_need_not_answer(tmp_path: Path, answers: bool) -> None:
    """By one line over TCP, as `echo verbose status | nc localhost 28028` of NCCL's guide."""
    with socket.create_server(("localhost", 0)) as server:
        if not answers:
            server.close()

        def answer() -> None:
            client = server.accept()[0]
            with client, client.makefile() as lines:
                client.sendall(f"Job summary\n{next(lines)}".encode())

        port = str(server.getsockname()[1]) if answers else "1"
        thread = threading.Thread(target=answer, daemon=True)
        if answers:
            thread.start()
        asks = 'ask_nccl > "$logs/ras" 2> /dev/null || echo nothing'
        done = run(tmp_path, "ask-nccl", asks, "echo on", ras_port=port)
    assert done.stdout == ("on\n" if answers else "nothing\non\n")
    text = (tmp_path / "logs/ras").read_text()
    assert text == ("Job summary\nverbose status\n" if answers else "")


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ("torch:plugin:old", "aws-ofi-nccl 1.14.0"),
        ("old:plugin", "aws-ofi-nccl 1.9.1"),
        ("torch", ""),
        ("", ""),
        ("absent::a b", "aws-ofi-nccl 1.17.2"),
    ],
)
def test_the_version_of_the_plug_in_that_is_found_first(
    tmp_path: Path, places: str, expected: str
) -> None:
    """By the text that the plug-in prints when it begins, in the file of NCCL's or of RCCL's."""
    files = {"torch/libnccl.so": "x", "plugin/libnccl-net.so": "1.14.0", "a b/lib": "x"}
    files |= {"old/libnccl-net-ofi.so": "1.9.1-aws", "a b/librccl-net.so": "1.17.2"}
    for name, version in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = f"\0NET/OFI Initializing aws-ofi-nccl {version}\0%s:%d\n\x7fELF\0"
        (tmp_path / name).write_bytes(text.encode())
    folders = ":".join(str(tmp_path / place) if place else "" for place in places.split(":"))
    own = f"LD_LIBRARY_PATH={folders!r}\nPATH=/usr/bin:/bin"
    done = run(tmp_path, own, "find-plugin", "find_plugin", 'echo "found ${plugin-}"')
    assert (done.returncode, done.stdout, done.stderr) == (0, f"found {expected}\n", "")


SCONTROL = """#!/bin/bash
[[ ! $3 ]] || printf '%s\\n' $3
"""
SRUN = """#!/bin/bash
if [[ $* == *run_node* ]]; then  # it ends well when c has started
  for ((look = 0; look < LOOKS; look++)); do [[ ! -e c.up ]] || exit 0; sleep 0.1; done
  exit 9
fi
[[ $* != *--nodelist=c* ]] || touch c.up
[[ $* != *--nodelist=b* ]] || echo "$B_SAYS" >&2
exec sleep 60
"""


@pytest.mark.slow
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
        LOOKS="20" if status == 9 else "80",
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


BOUND, FEWER = "launch.cpu_bind=none", "request.cpus_per_node=N"


@pytest.mark.parametrize(
    ("allowed", "all_cores", "cores", "of_step", "cure"),
    [
        (1, 64, 64, 64, BOUND),  # bound to one core, as by --cpu-bind=cores of a bare srun
        (2, 128, 64, 64, BOUND),  # to one with two hardware threads
        (16, 64, 64, 64, BOUND),  # to a quarter
        (17, 64, 64, 64, ""),
        (1, 64, 64, 1, FEWER),  # the step got one
        (1, 64, 4, None, FEWER),  # PBS: no number of a step
        (32, 64, 64, 64, ""),  # one hardware thread of each core
        (64, 64, 64, 64, ""),
        (2, 2, 128, 128, ""),  # the node has no more, whatever Slurm is told
        (1, 64, 1, 1, ""),  # the user's own number
        (1, 64, None, 1, ""),  # the profile binds
    ],
)
def test_ranks_that_would_share_few_of_the_cores(
    tmp_path: Path, allowed: int, all_cores: int, cores: int | None, of_step: int | None, cure: str
) -> None:
    nproc = f"nproc() {{ [[ $1 ]] && echo {all_cores} || echo {allowed}; }}"
    stand_ins = f'{nproc}\nenv() {{ nproc ""; }}\nfind_address() {{ address=10.9.0.1; }}\n'
    stand_ins += "check_torch() { torch=ok; }\nss() { :; }\nsoftware() { :; }"
    values = "host=n1 node=0 nodes=2 interface=ib0 port=1 SLURM_CPU_BIND=quiet,mask_cpu:0x1"
    values += f" cores={cores}" * (cores is not None)
    values += f" SLURM_CPUS_ON_NODE={of_step}" * (of_step is not None)
    fail = 'fail() { echo "jobgen: $host: $*"; exit 1; }'
    done = run(tmp_path, stand_ins, values, fail, "node/check-node", "check_node")
    text = f"{allowed} of {cores} cores for its ranks (bound: quiet,mask_cpu:0x1): --set {cure}\n"
    expected = f", {cores} expected" if cores else ""
    ready = f"jobgen: n1 is ready, 10.9.0.1 on ib0: ok, {allowed} cores{expected}, memlock "
    assert done.stdout.startswith(f"jobgen: n1: {text}" if cure else ready), done.stderr
    assert (done.returncode == 1) == bool(cure)


@pytest.mark.parametrize("address", ["10.9.0.{}", "fd00::{}"])
def test_the_roll_call_says_in_what_nodes_differ(tmp_path: Path, address: str) -> None:
    answers = [f"jobgen: n{n} is ready, {address.format(n)} on ib0: torch {n}" for n in (1, 2)]
    stand_in = f"timeout() {{ printf '%s\\n' {' '.join(map(repr, answers))}; }}"
    done = run(tmp_path, stand_in, "hosts=(n1 n2) nodes=2 join_timeout=9", "job/roll-call")
    differ = [f"jobgen: the nodes differ:      1 torch {n}" for n in (1, 2)]
    assert (done.returncode, done.stdout.splitlines()) == (0, answers + differ)


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


# What stands before `note_software` in a script.
BEFORE_AN_MPI = """
fail() { echo "jobgen: n1: $*"; exit 1; }
find_address() { :; }
host=n1 start_ranks=(mpiexec -n 2) each_node=(mpiexec -n 1) own='TMPDIR|_'
printf '%s\\n' '#!/bin/bash' 'echo "$LOADED"' > "$logs/job.sh"
software() { export LOADED=$'a "b"\\n$c' TMPDIR=/of/this/node PATH=$HERE:$PATH; }
"""


def with_an_mpi(*features: str) -> tuple[str, ...]:
    """What follows in a script that has these features."""
    names = ("job/show-set-up", "start/mpiexec", "note-software", "note-software-staged")
    names += ("software-noted", "start-there", "start-nodes-there")
    parts = [part for part in PARTS if part.name in names and part.is_for(frozenset(features))]
    return (BEFORE_AN_MPI, *map(part_text, parts))


def mpiexec(folder: Path, text: str) -> str:
    """A folder with an mpiexec."""
    (folder / "mpi").mkdir()
    (folder / "mpi/mpiexec").write_text(f"#!/bin/bash\n{text}\n")
    (folder / "mpi/mpiexec").chmod(0o755)
    return str(folder / "mpi")


def test_mpiexec_has_the_software_and_a_node_does_not(tmp_path: Path) -> None:
    here = mpiexec(tmp_path, 'echo "$0 $* $LOADED"')
    checks = 'echo "${LOADED-none}"\n"${start_ranks[@]}"\nLOADED=leaked bash -u "$logs/job.sh"'
    done = run(tmp_path, *with_an_mpi("mpi"), checks, HERE=here)
    assert done.stdout == f'none\n{here}/mpiexec -n 2 a "b"\n$c\n'
    assert "LOADED: unbound variable" in done.stderr
    text = (tmp_path / "logs/start").read_text()
    assert "/of/this/node" not in text
    assert (tmp_path / "logs/start").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [None, "PBS_MPI_SGIARRAY=  # as in the one that PBS has"])
def test_a_job_without_an_mpiexec_ends_with_the_cure(tmp_path: Path, text: str | None) -> None:
    here = mpiexec(tmp_path, text) if text else str(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("bash", "cat", "grep", "install", "rm", "sed"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    done = run(tmp_path, *with_an_mpi("mpi"), "echo on", HERE=here, PATH=str(tmp_path / "bin"))
    assert done.returncode == 1
    assert done.stdout.startswith("jobgen: n1: no mpiexec of an MPI on PATH after software(): ")
    assert "software.modules" in done.stdout
    assert "\non" not in done.stdout


def test_what_starts_the_nodes_makes_no_copy_of_the_environment(tmp_path: Path) -> None:
    here = mpiexec(tmp_path, "")
    stage = f"stage_values() {{ stage_from={here}; }}\nstage_environment() {{ touch copied; }}\n"
    stage += "software() { stage_environment; export PATH=$JOBGEN_STAGED:$PATH; }"
    before, *texts = with_an_mpi("mpi", "checked", "stage")
    done = run(tmp_path, before, stage, *texts, '"${start_ranks[@]}" && "${each_node[@]}"')
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "copied").exists()


@pytest.mark.parametrize(
    ("sleeps", "state", "requeued"),
    [
        (1, "RUNNING", True),  # the first node is gone
        (1, "COMPLETING", False),  # at the end of a job its nodes leave one after the other
        (0, "RUNNING", False),  # the TERM at that end reaches sleep before its shell
    ],
)
def test_only_a_running_job_without_its_first_node_is_queued_again(
    tmp_path: Path, sleeps: int, state: str, requeued: bool
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "nodes").write_text("0 n1 .\n1 n2 .\n")
    stand_ins = f"""
host=n2 hosts=(n1 n2) nodes=2 id=7 sleeps={sleeps}
sleep() {{ ((sleeps-- > 0)); }}
squeue() {{ [[ "$*" == *"-t "* && "$*" != *"-t {state}"* ]] || echo n2; }}
scontrol() {{ [[ $1 == show ]] && echo "${{3-}}" || echo "scontrol $*" >> calls; }}
scancel() {{ echo "scancel $*" >> calls; }}
"""
    done = run(tmp_path, stand_ins, "node/head-lost", "run_beside 10.0.0.1")
    calls = tmp_path / "calls"
    assert (calls.read_text() if calls.exists() else "") == "scontrol requeue 7\n" * requeued
    assert done.returncode == 0
