"""The outputs on the start page are those of the commands, which run when the site is built."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.exceptions import PluginError

from tests.page_blocks import Block, parts_of


def with_outputs(markdown: str) -> str:
    """Markdown with what the command of each mark `run` writes now, in the block below it.

    The commands run one after another in an empty folder, in which each block marked `file` is
    written before. One that fails ends the build.
    """
    with TemporaryDirectory() as folder:
        parts = (_with_output(part, Path(folder)) for part in parts_of(markdown))
        return "".join(parts)


def _with_output(part: str | Block, folder: Path) -> str:
    if isinstance(part, str):
        return part
    if part.kind == "file":
        (folder / part.words).write_text(part.content, encoding="utf-8")
    elif part.kind == "run":
        part.content = _output(part.words, folder)
    if part.language == "text":  # its lines are wrapped; what jobgen writes has a mark
        part.language = "{.text .message .output}" if part.kind == "run" else "{.text .message}"
    return part.markdown


def _output(command: str, folder: Path) -> str:
    """The stdout of a command; profiles and variables of who builds the site do not count."""
    environment = {name: value for name, value in os.environ.items() if "JOBGEN" not in name}
    path = f"{Path(sys.executable).parent}:{environment.get('PATH', '')}"
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env={**environment, "PATH": path, "XDG_CONFIG_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        raise PluginError(f"exit code {done.returncode}: {command}\n{done.stderr}")
    return done.stdout
