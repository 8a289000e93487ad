"""The packaged trainers, as processes of their own: what they print, save, and go on from."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jobgen import names, trainers

pytest.importorskip("torch", reason="the trainers need torch: pip install '.[trainers]'")
LINE = re.compile(r"^\[RANK (\d+)\] Epoch (\d+) \| Batchsize: (\d+) \| Steps: (\d+)$", re.MULTILINE)


def command(trainer: str, *words: str, ranks: int = 1) -> list[str]:
    file = str(names.TRAINERS / f"{trainer}.py")
    if ranks == 1:
        return [sys.executable, file, *words]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*torchrun, f"--nproc-per-node={ranks}", file, *words]


def run(
    folder: Path, trainer: str, *words: str, ranks: int = 1
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(trainer, *words, ranks=ranks),
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def snapshot(file: Path) -> dict[str, Any]:
    import torch

    state: dict[str, Any] = torch.load(file, weights_only=True)
    return state


def metrics(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, names.TRAINERS / f"{name}.py")
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def functions(name: str) -> dict[str, str]:
    text = trainers.source(name)
    tree = ast.parse(text).body
    found = {node.name: node for node in tree if isinstance(node, ast.FunctionDef)}
    return {key: ast.get_source_segment(text, node) or "" for key, node in found.items()}


def test_what_trainers_share_is_the_same() -> None:
    """Each is a file of its own, so what saves and resumes is written twice; never differently."""
    one, other = functions("regression"), functions("cifar10_vgg")
    shared = set(one) & set(other) - {"arguments", "main"}
    assert {"start", "save", "read", "resume", "note"} <= shared
    assert {name for name in shared if one[name] != other[name]} == set()


@pytest.mark.parametrize("name", names.trainers())
def test_trainers_fit_into_a_variable(name: str) -> None:
    """A script hands them to the nodes in one, and Linux takes 128 KiB."""
    assert len(trainers.source(name).encode()) < 64 * 1024


@pytest.mark.parametrize("name", ["regression", "cifar10_vgg", "allreduce"])
def test_unknown_arguments_are_errors(name: str, tmp_path: Path) -> None:
    done = run(tmp_path, name, "--nope")
    assert (done.returncode, "unrecognized arguments: --nope" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_the_loss_falls_and_every_rank_tells(tmp_path: Path) -> None:
    done = run(tmp_path, "regression", "5", "2", "--metrics", "m.jsonl", ranks=2)
    assert done.returncode == 0, done.stderr
    told = sorted(tuple(map(int, found)) for found in LINE.findall(done.stdout))
    assert told == [(rank, epoch, 32, 32) for rank in range(2) for epoch in range(5)]
    losses = [line["loss"] for line in metrics(tmp_path)]
    assert [line["epoch"] for line in metrics(tmp_path)] == list(range(5))
    assert losses[0] > 1 > 0.1 > losses[-1] > 0
    assert f"Epoch 4 | Loss: {losses[-1]:.6f}\n" in done.stdout
    state = snapshot(tmp_path / "regression.pt")
    assert state["at"] == {"epoch": 5, "samples": 0, "loss": 0.0, "metrics": state["at"]["metrics"]}
    assert len(state["random"]) == 2
    assert snapshot(tmp_path / "regression.pt.previous")["at"]["epoch"] == 4
    assert "Epoch" not in run(tmp_path, "regression", "5", "2", ranks=2).stdout  # nothing is left


def test_a_progress_bar_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = command("regression", "1", "1", "--size", "320")
    subprocess.run(words, cwd=tmp_path, stderr=theirs, stdout=subprocess.DEVNULL, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    bars = [f"\r\x1b[KEpoch 0 [{'#' * (4 * n):<40}]" for n in range(1, 10)]
    assert shown.endswith("".join(bars) + "\r\x1b[K")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What two ranks end with after 30 epochs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(folder, "regression", "30", "30", ranks=2).returncode == 0
    return snapshot(folder / "regression.pt")


def test_a_signal_to_one_rank_saves_on_all_and_goes_on(
    undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    words = ("30", "30", "--metrics", "m.jsonl")
    process = subprocess.Popen(
        command("regression", *words, ranks=2),
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    for line in process.stdout:
        if line.startswith("[RANK 1] Epoch 0 "):
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGUSR1)
    rest = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    assert re.search(r"^Told to end, epoch \d+, step \d+: regression\.pt$", rest, re.MULTILINE)
    again = run(tmp_path, "regression", *words, ranks=2)
    assert again.returncode == 0, again.stderr
    assert "Going on from regression.pt, epoch " in again.stdout
    assert [line["epoch"] for line in metrics(tmp_path)] == list(range(30))
    ended = snapshot(tmp_path / "regression.pt")
    assert ended["at"]["epoch"] == 30
    assert str({**ended, "at": 0}) == str({**undisturbed, "at": 0})


def test_what_is_no_snapshot_of_this_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.chdir(tmp_path)
    file = Path("regression.pt")
    assert run(tmp_path, "regression", "2", "1").returncode == 0
    kept = file.read_bytes()
    done = run(tmp_path, "regression", "4", "1", "--seed", "1")
    assert (done.returncode, file.read_bytes()) == (1, kept)
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        "regression.pt is of (.* --seed 0 .*); this is .* --seed 1 .*: choose another --snapshot",
        line,
    )
    trainer, of = module("regression"), snapshot_of(kept)["of"]

    def said(content: bytes) -> str:
        file.write_bytes(content)
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            trainer.read("regression.pt", of)
        assert file.read_bytes() == content
        return str(caught.value)

    assert said(b"hello") == "regression.pt is no snapshot: choose another --snapshot"
    foreign = io.BytesIO()
    torch.save({"model": {}}, foreign)
    assert said(foreign.getvalue()).startswith("regression.pt is of None; this is regression, ")
    harmful = io.BytesIO()
    torch.save(Path("x"), harmful)  # any object but what weights_only takes
    assert said(harmful.getvalue()) == "regression.pt is no snapshot: choose another --snapshot"
    newer = io.BytesIO()
    torch.save({**snapshot_of(kept), "of": "regression, format 2"}, newer)
    assert said(newer.getvalue()).startswith("regression.pt is of regression, format 2; this is ")
    Path("regression.pt.previous").unlink()
    text = "regression.pt is damaged, and there is no other: remove it to begin anew"
    assert said(kept[:5000]) == text
    assert said(b"") == said(b"P") == text


def snapshot_of(content: bytes) -> dict[str, Any]:
    import torch

    state: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True)
    return state


def test_a_damaged_snapshot_gives_way_to_the_previous_one(tmp_path: Path) -> None:
    assert run(tmp_path, "regression", "3", "1").returncode == 0
    file = tmp_path / "regression.pt"
    content = bytearray(file.read_bytes())
    state = snapshot(file)
    place = bytes(content).index(state["model"]["weight"].numpy().tobytes())
    content[place] ^= 1  # one bit of the weights, which only a checksum tells
    file.write_bytes(content)
    done = run(tmp_path, "regression", "3", "1")
    assert done.returncode == 0
    assert "regression.pt is damaged: going on from regression.pt.previous\n" in done.stdout
    assert "Going on from regression.pt, epoch 2, step 0\n" in done.stdout
    assert str(snapshot(file)) == str(state)
    assert (tmp_path / "regression.pt.damaged").read_bytes() == content


def test_a_previous_snapshot_alone_is_no_beginning(tmp_path: Path) -> None:
    assert run(tmp_path, "regression", "2", "1").returncode == 0
    (tmp_path / "regression.pt").unlink()
    done = run(tmp_path, "regression", "2", "1")
    assert done.returncode == 1
    assert done.stderr == (
        "regression.pt.previous is there without regression.pt: remove or rename it\n"
    )


def test_another_number_of_ranks_goes_on(tmp_path: Path) -> None:
    assert run(tmp_path, "regression", "2", "1", ranks=2).returncode == 0
    done = run(tmp_path, "regression", "4", "1")
    assert done.returncode == 0, done.stderr
    assert [found[1:] for found in LINE.findall(done.stdout)] == [
        ("2", "32", "64"),
        ("3", "32", "64"),
    ]


def test_tasks_that_would_each_train_alone_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    done = run(tmp_path, "regression", "1")
    assert (done.returncode, done.stderr) == (
        1,
        "several tasks and no MASTER_ADDR, MASTER_PORT: each would train by itself\n",
    )


def test_vgg_learns_what_is_made_up_and_goes_on(tmp_path: Path) -> None:
    words = ("--synthetic", "256", "--batch-size", "16", "--lr", "0.003")
    done = run(tmp_path, "cifar10_vgg", "2", "1", *words, "--metrics", "m.jsonl")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"^Epoch 1 \| Loss: [\d.]+ \| Images/s: \d+ \(\d+ a rank\)$", done.stdout, re.M
    )
    found = re.search(r"^Test accuracy: ([\d.]+)% of 64 images$", done.stdout, re.M)
    assert found
    assert float(found[1]) > 90  # by chance it would be 10
    assert [sorted(line) for line in metrics(tmp_path)] == [
        ["epoch", "images_per_s", "loss", "ranks", "seconds"]
    ] * 2
    whole = snapshot(tmp_path / "cifar10_vgg.pt")
    os.replace(tmp_path / "cifar10_vgg.pt.previous", tmp_path / "cifar10_vgg.pt")
    again = run(tmp_path, "cifar10_vgg", "2", "1", *words)
    assert "Going on from cifar10_vgg.pt, epoch 1, step 0\n" in again.stdout
    resumed = snapshot(tmp_path / "cifar10_vgg.pt")
    assert all(value.equal(resumed["model"][key]) for key, value in whole["model"].items())


def test_vgg_reads_the_official_files_and_says_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path, "cifar10_vgg", "0", "--data", "nowhere")
    assert done.returncode == 1
    assert "nowhere/cifar-10-batches-bin/data_batch_1.bin" in done.stderr
    assert done.stderr.endswith("--download fetches the data, --synthetic needs none\n")
    written(tmp_path / "data")
    done = run(tmp_path, "cifar10_vgg", "0")
    assert "Test accuracy: " in done.stdout, done.stderr
    assert " of 10 images\n" in done.stdout


def written(folder: Path) -> Path:
    """CIFAR-10's files with ten images each, made by what makes up images."""
    inner = folder / "cifar-10-batches-bin"
    inner.mkdir(parents=True)
    vgg = module("cifar10_vgg")
    for seed, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        (inner / f"{name}.bin").write_bytes(vgg.synthetic(10, seed))
    return inner


