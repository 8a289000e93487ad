"""The address is the first word of `hostname -I`.

`hostname -I` lists the addresses of all interfaces in no order that one may rely on. On a node
with a management network and a fast one, the first is as good as chance: all traffic goes over
the slow one, or no node is reached at all.

Evidence: hostname(1): "Do not make any assumptions about the order of the output." Seen on a
Slingshot cluster, where the first one was the management network's.

Cure: name the interface: `ip -4 -o addr show hsn0`; jobgen's `network.interface` does that.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
head_ip=$(hostname -I | awk '{print $1}')
torchrun --nnodes=2 --rdzv-id=7 --rdzv-backend=c10d --rdzv-endpoint=$head_ip:29500 train.py
"""
GOOD = """\
#!/bin/bash
head_ip=$(getent ahostsv4 "$(hostname)" | awk '{ print $1; exit }')
torchrun --nnodes=2 --rdzv-id=7 --rdzv-backend=c10d --rdzv-endpoint=$head_ip:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for command in script.commands:
        options = {word.text for word in command.words[1:]}
        all_of_them = command.name == "hostname" and options & {"-I", "--all-ip-addresses"}
        if all_of_them and command.before in ("awk", "cut", "head") and script.nodes != 1:
            text = "the first address of `hostname -I` is that of any network"
            yield at(command, text, "name the interface: ip -4 -o addr show NAME")
