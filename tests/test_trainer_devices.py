"""The devices of the packaged trainers, with stand-ins for torch.cuda and torch.xpu."""

from __future__ import annotations

import re
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from jobgen import trainers
from tests.run_trainers import import_trainer

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch", reason="the trainers need torch: pip install '.[trainers]'")

KINDS = [("cuda", "nccl"), ("xpu", "xccl")]
GPU_STATE = torch.tensor([7], dtype=torch.uint8)


@pytest.fixture(autouse=True)
def sixth_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a rank; what trainers set themselves is as before after the test."""
    variables = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "5", "MASTER_ADDR": "node"}
    nccl = dict.fromkeys(("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"), "")
    for name, value in (variables | nccl).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(signal, "signal", lambda *_: None)


def pretend(monkeypatch: pytest.MonkeyPatch, kind: str, count: int = 4) -> list[tuple[str, Any]]:
    """Let torch have GPUs of this kind alone. Returns the calls, as they come."""
    calls: list[tuple[str, Any]] = []

    def record(module: Any, *names: str) -> None:
        for name in names:
            monkeypatch.setattr(
                module, name, lambda value=None, name=name, **_: calls.append((name, value))
            )

    for other in ("cuda", "xpu"):
        gpus = getattr(torch, other)
        monkeypatch.setattr(gpus, "is_available", lambda other=other: other == kind)
        monkeypatch.setattr(gpus, "device_count", lambda: count)
        monkeypatch.setattr(gpus, "get_rng_state", lambda: GPU_STATE)
        if other == kind:
            record(gpus, "set_device", "set_rng_state", "synchronize")
    record(torch.distributed, "init_process_group", "destroy_process_group", "all_reduce")
    monkeypatch.setattr(
        torch.distributed, "barrier", lambda device_ids: calls.append(("barrier", device_ids))
    )
    return calls


def test_all_trainers_choose_the_kind_of_gpu_alike() -> None:
    pattern = re.compile(r"^GPU = .*$", re.MULTILINE)
    lines = {name: pattern.findall(trainers.source(name)) for name in trainers.names()}
    assert all(found == lines["regression"] != [] for found in lines.values())


@pytest.mark.parametrize("name", ["regression", "cifar10_vgg"])
@pytest.mark.parametrize(("kind", "backend"), KINDS)
@pytest.mark.parametrize(("count", "number"), [(8, 5), (4, 1), (1, 0)])
def test_a_training_joins_with_its_gpu(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: str, backend: str, count: int, number: int
) -> None:
    calls = pretend(monkeypatch, kind, count)
    assert import_trainer(name).join_ranks() == torch.device(kind)
    backends = f"cpu:gloo,{kind}:{backend}"
    assert calls == [("set_device", number), ("init_process_group", backends)]


@pytest.mark.parametrize("name", ["regression", "cifar10_vgg"])
def test_a_training_joins_without_a_gpu(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    calls = pretend(monkeypatch, "none")
    assert import_trainer(name).join_ranks() == torch.device("cpu")
    assert calls == [("init_process_group", "gloo")]


@pytest.mark.parametrize(
    ("kind", "restored"), [("cuda", [GPU_STATE]), ("xpu", [GPU_STATE]), ("none", [])]
)
def test_a_snapshot_has_the_random_numbers_of_the_gpu(
    monkeypatch: pytest.MonkeyPatch, kind: str, restored: list[Any]
) -> None:
    calls = pretend(monkeypatch, kind)
    trainer = import_trainer("regression")
    gathered: list[list[Any]] = []
    monkeypatch.setattr(torch.distributed, "gather_object", lambda state, _: gathered.append(state))
    rank = SimpleNamespace(
        rank=1, world=2, step=0, epoch=0, args=SimpleNamespace(batch_size=1), metrics=""
    )
    rank.writing = SimpleNamespace(result=lambda: True)
    trainer.Training.save(rank, 0.0)
    cpu_state = torch.get_rng_state()
    assert str(gathered) == str([[cpu_state, *restored]])

    # With a GPU's state or without one, with a GPU or without one, a run resumes.
    snapshots: list[Any] = [{"random": [[cpu_state, GPU_STATE]]}, {"random": [[cpu_state]]}]
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 0)
    monkeypatch.setattr(torch.distributed, "broadcast_object_list", lambda _: None)
    monkeypatch.setattr(trainer, "read_snapshot", lambda *_: snapshots[0])
    for snapshot in list(snapshots):
        assert trainer.load_snapshot("x.pt", "") is snapshot
        snapshots.pop(0)
    assert [value for name, value in calls if name == "set_rng_state"] == restored


@pytest.mark.parametrize(
    ("kind", "options", "bfloat16"),
    [("cuda", (), True), ("xpu", (), True), ("cuda", ("--float32",), False), ("none", (), False)],
)
def test_vgg_computes_in_bfloat16_on_every_gpu(
    monkeypatch: pytest.MonkeyPatch, kind: str, options: tuple[str, ...], bfloat16: bool
) -> None:
    pretend(monkeypatch, kind)
    trainer = import_trainer("cifar10_vgg")
    images = torch.zeros(1, 3, 32, 32), torch.zeros(1)
    monkeypatch.setattr("sys.argv", ["cifar10_vgg.py", *options])
    monkeypatch.setattr(trainer, "join_ranks", lambda: torch.device("cpu"))
    monkeypatch.setattr(trainer, "load_images", lambda _: [images, images])
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 0)

    def training(*arguments: Any) -> None:
        raise InterruptedError(arguments[-1].low_precision)

    monkeypatch.setattr(trainer, "Training", training)
    with pytest.raises(InterruptedError) as error:
        trainer.main()
    assert error.value.args == (bfloat16,)


@pytest.mark.parametrize(("kind", "backend"), KINDS)
@pytest.mark.parametrize(("count", "number"), [(4, 1), (1, 0)])
def test_elastic_ddp_takes_its_gpu(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    backend: str,
    count: int,
    number: int,
) -> None:
    calls = pretend(monkeypatch, kind, count)
    trainer = import_trainer("elastic_ddp")
    steps: list[torch.device] = []
    step = lambda _, device: steps.append(device) or torch.tensor(1.0)  # noqa: E731
    monkeypatch.setattr(trainer, "loss_of_one_step", step)
    trainer.main()
    assert steps == [torch.device(kind, number)]
    assert calls[:2] == [("set_device", number), ("init_process_group", backend)]
    assert ("barrier", [number]) in calls
    assert f"device {kind}:{number}, backend {backend})\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "backends", "network"),
    [
        ("cuda", "cpu:gloo,cuda:nccl", "none\n"),
        (
            "xpu",
            "cpu:gloo,xpu:xccl",
            "oneCCL, FI_PROVIDER cxi\n"
            "NCCL_NET=IB cannot be checked: on Intel's GPUs the ranks do not use NCCL\n",
        ),
    ],
)
def test_doctor_takes_its_gpu(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    backends: str,
    network: str,
) -> None:
    monkeypatch.setenv("NCCL_NET", "IB")
    monkeypatch.setenv("FI_PROVIDER", "cxi")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setattr("sys.argv", ["doctor.py", "--only", "all-reduce"])
    calls = pretend(monkeypatch, kind)
    trainer = import_trainer("doctor")
    sizes: list[int] = []
    measure = lambda args: ([], not sizes.append(args.largest))  # noqa: E731
    monkeypatch.setattr(trainer, "measure_all_sizes", measure)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 0)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 8)
    monkeypatch.setattr(torch.distributed, "all_gather_object", lambda *_: None)
    with pytest.raises(SystemExit) as error:
        trainer.main()
    assert (error.value.code, sizes) == (0, [256 * 1024**2])
    assert calls[:2] == [("set_device", 1), ("init_process_group", backends)]
    assert f"8 ranks on 1 nodes: {network}" in capsys.readouterr().out
    trainer.synchronize()
    assert calls[-1] == ("synchronize", None)


def test_doctor_measures_each_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes from where to where, on the third of four GPUs; and not by a rank that sees one."""
    pretend(monkeypatch, "cuda")
    doctor = import_trainer("doctor")
    options: list[dict[str, Any]] = []
    monkeypatch.setattr(torch, "ones", lambda *_, dtype, **more: options.append(more))
    targets: list[torch.device] = []
    copies = lambda _, target: targets.append(target) or 1.0  # noqa: E731
    monkeypatch.setattr(doctor, "measure_copies", copies)
    gpu, cpu = torch.device("cuda", 3), torch.device("cpu")
    place = doctor.Place(["a"], [[0, 1, 2, 3]], 0, 3, gpu, [[0]] * 4)
    names = ("gpus", "memory", "to_device", "between_devices", "local_disk", "small_files")
    assert [doctor.measure_one(name, place, "") for name in names] == [4, 2.0, 1.0, 1.0, None, None]
    assert targets == [cpu, gpu, torch.device("cuda", 0)]
    assert options == [{}, {"pin_memory": True}, {"device": gpu}]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert doctor.measure_one("between_devices", place, "") is None
    assert doctor.MEASURES["compute"].tolerance == 0.1
