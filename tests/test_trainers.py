"""The packaged trainers, as processes: what they print and save, and how they resume."""

from __future__ import annotations

import io
import itertools
import os
import pty
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobgen import trainers
from tests.run_trainers import (
    command,
    import_trainer,
    load,
    load_file,
    read_metrics,
    run,
    run_until,
)

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the trainers need torch: pip install '.[trainers]'")
EPOCH_LINE = re.compile(
    r"^\[RANK (\d+)\] Epoch (\d+) \| Batchsize: (\d+) \| Steps: (\d+)$", re.MULTILINE
)


def saved(content: Any) -> bytes:
    """What torch.save writes."""
    import torch

    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


@pytest.mark.parametrize("name", trainers.names())
def test_a_trainer_fits_into_a_variable(name: str) -> None:
    """A script hands its trainer to the nodes in a variable, and Linux takes 128 KiB."""
    assert len(trainers.source(name).encode()) < 64 * 1024


@pytest.mark.parametrize("name", trainers.names())
def test_no_line_of_a_trainer_means_something_else_in_a_script(name: str) -> None:
    """A script has the trainer in a heredoc that PYTHON ends; schedulers look for directives."""
    lines = trainers.source(name).splitlines()
    assert [line for line in lines if re.match(r"PYTHON$|\s*#(SBATCH|PBS)", line)] == []


@pytest.mark.parametrize("name", trainers.names())
def test_the_file_runs_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, and with nothing of jobgen on Python's path."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "jobgen.py").write_text("raise SystemExit('jobgen is imported')\n")
    (tmp_path / f"{name}.py").write_text(trainers.source(name), encoding="utf-8")
    result = run(tmp_path, f"{name}.py", *([] if name == "elastic_ddp" else ["--help"]))
    assert result.returncode == 0, result.stderr
    line = "All 1 ranks took one DDP step" if name == "elastic_ddp" else trainers.summary(name)
    assert line.split(",")[0] in result.stdout


