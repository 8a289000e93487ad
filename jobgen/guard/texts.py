"""The texts that an administrator installs: the filter of sbatch, and the hook of PBS."""

import sys
from pathlib import Path
from shutil import which

from jobgen.bounds import LINT_BYTES
from jobgen.guard.settings import Guard
from jobgen.lint.options import known_options
from jobgen.quoting import quote

_FOLDER = Path(__file__).parent


def slurm(guard: Guard) -> str:
    """The text of cli_filter.lua; in it are the client's command, and the flags of sbatch."""
    limit = (which("timeout") or "timeout", "-s", "KILL", f"{guard.time_limit / 1000:g}")
    words = (*limit, sys.executable, "-I", "-S", str(_FOLDER / "client.py"), guard.socket)
    command = "".join(f"{quote(word)} " for word in words)
    options = known_options("sbatch").by_name.values()
    flags = "|".join(f"--{each.name}" for each in options if each.argument != "=")
    text = _text("cli_filter.lua").replace("@FLAGS@", flags)
    return text.replace("@COMMAND@", f"[==[{command}]==]")


def pbs(guard: Guard) -> str:
    """The text of the hook."""
    values = guard.socket, guard.time_limit / 1000, LINT_BYTES + 1
    return _text("queuejob.py.in").replace("@VALUES@", repr(values))


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
