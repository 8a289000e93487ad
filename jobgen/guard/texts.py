"""The texts that an administrator installs: the filter of sbatch, and the hook of PBS."""

import sys
from pathlib import Path

from jobgen.guard.settings import Guard
from jobgen.quoting import quote

_FOLDER = Path(__file__).parent
_FILES = {"slurm": "cli_filter.lua", "pbs": "queuejob.py.in"}


def text_for(scheduler: str, guard: Guard) -> str:
    """The text for a scheduler; in it is the command that asks the service."""
    limit = ("timeout", "-s", "KILL", f"{guard.time_limit / 1000:g}")
    words = (
        *limit,
        sys.executable,
        "-I",
        "-S",
        str(_FOLDER / "client.py"),
        guard.socket,
        scheduler,
    )
    command = "".join(f"{quote(word)} " for word in words)
    literal = f"[==[{command}]==]" if scheduler == "slurm" else repr([*words])
    text = (_FOLDER / _FILES[scheduler]).read_text(encoding="utf-8")
    return text.replace("@COMMAND@", literal)
