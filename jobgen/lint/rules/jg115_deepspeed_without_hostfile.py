"""deepspeed gets no list of the job's nodes."""

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

_CHOOSES_HOSTS = {"hostfile", "no-ssh", "i", "include"}


def check(script: Script) -> Findings:
    if script.functions or script.runs_itself or "/job/hostfile" in script.text:
        return
    for launcher in launchers(script):
        nodes = max(script.nodes or 1, launcher.number("nnodes") or 1)
        if launcher.name != "deepspeed" or launcher.starter or nodes == 1:
            continue
        if launcher.has_all_options and not launcher.options.keys() & _CHOOSES_HOSTS:
            text = f"deepspeed gets no list of the {nodes} nodes: it uses the first node only"
            yield finding_at(launcher.word, text, "write a hostfile, and give it with --hostfile")
