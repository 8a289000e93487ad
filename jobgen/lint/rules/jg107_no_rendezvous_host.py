"""No agent becomes the host of the rendezvous."""

import re

from jobgen.lint.launchers import torchruns
from jobgen.lint.rules import Findings, Script, finding_at

# The address of an interface that is usually not the hostname's.
_ADDRESS = re.compile(r"\b(?:ip|ifconfig)\b.*?\b((?:ib|hsn|bond|ens)\w+)")


def check(script: Script) -> Findings:
    for launcher in torchruns(script):
        endpoint = launcher.options.get("rdzv-endpoint")
        has_host = "is-host" in launcher.options or "is_host" in launcher.value("rdzv-conf")
        is_c10d = launcher.value("rdzv-backend") == "c10d" and launcher.is_multi_node
        if not endpoint or has_host or not is_c10d:
            continue
        for name in endpoint.variables:
            values = (assignment.value.text for assignment in script.assignments_of(name))
            if found := next(filter(None, map(_ADDRESS.search, values)), None):
                text = f"no hostname resolves to the address of {found[1]}"
                text += ": no agent becomes the host"
                cure = "use --rdzv-conf=is_host=1 on the first node, is_host=0 on the others"
                yield finding_at(endpoint, text, cure)
