"""Reads torchrun's final report: which of its ranks failed, and with which status.

It is about the ranks of one agent: with N nodes there are N of them, and each names a root cause.
"""

import re

from jobgen.diagnosis.lines.labels import Label
from jobgen.diagnosis.lines.matching import compiled

BEGIN = re.compile(r"Root Cause \(first observed failure\):|^\s*(?:Other )?Failures:\s*$")
LINES_FOLLOWED = 40  # an entry has seven, and a message may have many
_ENTRY = r"^\s*\[\d+\]:\s*$"
_RULE = r"^\s*[=*-]{20,}\s*$"
_FIELD = r"^\s*(?P<name>time|host|rank|exitcode|error_file|traceback)\s*: (?P<value>.*)$"
_RANK = r"(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)"


class FinalReport:
    """Where one stream of lines is in a report: the node and rank of the present entry."""

    def __init__(self) -> None:
        self.is_open = False
        self.is_root = False
        self.label = Label()
        self._gap = 0

    def feed(self, text: str) -> bool:
        """Take a line; whether it belongs to a report."""
        if BEGIN.search(text):
            self.is_open, self.is_root, self.label = True, "Root Cause" in text, Label()
            self._gap = 0
            return True
        if not self.is_open:
            return False
        if re.match(_ENTRY, text):
            self.label = Label()
        elif found := re.match(_FIELD, text):
            self._take(found["name"], found["value"])
            self._gap = 0
        self._gap += 1
        if self._gap > LINES_FOLLOWED or (
            re.match(_RULE, text) and self.is_root and self.label.rank is not None
        ):
            self.is_open, self.label = False, Label()
        return self.is_open

    def _take(self, name: str, value: str) -> None:
        if name == "host" and value.strip() not in ("", "localhost"):
            self.label = Label(node=value.strip())
        elif name == "rank" and (found := re.match(_RANK, value.strip())):
            self.label = Label(self.label.node, int(found["rank"]), int(found["local"]))


Status = tuple[int | None, dict[str, str]]
# Each line that says how a process ended has one of these.
_WORDS = re.compile(
    r"exit|status|srun|slurmstepd|failed first|Primary job|mpi|DUE TO|ChildFailed|Process name"
)
_STATUS = (
    # torchrun's report and agent
    r"^\s*exitcode\s*: (?P<status>-?\d+) \(pid: \d+\)",
    r"failed \(exitcode: (?P<status>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid",
    r"exits with return code = (?P<status>-?\d+)\s*$",  # deepspeed
    r"returned non-zero exit status (?P<status>\d+)\.\s*$",
    # srun
    (
        r"(?:srun|slurmstepd): error: (?P<node>[\w.-]+)?[\w.,\[\]-]*: "
        r"(?:task (?P<task>\d+)|tasks [\d,-]+): "
        r"(?:Exited with exit code (?P<status>\d+)|(?P<signal>[A-Z][\w ]+))"
    ),
    r"^(?P<node>[\w.-]+): rank (?P<task>\d+) exited with code (?P<status>[1-9]\d*)$",
    r"^pdsh@[^:]+: (?P<node>[\w.-]+): ssh exited with exit code (?P<status>[1-9]\d*)",
    r"exited with (?:exit )?(?:code|status) (?P<status>[1-9]\d*)\b",
    r"Primary job +terminated normally, but 1 process returned (?P<status>)",
    r"mpi(?:run|exec)\S* (?:noticed|detected) that (?:process|one or more)(?P<status>)",
    r"Process name: \[\[\d+,\d+\],(?P<task>\d+)\](?P<status>)",
    (
        r"^jobgen: (?P<node>[\w.-]+): (?:(?P<is_local>local )?rank (?P<rank>\d{1,7}) )?.*?"
        r"\bended with status (?P<status>-?[1-9]\d*)"
    ),
    r"^jobgen: .*\bended with status (?P<status>-?[1-9]\d*)",
    r"^jobgen: (?P<status>).*\bfailed first\b",
    r"^(?:DUE TO|slurmstepd: error: \*\*\* (?:JOB|STEP) (?P<status>))",
    r"ChildFailedError(?P<status>)",
)
_SIGNALS = {
    "Killed": -9,
    "Terminated": -15,
    "Aborted": -6,
    "Segmentation fault": -11,
    "Bus error": -7,
    "Out Of Memory": -9,
}


def exit_status(text: str) -> Status | None:
    """What a line says of a process that ended: its status, if it is there, and whose it is."""
    if not _WORDS.search(text):
        return None
    for pattern in _STATUS:
        if found := compiled(pattern).search(text):
            groups = {name: value for name, value in found.groupdict().items() if value}
            if groups.pop("is_local", ""):
                groups["local_rank"] = groups.pop("rank")
            if signal := groups.pop("signal", ""):
                name = signal.partition(" (")[0].strip()
                return _SIGNALS.get(name), groups
            return (int(groups.pop("status")) if "status" in groups else None), groups
    return None
