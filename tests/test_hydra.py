"""`hydra/launcher=jobgen` on an emulated Slurm and on this machine, and what it refuses."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from jobgen.api.calls import ARGUMENTS
from tests.helpers import jobgen as program
from tests.hostile import HOSTILE
from tests.test_api_submit import Slurm, slurm  # noqa: F401

pytest.importorskip("hydra", reason="hydra-core is not installed: pip install '.[hydra]'")
pytestmark = pytest.mark.slow  # each starts programs of Hydra

CONFIG = "lr: 1\nwaits: false\n"
PROGRAM = """
import hydra
from hydra.core.hydra_config import HydraConfig


@hydra.main(version_base="1.3", config_path=".", config_name="config")
def main(cfg):
    print("lr", cfg.lr, HydraConfig.get().job.num)
    return [cfg.lr, 2] if cfg.waits else None


if __name__ == "__main__":
    main()
"""


def overrides(**fields: Any) -> list[str]:
    """The launcher with its fields, as a user types them."""
    words = ["hydra/launcher=jobgen"]
    for name, value in fields.items():
        if isinstance(value, Mapping):
            words += [f"hydra.launcher.{name}.{key}={_typed(item)}" for key, item in value.items()]
        else:
            words.append(f"hydra.launcher.{name}={_typed(value)}")
    return words


def _typed(value: Any) -> str:
    if value is None:
        return "null"
    return f"'{value}'" if isinstance(value, str) and not value.isalnum() else str(value)


def run(
    folder: Path, *words: str, start: tuple[str, ...] = ("train.py",), **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *start, *words],
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def app(slurm: Slurm) -> Path:  # noqa: F811
    """The folder of an emulated Slurm, with a program of Hydra."""
    (slurm.folder / "train.py").write_text(PROGRAM)
    (slurm.folder / "config.yaml").write_text(CONFIG)
    return slurm.folder


SLURM = overrides(profile="dgx-a100", nodes=2, time="1:30:00", set_values={"request.memory": "64G"})


def folders(app: Path) -> list[Path]:
    return sorted(app.glob("multirun/*/*/*/"))


def words_of(script: Path) -> list[str]:
    """The program of a script and its arguments."""
    command = script.read_text().splitlines()[2].removeprefix("#   ")
    return shlex.split(command.partition(" -- ")[2])


def test_the_fields_are_the_arguments_of_the_api() -> None:
    from hydra_plugins.jobgen_launcher.config import OWN_FIELDS, JobgenConf

    made = {"hosts", "array", "folder", "environ", "command"}  # by the launcher, or not at all
    fields = {each.name for each in dataclasses.fields(JobgenConf)}
    assert fields == (set(ARGUMENTS) - made) | {"profile", "_target_"} | set(OWN_FIELDS)


def test_each_job_is_a_script_in_its_own_folder_that_was_submitted(app: Path) -> None:
    done = run(app, "-m", *SLURM, "lr=2,3")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"#(\d) : (\S+) : (\d+)\n", done.stdout) == [
        ("0", "lr=2", "12"),
        ("1", "lr=3", "13"),
    ]
    for number, folder in enumerate(folders(app)):
        script = folder / "job.sh"
        own = [f"hydra.run.dir={folder}", f"hydra.job.num={number}", "hydra.mode=RUN"]
        arguments = ["train.py", f"lr={number + 2}", *own]
        assert words_of(script) == arguments
        options = ["--profile", "dgx-a100", "-N", "2", "-t", "1:30:00"]
        options += ["--set", "request.memory=64G"]
        expected = program("sbatch", *options, "--", *arguments, cwd=app).stdout
        assert script.read_bytes() == expected == (app / f"scripts/{12 + number}").read_bytes()
        assert (app / f"jobgen-logs/{12 + number}.json").exists()


def test_jobs_have_the_flags_and_overrides_that_are_not_of_the_sweep(app: Path) -> None:
    (app / "other").mkdir()
    (app / "other/small.yaml").write_text("lr: 1\nwaits: false\nhydra: {mode: MULTIRUN}\n")
    flags = ("--config-dir", "other", "-cn", "small")
    own = ("hydra.job.chdir=true", "hydra.sweep.subdir='lr=${lr},x'", "hydra.sweep.dir=out")
    done = run(app, *flags, *SLURM, *own, "lr=2,3", "+a.b=[1,2]")
    assert done.returncode == 0, done.stderr
    folder = app / "out" / "lr=2,x"
    assert words_of(folder / "job.sh") == [
        *("train.py", "--config-name=small", "--config-dir=other", "lr=2", "+a.b=[1,2]"),
        *("hydra.job.chdir=true", f"hydra.run.dir='{folder}'", "hydra.job.num=0"),
        "hydra.mode=RUN",
    ]
    shown = run(app, *words_of(folder / "job.sh")[1:], "--cfg=hydra", "--package=hydra.run.dir")
    assert shown.stdout == f"{folder}\n", shown.stderr


def test_a_program_may_be_a_module(app: Path) -> None:
    (app / "inner").mkdir()
    (app / "inner/train.py").write_text(PROGRAM)
    (app / "inner/config.yaml").write_text(CONFIG)
    done = run(app, "-m", *SLURM, "lr=2", start=("-m", "inner.train"))
    assert done.returncode == 0, done.stderr
    assert words_of(folders(app)[0] / "job.sh")[:3] == ["-m", "inner.train", "lr=2"]


def test_cfg_shows_the_fields_and_the_command(app: Path) -> None:
    shown = run(app, "--cfg=hydra", "--package=hydra.launcher", *SLURM, "lr=2").stdout
    assert "\nprofile: dgx-a100\nnodes: 2\n" in shown
    begin = "jobgen sbatch --profile dgx-a100 -N 2 -t 1:30:00 --set request.memory=64G"
    for more in ("--package=hydra.launcher.command", "--package=hydra.launcher --resolve"):
        shown = run(app, "--cfg=hydra", *more.split(), *SLURM, "lr=2").stdout
        assert begin in shown
        assert " -- train.py lr=2\n" in shown


def test_the_fields_are_completed(app: Path) -> None:
    line = "python train.py hydra/launcher=jobgen hydra.launcher.res"
    done = run(app, "-sc", "query=bash", COMP_LINE=line, COMP_POINT=str(len(line)), COMP_CWORD="3")
    assert "hydra.launcher.reservation=" in done.stdout, done.stderr


def test_the_profile_may_be_in_the_environment(app: Path) -> None:
    done = run(app, "-m", "hydra/launcher=jobgen", "lr=2", JOBGEN_PROFILE="dgx-a100")
    assert done.returncode == 0, done.stderr


REFUSED: dict[str, dict[str, Any]] = {
    "hydra.launcher.profile: no profile is named; one of `jobgen profiles list`": {"profile": None},
    "hydra.launcher.nodes: 0 is out of range": {"nodes": 0},
    "hydra.launcher.at_once: 0 is out of range; a whole number from 1": {"at_once": 0},
    "hydra.launcher.one_array: an array has one script, but #1 has other fields than #0": {
        "one_array": True,
        "name": "lr${lr}",
    },
    "hydra.launcher.name: Interpolation key 'x' not found; what only a job has needs a default": {
        "name": "${x}"
    },
    "Missing mandatory value: hydra.job.num; what only a job has needs a default, such as ${": {
        "environment": {"NUMBER": "${hydra.job.num}"}
    },
    "hydra.launcher.time: 90 is a number, as which YAML reads 4:00:00, too: write": {"time": 90},
    "Key 'node' not in 'JobgenConf'": {"node": 3},
    "Value 'maybe' is not a valid bool": {"exclusive": "maybe"},
    "hydra.launcher.code: the output of sweeps in multirun is code there; echo multirun >> ": {
        "code": "."
    },
    "submit: sbatch did not take it: sbatch: error: no such partition": {"partition": "nope"},
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_mistake_is_a_message_without_a_traceback(app: Path, text: str) -> None:
    if "did not take" in text:
        (app / "refuses").touch()
    done = run(app, "-m", *SLURM, *overrides(**REFUSED[text])[1:], "lr=2,3")
    assert done.returncode == 1
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert list((app / "scripts").iterdir()) == []


def test_cfg_shows_a_mistake_without_a_traceback(app: Path) -> None:
    show = ("--cfg=hydra", "--package=hydra.launcher.command")
    for more, text in {
        "hydra.launcher.nodes=0": "hydra.launcher.nodes: 0 is out of range; a whole number ",
        "hydra.launcher.profile=null": "hydra.launcher.profile: no profile is named; one of ",
        "hydra.launcher.name=${lr}": "hydra.launcher.name: Interpolation key 'lr' not found; --cfg",
    }.items():
        done = run(app, *show, *SLURM, more)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert done.stderr.startswith(text)
    shown = run(app, "--cfg=all", show[1], *SLURM, "hydra.launcher.name=lr${lr}", "lr=2").stdout
    assert " -J lr2 " in shown


def test_fields_may_have_the_values_of_each_job(app: Path) -> None:
    fields = ("hydra.launcher.name=lr${lr}-${oc.select:hydra.job.num,0}",)
    done = run(app, "-m", *SLURM, *fields, "hydra.launcher.environment.LR=${lr}", "lr=2,3")
    assert done.returncode == 0, done.stderr
    for number, folder in enumerate(folders(app)):
        text = (folder / "job.sh").read_text()
        assert f" -J lr{number + 2}-{number} -e LR={number + 2} " in text


def test_git_ignores_the_output_of_sweeps(app: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=app, check=True)
    for each in ("jobs", "scripts", "bin"):
        (app / each / ".gitignore").write_text("*\n")
    for number in range(2):  # within one second, both would have one name
        sweep = f"hydra.sweep.dir=multirun/{number}/all"
        done = run(app, "-m", *SLURM, "hydra.launcher.code=.", sweep, "lr=2,3")
        assert done.returncode == 0, done.stderr
    assert len(folders(app)) == 4
    copies = [each for each in (app / ".jobgen/store/code").iterdir() if each.is_dir()]
    assert len(copies) == 1


def test_no_gitignore_of_the_user_is_written_over(app: Path) -> None:
    """The folder of sweeps may be the code's, or one that a repository keeps."""
    subprocess.run(["git", "init", "-q"], cwd=app, check=True)
    (app / "out").mkdir()
    (app / "outer.py").touch()  # is in no folder `out`
    ignore_files = {
        app / ".gitignore": "bin\njobs\nscripts\n",
        app / "out/.gitignore": "# mine\n*\n",
    }
    for file, text in ignore_files.items():
        file.write_text(text)
    here = run(app, "-m", *SLURM, "hydra.launcher.code=.", "hydra.sweep.dir=.", "lr=2,3")
    assert here.returncode == 1
    assert f"hydra.launcher.code: the output of sweeps is in {app} itself; set " in here.stderr
    done = run(app, "-m", *SLURM, "hydra.launcher.code=.", "hydra.sweep.dir=out", "lr=2,3")
    assert done.returncode == 0, done.stderr
    assert {file: file.read_text() for file in ignore_files} == ignore_files


