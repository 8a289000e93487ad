"""What the kernel and the GPUs of a node noted: raw output of df, nvidia-smi, dmesg and counters.

It is judged here, and not in the job's script: a full disk or a process that the kernel killed is
the cause only where it explains how a rank ended.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobgen.diagnosis.job_folder.layout import JobFolder, Node, read_start
from jobgen.diagnosis.signs import PARTS

_SECTION = re.compile(r"^==> (?P<name>.+?)(?: <==)?$")
_COUNT = re.compile(r"^(?P<path>\S+?):oom_kill (?P<count>\d{1,18})$", re.MULTILINE)
_DISK = re.compile(r"^\S.*? +\d+ +\d+ +-?\d+ +(?P<used>\d{1,3})% +(?P<place>/.*)$")
_XID = re.compile(r"NVRM: Xid \(\S+?\): (?P<xid>\d{1,4})\b")
_ECC = re.compile(r"^\s*(?:(?P<gpu>\d{1,3})\s*,.*?)??(?P<count>\d{1,18})\s*$")
_KILLED = re.compile(r"[Oo]ut of memory: Kill(?:ed)? process (?P<pid>\d+)")
_UPTIME = re.compile(r"^(?:/proc/uptime:)?(\d{1,12}\.\d\d) \d{1,15}\.\d\d$", re.MULTILINE)
_SINCE_BOOT = re.compile(r"\[ *(\d{1,12}\.\d{1,9})\] ")
_SLACK = 15  # seconds between the end of a job and its evidence, at most
_MOST = 4  # of a kind, in a note
FULL = 100  # percent


@dataclass
class Evidence:
    """What one node's kernel and GPUs noted since its ranks began."""

    host: str
    path: str
    kills_of_job: int = 0  # processes that the kernel killed for memory, by the job's own counter
    kills_of_node: int = 0  # by the counter of the whole node, which other jobs may share
    killed: set[int] = field(default_factory=set)  # their process ids, by dmesg
    is_job_named: bool = False  # by dmesg, in the cgroup of a killed process
    full: list[str] = field(default_factory=list)  # file systems
    xids: list[int] = field(default_factory=list)
    ecc: list[str] = field(default_factory=list)  # GPUs with errors that were not corrected
    lines: dict[str, str] = field(default_factory=dict)  # the line that shows each kind

    @property
    def broken(self) -> list[int]:
        """The Xids that mean broken hardware."""
        return [xid for xid in self.xids if _is_broken(xid)]

    @property
    def memory(self) -> str:
        """In words, whether memory ran out; "" if not."""
        if self.kills_of_job > 0:
            return f"out of memory (oom_kill +{self.kills_of_job})"
        if self.is_job_named:
            return "out of memory (dmesg)"
        if self.kills_of_node > 0:
            return f"memory ran out for this job or another (oom_kill +{self.kills_of_node})"
        return "memory ran out for this job or another (dmesg)" if self.killed else ""

    @property
    def is_memory_of_job(self) -> bool:
        """Whether it certainly was a process of this job that the kernel killed."""
        return self.kills_of_job > 0 or self.is_job_named

    def notes(self, *, with_memory: bool) -> list[str]:
        """What else is to be said of the node; of the whole node's memory only where asked for."""
        memory = [self.memory] * bool(with_memory or self.is_memory_of_job)
        gpus = [f"uncorrectable ECC errors on GPU {', '.join(self.ecc[:_MOST])}"] * bool(self.ecc)
        disks = [f"{place} {FULL}%" for place in self.full[:_MOST]]
        return [*filter(None, memory), *disks, *[f"Xid {x}" for x in self.xids[:_MOST]], *gpus]


def read_evidence(node: Node, folder: JobFolder) -> Evidence:
    """What a node's files say of the time of the job."""
    found = Evidence(node.host, f"{node.path}/evidence")
    if "evidence" not in node.names:
        if len(folder.nodes) > 1:
            return found
        found.path = f"{folder.path}/evidence"  # the batch script's own
    text = read_start(found.path)
    section, number = "", 0
    for line in _of_the_job(text, folder.end[1]):
        head = _SECTION.match(line)
        if head or line.startswith("index, ecc.errors"):  # the header of nvidia-smi's table
            section, number = head["name"].lower() if head else "nvidia", 0
        else:
            _take(found, line, section, number, folder.number)
            number += 1
    _count_kills(found, read_start(f"{node.path}/oom_kill"), text)
    return found


def _of_the_job(text: str, seconds: str) -> Iterator[str]:
    """The lines without those of dmesg from before the job, which began so many seconds ago.

    Both count seconds since the machine's start: dmesg's `[  81.5] NVRM: …`, and /proc/uptime.
    """
    uptime = _UPTIME.search(text)
    start = float(uptime[1]) - int(seconds) - _SLACK if uptime and seconds else 0.0
    for line in text.splitlines():
        since_boot = _SINCE_BOOT.match(line)
        if not since_boot or float(since_boot[1]) >= start:
            yield line


def _take(found: Evidence, line: str, section: str, number: int, job: str) -> None:
    """A line of any tool; each has a form of its own."""
    if disk := _DISK.match(line):
        place = disk["place"].strip()
        if int(disk["used"]) >= FULL and place not in found.full:
            found.full.append(place)
            found.lines.setdefault("shm" if place == "/dev/shm" else "disk", line)
    elif xid := _XID.search(line):
        if int(xid["xid"]) not in found.xids:
            found.xids.append(int(xid["xid"]))
        kind = "broken" if _is_broken(int(xid["xid"])) else "xid"
        found.lines.setdefault(kind, line)
    elif killed := _KILLED.search(line):
        found.killed.add(int(killed["pid"]))
        found.lines["memory"] = line
    elif "oom-kill:" in line and job and re.search(rf"/job_{re.escape(job)}(?:/|,|$)", line):
        found.is_job_named = True
        found.lines["memory"] = line
    elif ("ecc" in section or "nvidia" in section) and (ecc := _ECC.match(line)):
        found.ecc += [ecc["gpu"] or str(number)] * (int(ecc["count"]) > 0)
        found.lines.setdefault("ecc", line)


def _count_kills(found: Evidence, before: str, after: str) -> None:
    """How much the kernel's counters have risen; one that was not there before says nothing."""
    start = {each["path"]: int(each["count"]) for each in _COUNT.finditer(before)}
    for each in _COUNT.finditer(after):
        more = int(each["count"]) - start.get(each["path"], int(each["count"]))
        if more > 0:
            if each["path"].endswith("vmstat"):
                found.kills_of_node = more
            else:
                found.kills_of_job = more
            found.lines.setdefault("memory", each[0])


def _is_broken(xid: int) -> bool:
    """Whether an Xid means broken hardware, and not a program's mistake."""
    return bool(re.fullmatch(PARTS["BROKEN"], str(xid)))
