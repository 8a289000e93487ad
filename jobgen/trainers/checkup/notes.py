"""Notes about a node, of what needs no measurement: ECC errors, throttled clocks, limits."""

import glob
import os
import re
import resource

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
