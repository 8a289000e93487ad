"""Rules about how the agents of the nodes meet: the endpoint, its port, and the id."""

import re

from jobgen.lint.launchers import (
    ENDPOINTS,
    LOOPBACK,
    Launcher,
    fixed_ports,
    launchers,
    runs_on_all_nodes,
    torchruns,
)
from jobgen.lint.rules import Directive, Findings, Script, finding_at, optional

_DIFFERS = re.compile(r"\$\{?RANDOM|uuidgen|\$\(date|\$\$")


def jg104_rendezvous_id_differs(script: Script) -> Findings:
    if (script.nodes or (1 if script.active_directives else 2)) < 2:
        return
    is_plain_job = script.scheduler and not script.functions
    for launcher in torchruns(script):
        word = launcher.options.get("rdzv-id")
        if not word or not launcher.is_multi_node:
            continue
        # An id that the batch script expands before a starter is the same on all nodes.
        expanded_here = launcher.command.depth or (is_plain_job and not launcher.starter)
        if expanded_here and _DIFFERS.search(script.origin(word.text, launcher.command)):
            job_id = "$PBS_JOBID" if script.scheduler == "pbs" else "$SLURM_JOB_ID"
            text = f"{word.text} is a different id on each node: the agents never meet"
            yield finding_at(word, text, f"use --rdzv-id={job_id}")


# A command for the address of an interface that is usually not the hostname's address.
_INTERFACE_ADDRESS = re.compile(r"\b(?:ip|ifconfig)\b.*?\b((?:ib|hsn|bond|ens)\w+)")


def jg107_no_rendezvous_host(script: Script) -> Findings:
    for launcher in torchruns(script):
        endpoint = launcher.options.get("rdzv-endpoint")
        has_host = "is-host" in launcher.options or "is_host" in launcher.value("rdzv-conf")
        is_c10d = launcher.value("rdzv-backend") == "c10d" and launcher.is_multi_node
        if not endpoint or has_host or not is_c10d:
            continue
        for name in endpoint.variables:
            values = (assignment.value.text for assignment in script.assignments_of(name))
            if found := next(filter(None, map(_INTERFACE_ADDRESS.search, values)), None):
                text = f"no hostname resolves to the address of {found[1]}"
                text += ": no agent becomes the host"
                cure = "use --rdzv-conf=is_host=1 on the first node, is_host=0 on the others"
                yield finding_at(endpoint, text, cure)


def jg112_restarts_fail(script: Script) -> Findings:
    if "TORCH_DISABLE_SHARE_RDZV_TCP_STORE" in script.text:
        return
    for launcher in torchruns(script):
        if launcher.number("max-restarts") and launcher.is_multi_node:
            text = "restarted ranks read the addresses of the dead ranks, and fail"
            cure = "export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 (torch 2.4 and newer)"
            yield finding_at(launcher.options["max-restarts"], text, cure)


_OWN_NAME = re.compile(r"\$\{?SLURMD_NODENAME\b\}?|(?:\$\(|`)\s*(?:hostname|uname -n)[^)`]*[)`]")


def jg118_endpoint_differs(script: Script) -> Findings:
    for launcher in launchers(script) if script.nodes != 1 else ():
        is_everywhere = runs_on_all_nodes(script, launcher.command)
        # Wherever an agent for several nodes runs, the others cannot find it on localhost.
        if not launcher.is_multi_node or not (
            is_everywhere or (launcher.number("nnodes") or 1) > 1
        ):
            continue
        if is_everywhere and _has_no_endpoint(script, launcher):
            text = "without --rdzv-endpoint, c10d looks for the others on each node itself"
            cure = (
                "export HEAD=$(hostname) before this command, and use --rdzv-endpoint=$HEAD:29500"
            )
            yield finding_at(launcher.options["rdzv-backend"], text, cure)
        for option in launcher.options.keys() & ENDPOINTS:
            word = launcher.options[option]
            text = script.origin(word.text, launcher.command)
            expanded_there = text if is_everywhere and launcher.command.depth else ""
            if found := LOOPBACK.match(text) or _OWN_NAME.search(expanded_there):
                port = re.search(r":\d+$", word.text)
                endpoint = "$HEAD" + (port[0] if port else "")
                text = f"`{found[0]}` is each node's own name here: the nodes never meet"
                cure = "export HEAD=$(hostname) before this command, and use "
                cure += f"{launcher.option_name(option)}={endpoint}"
                yield finding_at(word, text, cure)


def _has_no_endpoint(script: Script, launcher: Launcher) -> bool:
    """Whether the endpoint is the default, localhost: c10d does not read --master-addr."""
    is_given = not launcher.has_all_options or "rdzv-endpoint" in launcher.options
    is_c10d = launcher.name == "torchrun" and launcher.value("rdzv-backend") == "c10d"
    return is_c10d and not is_given and "PET_RDZV_ENDPOINT" not in script.text


_ESCAPED = re.compile(r"(?<!\\)\\\$\{?([A-Za-z_]\w*)")


def jg123_escaped_dollar(script: Script) -> Findings:
    for launcher in launchers(script):
        for name, word in launcher.options.items() if launcher.command.depth == 1 else ():
            if found := _ESCAPED.search(word.raw if not word.raw.startswith("'") else ""):
                option = launcher.option_name(name)
                text = f"{option} gets the text ${found[1]}, not its value"
                yield finding_at(word, text, "remove the backslash")


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
    # Most nodes have 4 or 8 GPUs: two jobs that each request as many run on two nodes.
    most = script.profile.node.gpus if script.profile else 4
    fills_node = script.asks_for_whole_nodes or bool(gpus and gpus.count >= most)
    return bool(is_several) and not fills_node


def _run_together(script: Script, *pair: Launcher) -> bool:
    """Whether two launchers run in the background of the script, with no `wait` between them."""
    for launcher in pair:
        is_elsewhere = launcher.starter or launcher.command.depth or launcher.is_multi_node
        if is_elsewhere or "background" not in launcher.command.enclosing:
            return False
    first, last = sorted(launcher.command.offset for launcher in pair)
    waits = [command.offset for command in script.commands if command.name == "wait"]
    return not any(first < offset < last for offset in waits)


_FIXED_PORT_CURE = "make it from the job's id, or request whole nodes"


# Off by default: many sites give whole nodes without a request.
@optional
def jg117_same_port_in_every_job(script: Script) -> Findings:
    if not script.scheduler or script.asks_for_whole_nodes:
        return
    for launcher, port in fixed_ports(script):
        job_id = launcher.options.get("rdzv-id")
        more = f", and the id {job_id.text}" if job_id and job_id.is_literal else ""
        yield finding_at(port, f"every job of this script has this port{more}", _FIXED_PORT_CURE)
    assignment = script.constant("MASTER_PORT")
    if assignment and assignment.value.text.isdecimal() and not launchers(script):
        yield finding_at(assignment, "every job of this script has this port", _FIXED_PORT_CURE)


def jg705_fixed_port_on_shared_node(script: Script) -> Findings:
    profile, gpus = script.profile, script.gpus_per_node
    shares_node = profile and gpus and 0 < gpus.count < profile.node.gpus
    if not shares_node or script.asks_for_whole_nodes:
        return
    for launcher, word in fixed_ports(script):
        port = script.resolved(word.text, launcher.command).rpartition(":")[2]
        text = f"port {port} may be another job's: this job has a part of the node"
        yield finding_at(word, text, "make it from the job's id")
