"""The libfabric provider is for another fabric.

FI_PROVIDER=efa is for AWS's adapter. The provider for Slingshot, whose interfaces are hsn0 and so
on, is cxi. With efa, libfabric finds no device there: NCCL uses TCP, or fails.

Evidence: fi_cxi(7), fi_efa(7).

Cure: FI_PROVIDER=cxi on Slingshot; none on AWS, where newer plugins find it themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

BAD = """\
#!/bin/bash
export FI_PROVIDER=efa
export NCCL_SOCKET_IFNAME=hsn0
srun python train.py
"""
GOOD = """\
#!/bin/bash
export FI_PROVIDER=cxi
export NCCL_SOCKET_IFNAME=hsn0
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    interface = _interface(script, profile)
    if not interface.lstrip("=").startswith("hsn"):
        return
    for assignment in script.assignments_of("FI_PROVIDER"):
        if assignment.value.text == "efa":
            text = f"efa is the provider for AWS, but {interface} is an interface of Slingshot"
            yield finding_at(assignment, text, "use FI_PROVIDER=cxi")


def _interface(script: Script, profile: Profile | None) -> str:
    """The interface that the script names, if it is Slingshot's; else the profile's."""
    for assignment in script.assignments_of("NCCL_SOCKET_IFNAME"):
        if "hsn" in assignment.value.text:
            return assignment.value.text
    return profile.network.interface[0] if profile and profile.network.interface else ""
