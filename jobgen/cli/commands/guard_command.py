"""The commands `jobgen guard`: slurm, pbs, serve, report."""

from jobgen.cli.app import argument, command_group, option
from jobgen.errors import problem
from jobgen.guard import texts
from jobgen.guard.report import report_on
from jobgen.guard.settings import read_guard
from jobgen.scripts.write import write

guard = command_group("guard")
_file = argument("file", metavar="FILE")


@guard.command("slurm")
@_file
def _slurm(file: str) -> int:
    """The filter for sbatch, on stdout: cli_filter.lua. Its first lines say how to install it."""
    write(texts.slurm(read_guard(file).guard))
    return 0


@guard.command("pbs")
@_file
def _pbs(file: str) -> int:
    """The hook for PBS, on stdout. Its first lines say how to install it."""
    write(texts.pbs(read_guard(file).guard))
    return 0


@guard.command("serve")
@_file
def _serve(file: str) -> int:
    """Run the service that judges scripts, by the settings in FILE."""
    from jobgen.guard.service import serve

    serve(read_guard(file))


@guard.command("report")
@argument("log", metavar="LOG")
@option("--since DAY", "Only from this day on, as 2026-11-01.")
def _report(log: str, since: str | None) -> int:
    """What was found, and the GPU-hours that the refused jobs asked for."""
    try:
        with open(log, encoding="utf-8", errors="replace") as lines:
            write(report_on(lines, since or ""))
    except OSError as error:
        raise problem(log, f"cannot be read: {error.strerror}", "unreadable") from None
    return 0