def test_the_download_is_one_for_all(tmp_path: Path) -> None:
    """Two jobs at once; the archive is checked, and there as a whole or not at all."""
    inner = written(tmp_path / "made")
    archive = tmp_path / "cifar.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(inner, inner.name)
    text = trainers.source("cifar10_vgg")
    url = re.search(r'^URL = "(.*)"$', text, re.M)
    sha = re.search(r'^SHA256 = "(.*)"$', text, re.M)
    assert url
    assert sha
    copy = tmp_path / "own.py"
    text = text.replace(url[1], archive.as_uri())
    copy.write_text(text)
    words = [sys.executable, str(copy), "0", "--download"]
    refused = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert f"not {sha[1]}" in refused.stderr
    assert [path.name for path in (tmp_path / "data").iterdir()] == [".lock"]
    copy.write_text(text.replace(sha[1], hashlib.sha256(archive.read_bytes()).hexdigest()))
    running = [
        subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in running]
    assert all(" of 10 images\n" in output for output in outputs)
    here = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert here == [".lock", "cifar-10-batches-bin"]
    archive.unlink()  # what is there is not fetched again
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_allreduce_measures_and_says_over_what(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("NCCL_NET", "IB")
    done = run(tmp_path, "allreduce", "--from", "1K", "--to", "64K", "--repeat", "2", ranks=2)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.split()[0].isdigit()]
    table = [row for row in rows if "GB/s" in row]
    assert [(int(row[0]), row[-1]) for row in table] == [
        (n, "0") for n in (1024, 4096, 16384, 65536)
    ]
    assert all(float(row[3]) == float(row[5]) for row in table)  # 2 (n - 1) / n is 1 for two ranks
    assert "2 ranks on 1 nodes: gloo over TCP, interface lo\n" in done.stdout
    assert "NCCL_NET=IB was promised; on CPUs NCCL is not tried\n" in done.stdout


