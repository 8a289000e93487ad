"""The line of the program at which Python crashed, in the stack that it prints at a signal."""

import re

from jobgen.diagnosis.stacks import FRAME, LIBRARY, LINES_FOLLOWED

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
