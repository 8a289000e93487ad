"""The script has directives for Slurm and for PBS."""

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    schedulers = {directive.scheduler for directive in script.active_directives}
    if len(schedulers) < 2 or script.directive("ignore-pbs"):
        return
    if script.is_in_document and not script.interpreter:
        return  # it shows the lines of one scheduler beside those of the other
    for directive in script.active_directives:
        if directive.scheduler == "pbs" and directive.option != "S":
            text = "sbatch also reads #PBS lines, and they override the #SBATCH lines"
            cure = "keep the lines of one scheduler, or add --ignore-pbs"
            yield finding_at(directive, text, cure)
            return
