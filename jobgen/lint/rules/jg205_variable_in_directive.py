"""A variable in a directive is not expanded."""

import re

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    for directive in script.active_directives:
        variable = re.search(r"\$\{?[A-Za-z_]\w*\}?", directive.value)
        is_of_openpbs = script.chunk_requests and directive.option in "oeN"
        if variable and (directive.scheduler == "slurm" or is_of_openpbs):
            text = f"`{variable[0]}` is not expanded in a directive"
            cure = "write the value, or give the option on the command line"
            yield finding_at(directive, text, cure)
