"""What Slurm's accounting (sacct) knows of a job and its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Query = Callable[[tuple[str, ...]], str]

_SEPARATOR = "\x1f"  # names may have any other character
_FIELDS = (
    "State JobID ExitCode DerivedExitCode Reason NodeList Start End Timelimit MaxRSS MaxRSSNode"
)
_JOB_FIELDS = "JobIDRaw JobName User WorkDir"
# A field that a sacct does not have is an error: newer ones first.
_NEWER_FIELDS = ("SubmitLine StdOut StdErr", "SubmitLine", "")  # Slurm 24.05, 21.08, older
_NOTHING = ("", "None", "Unknown", "(null)")


@dataclass(frozen=True)
class Account:
    """A record of sacct: a job, or one of its steps (12.0, 12.batch)."""

    fields: dict[str, str]

    @property
    def is_step(self) -> bool:
        """Whether it is not the job itself."""
        return "." in self.fields["JobID"]

    def fact(self) -> str:
        """A line for the classes' signs; "" for a step that went well."""
        state = self.fields["State"]
        if self.is_step and state in ("COMPLETED", "RUNNING", ""):
            return ""
        shown = [f"{name}={self.fields[name]}" for name in _FIELDS.split() if self._has(name)]
        return " ".join(["sacct:", *shown])

    def _has(self, name: str) -> bool:
        return self.fields.get(name, "") not in _NOTHING


def query_accounting(job: str, cluster: str, query: Query) -> list[Account]:
    """The records of a job, first its own; none if sacct does not know it."""
    on_cluster = ("-M", cluster) if cluster else ()
    for newer in _NEWER_FIELDS:
        names = f"{_FIELDS} {_JOB_FIELDS} {newer}".split()
        shape = ("--parsable2", "--noheader", f"--delimiter={_SEPARATOR}")
        answer = query(("sacct", *on_cluster, "-j", job, *shape, f"--format={','.join(names)}"))
        rows = [line.split(_SEPARATOR) for line in answer.splitlines()]
        accounts = [
            Account(dict(zip(names, row, strict=True))) for row in rows if len(row) == len(names)
        ]
        if accounts:
            return accounts
    return []
