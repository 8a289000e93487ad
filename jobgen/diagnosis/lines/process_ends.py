"""How a process ended: its exit status, and where the program was when Python crashed."""

import re

from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.matching import compiled
from jobgen.diagnosis.stacks import FRAME, LIBRARY, LINES_FOLLOWED

# Each behind a text that a line has if it matches.
_STATUS = (
    # torchrun's report and agent
    ("exitcode", r"^\s*exitcode\s*: (?P<status>-?\d+) \(pid: \d+\)"),
    (
        "failed (exitcode: ",
        r"failed \(exitcode: (?P<status>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid",
    ),
    ("return code = ", r"exits with return code = (?P<status>-?\d+)\s*$"),  # deepspeed
    ("returned non-zero", r"returned non-zero exit status (?P<status>\d+)\.\s*$"),
    # srun
    (
        ": error: ",
        r"(?:srun|slurmstepd): error: (?P<node>[\w.-]+)?(?:[,\[][\w.,\[\]-]*)?: "
        r"(?:task (?P<task>\d+)|tasks [\d,-]+): "
        r"(?:Exited with exit code (?P<status>\d+)|(?P<signal>[A-Z][\w ]+))",
    ),
    (": rank ", r"^(?P<node>[\w.-]+): rank (?P<task>\d+) exited with code (?P<status>[1-9]\d*)$"),
    ("pdsh@", r"^pdsh@[^:]+: (?P<node>[\w.-]+): ssh exited with exit code (?P<status>[1-9]\d*)"),
    ("exited with ", r"exited with (?:exit )?(?:code|status) (?P<status>[1-9]\d*)\b"),
    # Ray's
    ("command failed", r"\bcommand failed with exit (?:code|status) (?P<status>[1-9]\d*)\b"),
    ("Primary job ", r"Primary job +terminated normally, but 1 process returned (?P<status>)"),
    (
        "mpi",
        r"mpi(?:run|exec)\S* (?:noticed|detected) that (?:process|one or more)(?P<status>)",
    ),
    ("Process name: ", r"Process name: \[\[\d+,\d+\],(?P<task>\d+)\](?P<status>)"),
    (
        "ended with status ",
        r"^jobgen: (?P<node>[\w.-]+): (?:rank (?P<rank>\d{1,7}) )?.*?"
        r"\bended with status (?P<status>-?[1-9]\d*)",
    ),
    ("ended with status ", r"^jobgen: .*\bended with status (?P<status>-?[1-9]\d*)"),
    ("failed first", r"^jobgen: (?P<status>).*\bfailed first\b"),
    ("DUE TO", r"^DUE TO(?P<status>)"),
    ("slurmstepd: ", r"^slurmstepd: error: \*\*\* (?:JOB|STEP) (?P<status>)"),
    ("ChildFailedError", r"ChildFailedError(?P<status>)"),
)
_SIGNALS = {
    "Killed": -9,
    "Terminated": -15,
    "Aborted": -6,
    "Segmentation fault": -11,
    "Bus error": -7,
    "Out Of Memory": -9,
}


def exit_status(text: str) -> Event | None:
    """The event of a line that says that a process ended: its status, if given, and its place."""
    for part, pattern in _STATUS:
        if part in text and (found := compiled(pattern).search(text)):
            groups = {name: value for name, value in found.groupdict().items() if value}
            number = int(groups.pop("status")) if "status" in groups else None
            if signal := groups.pop("signal", ""):
                number = _SIGNALS.get(signal.partition(" (")[0].strip())
            says = f"exit status {number}" if number is not None else "the launcher ended"
            return Event("", Role.TEARDOWN, says, status=number, groups=groups)
    return None


# Of the stack that Python prints at a signal.
_BEGIN = "Fatal Python error: "
_CURRENT = "Current thread 0x"  # the one that crashed
_THREADS = (_CURRENT, "Thread 0x", "Stack (most recent call first)", "Extension modules:")
_PROCESSES = 1000


class CrashStacks:
    """Reads the stacks of one file, whose processes are told apart by their labels."""

    def __init__(self) -> None:
        self._begins: dict[object, int] = {}
        self._current: dict[object, bool] = {}  # whether the frames are those of the thread

    def begins(self, number: int, process: object, text: str) -> bool:
        """Whether a stack may follow a line."""
        if not text.startswith(_BEGIN) or len(self._begins) >= _PROCESSES:
            return False
        self._begins[process], self._current[process] = number, False
        return True

    def crashed_at(self, number: int, process: object, text: str) -> tuple[int, str]:
        """Where the program crashed, and the number of the line that says that it did, if known."""
        begin = self._begins.get(process, -LINES_FOLLOWED)
        if number - begin >= LINES_FOLLOWED:
            return 0, ""
        if text.startswith(_THREADS):
            self._current[process] = text.startswith(_CURRENT)
        frame = re.match(FRAME, text) if self._current[process] else None
        if not frame or re.search(LIBRARY, frame["file"]):
            return 0, ""
        del self._begins[process]
        return begin, f"{frame['file']}:{frame['line']} in {frame['function']}"
