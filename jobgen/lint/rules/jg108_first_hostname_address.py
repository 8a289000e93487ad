"""The address is the first word of `hostname -I`.

`hostname -I` lists the addresses of all interfaces, and nothing guarantees their order. On a node
with a management network and a fast one, the first address may be that of either. With the wrong
one, all traffic uses the slow network, or no node is reached at all.

Evidence: hostname(1): "Do not make any assumptions about the order of the output." Seen on a
Slingshot cluster, where the first one was the management network's.

Cure: name the interface: `ip -4 -o addr show hsn0`; jobgen's `network.interface` does that.

Example:
- head_ip=$(hostname -I | awk '{print $1}')
+ head_ip=$(getent ahostsv4 "$(hostname)" | awk '{ print $1; exit }')
  torchrun --nnodes=2 --rdzv-id=7 --rdzv-backend=c10d --rdzv-endpoint=$head_ip:29500 train.py
"""

import re

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    for command in script.commands if script.nodes != 1 else ():
        lists_all = command.name == "hostname" and {"-I", "--all-ip-addresses"} & {
            *command.arguments
        }
        if lists_all and command.piped_into in ("awk", "cut", "head"):
            after = (each for each in script.commands if each.offset > command.offset)
            following = next((each.text for each in after if each.name == command.piped_into), "")
            if not re.search(r"-f ?[2-9]|\$[2-9]", following):  # it takes the first one
                text = "the first address of `hostname -I` may be on any network"
                yield finding_at(command, text, "name the interface: ip -4 -o addr show NAME")