def test_a_sweeper_that_needs_objectives_has_to_wait(app: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="no hydra-optuna-sweeper")
    done = run(app, "-m", *SLURM, "hydra/sweeper=optuna", "lr=interval(1,2)")
    assert done.returncode == 1
    text = "OptunaSweeper needs what the jobs return: set hydra.launcher.wait=true\n"
    assert text in done.stderr


def test_a_sweeper_needs_a_number(app: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="no hydra-optuna-sweeper")
    (app / "train.py").write_text(PROGRAM.replace("return ", "return {'loss': 1} or "))
    words = overrides(profile="local", nodes=1, launcher="node", wait=True)
    words += ["hydra/sweeper=optuna", "hydra.sweeper.n_trials=1"]
    done = run(app, "-m", *words, "lr=interval(1,2)")
    assert done.returncode == 1
    assert re.search(r"job \d+, #0: it returned no number, and wrote no /", done.stderr), (
        done.stderr
    )


def test_an_array_has_the_arguments_of_each_job(app: Path) -> None:
    done = run(app, "-m", *SLURM, "hydra.launcher.one_array=true", "lr=2,3,4")
    assert done.returncode == 0, done.stderr
    (script,) = app.glob("multirun/*/*/*/job.sh")
    text = script.read_text()
    assert "#SBATCH --array=0-2\n" in text
    assert "#SBATCH --job-name=train\n" in text
    assert words_of(script) == [str(script.with_name("jobs.py")), "%a"]
    (app / "python").write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    show = "import runpy, sys; sys.executable = sys.argv[2]; sys.argv[:] = sys.argv[3:]\n"
    show += "runpy.run_path(sys.argv[0], run_name='__main__')"
    (app / "python").chmod(0o755)
    words = ["-c", show, "", str(app / "python"), str(script.with_name("jobs.py")), "1"]
    shown = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    folder = script.parent.parent / "1"
    own = [f"hydra.run.dir={folder}", "hydra.job.num=1", "hydra.mode=RUN"]
    assert shown.stdout.splitlines() == ["train.py", "lr=3", *own]


