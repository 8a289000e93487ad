"""The first line names no interpreter."""

import re
from collections.abc import Iterator

from jobgen.lint.reader.directives import is_code
from jobgen.lint.rules import Edit, Finding, Findings, Script, without_line


def check(script: Script) -> Findings:
    if script.is_in_document:  # it shows parts of scripts
        return
    if script.has_byte_order_mark:
        text = "a byte order mark (BOM) hides the first line from sbatch, qsub and the kernel"
        edits = (Edit(1, 0, 1, 1, ""),)
        yield Finding(1, 1, text, "save the file as UTF-8 without BOM", "", edits)
        return
    has_interpreter = script.lines[script.first_line - 1].startswith("#!")
    is_slurm = any(directive.scheduler == "slurm" for directive in script.active_directives)
    if is_slurm and not has_interpreter and script.commands:  # else it is to be put before others
        text = "sbatch refuses a script whose first line does not begin with #!"
        cure = "make #!/bin/bash the first line"
        yield Finding(script.first_line, 1, text, cure, "", tuple(_moved_up(script)))


def _moved_up(script: Script) -> Iterator[Edit]:
    """The edits that make the #! line the first one."""
    for number, line in enumerate(script.lines, 1):
        if re.match(r"#!\s*/.*sh\b", line):
            yield Edit(1, 1, 1, 1, f"{line}\n")
            yield without_line(script, number)
            return
        if is_code(line):
            return
