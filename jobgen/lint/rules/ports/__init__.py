"""Rules about ports that two jobs, or two launchers of a job, both use."""

import re

from jobgen.lint.launchers import Launcher, fixed_ports, launchers
from jobgen.lint.rules import Directive, Findings, Script, finding_at, optional


def jg116_port_used_twice(script: Script) -> Findings:
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


_CURE = "make it from the job's id, or request whole nodes"


# Many sites give whole nodes without a request.
@optional
def jg117_same_port_in_every_job(script: Script) -> Findings:
    if not script.scheduler or script.asks_for_whole_nodes:
        return
    for launcher, port in fixed_ports(script):
        job_id = launcher.options.get("rdzv-id")
        more = f", and the id {job_id.text}" if job_id and job_id.is_literal else ""
        yield finding_at(port, f"every job of this script has this port{more}", _CURE)
    assignment = script.constant("MASTER_PORT")
    if assignment and assignment.value.text.isdecimal() and not launchers(script):
        yield finding_at(assignment, "every job of this script has this port", _CURE)


def jg705_fixed_port_on_shared_node(script: Script) -> Findings:
    profile, gpus = script.profile, script.gpus_per_node
    shares_node = profile and gpus and 0 < gpus.count < profile.node.gpus
    if not shares_node or script.asks_for_whole_nodes:
        return
    for _, word in fixed_ports(script):
        port = script.resolved(word.text).rpartition(":")[2]
        text = f"port {port} may be another job's: this job has a part of the node"
        yield finding_at(word, text, "make it from the job's id")
