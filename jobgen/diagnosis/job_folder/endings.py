"""How a rank ended that wrote no reason: what torchrun's report leaves out, what its node noted.

The notes of the kernel and the GPUs are raw output of df, nvidia-smi, dmesg and counters. They are
judged here, and not in the job's script: a full disk or a process that the kernel killed is the
cause only where it explains how a rank ended.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.job_folder.layout import JobFolder, Node, RankFiles, read_start
from jobgen.diagnosis.judging.case import CAUSES, Case
from jobgen.diagnosis.judging.verdict import NOT_TELLING
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
    killed: set[str] = field(default_factory=set)  # their process ids, by dmesg
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
        found.killed.add(killed["pid"])
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


KILLED, BUS_ERROR = (-9, 137), (-7, 135)
_SIGNALS_OF_GPUS = (-6, -7, -9, -11, 134, 137, 139)


def quiet_ranks(folder: JobFolder, case: Case) -> list[Event]:
    """The one rank that does not say that it lost the others, where the others do."""
    quiet = _quiet(folder, case)
    if len(quiet) != 1 or len(folder.ranks) < 2:
        return []
    one = quiet[0]
    event = Event("peer-lost", Role.CONFIRMATION, "", f"{one.path}/stderr.log", certainty="likely")
    event = event._replace(node=one.host, rank=one.rank, local_rank=one.local_rank)
    own = [e for e in case.events if e.rank is not None and e.rank == one.rank]
    statuses = {e.status: e for e in own if e.status is not None}
    if set(statuses) - {0, 1}:
        return []  # a signal, or a status that tells more
    if 1 in statuses:
        says, shown = "ended with status 1, and wrote no exception", statuses[1]
        place = event._replace(code="launcher-report", says=says, status=1, text=shown.text)
        return [place._replace(file=shown.file, line=shown.line)]
    if has_ended_well(one, folder, case):
        return [event._replace(says="it ended early, with status 0, and the others lost it")]
    return []


def assigned(folder: JobFolder, case: Case) -> list[Event]:
    """An agent's line names a local rank: of which node is clear if the others' were lost."""
    quiet = _quiet(folder, case)
    return [_assigned(event, quiet) for event in case.events]


def _assigned(event: Event, quiet: list[RankFiles]) -> Event:
    if event.rank is not None or event.node or event.local_rank is None:
        return event
    own = [each for each in quiet if each.local_rank == event.local_rank]
    if len(own) != 1 or event.status in NOT_TELLING:
        return event
    return event._replace(rank=own[0].rank, node=own[0].host)


def _quiet(folder: JobFolder, case: Case) -> list[RankFiles]:
    """The ranks that wrote nothing of a failure."""
    failing = [event for event in case.events if event.code and event.role is not Role.NOISE]
    complaining = {event.file.rpartition("/")[0] for event in failing}
    return [each for each in folder.ranks if each.path not in complaining]


def has_ended_well(files: RankFiles, folder: JobFolder, case: Case) -> bool:
    """Whether torchrun's report names other ranks of its node that failed, and not this one."""
    reported = {event.rank for event in case.events if event.status not in (None, 0)}
    others = {each.rank for each in folder.nodes[files.host].ranks}
    return files.rank is not None and files.rank not in reported and bool(others & reported)


def node_events(evidence: Iterable[Evidence], case: Case) -> list[Event]:
    """What the nodes' kernels and GPUs noted, where it explains how a rank of theirs ended."""
    return [event for each in evidence for event in _of_node(each, case)]


def _of_node(noted: Evidence, case: Case) -> Iterable[Event]:
    own = [event for event in case.events if event.node == noted.host]
    statuses = {event.status for event in own if event.status is not None}
    codes = {event.code for event in own if event.role in CAUSES}
    is_killed = bool(statuses & set(KILLED)) or "killed" in codes
    if noted.memory and is_killed:
        is_sure = noted.is_memory_of_job or bool(noted.killed & {event.pid for event in own})
        says = f"killed by signal 9; on that node: {noted.memory}"
        event = _event(noted, "host-memory", says, "memory", _ranks(own, KILLED))
        yield event if is_sure else event._replace(certainty="likely")
    if "/dev/shm" in noted.full and statuses & set(BUS_ERROR):
        says = "ended by signal 7 (bus error); on that node: /dev/shm 100%"
        yield _event(noted, "shared-memory", says, "shm", _ranks(own, BUS_ERROR))
    disks = [place for place in noted.full if place != "/dev/shm"]
    if disks and statuses - {0, -15, 143} and not codes - {"launcher-report"}:
        says = f"it ended and wrote no reason; on that node: {disks[0]} 100%"
        yield _event(noted, "disk-full", says, "disk", _failed(own))._replace(certainty="likely")
    if noted.broken or noted.ecc:
        yield from _of_gpus(noted, case, own, codes)


def _of_gpus(noted: Evidence, case: Case, own: list[Event], codes: set[str]) -> Iterable[Event]:
    """A broken GPU: the cause if its own ranks show it, or if nothing else than waiting is seen."""
    causes = {e.code for e in case.events if e.role in CAUSES and e.code}
    shown = codes & codes_with("gpu") or {e.status for e in own} & set(_SIGNALS_OF_GPUS)
    has_text = any("CUDA" in event.text or "NCCL" in event.text for event in own)
    if shown or has_text or not causes - codes_with("peers"):
        xids = ", ".join(f"Xid {xid}" for xid in noted.broken[:4])
        words = xids or f"uncorrectable ECC errors on GPU {', '.join(noted.ecc[:4])}"
        says = f"a GPU of this node is broken: {words}"
        kind = "broken" if noted.broken else "ecc"
        event = _event(noted, "gpu-hardware", says, kind, _failed(own))
        is_sure = noted.broken and (shown or has_text)
        yield event if is_sure else event._replace(certainty="likely")


def _ranks(events: list[Event], statuses: Collection[int | None]) -> set[int]:
    """The ranks that ended so."""
    return {e.rank for e in events if e.status in statuses and e.rank is not None}


def _failed(events: list[Event]) -> set[int]:
    """The ranks that ended otherwise than well, or by SIGTERM."""
    statuses = {e.status for e in events if e.status is not None}
    return _ranks(events, statuses - {0, -15})


def _event(noted: Evidence, code: str, says: str, kind: str, ranks: set[int]) -> Event:
    """The event of a note; its rank is the one that ended so, if it is one."""
    event = Event(code, Role.CONFIRMATION, says, noted.path, text=noted.lines.get(kind, ""))
    return event._replace(node=noted.host, rank=ranks.pop() if len(ranks) == 1 else None)
