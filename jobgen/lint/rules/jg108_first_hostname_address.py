"""The address is the first word of `hostname -I`."""

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
