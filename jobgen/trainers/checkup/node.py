"""What a rank finds on its own node: GPUs, memory, disks, and what needs no measurement."""

import glob
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from statistics import median
from typing import Any

import torch

from jobgen.trainers.checkup.judging import MEASURES
from jobgen.trainers.checkup.place import Place, synchronize, wait_for_all
from jobgen.trainers.shared.rank import GPU

NVIDIA_SMI = (
    "nvidia-smi",
    "--query-gpu=index,ecc.errors.uncorrected.volatile.total,clocks_throttle_reasons.active",
    "--format=csv,noheader,nounits",
)
THROTTLES = {8: "hardware slowdown", 32: "heat", 64: "heat (hardware)", 128: "power brake"}


def notes_of_nvidia(answer: str) -> list[str]:
    """ECC errors and throttled clocks in the answer of nvidia-smi."""
    notes = []
    for gpu, errors, mask in re.findall(r"^(\d+), ([^,]+), 0x(\w+)\s*$", answer, re.MULTILINE):
        if errors.isdigit() and int(errors):
            notes.append(f"{errors} uncorrectable ECC errors on GPU {gpu}")
        reasons = [text for bit, text in THROTTLES.items() if int(mask, 16) & bit]
        if reasons:
            notes.append(f"GPU {gpu} throttles: {', '.join(reasons)}")
    return notes


def notes_of_node() -> list[str]:
    """What limits this node, of what needs no measurement."""
    memlock, notes = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], []
    if memlock != resource.RLIM_INFINITY:
        notes.append(f"memlock {memlock // 1024} KiB")
    for path in sorted(glob.glob("/sys/class/drm/card*/device/ras/*_err_count")):  # AMD's
        with open(path, encoding="ascii", errors="replace") as file:
            errors = re.search(r"ue: ([1-9]\d*)", file.read())
        if errors:
            card, block = path.split("/")[4], os.path.basename(path).partition("_err")[0]
            notes.append(f"{errors[1]} uncorrectable ECC errors in {block} of {card}")
    return notes


TASKS = "/proc/self/task"
SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def speed(action: Callable[[], object], amount: float) -> float:
    """`amount` a second: the median of three means, each over several periods of a CPU quota."""
    action()
    rates = []
    for _ in range(3):
        start_time, count, seconds = time.perf_counter(), 0, 0.0
        while seconds < 0.4:
            action()
            synchronize()
            count, seconds = count + 1, time.perf_counter() - start_time
        rates.append(count * amount / seconds)
    return median(rates)


def measure_copies(source: torch.Tensor, target: torch.device) -> float:
    """GB/s of copies from one place to another."""
    copy = torch.empty_like(source, device=target)
    return speed(lambda: copy.copy_(source, non_blocking=True), source.nbytes / 1e9)


def measure_file(folder: str | None, size: int, sync: bool) -> float:
    """GB/s of writing a file, to the disk or also back to memory."""
    block = bytearray(size)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:

        def write() -> None:
            file.seek(0)
            file.write(block)
            if sync:
                os.fsync(file.fileno())
            else:
                file.seek(0)
                file.readinto(block)

        return speed(write, size / 1e9 * (1 if sync else 2))


def measure_small_files(folder: str) -> float:
    """Milliseconds to open, write, read and remove a small file."""

    def write_and_read() -> None:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".small-") as file:
            file.write(b"x" * 1000)
            file.flush()
            with open(file.name, "rb") as same:
                same.read()

    return 1000 / speed(write_and_read, 1)


def own_cores(place: Place) -> list[int]:
    """This rank's part of the cores that it shares with others of its node; [] if it has such.

    Hardware threads of one core stay together: Linux numbers the second ones after all first ones.
    """
    ranks, cores = place.ranks[place.node], place.cores[place.ranks[place.node][place.local]]
    sharing = [rank for rank in ranks if place.cores[rank] == cores]
    siblings: dict[str, list[int]] = {}
    for core in cores:
        try:
            with open(SIBLINGS.format(core), encoding="ascii") as file:
                siblings.setdefault(file.read(), []).append(core)
        except OSError:
            siblings[str(core)] = [core]
    number, whole = sharing.index(ranks[place.local]), list(siblings.values())
    if len(sharing) == 1 or len(whole) < len(sharing):
        return []
    first, end = (len(whole) * each // len(sharing) for each in (number, number + 1))
    return sorted(core for threads in whole[first:end] for core in threads)


@contextmanager
def bound_to(cores: Sequence[int]) -> Iterator[None]:
    """All threads of this process, which torch has several of, on these cores for a while."""
    before = {0: os.sched_getaffinity(0)}
    try:
        for thread in map(int, os.listdir(TASKS)):
            with suppress(ProcessLookupError):  # it has just ended
                before[thread] = os.sched_getaffinity(thread)
                os.sched_setaffinity(thread, cores)
        yield
    finally:
        for thread in map(int, os.listdir(TASKS)):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, before.get(thread, before[0]))


def measure_one(name: str, place: Place, folder: str) -> float | None:
    """One of MEASURES on this node, None where this rank does not measure it."""
    gpus = getattr(torch, GPU).device_count() if GPU else 0
    device = place.device

    def block(**options: Any) -> torch.Tensor:
        return torch.ones(64 << 20, dtype=torch.uint8, **options)

    if name == "gpus":
        return gpus or None
    if name == "compute":
        size, kind = (8192, torch.bfloat16) if GPU else (512, torch.float32)
        matrix = torch.ones(size, size, device=device, dtype=kind)
        product = torch.empty_like(matrix)
        return speed(lambda: torch.mm(matrix, matrix, out=product), 2 * size**3 / 1e12)
    if name == "memory":  # each copy reads and writes
        return 2 * measure_copies(block(), torch.device("cpu"))
    if name == "own_cores" and (cores := own_cores(place)):
        with bound_to(cores):
            return 2 * measure_copies(block(), torch.device("cpu"))
    if name == "to_device" and gpus:
        return measure_copies(block(pin_memory=True), device)
    if name == "between_devices" and gpus > 1:
        other = torch.device(GPU, ((device.index or 0) + 1) % gpus)
        return measure_copies(block(device=device), other)
    if name == "shared_memory" and place.local == 0:
        return measure_file("/dev/shm", 16 << 20, sync=False)
    if name == "local_disk" and place.local == 0:
        return measure_file(None, 4 << 20, sync=True)
    if name == "small_files" and place.local == 0:
        return measure_small_files(folder)
    return None


def measure_node(
    names: Sequence[str], place: Place, folder: str, notes: list[str]
) -> dict[str, float]:
    """The values that this rank measures for `names`; all ranks measure at the same time."""
    values: dict[str, float] = {}
    for name in names:
        wait_for_all()
        query = None
        if name == "compute" and place.local == 0 and GPU and shutil.which(NVIDIA_SMI[0]):
            query = subprocess.Popen(NVIDIA_SMI, stdout=subprocess.PIPE, text=True)
        try:
            value = measure_one(name, place, folder)
            if value:
                values[name] = value
            if query:  # it has read the clocks under load
                notes.extend(notes_of_nvidia(query.communicate(timeout=20)[0]))
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as failure:
            notes.append(f"{MEASURES[name].title}: {str(failure).splitlines()[0]}")
        finally:
            if query:
                query.kill()
    return values