@pytest.mark.parametrize(
    "name",
    [
        "regression",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("cifar10_vgg", "doctor")),
    ],
)
def test_unknown_arguments_are_errors(name: str, tmp_path: Path) -> None:
    result = run(tmp_path, name, "--nope")
    assert (result.returncode, "unrecognized arguments: --nope" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_loss_falls_and_every_rank_reports(tmp_path: Path) -> None:
    result = run(tmp_path, "regression", "5", "2", "--metrics", "m.jsonl", ranks=2)
    assert result.returncode == 0, result.stderr
    reports = sorted(tuple(map(int, match)) for match in EPOCH_LINE.findall(result.stdout))
    assert reports == [(rank, epoch, 32, 32) for rank in range(2) for epoch in range(5)]
    losses = [line["loss"] for line in read_metrics(tmp_path)]
    assert [line["epoch"] for line in read_metrics(tmp_path)] == list(range(5))
    assert losses[0] > 1 > 0.1 > losses[-1] > 0
    assert f"Epoch 4 | Loss: {losses[-1]:.6f}\n" in result.stdout
    snapshot = load_file(tmp_path / "regression.pt")
    size = (tmp_path / "m.jsonl").stat().st_size
    assert snapshot["at"] == {"epoch": 5, "samples": 0, "loss": 0.0, "metrics": size}
    assert len(snapshot["random"]) == 2
    assert load_file(tmp_path / "regression.pt.previous")["at"]["epoch"] == 4
    again = run(tmp_path, "regression", "5", "2")
    assert "Epoch" not in again.stdout  # all epochs are done


@pytest.mark.parametrize(("size", "world"), [(10, 1), (10, 4), (3, 8), (4, 2)])
def test_each_rank_has_the_samples_that_a_sampler_would_give_it(size: int, world: int) -> None:
    from torch.utils.data.distributed import DistributedSampler

    training = import_trainer("regression").Training
    for rank, epoch in itertools.product(range(world), range(2)):
        sampler: Any = DistributedSampler(range(size), world, rank, seed=5)  # type: ignore[arg-type]
        sampler.set_epoch(epoch)
        part = SimpleNamespace(
            args=SimpleNamespace(seed=5), epoch=epoch, size=size, world=world, rank=rank
        )
        part.share = len(sampler)
        assert training.order(part).tolist() == list(sampler)


def test_a_progress_bar_on_a_terminal(tmp_path: Path) -> None:
    our_end, trainer_end = pty.openpty()
    arguments = command("regression", "1", "1", "--size", "320")
    subprocess.run(
        arguments, cwd=tmp_path, stderr=trainer_end, stdout=subprocess.DEVNULL, check=True
    )
    os.close(trainer_end)
    output = os.read(our_end, 1 << 16).decode()
    os.close(our_end)
    bars = [f"\r\x1b[KEpoch 0 [{'#' * (4 * n):<40}]" for n in range(1, 10)]
    assert output.endswith("".join(bars) + "\r\x1b[K")


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_signal_to_one_rank_stops_all_and_the_next_run_resumes(
    tmp_path: Path, ranks: int
) -> None:
    """The weights are those of a run without it, to the bit."""
    (tmp_path / "uninterrupted").mkdir()
    assert run(tmp_path / "uninterrupted", "regression", "30", "30", ranks=ranks).returncode == 0
    uninterrupted = load_file(tmp_path / "uninterrupted/regression.pt")
    arguments = ("30", "30", "--metrics", "m.jsonl")
    start_of_line = f"[RANK {ranks - 1}] Epoch 0 "
    status, output = run_until(start_of_line, tmp_path, "regression", *arguments, ranks=ranks)
    assert status == 0
    assert re.search(r"^Stopped early, epoch \d+, step \d+: regression\.pt$", output, re.MULTILINE)
    resumed = run(tmp_path, "regression", *arguments, ranks=ranks)
    assert resumed.returncode == 0, resumed.stderr
    assert "Resuming from regression.pt, epoch " in resumed.stdout
    assert [line["epoch"] for line in read_metrics(tmp_path)] == list(range(30))
    snapshot = load_file(tmp_path / "regression.pt")
    assert snapshot["at"]["epoch"] == 30
    assert str({**snapshot, "at": 0}) == str({**uninterrupted, "at": 0})


@pytest.mark.thorough
def test_a_snapshot_of_other_settings_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "regression.pt"
    assert run(tmp_path, "regression", "2", "1").returncode == 0
    content = file.read_bytes()
    result = run(tmp_path, "regression", "4", "1", "--seed", "1")
    assert (result.returncode, file.read_bytes()) == (1, content)
    (line,) = result.stderr.splitlines()
    assert re.fullmatch(
        "regression.pt was saved by regression, format 1, --seed 0 .*,"
        " not regression, format 1, --seed 1 .*: use another --snapshot",
        line,
    )


@pytest.mark.thorough
def test_a_file_that_is_not_a_snapshot_of_this_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("regression.pt")
    assert run(tmp_path, "regression", "2", "1").returncode == 0
    whole = file.read_bytes()
    trainer, snapshot = import_trainer("regression"), load(whole)

    def refusal(content: bytes) -> str:
        file.write_bytes(content)
        with pytest.raises(ValueError) as error:  # noqa: PT011
            trainer.read_snapshot("regression.pt", snapshot["of"])
        assert file.read_bytes() == content
        return str(error.value)

    message = "regression.pt is not a snapshot: use another --snapshot"
    assert refusal(b"hello") == message
    assert refusal(saved(Path("x"))) == message  # weights_only does not load any object
    other = "regression.pt was saved by {}, not regression, format 1, "
    assert refusal(saved({"model": {}})).startswith(other.format("None"))
    newer = saved({**snapshot, "of": "regression, format 2"})
    assert refusal(newer).startswith(other.format("regression, format 2"))
    Path("regression.pt.previous").unlink()
    message = "regression.pt is damaged, and there is no other: remove it to start anew"
    assert [refusal(content) for content in (whole[:5000], b"", b"P")] == [message] * 3


@pytest.mark.thorough
def test_the_previous_snapshot_replaces_a_damaged_one(tmp_path: Path) -> None:
    assert run(tmp_path, "regression", "3", "1").returncode == 0
    file = tmp_path / "regression.pt"
    content = bytearray(file.read_bytes())
    snapshot = load_file(file)
    offset = bytes(content).index(snapshot["model"]["weight"].numpy().tobytes())
    content[offset] ^= 1  # one bit of the weights: only a checksum can find it
    file.write_bytes(content)
    result = run(tmp_path, "regression", "3", "1")
    assert result.returncode == 0
    assert "regression.pt is damaged: resuming from regression.pt.previous\n" in result.stdout
    assert "Resuming from regression.pt, epoch 2, step 0\n" in result.stdout
    assert str(load_file(file)) == str(snapshot)
    assert (tmp_path / "regression.pt.damaged").read_bytes() == content


@pytest.mark.thorough
def test_a_previous_snapshot_alone_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, "regression", "2", "1").returncode == 0
    (tmp_path / "regression.pt").unlink()
    result = run(tmp_path, "regression", "2", "1")
    assert result.returncode == 1
    assert result.stderr == (
        "regression.pt.previous exists, but regression.pt does not: remove or rename it\n"
    )


