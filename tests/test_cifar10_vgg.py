"""The trainer cifar10_vgg: it learns, resumes, and reads or downloads CIFAR-10's files."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from jobgen import trainers
from tests.run_trainers import import_trainer, load_file, read_metrics, run

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the trainers need torch: pip install '.[trainers]'")


@pytest.mark.thorough
def test_vgg_learns_synthetic_images_and_resumes(tmp_path: Path) -> None:
    arguments = ("2", "1", "--synthetic", "256", "--batch-size", "16", "--lr", "0.003")
    result = run(tmp_path, "cifar10_vgg", *arguments, "--metrics", "m.jsonl")
    assert result.returncode == 0, result.stderr
    assert re.search(
        r"^Epoch 1 \| Loss: [\d.]+ \| Images/s: \d+ \(\d+ a rank\)$", result.stdout, re.M
    )
    accuracy = re.search(r"^Test accuracy: ([\d.]+)% of 64 images$", result.stdout, re.M)
    assert accuracy
    assert float(accuracy[1]) > 90  # by chance it would be 10
    keys = ["epoch", "loss", "seconds", "images_per_s", "ranks"]
    assert [list(line) for line in read_metrics(tmp_path)] == [keys] * 2
    file = tmp_path / "cifar10_vgg.pt"
    uninterrupted = load_file(file)
    os.replace(f"{file}.previous", file)
    result = run(tmp_path, "cifar10_vgg", *arguments)
    assert "Resuming from cifar10_vgg.pt, epoch 1, step 0\n" in result.stdout
    weights = load_file(file)["model"]
    assert all(value.equal(weights[name]) for name, value in uninterrupted["model"].items())


def test_vgg_names_the_file_that_is_missing(tmp_path: Path) -> None:
    result = run(tmp_path, "cifar10_vgg", "0", "--data", "nowhere")
    assert result.returncode == 1
    assert "nowhere/cifar-10-batches-bin/data_batch_1.bin" in result.stderr
    assert result.stderr.endswith("--download fetches the data, --synthetic needs none\n")


@pytest.mark.thorough
def test_vgg_reads_the_official_files(tmp_path: Path) -> None:
    write_images(tmp_path / "data")
    result = run(tmp_path, "cifar10_vgg", "0")
    assert "Test accuracy: " in result.stdout, result.stderr
    assert " of 10 images\n" in result.stdout


def write_images(folder: Path) -> Path:
    """CIFAR-10's files with ten synthetic images each."""
    inner = folder / "cifar-10-batches-bin"
    inner.mkdir(parents=True)
    vgg = import_trainer("cifar10_vgg")
    for seed, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        (inner / f"{name}.bin").write_bytes(vgg.synthetic_images(10, seed))
    return inner


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    inner = write_images(tmp_path / "made")
    path = tmp_path / "cifar.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(inner, inner.name)
    return path


def constant(name: str) -> str:
    match = re.search(rf'^{name} = "(.*)"$', trainers.source("cifar10_vgg"), re.M)
    assert match
    return match[1]


@pytest.mark.thorough
def test_two_jobs_that_download_share_one_copy(tmp_path: Path, archive: Path) -> None:
    """The archive is checked first, and then unpacked as a whole or not at all."""
    trainer = tmp_path / "own.py"
    url, checksum = constant("URL"), constant("SHA256")
    text = trainers.source("cifar10_vgg").replace(url, archive.as_uri())
    trainer.write_text(text)
    download = [sys.executable, str(trainer), "0", "--download"]
    refused = subprocess.run(download, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert f"not {checksum}" in refused.stderr
    assert [path.name for path in (tmp_path / "data").iterdir()] == [".lock"]
    trainer.write_text(text.replace(checksum, hashlib.sha256(archive.read_bytes()).hexdigest()))
    processes = [
        subprocess.Popen(download, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert all(" of 10 images\n" in output for output in outputs)
    files = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert files == [".lock", "cifar-10-batches-bin"]
    archive.unlink()  # data that is there is not fetched again
    again = subprocess.run(download, cwd=tmp_path, capture_output=True, check=False)
    assert again.returncode == 0
