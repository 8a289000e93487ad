"""The script asks for the address of a node over ssh."""

import re

from jobgen.lint.rules import Findings, Script, finding_at

# It works where a site has ssh between its nodes.
OPTIONAL = True

_ASKS_ADDRESS = re.compile(r"\bhostname\b|\bip\b.*addr|ifconfig")


def check(script: Script) -> Findings:
    for command in script.commands if script.scheduler else ():
        remote = " ".join(command.arguments[1:])
        is_substitution = "command_substitution" in command.enclosing
        if command.name == "ssh" and is_substitution and _ASKS_ADDRESS.search(remote):
            text = "this asks for an address over ssh, which may not work between the nodes"
            cure = "ask without ssh: the script runs on the first node"
            yield finding_at(command, text, cure)
