"""All tasks of an array write to one output file."""

import re

from jobgen.lint.rules import Findings, Script, finding_at

# What is another text for each task: its number, its job, or (mostly) its node.
_DIFFERS = re.compile(r"%\d*[ajJN]|\$|[{}<>]|^/dev/")


def check(script: Script) -> Findings:
    array, mode = script.directive("array"), script.directive("open-mode")
    has_several = array and re.search("[-,:]", array.value.split("%")[0])
    appends = mode and mode.value.startswith("a")
    if script.scheduler != "slurm" or not array or not has_several or appends:
        return
    for directive in map(script.directive, ("output", "error")):
        if directive and directive.value and not _DIFFERS.search(directive.value):
            text = f"all tasks of the array (see line {array.line}) overwrite {directive.value}"
            yield finding_at(directive, text, "add %a, the number of the task, to the name")
