"""Rules about the address of the first node."""

import re

from jobgen.lint.launchers import ENDPOINTS, LOOPBACK, launchers, runs_on_all_nodes, work_commands
from jobgen.lint.rules import Command, Findings, Script, finding_at, optional

_OTHER_FIELD = r"-f ?[2-9]|\$[2-9]"
_FIRST_FIELD = r"\$(?:{0}\b(?!\[)|\{{{0}(?:\[0\]|%% \*)?\}})"
_PRINTERS = ("echo", "printf")


def jg108_first_hostname_address(script: Script) -> Findings:
    for command in script.commands if script.nodes != 1 else ():
        lists_all = {"-I", "--all-ip-addresses"}.intersection(command.arguments)
        if command.name == "hostname" and lists_all and _first_is_used(script, command):
            text = "the first address of `hostname -I` may be on any network"
            yield finding_at(command, text, "name the interface: ip -4 -o addr show NAME")


def _first_is_used(script: Script, command: Command) -> bool:
    """Whether anything but a message gets the first address that a `hostname -I` prints."""
    reader, holder = command.piped_into, script.flow.holder(command)
    after = (each for each in script.commands if each.offset > command.offset)
    following = next((each.text for each in after if each.name == reader), "")
    if reader and (reader not in ("awk", "cut", "head") or re.search(_OTHER_FIELD, following)):
        return False
    if holder:
        is_split = holder.setter or holder.items is not None
        return _is_used(script, holder.name, bool(reader) and not is_split)
    before = [each for each in script.own_commands if each.offset < command.offset]
    is_message = any(each.name in _PRINTERS and "hostname" in each.text for each in before[-1:])
    return bool(reader) and not is_message


def _is_used(script: Script, name: str, is_first: bool) -> bool:
    """Whether more than a message gets a variable; unless `is_first`, its first item counts."""
    users = [each for each in script.commands if each.name not in _PRINTERS]
    words = [word for each in users for word in each.words if word.variables]
    waiting, seen = [name], {name}  # the variables that get the value
    while waiting:
        own = waiting.pop()
        is_whole = is_first or own != name
        pattern = re.compile(rf"\${{?{own}\b" if is_whole else _FIRST_FIELD.format(own))
        if (is_whole and own in script.exports) or any(pattern.search(each.text) for each in words):
            return True
        found = {each.name for each in script.assignments if pattern.search(each.value.text)} - seen
        seen |= found
        waiting += found
    return False


_ASKS_ADDRESS = re.compile(r"\bhostname\b|\bip\b.*addr|ifconfig")


# Off by default: the command works where a site has ssh between its nodes.
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


_LOOPBACK_CURES = {
    "MASTER_ADDR": "use MASTER_ADDR=$(hostname) here, on the first node",
    "NCCL_SOCKET_IFNAME": "name the interface of the network between the nodes",
    "GLOO_SOCKET_IFNAME": "name the interface of the network between the nodes",
}


def jg121_loopback(script: Script) -> Findings:
    nodes = script.nodes or 1
    is_one_world = all(launcher.is_multi_node for launcher in launchers(script))
    if nodes < 2 or script.runs_itself or not is_one_world:
        return
    runs = [each for each in work_commands(script) if runs_on_all_nodes(script, each)]
    gets_address = any(launcher.options.keys() & ENDPOINTS for launcher in launchers(script))
    for name, cure in _LOOPBACK_CURES.items() if runs else ():
        if name == "MASTER_ADDR" and gets_address:
            continue  # JG118 looks at the option
        held = script.flow.in_program(name, runs[0])
        values = {assignment.value.text for assignment in held.assignments}
        is_loopback = LOOPBACK.match if name == "MASTER_ADDR" else ("lo", "=lo").__contains__
        if held.is_set and all(map(is_loopback, values)):
            value = held.assignments[0].value.text
            text = f"{name}={value}: on each of the {nodes} nodes, {value} is that node alone"
            yield finding_at(held.assignments[0], text, cure)


# An IP address, or a hostname that ends in a number: other names may be placeholders.
_ADDRESS = re.compile(r"(?!127\.|0\.0\.0\.0)\d+(?:\.\d+){3}|[A-Za-z][\w-]*\d(?:\.[\w.-]+)?")


def jg122_fixed_address(script: Script) -> Findings:
    if script.scheduler != "slurm" or (script.nodes or 1) < 2 or script.directive("nodelist"):
        return
    assignment = script.constant("MASTER_ADDR")
    words = [assignment.value] if assignment and "MASTER_ADDR" in script.exports else []
    for launcher in launchers(script) if not script.runs_itself else ():
        for option in ENDPOINTS:
            if launcher.is_multi_node and option in launcher.options:
                words.append(launcher.options[option])
    for word in words:
        address = word.text.rpartition(":")[0] or word.text
        if word.is_literal and _ADDRESS.fullmatch(address):
            text = f"{address} is a fixed node, but the job may be on any nodes"
            cure = "use the first node of the job: MASTER_ADDR=$(hostname) in the batch script"
            yield finding_at(word, text, cure)
