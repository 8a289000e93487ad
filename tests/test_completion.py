"""What real shells offer with the scripts of `jobgen completion`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Each prints what its shell offers for the line $1, one offer a line; `file` means file names.
SHELLS = {
    "bash": """
        source "$2"
        compopt() { [[ $* == "-o default" ]] && echo file; }
        COMP_LINE=$1 COMP_POINT=${#1}
        _jobgen_completion jobgen
        printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "zsh": """
        compdef() { :; }
        compadd() { local name=$argv[-1]; print -l -- ${(P)name}; }
        _describe() { local name=$argv[-2]; print -l -- ${${(P)name}%%:*}; }
        _path_files() { print file; }
        line=$1; file=$2; shift 2
        source $file
        words=("${(@z)line}")
        [[ $line == *' ' ]] && words+=("")
        CURRENT=$#words
        _jobgen_completion
    """,
    "fish": """
        source $argv[2]
        function __fish_complete_path; echo $argv[1]/a-file; end
        complete --do-complete $argv[1] | string replace --regex '\\t.*|.*/a-(?=file)' ''
    """,
}
ARGUMENTS = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}


JOBGEN = [sys.executable, "-m", "jobgen"]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH that has a `jobgen`, and the scripts for the shells."""
    folder = tmp_path_factory.mktemp("bin")
    file = folder / "jobgen"
    file.write_text(f'#!/bin/sh\nexec {shlex.join(JOBGEN)} "$@"\n')
    file.chmod(0o755)
    for shell in SHELLS:
        done = subprocess.run([*JOBGEN, "completion", shell], capture_output=True, check=True)
        (folder / f"{shell}.script").write_bytes(done.stdout)
    return folder


@pytest.fixture
def folder(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, with profiles that are broken, missing, or have names to be quoted."""
    monkeypatch.setenv("PATH", str(program), prepend=os.pathsep)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JOBGEN_PROFILES", f"{tmp_path}/no/such/folder:/etc/passwd")
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    (profiles / "mine.yaml").write_text("scheduler: [slurm\n\t}")
    (profiles / "a b$(touch ran).yaml").write_text("")
    (profiles / os.fsdecode(b"mi\xff\n.yaml")).write_text("")
    (profiles / "mirage.yaml").symlink_to("nowhere.yaml")
    return tmp_path


def offers(shell: str, line: str, folder: Path) -> list[str]:
    """What a shell offers for a line, sorted."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    script = Path(os.environ["PATH"].split(os.pathsep)[0]) / f"{shell}.script"
    name = ["_"] if shell != "fish" else []  # $0
    command = [shell, *ARGUMENTS[shell], SHELLS[shell], *name, line, str(script)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return sorted(done.stdout.split())


COMMANDS = "agents-file build byhand check completion detect doctor guard interactive lint local"
COMMANDS += " machinery mcp page profiles qsub rules runs sbatch store templates trainers why"


@pytest.mark.thorough
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("jobgen ", COMMANDS),
        ("jobgen s", "sbatch store"),
        ("jobgen store ", "build list remove"),
        ("jobgen profiles ", "explain list proof prove schema show update validate"),
        ("jobgen sbatch --la", "--launcher"),
        ("jobgen sbatch --profile eap -N", "-N"),
        ("jobgen sbatch --profile mi", "file mi210 mine"),
        ("jobgen profiles show fabrics/s", "fabrics/slingshot file"),
        ("jobgen sbatch -t 1:30:00 -N 2:4 -e A=b:c --trainer re", "regression"),
        ("jobgen sbatch --launcher ", "mpiexec node srun torchrun"),
        ("jobgen qsub -J 'my run' --rendezvous s", "static"),
        ("jobgen trainers export c", "cifar10_vgg"),
        ("jobgen templates show q", "qsub.sh.j2"),
        ("jobgen machinery ", "list show"),
        ("jobgen machinery show keeper node/check-n", "node/check-node"),
        ("jobgen completion ", "bash fish zsh"),
        ("jobgen sbatch -o ", "file"),
        ("jobgen sbatch --template ", "file"),
        ("jobgen profiles validate ", "file"),
        ("jobgen sbatch --profile mi210 -- ", "file"),
        ("jobgen sbatch --profile mi210 train.py --no", "file"),
        ("jobgen sbatch -J ", ""),
        ("jobgen sbatch --nonsense --profile x y ", "file"),
    ],
)
def test_a_shell_offers_what_fits(shell: str, line: str, words: str, folder: Path) -> None:
    assert offers(shell, line, folder) == words.split()
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_value_after_an_equals_sign_is_completed(shell: str, folder: Path) -> None:
    """bash replaces what follows the =, the others the whole word."""
    option = "" if shell == "bash" else "--launcher="
    assert offers(shell, "jobgen sbatch --launcher=s", folder) == [f"{option}srun"]


def complete(folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """The program as a shell calls it for completion; stderr lists the imports."""
    command = [sys.executable, "-X", "importtime", "-m", "jobgen"]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


def test_completion_imports_little(folder: Path) -> None:
    done = complete(
        folder, _JOBGEN_COMPLETE="bash_complete", COMP_WORDS="jobgen sbatch --profile mi2"
    )
    assert done.stdout == b"plain,mi210\nfile,mi2\n"
    imported = {line.split(b"|")[-1].strip() for line in done.stderr.splitlines()}
    assert b"jobgen.cli.completion" in imported
    packages = {name.split(b".")[0] for name in imported}
    assert packages & {b"yaml", b"jinja2", b"torch"} == set()
    modules = {b"jobgen.planner", b"jobgen.planning.plan", b"jobgen.profiles.kinds"}
    assert imported & modules == set()


@pytest.mark.parametrize(
    "variables",
    [
        {"_JOBGEN_COMPLETE": "bash_complete"},
        {"_JOBGEN_COMPLETE": "tcsh_complete", "COMP_WORDS": "jobgen "},
        {"_JOBGEN_COMPLETE": "zsh_complete", "COMP_WORDS": "jobgen ", "COMP_CWORD": "x"},
        {"_JOBGEN_COMPLETE": "1"},
    ],
)
def test_a_wrong_call_by_a_shell_has_no_output(variables: dict[str, str], folder: Path) -> None:
    done = complete(folder, **variables)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(b"import time:")]
    assert (done.returncode, done.stdout.strip(), lines) == (1, b"", [])


def test_an_unknown_shell_is_refused() -> None:
    done = subprocess.run(
        [*JOBGEN, "completion", "tcsh"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in done.stderr
