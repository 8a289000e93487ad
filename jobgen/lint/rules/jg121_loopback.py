"""The nodes look for each other on their own loopback."""

from jobgen.lint.launchers import LOOPBACK, launchers, runs_on_all_nodes, work_commands
from jobgen.lint.rules import Findings, Script, finding_at

_CURES = {
    "MASTER_ADDR": "use MASTER_ADDR=$(hostname) here, on the first node",
    "NCCL_SOCKET_IFNAME": "name the interface of the network between the nodes",
    "GLOO_SOCKET_IFNAME": "name the interface of the network between the nodes",
}


def check(script: Script) -> Findings:
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
