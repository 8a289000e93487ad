"""`hydra/launcher=jobgen` on a real Slurm and PBS: what the users of submitit's launcher miss."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.harness import until
from tests.cluster.jobs import PATH, Desk, PbsDesk, generate
from tests.cluster.site import OpenPbs, lab
from tests.test_docs import blocks_of
from tests.test_hydra import CONFIG, overrides

pytest.importorskip("hydra", reason="hydra-core is not installed: pip install '.[hydra]'")

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os
import time
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig


@hydra.main(version_base="1.3", config_path=".", config_name="config")
def main(cfg):
    hydra_config = HydraConfig.get()
    print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "lr", cfg.lr, flush=True)
    while cfg.waits and not Path("go").exists():
        time.sleep(0.1)
    if cfg.lr == 13:
        raise ValueError("a bad lr")
    folder = Path(hydra_config.runtime.output_dir)
    (folder / f"rank{os.environ['RANK']}").write_text(f"{cfg.lr} {hydra_config.job.num}")
    return (cfg.lr - 1) ** 2


if __name__ == "__main__":
    main()
"""
VALUES = {
    "software.container": "null",
    "node.gpu": "none",
    "launch.processes_per_node": "1",
}
SLURM = overrides(profile="mi210", nodes=2, environment={"OMP_NUM_THREADS": 1}, set_values=VALUES)


@pytest.fixture
def app(desk: Desk) -> Desk:
    """A folder with a program of Hydra."""
    desk.program("train.py", PROGRAM)
    (desk.folder / "config.yaml").write_text(CONFIG)
    return desk


