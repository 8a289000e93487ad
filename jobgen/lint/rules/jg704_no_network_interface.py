"""The job has several nodes, but does not name the fast network for NCCL.

Without NCCL_SOCKET_IFNAME, NCCL chooses the interface for its first contact itself. Without
GLOO_SOCKET_IFNAME, gloo uses the interface that the hostname resolves to: on a cluster with a
management network, the interface of that network. A line in a comment sets nothing.

Evidence: NCCL's user guide, environment variables; NCAR's notes on Derecho: "not working
without this". Byte counters showed gloo's traffic on the hostname's interface.

Cure: `export NCCL_SOCKET_IFNAME=NAME`, with the profile's `network.interface`.

Example:
  #PBS -l select=2:ncpus=288:ngpus=4
- export NCCL_DEBUG=INFO
- #NCCL_SOCKET_IFNAME=hsn0
+ export NCCL_SOCKET_IFNAME=hsn0
  mpiexec --ppn 1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

PROFILE = "eap"

_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


def check(script: Script) -> Findings:
    profile = script.profile
    if not profile or not profile.network.interface or (script.nodes or 1) < 2:
        return
    if any(script.assignments_of(name) for name in _VARIABLES):
        return
    interface, variable = profile.network.interface[0], _VARIABLES[0]
    for launcher in launchers(script)[:1]:
        comments = [comment for comment in script.comments if variable in comment.text]
        more = f", and line {comments[0].line} is only a comment" if comments else ""
        text = f"nothing makes the ranks use {interface}{more}"
        place = comments[0] if comments else launcher.word
        yield finding_at(place, text, f"export {variable}={interface}")