def test_ctrl_c_ends_waiting_and_no_job(app: Path) -> None:
    # Of a shell's background job, Python would take no SIGINT.
    words = ["env", "--default-signal=INT", sys.executable, "train.py", "-m", *SLURM]
    words += ["hydra.launcher.wait=true", "lr=2,3"]
    with subprocess.Popen(words, cwd=app, stderr=subprocess.PIPE, text=True) as waiting:
        limit = time.monotonic() + 60
        while not (app / "queries").exists() and time.monotonic() < limit:
            time.sleep(0.1)
        waiting.send_signal(signal.SIGINT)
        _, messages = waiting.communicate(timeout=60)
    assert waiting.returncode == 1
    assert messages.startswith("interrupted; jobs in a queue go on: jobgen runs shows them\n")
    assert [(app / f"jobs/{job}").read_text() for job in (12, 13)] == ["PENDING 0\n"] * 2


@pytest.mark.torch
def test_local_jobs_run_one_by_one_and_return_what_they_say(app: Path) -> None:
    local = overrides(profile="local", nodes=1, set_values={"launch.processes_per_node": 2})
    done = run(app, "-m", *local, "hydra.launcher.wait=true", "waits=true", "lr=2,3")
    assert done.returncode == 0, done.stderr
    assert [(each / "objective.txt").read_text() for each in folders(app)] == [
        "2.0\n2.0\n",
        "3.0\n2.0\n",
    ]
    assert [(each / "train.log").exists() for each in folders(app)] == [True, True]
    done = run(app, "-m", *local, "lr=x,3", "+hydra.job.env_set.A=1", "hydra.sweep.dir=out")
    assert done.returncode == 0, done.stderr
    (app / "train.py").write_text(PROGRAM.replace("print(", "cfg.lr / 2, print("))
    done = run(app, "-m", *local, "lr=x,3", "hydra.sweep.dir=again")
    assert done.returncode == 1
    assert re.search(r"\njob \d+, #0: failed 1: .*TypeError", done.stderr), done.stderr
    assert len(list(app.glob("train-*.out"))) == 6


