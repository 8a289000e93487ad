"""Several nodes, and NCCL is not told of the fast network.

Without NCCL_SOCKET_IFNAME, NCCL makes its first contact over an interface of its own choice,
and without GLOO_SOCKET_IFNAME gloo takes the one that the hostname resolves to: on a cluster
with a management network, that. A line that has it in a comment does nothing.

Evidence: NCCL's user guide, environment variables; NCAR's notes on Derecho: "not working
without this". Byte counters showed gloo's traffic on the hostname's interface.

Cure: `export NCCL_SOCKET_IFNAME=NAME`, with the profile's `network.interface`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import launchers
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

PROFILE = "eap"
BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=288:ngpus=4
export NCCL_DEBUG=INFO
#NCCL_SOCKET_IFNAME=hsn0
mpiexec --ppn 1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
GOOD = """\
#!/bin/bash
#PBS -l select=2:ncpus=288:ngpus=4
export NCCL_SOCKET_IFNAME=hsn0
mpiexec --ppn 1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    interface = profile.network.interface[0] if profile and profile.network.interface else ""
    names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
    if not interface or (script.nodes or 1) < 2 or any(script.set_to(name) for name in names):
        return
    for run in launchers(script)[:1]:
        hidden = [each for each in script.comments if names[0] in each.text]
        more = f", and line {hidden[0].line} is a comment" if hidden else ""
        text = f"nothing says that ranks are to meet over {interface}{more}"
        yield at(hidden[0] if hidden else run.at, text, f"export {names[0]}={interface}")
