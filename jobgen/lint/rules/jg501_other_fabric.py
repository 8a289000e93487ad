"""The provider is that of another fabric.

FI_PROVIDER=efa is for AWS's adapter. Slingshot's, whose interfaces are called hsn0 and so on,
has the provider cxi: with efa libfabric finds no device, and NCCL goes over TCP, or fails.

Evidence: fi_cxi(7), fi_efa(7).

Cure: FI_PROVIDER=cxi on Slingshot; none on AWS, where newer plugins find it themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

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
    for each in script.set_to("FI_PROVIDER"):
        other = each.value.text == "efa"
        here = [told for told in script.set_to("NCCL_SOCKET_IFNAME") if "hsn" in told.value.text]
        interface = here[0].value.text if here else ""
        if not here and profile and profile.network.interface:
            interface = profile.network.interface[0]
        if other and interface.lstrip("=").startswith("hsn"):
            text = f"efa is AWS's provider, and {interface} an interface of Slingshot"
            yield at(each, text, "FI_PROVIDER=cxi")