def run(app: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    """`python train.py -m hydra/launcher=jobgen …` on the login machine."""
    flags = [word for word in words if word.startswith("-")]
    command = [sys.executable, "train.py", *flags, *SLURM, *words[len(flags) :]]
    return app.cluster.run(command, cwd=app.folder, env={"PATH": PATH}, timeout=240)


def jobs_of(done: subprocess.CompletedProcess[str]) -> list[int]:
    assert done.returncode == 0, done.stdout + done.stderr
    return [int(job) for job in re.findall(r"#\S+ :.* : (\d+)$", done.stdout, re.MULTILINE)]


def folders(app: Desk) -> list[Path]:
    return sorted(app.folder.glob("multirun/*/*/[0-9]*"))


@pytest.mark.thorough
def test_it_returns_at_once_and_leaves_no_process(app: Desk) -> None:
    """hydra#2479, #2965: a login node on which nothing may run for long."""
    done = run(app, "-m", "waits=true", "lr=0.5,2")
    first, second = jobs_of(done)
    states = ["squeue", "-h", "-j", f"{first},{second}", "-o", "%T"]
    assert set(app.cluster.run(states).stdout.split()) <= {"PENDING", "RUNNING"}
    mine = ["pgrep", "-f", f"{sys.executable} train.py -m"]
    assert app.cluster.run(mine).stdout == ""
    until(lambda: app.cluster.run(states).stdout.count("RUNNING"), 60)
    (app.folder / "go").touch()
    for job in (first, second):
        ended = app.cluster.wait(job, 180)
        assert ended.exit_code == 0, ended.output
    assert [(each / "rank1").read_text() for each in folders(app)] == ["0.5 0", "2 1"]


@pytest.mark.thorough
def test_a_job_is_the_command_that_it_shows(app: Desk) -> None:
    """hydra#2566: and that command writes the same bytes."""
    shown = run(app, "--cfg=hydra", "--package=hydra.launcher.command", "lr=2")
    begin = "jobgen sbatch --profile mi210 -N 2 "
    end = " -- train.py lr=2\n"
    assert shown.stdout.startswith(begin), shown.stderr
    assert shown.stdout.endswith(end)
    (job,) = jobs_of(run(app, "-m", "lr=2"))
    (folder,) = folders(app)
    script = (folder / "job.sh").read_text()
    command = script.splitlines()[2].removeprefix("#   ")
    own = f" hydra.run.dir={folder} hydra.job.num=0 hydra.mode=RUN"
    assert command == shown.stdout.removesuffix("\n") + own
    assert generate(*shlex.split(command)[1:], cwd=app.folder) == script
    taken = app.cluster.run(["scontrol", "write", "batch_script", str(job), "-"]).stdout
    assert taken.rstrip("\0\n") == script.rstrip("\n")
    ended = app.cluster.wait(job, 180)
    assert ended.exit_code == 0
    for rank in range(2):  # under torchrun
        assert f"rank {rank} of 2 lr 2\n" in ended.output
    assert not [*app.folder.rglob("*.pkl"), *app.folder.rglob("*.pickle")]


def test_what_jobs_return_comes_back_and_a_failure_says_why(app: Desk) -> None:
    done = run(app, "-m", "hydra.launcher.wait=true", "lr=3,13")
    assert done.returncode == 1
    assert "Error executing job with overrides: ['lr=13']" in done.stderr
    assert re.search(r"\njob \d+, #1: failed 1: .*ValueError: a bad lr", done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert [(each / "objective.txt").exists() for each in folders(app)] == [True, False]
    assert (folders(app)[0] / "objective.txt").read_text() == "4.0\n"


@pytest.mark.thorough
def test_a_sweep_of_optuna(app: Desk) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="no hydra-optuna-sweeper")
    words = ["hydra/sweeper=optuna", "hydra.sweeper.n_trials=4", "hydra.sweeper.n_jobs=2"]
    words += ["hydra.launcher.wait=true", "hydra.sweeper.sampler.seed=1"]
    done = run(app, "-m", *words, "lr=interval(0.0,2.0)")
    assert len(jobs_of(done)) == 4
    (file,) = app.folder.glob("multirun/*/*/optimization_results.yaml")
    objectives = [float((each / "objective.txt").read_text()) for each in folders(app)]
    best = re.search(r"best_value: (\S+)", file.read_text())
    assert best
    assert float(best[1]) == min(objectives)


@pytest.mark.thorough
def test_jobs_become_one_array(app: Desk) -> None:
    words = ("hydra.launcher.wait=true", "hydra.launcher.at_once=2", "lr=3,13,5")
    done = run(app, "-m", *words)
    assert done.returncode == 1
    assert re.search(r"\njob \d+, #1: 2 ok, 1 failed 1: ", done.stderr), done.stderr
    (array,) = app.folder.glob("multirun/*/*/0-2")
    assert "#SBATCH --array=0-2%2\n" in (array / "job.sh").read_text()
    assert "#SBATCH --job-name=train\n" in (array / "job.sh").read_text()
    found = [each / "rank0" for each in folders(app) if each != array]
    assert [file.read_text() for file in found if file.exists()] == ["3 0", "5 2"]


@pytest.mark.thorough
def test_it_runs_the_code_that_was_there(app: Desk) -> None:
    (app.folder / ".jobgenignore").write_text("multirun\n")
    words = ("hydra.launcher.code=.", "hydra.launcher.directives=--hold", "lr=2,3")
    jobs = jobs_of(run(app, "-m", *words))
    app.program("train.py", "raise SystemExit(3)")
    (app.folder / "config.yaml").unlink()
    for job in jobs:
        assert app.cluster.run(["scontrol", "release", str(job)]).returncode == 0
    ends = [app.cluster.wait(job, 180) for job in jobs]
    assert [end.exit_code for end in ends] == [0, 0], ends
    assert [(each / "rank0").read_text() for each in folders(app)] == ["2 0", "3 1"]
    copies = [each for each in (app.folder / ".jobgen/store/code").iterdir() if each.is_dir()]
    assert len(copies) == 1


def test_the_page_on_a_real_slurm(app: Desk) -> None:
    """Its program and its first command, with what the nodes here lack."""
    blocks = blocks_of(ROOT / "docs/hydra.md")
    for block in blocks:
        if block.kind == "file" and "/" not in block.words:
            app.program(block.words, block.content)
    command = next(line for line in blocks[0].commands.splitlines() if "train.py" in line)
    begin = "python train.py -m hydra/launcher=jobgen hydra.launcher.profile=mi210 "
    assert command.startswith(begin)
    typed = shlex.split(command.removeprefix(begin))
    done = run(app, "-m", "hydra.launcher.environment.CPU=1", *typed)
    for number, job in enumerate(jobs_of(done)):
        ended = app.cluster.wait(job, 180)
        assert ended.exit_code == 0, ended.output
        assert (folders(app)[number] / ".hydra/config.yaml").exists()


def test_jobs_of_pbs(real: PbsDesk) -> None:
    assert isinstance(real.site, OpenPbs)
    words = lab(ranks=1)
    pairs = zip(words[::2], words[1::2], strict=True)
    values = dict(each.split("=", 1) for flag, each in pairs if flag == "--set")
    environment = {"OMP_NUM_THREADS": 1, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    (real.folder / "train.py").write_text(PROGRAM)
    (real.folder / "config.yaml").write_text(CONFIG)
    for each in (real.folder, *real.folder.iterdir()):
        os.chown(each, 20001, 20001)
    of_launcher = overrides(profile="eap", nodes=2, environment=environment, set_values=values)
    python = ["env", f"PYTHONPATH={environment['PYTHONPATH']}", sys.executable, "train.py"]
    command = real.site.command(*python, "-m", *of_launcher, "hydra.launcher.wait=true", "lr=2,3")
    done = real.site.cluster.run(command, cwd=real.folder, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = sorted(real.folder.glob("multirun/*/*/[0-9]*"))
    assert [(each / "objective.txt").read_text() for each in found] == ["1.0\n", "4.0\n"]
    assert [(each / "rank1").read_text() for each in found] == ["2 0", "3 1"]
