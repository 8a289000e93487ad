"""On each node, the rendezvous endpoint is that node itself."""

import re

from jobgen.lint.launchers import LOOPBACK, launchers, runs_on_all_nodes
from jobgen.lint.rules import Findings, Script, finding_at

_OWN_NAME = re.compile(r"\$\{?SLURMD_NODENAME\b\}?|(?:\$\(|`)\s*(?:hostname|uname -n)[^)`]*[)`]")


def check(script: Script) -> Findings:
    for launcher in launchers(script) if script.nodes != 1 else ():
        if not launcher.is_multi_node or not runs_on_all_nodes(script, launcher.command):
            continue
        for option in launcher.options.keys() & {"rdzv-endpoint", "master-addr"}:
            word = launcher.options[option]
            expanded_there = word.raw if launcher.command.depth else ""
            loopback = LOOPBACK.match(word.text if word.is_literal else "")
            if found := loopback or _OWN_NAME.search(expanded_there):
                port = re.search(r":\d+$", word.text)
                endpoint = "$HEAD" + (port[0] if port else "")
                text = f"`{found[0]}` is each node's own name here: the nodes never meet"
                cure = "export HEAD=$(hostname) before this command, and use "
                cure += f"{launcher.option_name(option)}={endpoint}"
                yield finding_at(word, text, cure)
