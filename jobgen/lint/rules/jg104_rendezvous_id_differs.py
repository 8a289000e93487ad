"""The rendezvous id is different on each node."""

import re

from jobgen.lint.launchers import torchruns
from jobgen.lint.rules import Findings, Script, finding_at

_DIFFERS = re.compile(r"\$\{?RANDOM|uuidgen|\$\(date|\$\$")


def check(script: Script) -> Findings:
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
