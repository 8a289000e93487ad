"""Restarted ranks cannot recover."""

from jobgen.lint.launchers import torchruns
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    if "TORCH_DISABLE_SHARE_RDZV_TCP_STORE" in script.text:
        return
    for launcher in torchruns(script):
        if launcher.number("max-restarts") and launcher.is_multi_node:
            text = "restarted ranks read the addresses of the dead ranks, and fail"
            cure = "export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 (torch 2.4 and newer)"
            yield finding_at(launcher.options["max-restarts"], text, cure)
