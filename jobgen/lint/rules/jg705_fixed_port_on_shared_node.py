"""The port is fixed, and other jobs may be on the node."""

from jobgen.lint.launchers import fixed_ports
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    profile, gpus = script.profile, script.gpus_per_node
    shares_node = profile and gpus and 0 < gpus.count < profile.node.gpus
    if not shares_node or script.asks_for_whole_nodes:
        return
    for _, word in fixed_ports(script):
        port = script.resolved(word.text).rpartition(":")[2]
        text = f"port {port} may be another job's: this job has a part of the node"
        yield finding_at(word, text, "make it from the job's id")
