"""Rules about how the agents of the nodes meet, and meet again after a restart."""

import re

from jobgen.lint.launchers import LOOPBACK, launchers, runs_on_all_nodes, torchruns
from jobgen.lint.rules import Findings, Script, finding_at

_DIFFERS = re.compile(r"\$\{?RANDOM|uuidgen|\$\(date|\$\$")


def jg104_rendezvous_id_differs(script: Script) -> Findings:
    if (script.nodes or (1 if script.active_directives else 2)) < 2:
        return
    is_plain_job = script.scheduler and not script.functions
    for launcher in torchruns(script):
        word = launcher.options.get("rdzv-id")
        if not word or not launcher.is_multi_node:
            continue
        # In a string, what the script's own shell has expanded is one id.
        expanded_here = word.text if is_plain_job and not launcher.starter else ""
        if _DIFFERS.search(word.raw if launcher.command.depth else expanded_here):
            job_id = "$PBS_JOBID" if script.scheduler == "pbs" else "$SLURM_JOB_ID"
            text = f"{word.text} is a different id on each node: the agents never meet"
            yield finding_at(word, text, f"use --rdzv-id={job_id}")


# The address of an interface that is usually not the hostname's.
_ADDRESS = re.compile(r"\b(?:ip|ifconfig)\b.*?\b((?:ib|hsn|bond|ens)\w+)")


def jg107_no_rendezvous_host(script: Script) -> Findings:
    for launcher in torchruns(script):
        endpoint = launcher.options.get("rdzv-endpoint")
        has_host = "is-host" in launcher.options or "is_host" in launcher.value("rdzv-conf")
        is_c10d = launcher.value("rdzv-backend") == "c10d" and launcher.is_multi_node
        if not endpoint or has_host or not is_c10d:
            continue
        for name in endpoint.variables:
            values = (assignment.value.text for assignment in script.assignments_of(name))
            if found := next(filter(None, map(_ADDRESS.search, values)), None):
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


_ESCAPED = re.compile(r"(?<!\\)\\\$\{?([A-Za-z_]\w*)")


def jg123_escaped_dollar(script: Script) -> Findings:
    for launcher in launchers(script):
        for name, word in launcher.options.items() if launcher.command.depth == 1 else ():
            if found := _ESCAPED.search(word.raw if not word.raw.startswith("'") else ""):
                option = launcher.option_name(name)
                text = f"{option} gets the text ${found[1]}, not its value"
                yield finding_at(word, text, "remove the backslash")
