"""A container gets all of the host.

`--privileged` gives the container every device and capability of the node: a mistake in it can
harm the node and whoever else is on it. GPUs and InfiniBand need a few devices only.

Evidence: podman-run(1); ROCm's and NVIDIA's guides to containers name the devices.

Cure: AMD: `--device=/dev/kfd --device=/dev/dri --group-add=keep-groups`; NVIDIA:
`--device=nvidia.com/gpu=all`; InfiniBand: `--device=/dev/infiniband --ulimit=memlock=-1`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import containers
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
podman run --rm --privileged --network=host rocm/pytorch:rocm6.4_ubuntu24.04 python3 train.py
"""
GOOD = """\
#!/bin/bash
podman run --rm --device=/dev/kfd --device=/dev/dri --network=host rocm/pytorch:rocm6.4_ubuntu24.04 python3 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for run, words in containers(script):
        if any("/proc/sys" in word.text for word in words):  # to write there needs it
            continue
        for word in words:
            if word.text in ("--privileged", "--privileged=true"):
                text = f"--privileged gives the container all of the node ({run.name})"
                yield at(word, text, "name the devices that it needs")
