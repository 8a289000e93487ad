"""The job has several nodes, but does not name the fast network for NCCL."""

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

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
