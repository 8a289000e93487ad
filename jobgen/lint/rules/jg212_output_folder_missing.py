"""The folder of the output does not exist."""

import os
from collections.abc import Iterator
from pathlib import Path

from jobgen.lint.rules import Findings, Script, finding_at

# Only where the job is submitted is it known which folders exist.
OPTIONAL = True


def check(script: Script) -> Findings:
    if script.file == "-" or script.directive("chdir"):
        return
    is_slurm = script.scheduler == "slurm"
    makers = [each for each in script.commands if each.name in ("mkdir", "install")]
    for directive in map(script.directive, ("output", "error") if is_slurm else ("o", "e")):
        folder = directive.value.rpartition("/")[0].removeprefix("./") if directive else ""
        if not directive or not folder or folder.startswith(("/", "~", "..")):
            continue
        if set(folder) & set("%$^:<{") or any(folder in maker.text for maker in makers):
            continue  # that the job makes it is right with PBS; with Slurm, JG210 reports it
        if not any(map(os.path.isdir, _paths(script.file, folder))):
            effect = "the job fails without a message" if is_slurm else "the output is lost"
            text = f"the output goes to {folder}, which does not exist: {effect}"
            yield finding_at(directive, text, "make it before you submit")


def _paths(file: str, folder: str) -> Iterator[str]:
    """Where the folder may be: in the folders from which a person may submit."""
    yield folder
    for above in Path(os.path.abspath(file)).parents:
        yield os.path.join(above, folder)
        if os.path.exists(above / ".git"):
            return
