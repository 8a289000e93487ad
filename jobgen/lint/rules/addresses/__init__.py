"""Rules about the address of the first node."""

import re

from jobgen.lint.launchers import LOOPBACK, launchers, runs_on_all_nodes, work_commands
from jobgen.lint.rules import Findings, Script, finding_at, optional


def jg108_first_hostname_address(script: Script) -> Findings:
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


_ASKS_ADDRESS = re.compile(r"\bhostname\b|\bip\b.*addr|ifconfig")


# It works where a site has ssh between its nodes.
@optional
def jg109_address_over_ssh(script: Script) -> Findings:
    for command in script.commands if script.scheduler else ():
        remote = " ".join(command.arguments[1:])
        is_substitution = "command_substitution" in command.enclosing
        if command.name == "ssh" and is_substitution and _ASKS_ADDRESS.search(remote):
            text = "this asks for an address over ssh, which may not work between the nodes"
            cure = "ask without ssh: the script runs on the first node"
            yield finding_at(command, text, cure)


def jg110_sorted_node_file(script: Script) -> Findings:
    if all(launcher.starter for launcher in launchers(script)):
        return
    for assignment in script.assignments:
        value, name = assignment.value.text, re.escape(assignment.name)
        is_sorted = "PBS_NODEFILE" in value and re.search(r"\bsort\b", value)
        if not is_sorted or "wc" in value:
            continue
        is_head = re.search(r"\bhead\b|sed -n 1p", value)
        if is_head or re.search(rf"\$\{{{name}(\[0\])?\}}", script.text):  # its first node is used
            text = "a sorted node file may not begin with the node on which this script runs"
            cure = "keep its order: awk '!seen[$1]++' \"$PBS_NODEFILE\""
            yield finding_at(assignment, text, cure)


_CURES = {
    "MASTER_ADDR": "use MASTER_ADDR=$(hostname) here, on the first node",
    "NCCL_SOCKET_IFNAME": "name the interface of the network between the nodes",
    "GLOO_SOCKET_IFNAME": "name the interface of the network between the nodes",
}


def jg121_loopback(script: Script) -> Findings:
    nodes = script.nodes or 1
    is_one_world = all(launcher.is_multi_node for launcher in launchers(script))
    if nodes < 2 or script.runs_itself or not is_one_world:
        return
    if not any(runs_on_all_nodes(script, command) for command in work_commands(script)):
        return
    for name, cure in _CURES.items():
        assignments = [each for each in script.assignments_of(name) if each.depth == 0]
        value = assignments[0].value.text if len(assignments) == 1 else ""
        is_loopback = LOOPBACK.match(value) if name == "MASTER_ADDR" else value in ("lo", "=lo")
        if is_loopback and assignments[0].is_certain and name in script.exports:
            text = f"{name}={value}: on each of the {nodes} nodes, {value} is that node alone"
            yield finding_at(assignments[0], text, cure)


# An address, or a name that ends in a number: others may be placeholders.
_ADDRESS = re.compile(r"(?!127\.|0\.0\.0\.0)\d+(?:\.\d+){3}|[A-Za-z][\w-]*\d(?:\.[\w.-]+)?")


def jg122_fixed_address(script: Script) -> Findings:
    if script.scheduler != "slurm" or (script.nodes or 1) < 2 or script.directive("nodelist"):
        return
    assignment = script.constant("MASTER_ADDR")
    words = [assignment.value] if assignment and "MASTER_ADDR" in script.exports else []
    for launcher in launchers(script) if not script.runs_itself else ():
        for option in ("rdzv-endpoint", "master-addr"):
            if launcher.is_multi_node and option in launcher.options:
                words.append(launcher.options[option])
    for word in words:
        address = word.text.rpartition(":")[0] or word.text
        if word.is_literal and _ADDRESS.fullmatch(address):
            text = f"{address} is a fixed node, but the job may be on any nodes"
            cure = "use the first node of the job: MASTER_ADDR=$(hostname) in the batch script"
            yield finding_at(word, text, cure)