def test_the_plug_in_imports_little() -> None:
    """Hydra imports it at the start of each program, and so does each rank."""
    code = (
        "import sys\nfrom hydra.core.plugins import Plugins\nPlugins.instance()\n"
        "print(*[name for name in sys.modules if name.startswith('jobgen')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = shown.stdout.split()
    assert "jobgen.planning.job_options" in names
    assert not {"jobgen.generator", "jobgen.api.calls", "jobgen.api.job"} & set(names)


@given(HOSTILE)
def test_a_folder_with_any_name_is_one_value_of_an_override(text: str) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    from hydra_plugins.jobgen_launcher.command_line import quoted

    if "\n" in text or "${" in text:
        return
    (parsed,) = OverridesParser.create().parse_overrides([f"hydra.run.dir={quoted('/' + text)}"])
    value = parsed.value()
    assert str(getattr(value, "text", value)) == "/" + text


@pytest.mark.parametrize(
    ("text", "value"), [("1.5\n", 1.5), ("1 2\n", [1.0, 2.0]), ("nan", None), ("", [])]
)
def test_an_objective_is_a_number_or_several(tmp_path: Path, text: str, value: object) -> None:
    from hydra_plugins.jobgen_launcher.objective import read_objective

    assert read_objective(tmp_path) is None
    (tmp_path / "objective.txt").write_text(text)
    found = read_objective(tmp_path)
    assert found == value or (value is None and found != found)
    (tmp_path / "objective.txt").write_text("good")
    with pytest.raises(ValueError, match="good"):
        read_objective(tmp_path)
