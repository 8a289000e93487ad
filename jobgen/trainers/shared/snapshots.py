"""Snapshots of a training: written whole or not at all, and checked when they are read."""

import io
import os
import zipfile
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import torch
import torch.distributed as dist

from jobgen.trainers.shared.joining import exit_together, sum_over_ranks
from jobgen.trainers.shared.rank import GPU, print_line

GENERATORS: list[Any] = [torch, getattr(torch, GPU)] if GPU else [torch]  # of random numbers


def beside_the_steps() -> AbstractContextManager[Any]:
    """Copies from the GPU that do not wait for the steps queued there, nor hold them up."""
    if not GPU:
        return nullcontext()
    gpu = getattr(torch, GPU)
    stream = gpu.Stream()
    stream.wait_stream(gpu.current_stream())  # which made what is copied
    return gpu.stream(stream)  # type: ignore[no-any-return]


def write_snapshot(path: str, state: dict[str, Any]) -> bool:
    """Returns whether it is written. Killed at any moment, it leaves this or the last snapshot."""
    try:
        with open(f"{path}.tmp", "wb") as file, beside_the_steps():
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.replace(path, f"{path}.previous")
        os.replace(f"{path}.tmp", path)
    except OSError as error:
        with suppress(OSError):
            os.remove(f"{path}.tmp")  # it would keep a full disk full
        print_line(f"{path} cannot be saved, and stays as it was: {error.strerror}")
        return False
    return True


def read_snapshot(path: str, settings: str) -> Any:
    """The newest undamaged snapshot, or None. ValueError if this run cannot resume from it."""
    damaged = ""
    for name in filter(os.path.exists, (path, f"{path}.previous")):
        with open(name, "rb") as file:
            content = file.read()
        try:
            if zipfile.ZipFile(io.BytesIO(content)).testzip():  # torch compares no checksums
                raise zipfile.BadZipFile
            state = torch.load(io.BytesIO(content), "cpu", weights_only=True)
            owner = state.get("of")
        except Exception as error:
            if isinstance(error, zipfile.BadZipFile) and b"PK".startswith(content[:2]):
                damaged = damaged or name
                continue
            raise ValueError(f"{name} is not a snapshot: use another --snapshot") from None
        if owner != settings:
            raise ValueError(f"{name} was saved by {owner}, not {settings}: use another --snapshot")
        if damaged:  # renamed, or the next save would keep it as the previous snapshot
            print_line(f"{damaged} is damaged: resuming from {name}")
            os.replace(damaged, f"{damaged}.damaged")
        elif name != path and not os.path.exists(f"{path}.tmp"):  # else killed while it renamed
            raise ValueError(f"{name} exists, but {path} does not: remove or rename it")
        return state
    if damaged:
        raise ValueError(f"{damaged} is damaged, and there is no other: remove it to start anew")
    return None


def load_snapshot(path: str, settings: str) -> Any:
    """The newest snapshot, on all ranks, or None. All ranks exit if this run cannot use it."""
    rank, snapshots, problem = dist.get_rank(), [None], ""
    on_another_node = sum_over_ranks(rank > 0 and os.path.exists(path))
    if rank == 0:
        try:
            snapshots = [read_snapshot(path, settings)]
            if on_another_node and not snapshots[0]:
                problem = f"{path} is only on another node: put it where all nodes see it"
        except (OSError, ValueError) as error:
            problem = str(error)
    exit_together(problem)
    dist.broadcast_object_list(snapshots)
    snapshot: Any = snapshots[0]
    if snapshot and rank < len(snapshot["random"]):
        for generator, state in zip(GENERATORS, snapshot["random"][rank], strict=False):
            generator.set_rng_state(state)
    return snapshot
