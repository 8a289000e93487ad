"""Generated local jobs, run here with real torch processes; and the trainer by itself."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobgen import trainers
from jobgen.runs.records import read_records
from tests.helpers import unlabelled
from tests.run_trainers import carried

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch", reason="ranks need torch: pip install '.[trainers]'")
launcher_api = pytest.importorskip("torch.distributed.launcher.api")

TRAINER = str(carried("elastic_ddp"))
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PATH": PATH, **more}


def job(*words: str, cwd: Path) -> str:
    """The path of the script that `jobgen local` writes for these words."""
    command = [sys.executable, "-m", "jobgen", "local", "-o", "job.sh", *words]
    subprocess.run(command, cwd=cwd, check=True)
    return str(cwd / "job.sh")


def run(*words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The job; stdout and stderr are without labels."""
    done = subprocess.run(
        [job(*words, cwd=cwd)],
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    done.stdout, done.stderr = unlabelled(done.stdout), unlabelled(done.stderr)
    return done


def reported(output: str) -> list[int]:
    line = r"^Start running basic DDP example on rank (\d+)\. \(node .+, device \w+, backend \w+\)$"
    return sorted(map(int, re.findall(line, output, re.MULTILINE)))


# A rank that only shows its number; importing torch would take seconds.
SHOW = "import os, sys\nsys.stdout.write('rank ' + os.environ['RANK'] + '\\n')\n"


def test_every_rank_reports_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    done = run(cwd=tmp_path, TMPDIR=str(tmp_path / "tmp"))
    assert (done.returncode, reported(done.stdout)) == (0, [0, 1, 2, 3]), done.stderr
    assert "All 4 ranks took one DDP step together: mean loss " in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.sh", "jobgen-logs", "tmp"]
    (record,) = read_records(tmp_path / "jobgen-logs")
    assert (record.status, record.outside) == (0, "")
    assert record.script_file.read_bytes() == (tmp_path / "job.sh").read_bytes()
    assert record.versions.startswith("torch 2.")
    assert not (tmp_path / "jobgen-logs" / record.job).exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        pytest.param(("-N", "1"), 2, marks=pytest.mark.thorough),
        (("-N", "3", "--rendezvous", "static", "--set", "launch.processes_per_node=1"), 3),
    ],
)
def test_other_numbers_of_ranks(tmp_path: Path, words: tuple[str, ...], ranks: int) -> None:
    (tmp_path / "show.py").write_text(SHOW)
    done = run(*words, "--", "show.py", cwd=tmp_path)
    found = sorted(re.findall(r"^rank \d$", done.stdout, re.MULTILINE))
    assert (done.returncode, found) == (0, [f"rank {rank}" for rank in range(ranks)]), done.stderr


@pytest.mark.thorough
def test_stray_options_of_torchrun_do_nothing(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(SHOW)
    words = ("-N", "1", "--", "show.py")
    done = run(*words, cwd=tmp_path, PET_NPROC_PER_NODE="7", PET_NNODES="9")
    found = sorted(re.findall(r"^rank \d$", done.stdout, re.MULTILINE))
    assert (done.returncode, found) == (0, ["rank 0", "rank 1"])


@pytest.mark.thorough
def test_options_of_the_program_are_none_of_torchrun_s(tmp_path: Path) -> None:
    """--n is the beginning of several of torchrun's."""
    (tmp_path / "show.py").write_text("import sys\nprint(sys.argv[1:])\n")
    words = ("--n=1", "--nnodes", "7", "--", "-m", "--help")
    one = ("-N", "1", "--set", "launch.processes_per_node=1", "--")
    done = run(*one, "show.py", *words, cwd=tmp_path)
    assert (done.returncode, f"{list(words)}\n" in done.stdout) == (0, True), done.stderr
    done = run(*one, "-m", "show", *words, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.returncode, f"{list(words)}\n" in done.stdout) == (0, True), done.stderr
    done = run(*one, "echo", *words, cwd=tmp_path)
    assert (done.returncode, f"{' '.join(words)}\n" in done.stdout) == (0, True), done.stderr


def test_a_missing_program(tmp_path: Path) -> None:
    """Once: all nodes are this machine."""
    done = run("--", "nothere.py", cwd=tmp_path)
    text = f"no program nothere.py in {tmp_path}: go to its folder"
    assert done.returncode == 1
    assert done.stderr == f"jobgen: {socket.gethostname()}: {text}\n"


def sleepers(mark: str) -> list[int]:
    """Processes whose command line has `mark`."""
    done = subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True, check=False)
    return [int(pid) for pid in done.stdout.split()]


