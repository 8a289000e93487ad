"""The commands `jobgen guard`: slurm, pbs, serve, report."""

from datetime import datetime

from click import DateTime

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
@argument("logs", nargs=-1, required=True, metavar="LOG...")
@option("--since DAY", "Only from this day on, as 2026-11-01.", type=DateTime(["%Y-%m-%d"]))
def _report(logs: tuple[str, ...], since: datetime | None) -> int:
    """What was found, and the GPU-hours that the refused jobs asked for."""
    lines: list[str] = []
    for log in logs:
        try:
            with open(log, encoding="utf-8", errors="replace") as stream:
                lines += stream
        except OSError as error:
            raise problem(log, f"cannot be read: {error.strerror}", "unreadable") from None
    write(report_on(lines, str(since.date()) if since else ""))
    return 0
