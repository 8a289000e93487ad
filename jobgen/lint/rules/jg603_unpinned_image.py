"""An image is named without a version.

`:latest`, or no tag, is another image tomorrow, or another one on each node if they pull it at
different times: then torch and NCCL differ between the nodes of one job.

Evidence: podman-pull(1): without a tag, `latest` is meant, and what is there already is not
pulled again.

Cure: a tag with a version, or a digest: `IMAGE@sha256:…`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import containers
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

# Where a registry has no other tag, there is nothing better to say.
OPTIONAL = True
BAD = """\
#!/bin/bash
podman run --rm docker://rocm/pytorch:latest python3 train.py
"""
GOOD = """\
#!/bin/bash
podman run --rm docker://rocm/pytorch:rocm6.4_ubuntu24.04 python3 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for _, words in containers(script):
        for word in words:
            if re.fullmatch(r"(docker://)?[\w.-]+(:\d+)?(/[\w.-]+)+:latest", word.text):
                yield at(
                    word,
                    f"{word.text} is another image tomorrow",
                    "a tag with a version, or a digest",
                )
