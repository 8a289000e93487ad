"""A login node, on which commands run by the user's own ssh, as its configuration says.

A command runs in a login shell there, since the scheduler's folder is often on PATH in no other.
What the shell's start files print is left out: the command's own output is between two marks.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from time import sleep
from typing import NamedTuple

from jobgen.errors import problem, report
from jobgen.quoting import quote, quote_path
from jobgen.submission.machine import Answer, run_here

# As scp does, without what a configuration adds for a person at a terminal. No password is asked
# for; a connection on which nothing comes is given up after a minute.
_OPTIONS = (
    *("BatchMode=yes", "ConnectTimeout=20", "ServerAliveInterval=20", "ServerAliveCountMax=3"),
    *("ClearAllForwardings=yes", "ForwardX11=no", "ForwardAgent=no"),
    *("PermitLocalCommand=no", "RemoteCommand=none", "RequestTTY=no"),
)
SSH = ("ssh", *(word for option in _OPTIONS for word in ("-o", option)))
_NAME = r"\w[\w.@+-]*|(?:\w[\w.+-]*@)?\[[\w.:%]+\]"
_SUBMIT = Path(__file__).with_name("submit_once.sh")
_PAUSES = (2, 4, 8, 16, 30, *[60] * 8)  # seconds between tries, about ten minutes
_SUBMIT_SECONDS = 150.0
_NO_WORD = 254  # what submit_once.sh exits with if nobody knows whether the script was taken


class Login(NamedTuple):
    """A login node."""

    name: str  # HOST or USER@HOST, as for ssh
    folder: str = ""  # the job's folder there, from the home or from /; it may have $NAME
    options: tuple[str, ...] = ()  # of ssh
    longest_pause: float = 30.0
    lacks_folder: bool = False  # the job's folder is not there: `folder` is the home

    @property
    def destination(self) -> str:
        """The name as ssh takes it: rsync's brackets around an address of IPv6 are not ssh's."""
        return re.sub(r"[\[\]]", "", self.name)

    def run(self, words: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Answer:
        line = " ".join(map(quote, words))
        folder = f"cd -- {quote_path(self.folder)} && " if self.folder else ""
        mark = f"jobgen-{os.urandom(6).hex()}"
        # Start files may read stdin, too, so the command's is 3 before it.
        start = f"unset CDPATH; printf '\\n%s\\n' {mark}; printf '\\n%s\\n' {mark} >&2"
        end = f"printf '\\n%s %s\\n' {mark} $?"
        text = f"{start}; {{ cd && {folder}{line}; }} <&3 3<&-; {end}"
        words = ('exec bash -lc "$0" 3<&0 </dev/null', text)
        command = f"exec sh -c {' '.join(map(for_any_shell, words))}"  # for any login shell
        answer = run_here((*SSH, *self.options, "--", self.destination, command), data, seconds)
        return _between(answer, mark)

    def run_again(
        self, words: Sequence[str], data: bytes = b"", seconds: float | None = None, note: str = ""
    ) -> Answer:
        """As `run`, but if the connection is lost, run it again, for about ten minutes."""
        return self.again(lambda: self.run(words, data, seconds), note)

    def again(self, run: Callable[[], Answer], note: str = "") -> Answer:
        """The answer of a function, which is called again while the connection is lost."""
        for pause in _PAUSES:
            answer = run()
            if answer.status is not None:
                return answer
            report(f"{self.name}: {answer.reason}; trying again{note}")
            sleep(pause)
        return run()

    def submit(self, words: Sequence[str], script: bytes, lock: int | None = None) -> Answer:
        """Submit a script once, also if connections are lost: the answer waits there in a file."""
        text = _SUBMIT.read_text(encoding="utf-8")
        token = os.urandom(8).hex()
        call = ("bash", "-c", text, "submit", token, str(len(script)), *words)
        answer = self.run_again(call, script, _SUBMIT_SECONDS, ": nothing is submitted twice")
        if answer.status in (None, _NO_WORD):
            text = f"it is not known whether {words[0]} took the script on {self.name}"
            hint = "look into the queue there before you submit it again"
            raise problem("--host", text, "submit", hint)
        return answer

    def shown(self, words: Sequence[str]) -> str:
        return " ".join(["ssh", quote(self.destination), *map(quote, words)])


def parse_host(text: str, default_folder: str = "") -> Login:
    """The login node in HOST[:FOLDER]. Raises JobgenError for a text that is none.

    ssh would read a name that begins with - as an option.
    """
    found = re.fullmatch(rf"({_NAME})(?::(?!//)(.*))?", text, re.DOTALL | re.ASCII)
    name, folder = found.groups("") if found else ("", "")
    if not found or re.search(r"[\0-\x1f\x7f]", folder or default_folder):
        hint = "a name for ssh, and a folder there: login1, me@login1:project, login1:/scratch/me"
        raise problem("--host", f"{text!r:.80} is not HOST[:FOLDER]", "value", hint)
    return Login(name, folder or default_folder)


def for_any_shell(text: str) -> str:
    r"""`text` as one word of sh, csh and fish alike: no two of them agree on ', \ and ! in quotes.

    It may have no line feed; `quote` writes none.
    """
    special = {"'": '"\'"', "\\": "\\\\", "!": "\\!"}
    parts = re.split(r"(['\\!])", text)
    return "".join(special.get(part, f"'{part}'") for part in parts if part) or "''"


def _between(answer: Answer, mark: str) -> Answer:
    """What came between the marks; without both of them, the command did not run to its end."""
    _, begun, rest = answer.output.partition(f"\n{mark}\n")
    output, _, status = rest.rpartition(f"\n{mark} ")
    errors = answer.errors.rpartition(f"\n{mark}\n")[2]
    if begun and (number := re.match(r"\d{1,3}(?=\n|$)", status)):
        return Answer(int(number[0]), output, errors)
    lost = "the connection was lost" if begun else f"ssh ended with status {answer.status}"
    return Answer(None, "", errors if errors.strip() else f"{lost}\n")
