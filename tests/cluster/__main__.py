"""`make cluster`: a shell on the login machine of a real Slurm, or a command there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.harness import Cluster, missing


def main(words: list[str]) -> int:
    if reason := missing():
        print(f"no cluster here: {reason}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, Cluster(Path(folder)) as cluster:
        if not words:
            print(cluster.run(["sinfo"]).stdout, end="")
            print("The login machine; `exit` ends the cluster.")
        command = cluster.command(words or [os.environ.get("SHELL", "bash")])
        return subprocess.run(command, env=cluster.environment(), check=False).returncode


sys.exit(main(sys.argv[1:]))
