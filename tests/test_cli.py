"""The program as its users meet it: streams, exit codes, the same bytes everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest
import yaml

from jobgen import __version__, trainers
from jobgen.__main__ import run
from jobgen.cli.app import run_words
from jobgen.cli.commands import job_commands
from jobgen.cli.commands.job_commands import output_options
from jobgen.errors import JobgenError
from jobgen.keeper.carried import keeper_text
from jobgen.paths import bundled
from jobgen.planning.job_options import job_options
from jobgen.profiles.keys.software import ENGINES
from jobgen.scripts.parts import PARTS
from tests.golden_cases import script_of

ROOT = Path(__file__).parent.parent
SCHEDULERS = ["local", "qsub", "sbatch"]
HOSTILE = ["--", "a b", "new\nline", "$(id)", "it's", "é“", "-N", ""]


def jobgen(*words: str | bytes, **more: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "jobgen", *words]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run(command, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_stdout_is_the_script_and_nothing_else() -> None:
    done = jobgen("sbatch", "--profile", "mi210", "-N", "3")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == script_of("mi210-3-nodes")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "sbatch --profile mi210 -N3 --nodes 4 -o a.sh -e A=1 -eB=2 --submit -- train.py -- -x",
            {
                "profile": "mi210",
                "nodes": "4",
                "output": "a.sh",
                "environment": ("A=1", "B=2"),
                "submit": "true",
                "program": ("train.py", "--", "-x"),
            },
        ),
        (
            "sbatch --profile mi210 -e A=1 train.py --lr 0.1 -- -N 4 --submit",
            {
                "profile": "mi210",
                "environment": ("A=1",),
                "program": ("train.py", "--lr", "0.1", "--", "-N", "4", "--submit"),
            },
        ),
        (
            "sbatch --profile mi210 -e A -- python x -n 2 -- -m y.py",
            {
                "profile": "mi210",
                "environment": ("A",),
                "program": ("python", "x", "-n", "2", "--", "-m", "y.py"),
            },
        ),
        (
            "sbatch --profile= -p=x --exclusive --exclusive --mkdir --wait -- train.py -N 4",
            {
                "profile": "",
                "partition": "=x",
                "exclusive": "true",
                "mkdir": "true",
                "wait": "true",
                "program": ("train.py", "-N", "4"),
            },
        ),
        (
            "qsub --name -- -ojob.sh --set a=b=c -- -m x",
            {
                "name": "--",
                "output": "job.sh",
                "set_values": ("a=b=c",),
                "program": ("-m", "x"),
            },
        ),
        ("sbatch -phigh x", {"partition": "high", "program": ("x",)}),
        ("local - -h", {"program": ("-", "-h")}),
        ("local", {}),
        (
            "byhand --hosts a,b --output=x -- -m y",
            {"hosts": "a,b", "output": "x", "program": ("-m", "y")},
        ),
        ("interactive --profile mi210 -t 1:00:00 --", {"profile": "mi210", "time": "1:00:00"}),
    ],
)
def test_what_the_words_of_a_job_mean(line: str, expected: dict[str, object]) -> None:
    with mock.patch.object(job_commands, "run_job", return_value=3) as run_job:
        assert run_words(line.split()) == 3
    job, output = run_job.call_args.args
    fields = {**job._asdict(), **output}
    assert fields.pop("command") == line.split()[0]
    assert {name: fields.pop(name) for name in expected} == expected
    assert {*fields.values()} <= {None, ()}


@pytest.mark.parametrize(
    ("line", "exit_code"),
    [
        *[(line, 0) for line in ("sbatch -h", "sbatch --help", "local -N 2 --help", "sbatch -hN3")],
        *[(line, 2) for line in ("sbatch --nodez 3", "sbatch -Z", "sbatch --profile")],
        *[(line, 2) for line in ("sbatch --exclusive=x", "interactive train.py")],
        *[(line, 2) for line in ("local --submit", "byhand -t 1:00", "interactive -o x")],
    ],
)
def test_help_and_mistakes_run_no_job(line: str, exit_code: int) -> None:
    done = jobgen(*line.split())
    assert done.returncode == exit_code
    if exit_code:
        assert (done.stdout, done.stderr.count(b"Error: ")) == (b"", 1)
    else:
        assert done.stdout.startswith(f"Usage: jobgen {line.split()[0]} ".encode())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["sbatch"],
            "jobgen: --profile: no profile is named; one of `jobgen profiles list`;"
            " `jobgen detect` writes one for the cluster here [usage]\n",
        ),
        (["sbatch", "--profile", "local"], "is for local"),
        (["sbatch", "--profile", "mi210", "-N", "0"], "jobgen: -N: 0 is out of range"),
        (["sbatch", "--nodez", "3"], "No such option"),
        (["nope"], "No such command"),
        (["profiles", "show", "nope"], "no profile `nope`"),
        (["trainers", "show", "nope"], "no trainer `nope`"),
        (["templates", "show", "nope"], "no template `nope`"),
        (["machinery", "show", "keper"], "no part `keper`; did you mean `keeper`?"),
        (["machinery", "show", "../../base"], "no part `../../base`; "),
        (["local", "--stall", "5"], "No such option '--stall'; look yourself: `py-spy dump --pid"),
        (["profiles", "validate"], "Missing argument"),
        (["lint", "--colour", "x"], "No such option '--colour'; one of: --format, --select"),
        (["local", "-o", "/dev/null/x"], "jobgen: -o /dev/null/x: cannot be written: Not a dir"),
        (["local", "--set", "x=\x1b[31m"], "unknown key `x`"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_a_message_on_stderr(words: list[str], message: str) -> None:
    done = jobgen(*words)
    text = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in text
    assert "Traceback" not in text
    assert "\x1b" not in text


def test_a_missing_output_folder_is_mentioned_on_stderr() -> None:
    done = jobgen("sbatch", "--profile", "mi210", "--set", "request.output=logs/%j.out")
    message = b"jobgen: the job's output goes to logs, or is lost: create that folder first, or use"
    assert (done.returncode, done.stderr) == (0, message + b" --mkdir\n")
    assert b"#SBATCH --output=logs/%j.out\n" in done.stdout


def test_help_and_version() -> None:
    done = jobgen("--help")
    assert done.returncode == 0
    listed = done.stdout.decode().split("Write a script:\n")[1].split("Options:")[0].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ")]
    assert names == [
        *(
            "sbatch",
            "qsub",
            "local",
            "build",
            "check",
            "store",
            "lint",
            "rules",
            "interactive",
            "byhand",
        ),
        *("doctor", "why", "runs", "detect", "profiles", "trainers", "templates", "machinery"),
        *("completion", "page", "guard", "mcp", "agents-file"),
    ]
    assert jobgen("--version").stdout.decode() == f"jobgen, version {__version__}\n"


def test_validate_ends_with_1_when_it_finds_something() -> None:
    errors = ROOT / "tests/errors"
    done = jobgen("profiles", "validate", "good.yaml", "choice.yaml", cwd=errors)
    assert done.returncode == 1
    assert done.stdout == (errors / "choice.out").read_bytes()
    assert done.stderr == b"jobgen: 1 of 2 profiles are valid\n"
    assert jobgen("profiles", "validate", "good.yaml", cwd=errors).returncode == 0


@pytest.mark.parametrize(
    ("lines", "warning"),
    [
        (
            "scheduler: pbs\nrequest: {place: pack}\n",
            "a.yaml:2:18: for two nodes: `pack` may put two chunks on one node",
        ),
        ("scheduler: pbs\nlimits: {nodes: 1}\nrequest: {place: pack}\n", ""),
        (
            "scheduler: slurm\nrequest: {spares: 2}\n",
            "a.yaml:2:19: for one node: a job of one node",
        ),
        ("scheduler: slurm\nrequest: {nodes: 4, min_nodes: 3}\n", ""),
        ("scheduler: slurm\nlaunch: {launcher: node}\n", ""),
        ("scheduler: pbs\nlaunch: {signal: 60}\n", ""),  # the job gives the walltime
        ("scheduler: local\nnode: {gpus: 2, gpu: nvidia}\n", ""),
        ("launch: {launcher: srun}\n", ""),  # a base
    ],
)
def test_validate_warns_of_what_some_jobs_are_refused(
    lines: str,
    warning: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(lines)
    assert run_words(["profiles", "validate", "a.yaml"]) == 0
    output = capsys.readouterr()
    *warnings, count = output.err.splitlines()
    assert (output.out, count) == ("", "jobgen: 1 of 1 profiles are valid")
    assert len(warnings) == bool(warning)
    assert "".join(warnings).startswith(f"jobgen: warning: {warning}" if warning else "")


def test_a_shown_profile_is_yaml_with_every_value_and_its_origin(tmp_path: Path) -> None:
    done = jobgen("profiles", "show", "mi210", "--set", "node.gpu=none", cwd=tmp_path)
    shown = yaml.safe_load(done.stdout)
    assert (shown["node"]["gpus"], shown["node"]["gpu"]) == (8, "none")
    assert shown["network"]["environment"]["NCCL_NET"]["value"] == "IB"
    lines = done.stdout.decode().splitlines()
    origins = {
        line.split(":")[0].strip(): line.split("  # ")[-1] for line in lines if "  # " in line
    }
    assert origins["gpu"] == "--set node.gpu"
    assert origins["gpus"] == f"{ROOT}/profiles/mi210.yaml:13:9"
    assert origins["max_restarts"] == "jobgen's default"
    (tmp_path / "shown.yaml").write_text(done.stdout.decode())
    done = jobgen("profiles", "show", "./shown.yaml", cwd=tmp_path)
    assert yaml.safe_load(done.stdout) == shown


def test_a_shown_profile_does_not_turn_the_text_of_a_terminal(tmp_path: Path) -> None:
    text = "a\u202eb\u2069c\U000e0001 é"
    done = jobgen("profiles", "show", "local", "--set", f"description={text}", cwd=tmp_path)
    shown = done.stdout.decode()
    assert "é" in shown
    assert shown.replace("\n", "").isprintable()
    assert yaml.safe_load(shown)["description"] == text


def test_profiles_trainers_and_templates_are_listed() -> None:
    lines = jobgen("profiles").stdout.decode().partition("\n\n")[0].splitlines()
    aws = ["aws-cpu", "aws-cpu-container", "aws-nvidia"]
    assert lines[0] == "Tutorials' systems:"
    assert [line.split()[0] for line in lines[1:]] == [*aws, "dgx-a100", "eap", "local", "mi210"]
    assert jobgen("trainers", "list").stdout.decode() == (
        "cifar10_vgg  VGG11 on CIFAR-10 with DDP, on one device or on many nodes,"
        " that resumes exactly.\n"
        "doctor       Is this machine fit, and which node is slow: nodes, disks,"
        " each pair's network, all-reduces.\n"
        "elastic_ddp  One DDP step of a toy model on every rank:"
        " does the launch work, and do the ranks meet?\n"
        "regression   A linear regression with DDP, on one device or on many nodes,"
        " that resumes exactly.\n"
    )
    launchers = [f"launchers/{name}" for name in ("node", "rank", "rendezvous", "torchrun")]
    engines = [f"containers/{name}" for name in sorted([*ENGINES, "oci"])]
    names = ["base", "byhand", *engines, *launchers, *SCHEDULERS]
    assert jobgen("templates").stdout.decode().split() == [f"{name}.sh.j2" for name in names]
    assert json.loads(jobgen("profiles", "schema").stdout)["type"] == "object"


def test_the_parts_of_the_machinery() -> None:
    lines = jobgen("machinery", "list").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == [*(part.name for part in PARTS), "keeper", "lead"]
    listed = [re.split("  +", line) for line in lines]
    comment = "The roll call: all nodes are ready, or the job ends here and says which are not."
    assert ["job/roll-call", "roll_call", comment] in listed
    assert ["job/choose-nodes", "spares"] in [each[:2] for each in listed]


def test_a_part_is_shown_as_a_script_has_it() -> None:
    shown = jobgen("machinery", "show", "job/roll-call", "task-number").stdout.decode()
    file = bundled("templates") / "machinery/job/roll-call.sh"
    assert shown == f"{file.read_text()}\nhost=$SLURMD_NODENAME node=$SLURM_NODEID\n"
    assert jobgen("machinery", "show", "keeper").stdout.decode() == keeper_text(False)
    assert jobgen("machinery", "show", "lead").stdout.decode() == keeper_text(True)


def test_export_does_not_overwrite(tmp_path: Path) -> None:
    assert jobgen("trainers", "export", "elastic_ddp", cwd=tmp_path).returncode == 0
    text = trainers.source("elastic_ddp")
    assert (tmp_path / "elastic_ddp.py").read_text() == text
    assert jobgen("trainers", "show", "elastic_ddp").stdout.decode() == text
    assert jobgen("trainers", "export", "elastic_ddp", cwd=tmp_path).returncode == 2
    (tmp_path / "doctor.py").symlink_to("elsewhere.py")
    assert jobgen("trainers", "export", "doctor", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "elsewhere.py").exists()


@pytest.mark.parametrize("line", ["sbatch --profile mi210", "--help", "--version"])
def test_a_closed_pipe_is_no_traceback(line: str) -> None:
    pipe = f"set -o pipefail; {sys.executable} -m jobgen {line} | true"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("word", ["local", "--help", "--version"])
def test_a_full_disk_is_one_message(word: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = jobgen(word, stdout=full)
    message = b"jobgen: standard output: cannot be written: No space left on device [output]\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_the_header_makes_the_same_script_again(tmp_path: Path) -> None:
    words = ["sbatch", "--profile", "dgx-a100", "--name=-x y", "-e", "A=\n$(id)\x01", "--set"]
    words += ["node.gpu=none", "-t90", "-o", "job.sh", "--", "train.py", *HOSTILE]
    assert jobgen(*words, b"\xff\xfe", cwd=tmp_path).returncode == 0
    text = (tmp_path / "job.sh").read_bytes()
    command = text.splitlines()[2].decode().removeprefix("#   jobgen ")
    assert "job.sh" not in command
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m jobgen {command}"], capture_output=True, check=True
    )
    assert done.stdout == text


def other_pythons() -> list[str]:
    """Other Pythons of this machine that run, 3.10 to 3.13."""
    versions = [f"3.{minor}" for minor in (10, 11, 12, 13)]
    on_path = [shutil.which(f"python{version}") for version in versions]
    of_pyenv = sorted(Path("~/.pyenv/versions").expanduser().glob("3.1[0-3].*/bin/python3"))
    return [
        python
        for python in [*filter(None, on_path), *map(str, of_pyenv)]
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    ]


@pytest.mark.thorough
@pytest.mark.slow
def test_the_script_has_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """Any folder, locale, hash seed, home and Python: the same input is the same script."""
    words = ["-m", "jobgen", *"sbatch --profile mi210 -N 3 -J é -- ü.py “x”".split()]
    packages = [find_spec(name) for name in ("click", "hostlist", "jinja2", "markupsafe", "yaml")]
    # A virtual environment may take some packages from the system.
    folders = {
        str(Path(spec.origin).parents[1 if spec.submodule_search_locations else 0])
        for spec in packages
        if spec and spec.origin
    }
    pythons = [sys.executable, *other_pythons()]
    if len(pythons) == 1:
        pytest.skip("no other Python 3.10 to 3.13 on this machine")
    variations = [
        {"LC_ALL": "C", "PYTHONHASHSEED": "0"},
        {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1", "HOME": "/nowhere"},
        {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ]
    scripts = set()
    for python in pythons:
        for variation in variations:
            path = {"PYTHONPATH": ":".join([str(ROOT), *folders]), "PATH": os.environ["PATH"]}
            done = subprocess.run(
                [python, *words],
                env={**path, **variation},
                cwd=tmp_path,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, (python, done.stderr.decode())
            scripts.add(done.stdout)
    assert len(scripts) == 1


def test_mkdir_creates_the_folder_of_the_output(tmp_path: Path) -> None:
    words = ("sbatch", "--mkdir", "--profile", "dgx-a100", "-J", "x y", "--set")
    done = jobgen(*words, "request.output=a/%x/%j.out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "a/x y").is_dir()
    without = jobgen("sbatch", *words[2:], "request.output=a/%x/%j.out", cwd=tmp_path)
    assert done.stdout == without.stdout  # it is about this machine, not about the script
    (tmp_path / "file").write_text("")
    done = jobgen(*words, "request.output=file/x/%j.out", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"jobgen: --mkdir: file/x: Not a directory [output]\n"
    done = jobgen(*words, "request.output=%j/x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: --set request.output: the output's folder has %j in it")
    done = jobgen(*words, "request.output=new/%j.out", "-o", "own.sh", cwd=tmp_path)
    assert done.returncode == 0
    (tmp_path / "own.sh").write_text("echo mine\n")
    done = jobgen(*words, "request.output=other/%j.out", "-o", "own.sh", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(b"jobgen: -o own.sh: there is a file of this name that jobgen")
    assert not (tmp_path / "other").exists()


def test_an_array_of_equal_jobs_is_reported(tmp_path: Path) -> None:
    words = ("sbatch", "--profile", "dgx-a100", "--array", "0-1", "--trainer", "regression", "--")
    message = (
        b"jobgen: every job of the array runs the same command:"
        b" use %a in the arguments for the array index"
    )
    assert jobgen(*words, "5", cwd=tmp_path).stderr == message + b"\n"
    assert jobgen(*words, "5", "1", "--seed", "%a", cwd=tmp_path).stderr == b""


# A wrong value for every option that takes one.
WRONG = {
    "--log-dir": "a\nb",
    "--stall": "0",
    "--chain": "1",
    "--profile": "nope",
    "--hosts": "a[1-",
    "-N": "x",
    "-G": "4,2",
    "-t": "soon",
    "-J": "a/\n",
    "-p": "a b",
    "-q": "a b",
    "-A": "a\x1bb",
    "--qos": "a b",
    "--reservation": "-x",
    "-C": "a b",
    "--array": "1-x",
    "--after": "12:well",
    "--mail": "a b",
    "--mail-on": "always",
    "--trainer": "nope",
    "--code": "nope",
    "-e": "NO-NAME",
    "--set": "node.gpuz=1",
    "--directive": "nice",
    "--launcher": "mpirun",
    "--rendezvous": "etcd",
    "--max-restarts": "-1",
    "--signal": "soon",
    "--template": "nope.j2",
    "-o": "/dev/null/x",
    "--host": "-oProxyCommand=true",
}


@pytest.mark.parametrize("command", ["sbatch", "qsub", "local", "interactive", "byhand"])
def test_a_wrong_value_is_one_message_and_no_file_is_written(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    profile = {"qsub": "eap", "local": "local"}.get(command, "mi210")
    rows = [row for _, row in (*job_options(command), *output_options(command).items())]
    base = [command, "--profile", profile, *(["--hosts", "a"] if command == "byhand" else [])]
    for row in rows:
        if not row.metavar:
            continue
        words = [*base, f"{row.flags[0]}={WRONG[row.flags[0]]}"]
        if row.flags[0].startswith("-") and not row.flags[0].startswith("--"):
            words = [*base, row.flags[0], WRONG[row.flags[0]]]
        if row.flags[0] != "-o" and command != "interactive":
            words += ["-o", "job.sh"]
        monkeypatch.setattr("sys.argv", ["jobgen", *words])
        with pytest.raises(SystemExit) as exit_info:
            run()
        output, message = capfd.readouterr()
        assert (exit_info.value.code, output) == (2, ""), (words, message)
        assert message.startswith("jobgen: "), (words, message)
        assert len(message.splitlines()) == 1, (words, message)
        assert not list(tmp_path.iterdir()), words


@pytest.mark.parametrize("before", [(), ("bash",), ("--profile", "mi210", "--", "bash")])
def test_a_batch_script_is_no_program(
    before: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.sh").write_text("#!/bin/bash\n# of a colleague\n#SBATCH -N 2\nsrun train\n")
    with pytest.raises(JobgenError, match=r"'job.sh' is a batch script \(line 3: #SBATCH -N 2\)"):
        run_words(["sbatch", *before, "job.sh"])
    started = "srun python -u train.py --lr 1 \\\n  --seed 2 > log\n"
    Path("job.sh").write_text(f"#!/bin/bash\n#SBATCH -N 2\n# python old.py\n{started}")
    with pytest.raises(JobgenError, match=r"it: -- train.py --lr 1 --seed 2; its other"):
        run_words(["sbatch", *before, "job.sh"])
    Path("job.sh").write_text("#!/bin/bash\npython train.py\n")
    assert run_words(["sbatch", "--profile", "mi210", "--", "bash", "job.sh"]) == 0
