"""An image is named without a version.

`:latest`, or no tag, is another image tomorrow, or another one on each node if they pull it at
different times: then torch and NCCL differ between the nodes of one job.

Evidence: podman-pull(1): without a tag, `latest` is meant, and what is there already is not
pulled again.

Cure: a tag with a version, or a digest: `IMAGE@sha256:…`. (Of a script that jobgen made the image is
its profile's: `--set software.container.image=…`.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
podman run --rm docker://rocm/pytorch:latest python3 train.py
"""
GOOD = """\
#!/bin/bash
podman run --rm docker://rocm/pytorch:rocm6.4_ubuntu24.04 python3 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if "\n# sha256 of the other lines: " in script.text:  # jobgen made it
        return
    for command in script.commands:
        for word in command.words:
            # A path with a host or a folder: what has neither was built here.
            named = re.fullmatch(
                r"(?:--container-image=)?(docker://)?([\w.-]+(?::\d+)?[/#][\w./-]+)(:latest)?",
                word.text,
            )
            if named and (named[3] or named[1]) and not named[2].startswith("localhost/"):
                image = word.text.removeprefix("--container-image=")
                yield at(
                    word, f"{image} is another image tomorrow", "a tag with a version, or a digest"
                )
