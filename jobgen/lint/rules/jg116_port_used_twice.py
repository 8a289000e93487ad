"""Two launchers that may be on the same node have the same port."""

import re

from jobgen.lint.launchers import Launcher, fixed_ports
from jobgen.lint.rules import Directive, Findings, Script, finding_at


def check(script: Script) -> Findings:
    ports = fixed_ports(script)
    array = script.directive("array") or script.directive("J")
    for launcher, port in ports:
        others = [each for each, word in ports if word.text == port.text and each is not launcher]
        if array and _may_share_node(script, array):
            text = f"all jobs of the array (see line {array.line}) use this port"
        elif any(_run_together(script, launcher, other) for other in others):
            text = "another launcher that runs at the same time uses this port"
        else:
            continue
        cure = "make a port for each from the job's id, or use --standalone on one node"
        yield finding_at(port, text, cure)


def _may_share_node(script: Script, array: Directive) -> bool:
    """Whether two jobs of the array may run on one node at the same time."""
    is_several = re.search("[-,:]", array.value.split("%")[0]) and not array.value.endswith("%1")
    gpus = script.gpus_per_node
    # Most nodes have 4 or 8 GPUs: two jobs that request as many are on two nodes.
    most = script.profile.node.gpus if script.profile else 4
    fills_node = script.asks_for_whole_nodes or bool(gpus and gpus.count >= most)
    return bool(is_several) and not fills_node


def _run_together(script: Script, *pair: Launcher) -> bool:
    """Whether both run in the background of the script, and no `wait` is between them."""
    for launcher in pair:
        is_elsewhere = launcher.starter or launcher.command.depth or launcher.is_multi_node
        if is_elsewhere or "background" not in launcher.command.enclosing:
            return False
    first, last = sorted(launcher.command.offset for launcher in pair)
    waits = [command.offset for command in script.commands if command.name == "wait"]
    return not any(first < offset < last for offset in waits)
