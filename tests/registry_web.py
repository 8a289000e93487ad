"""What the tests of the registry of profiles share: its scripts, and a web on this machine."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REGISTRY = Path(__file__).parent.parent / "packaging/registry"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
PROFILE = f"""\
description: a cluster
state: documented
contact: help@example.org
scheduler: slurm
partition: gpu
node: {{cpus: 64, gpus: 8}}
sources:
  documents:
    nodes: {{repository: site/docs, commit: {COMMIT}, path: a b/nodes.md, read: 2026-11-29}}
    page: {{address: "WEB/page", read: 2026-11-29}}
    shown: {{address: "https://github.com/site/docs/blob/main/limits.md", read: 2026-11-29}}
  values:
    contact: {{document: page, words: "write to help@example.org"}}
    scheduler: {{document: shown, words: "Slurm's limits"}}
    partition: {{document: page, words: "The partition gpu has 8 GPUs"}}
    node: {{document: nodes, line: 2, words: "64 cores,  8 GPUs"}}
    request: {{ours: as in its example}}
"""
NODES = "# Nodes\nEach has 64  cores, 8 GPUs.\n"
MANY = "of a page with enough words to be one for people who read it, as most pages have them "
PAGE = f"""<!doctype html><html><head><script>gone = 1</script></head><body><p>{MANY}{MANY}
<p>The partition <code>gpu</code>
has <b>8</b>&nbsp;GPUs.<ul><li>write to<li><a href="x">help@example.org</a></ul></body></html>"""


def run(folder: Path, *words: str, **environ: str) -> tuple[int, str]:
    """The exit code of a script of a registry, and what it prints."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


class Web:
    """A server on this machine: what each path answers, and which paths were asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, str | int] = {}
        self.asked: list[str] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = web.answers.get(self.path, 404)
                status = answer if isinstance(answer, int) else 200
                text = "" if isinstance(answer, int) else answer
                tag = f'"{hashlib.sha256(text.encode()).hexdigest()}"'
                if status == 200 and self.headers["If-None-Match"] == tag:
                    status, text = 304, ""
                web.asked.append(f"{self.path} {status}")
                self.send_response(status)
                self.send_header("ETag", tag)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