LOGS = {
    "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>\n"
    "n:1:1 [0] NCCL INFO Using network IB\n": ("InfiniBand", ""),
    "NCCL INFO NET/IB : Using [0]rocep1s0f0:1/RoCE\nNCCL INFO Using network IB\n": ("RoCE", ""),
    "NCCL INFO NET/OFI Selected Provider is cxi (found 4 nics)\n"
    "NCCL INFO Using network AWS Libfabric\n": ("aws-ofi-nccl", "cxi"),
    "NCCL INFO Using network Libfabric\n"
    "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)\n": (
        "aws-ofi-nccl",
        "efa",
    ),
    "NCCL INFO NET/IB : No device found.\nNCCL INFO Using network Socket\n": ("TCP sockets", ""),
    "": ("none", ""),
}


def test_allreduce_reads_nccl_s_log() -> None:
    allreduce = module("allreduce")
    assert {log: allreduce.network(log) for log in LOGS} == LOGS


@pytest.mark.parametrize(
    ("promised", "provider", "took", "cure"),
    [
        ("AWS Libfabric", "cxi", ("TCP sockets", ""), "aws-ofi-nccl"),
        ("AWS Libfabric", "cxi", ("aws-ofi-nccl", "tcp"), "provider"),
        ("AWS Libfabric", "cxi", ("aws-ofi-nccl", "cxi"), None),
        ("AWS Libfabric", "cxi,tcp", ("aws-ofi-nccl", "cxi"), None),
        ("AWS Libfabric", "^shm", ("aws-ofi-nccl", "cxi"), None),
        ("AWS Libfabric", "cxi", ("aws-ofi-nccl", "unknown"), None),
        ("ib", "", ("TCP sockets", ""), "InfiniBand"),
        ("IB", "", ("TCP sockets", ""), "InfiniBand"),
        ("IB", "", ("RoCE", ""), None),
        ("", "", ("TCP sockets", ""), None),
    ],
)
def test_allreduce_has_a_cure_for_a_broken_promise(
    promised: str, provider: str, took: tuple[str, str], cure: str | None
) -> None:
    allreduce = module("allreduce")
    wanted = allreduce.CURES[cure] if cure else ""
    assert allreduce.broken(promised, provider, took) == wanted