def test_one_failed_rank_stops_all(tmp_path: Path) -> None:
    program = tmp_path / f"fail-{os.getpid()}.py"
    program.write_text(
        "import os, sys, time\nif os.environ['RANK'] == '3': sys.exit(7)\ntime.sleep(1000)\n"
    )
    done = run("--", program.name, cwd=tmp_path)
    assert done.returncode == 7
    assert sleepers(program.name) == []


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)]
)
def test_a_stopped_job_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    program = tmp_path / f"sleep-{number.name}-{os.getpid()}.py"
    text = "import os, time\nopen('on' + os.environ['RANK'], 'w').close()\ntime.sleep(1000)\n"
    program.write_text(text)
    script = job("--", program.name, cwd=tmp_path)
    # bash cannot trap what is ignored from the start, as SIGINT is below a shell's `&`.
    running = subprocess.Popen(
        [script],
        cwd=tmp_path,
        env=environment(),
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    limit = time.monotonic() + 180
    while len(list(tmp_path.glob("on?"))) < 4:
        assert running.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.1)
    running.send_signal(number)
    assert running.wait(120) == 128 + number
    while found := sleepers(program.name):
        assert time.monotonic() < limit + 60, found
        time.sleep(0.1)


def test_the_trainer_by_itself() -> None:
    done = subprocess.run([sys.executable, TRAINER], capture_output=True, text=True, check=True)
    assert reported(done.stdout) == [0]


@pytest.mark.thorough
def test_the_trainer_as_srun_starts_it(tmp_path: Path) -> None:
    """Ranks from SLURM_PROCID, where a MASTER_ADDR says that there are several."""
    ranks = [
        subprocess.Popen(
            [sys.executable, TRAINER],
            env=environment(
                SLURM_PROCID=str(rank),
                SLURM_NTASKS="2",
                SLURM_LOCALID=str(rank),
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT="28123",
            ),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    output = "".join(rank.communicate(timeout=120)[0] for rank in ranks)
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert reported(output) == [0, 1]


def test_no_trainer_has_the_words_that_end_it_in_a_script() -> None:
    """The heredoc's end; and a line that sbatch would take for a directive."""
    for name in trainers.names():
        for line in trainers.source(name).splitlines():
            assert line != "PYTHON"
            assert not line.startswith(("#SBATCH", "#PBS", "#BSUB"))


def test_what_runs_once_on_a_node_runs_once_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('a rank')\n")
    lines = ("--set", "software.once_per_node=[echo made >> made]", "-N", "2")
    done = run(*lines, "--", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "made").read_text() == "made\n"


STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("began", flush=True)
time.sleep(3600)
"""


def test_torchrun_waits_for_ranks_as_long_as_the_variable_says(tmp_path: Path) -> None:
    """The profile's `launch.kill_delay`, in place of its own 30 s."""
    if "TORCH_ELASTIC_SHUTDOWN_TIMEOUT" not in Path(launcher_api.__file__).read_text():
        pytest.skip("this torch does not have it: 2.12 and newer do")
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    words = ["torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "stubborn.py"]
    with subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=tmp_path,
        env=environment(TORCH_ELASTIC_SHUTDOWN_TIMEOUT="2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "began\n"
        began = time.monotonic()
        process.terminate()
        stderr = process.communicate()[1]
    assert "forcefully exiting via" in stderr
    assert 2 <= time.monotonic() - began < 25, stderr