@pytest.mark.thorough
def test_another_number_of_ranks_resumes(tmp_path: Path) -> None:
    assert run(tmp_path, "regression", "2", "1", ranks=2).returncode == 0
    result = run(tmp_path, "regression", "4", "1")
    assert result.returncode == 0, result.stderr
    reports = [match[1:] for match in EPOCH_LINE.findall(result.stdout)]
    assert reports == [("2", "32", "64"), ("3", "32", "64")]


def test_tasks_that_would_each_train_alone_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    result = run(tmp_path, "regression", "1")
    assert (result.returncode, result.stderr) == (
        1,
        "several tasks and no MASTER_ADDR, MASTER_PORT: each would train by itself\n",
    )


def program_of(page: str) -> str:
    """The train.py of a page of the documentation."""
    text = (Path(__file__).parent.parent / "docs" / page).read_text()
    match = re.search(r"<!-- file: train.py -->\n```python\n(.*?)```", text, re.DOTALL)
    assert match
    return match[1]


@pytest.mark.thorough
def test_the_script_that_saves_when_it_is_warned(tmp_path: Path) -> None:
    """One rank alone is warned: all stop after the same step, and go on there."""
    script = tmp_path / "train.py"
    text = program_of("surviving.md")
    steps, begin = "STEPS, SNAPSHOT = 1000,", "while step < STEPS:\n"
    assert steps in text
    assert begin in text
    line = "print(f'began at {step}\\n', end='', flush=True)"  # one write: two ranks print it
    shown = f"{line}\n{begin}"
    endless = text.replace(steps, "STEPS, SNAPSHOT = 10**9,").replace(begin, shown)
    script.write_text(endless)
    status, output = run_until("began at 0", tmp_path, str(script), ranks=2)
    (step,) = map(int, re.findall(r"^saved after step (\d+)$", output, re.MULTILINE))
    assert (status, load_file(tmp_path / "snapshot.pt")["step"]) == (0, step)
    script.write_text(text.replace(steps, f"STEPS, SNAPSHOT = {step + 5},").replace(begin, shown))
    for began in (step, step + 5):  # the second time, all is done
        resumed = run(tmp_path, str(script), ranks=2)
        lines = [f"began at {began}"] * 2 + [f"saved after step {step + 5}"]
        assert (resumed.returncode, sorted(resumed.stdout.splitlines())) == (0, lines)


@pytest.mark.thorough
def test_the_script_in_the_documentation_resumes(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    text = program_of("trainers.md")
    script.write_text(text.replace("EPOCHS = 200", "EPOCHS = 10**9"))  # it cannot end before
    status, _ = run_until("epoch 3:", tmp_path, str(script), ranks=2)
    assert status == 0
    last_epoch = load_file(tmp_path / "snapshot.pt")["epoch"]
    assert last_epoch >= 3
    script.write_text(text.replace("EPOCHS = 200", f"EPOCHS = {last_epoch + 4}"))
    resumed = run(tmp_path, str(script), ranks=2)
    epochs = [int(epoch) for epoch in re.findall(r"^epoch (\d+): ", resumed.stdout, re.MULTILINE)]
    assert epochs == list(range(last_epoch + 1, last_epoch + 4))
    again = run(tmp_path, str(script), ranks=2)
    assert (again.returncode, again.stdout) == (0, "")
