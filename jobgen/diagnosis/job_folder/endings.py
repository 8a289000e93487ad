"""How a rank that wrote no reason ended: what torchrun's report omits, and what its node noted.

The notes of the kernel and the GPUs are raw output of df, nvidia-smi, dmesg and counters. They are
judged here, and not in the job's script: a full disk or a process that the kernel killed is the
cause only where it explains how a rank ended.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event, Role, Verdict
from jobgen.diagnosis.job_folder.layout import JobFolder, Node, RankFiles, changed, read_start
from jobgen.diagnosis.judging.case import CAUSES, Case
from jobgen.diagnosis.judging.explain import CLOCKS
from jobgen.diagnosis.judging.verdict import NOT_TELLING
from jobgen.diagnosis.lines.labels import time_of
from jobgen.diagnosis.signs import PARTS

_COUNT = re.compile(r"^/proc/vmstat:oom_kill (\d{1,18})$", re.MULTILINE)
_DISK = re.compile(r"^\S.*? +\d+ +\d+ +-?\d+ +(?P<used>\d{1,3})% +(?P<place>/.*)$")
_XID = re.compile(r"NVRM: Xid \(\S+?\): (?P<xid>\d{1,4})\b")
_ECC = re.compile(r"^(?P<gpu>\d{1,3}), [1-9]\d{0,17}$")  # nvidia-smi's count of errors
_KILLED = re.compile(r"[Oo]ut of memory: Kill(?:ed)? process (?P<pid>\d+)")
_UPTIME = re.compile(r"^(?:/proc/uptime:)?(\d{1,12}\.\d\d) \d{1,15}\.\d\d$", re.MULTILINE)
_SINCE_BOOT = re.compile(r"\[ *(\d{1,12}\.\d{1,9})\] ")
_SLACK = 15  # seconds between the end of a job and its evidence, at most
_MOST = 4  # items of one kind in a note
FULL = 100  # percent
# Exit statuses, as torchrun and as a shell report them.
KILLED, BUS_ERROR = (-9, 137), (-7, 135)
_SIGNALS_OF_GPUS = (-6, -7, -9, -11, 134, 137, 139)


@dataclass
class Evidence:
    """What one node's kernel and GPUs noted since its ranks began."""

    host: str
    path: str
    kills: int = 0  # processes that the kernel killed for memory, also of other jobs of the node
    killed: set[str] = field(default_factory=set)  # process ids of killed processes, from dmesg
    is_job_named: bool = False  # whether dmesg has the job in the cgroup of a killed process
    memory_line: str = ""  # a line that shows one of the above
    numbers: dict[str, int] = field(default_factory=dict)  # of the file's lines
    booted: float = 0.0  # when the machine started, if the file is no copy: seconds since 1970
    # With the first line that shows each:
    full: dict[str, str] = field(default_factory=dict)  # file systems
    xids: dict[int, str] = field(default_factory=dict)
    ecc: dict[str, str] = field(default_factory=dict)  # GPUs with errors that were not corrected

    @classmethod
    def read(cls, node: Node, folder: JobFolder) -> Evidence:
        """The evidence in a node's files that is from the time of the job."""
        found = cls(node.host, f"{node.path}/evidence")
        if "evidence" not in node.names:
            if len(folder.nodes) > 1:
                return found
            found.path = f"{folder.path}/evidence"  # the batch script's evidence
        text = read_start(found.path)
        found.numbers = {line: number for number, line in enumerate(text.splitlines(), 1)}
        if uptime := _UPTIME.search(text):
            found.booted = changed(found.path) - float(uptime[1])
        job = os.path.basename(os.path.abspath(folder.path)).partition(".")[0]  # of 4711.1: 4711
        for line in _of_the_job(text, folder.end[1]):
            _take(found, line, job)
        before, after = _COUNT.search(read_start(f"{node.path}/oom_kill")), _COUNT.search(text)
        if before and after and int(after[1]) > int(before[1]):
            found.kills = int(after[1]) - int(before[1])
            found.memory_line = found.memory_line or after[0]
        return found

    @property
    def broken(self) -> dict[int, str]:
        """The Xids that mean broken hardware, and not a mistake of a program."""
        return {x: line for x, line in self.xids.items() if re.fullmatch(PARTS["BROKEN"], str(x))}

    @property
    def memory(self) -> str:
        """A text that says that memory ran out; "" if it did not."""
        if self.is_job_named:
            return "out of memory (dmesg)"
        source = f"oom_kill +{self.kills}" if self.kills else "dmesg" if self.killed else ""
        return f"memory ran out for this job or another ({source})" if source else ""

    def notes_for(self, verdict: Verdict, case: Case) -> tuple[str, ...]:
        """Further notes on the failed node; on memory, if a rank was killed or dmesg names the job.

        The notes leave out what the verdict already says.
        """
        own = (event for event in case.events if event.node == self.host)
        killed = any(e.status in KILLED and e.rank in (verdict.rank, None) for e in own)
        memory = self.memory if killed or self.is_job_named else ""
        disks = [f"{place} {FULL}%" for place in [*self.full][:_MOST]]
        xids = [f"Xid {xid}" for xid in [*self.xids][:_MOST]]
        notes = (memory, *disks, *xids, self.ecc_text if self.ecc else "")
        return tuple(note for note in notes if note and note not in verdict.says)

    @property
    def ecc_text(self) -> str:
        """A text with the first GPUs that have uncorrected errors."""
        return f"uncorrectable ECC errors on GPU {', '.join([*self.ecc][:_MOST])}"


def _of_the_job(text: str, seconds: str) -> Iterator[str]:
    """The lines without dmesg's lines from before the job, which began `seconds` ago.

    dmesg (`[  81.5] NVRM: …`) and /proc/uptime both count seconds since the machine's start.
    """
    uptime = _UPTIME.search(text)
    start = float(uptime[1]) - int(seconds) - _SLACK if uptime and seconds else 0.0
    for line in text.splitlines():
        since_boot = _SINCE_BOOT.match(line)
        if not since_boot or float(since_boot[1]) >= start:
            yield line


def _take(found: Evidence, line: str, job: str) -> None:
    """Record what a line of df, nvidia-smi or dmesg shows; each tool has its own format."""
    if disk := _DISK.match(line):
        if int(disk["used"]) >= FULL:
            found.full.setdefault(disk["place"].strip(), line)
    elif xid := _XID.search(line):
        found.xids.setdefault(int(xid["xid"]), line)
    elif killed := _KILLED.search(line):
        found.killed.add(killed["pid"])
        found.memory_line = line
    elif "oom-kill:" in line and re.search(rf"/job_{re.escape(job)}(?:/|,|$)", line):
        found.is_job_named = True
        found.memory_line = line
    elif ecc := _ECC.match(line):
        found.ecc.setdefault(ecc["gpu"], line)


def quiet_ranks(folder: JobFolder, case: Case) -> list[Event]:
    """An event for the only rank that wrote nothing of a failure; none if several were silent."""
    quiet = _quiet(folder, case)
    if len(quiet) != 1 or len(folder.ranks) < 2:
        return []
    one = quiet[0]
    own = [e for e in case.events if e.rank is not None and e.rank == one.rank]
    statuses = {e.status: e for e in own if e.status is not None}
    if set(statuses) - {0, 1}:
        return []  # a signal, or a status that itself tells the cause
    says = "it ended early, with status 0, and the others lost it"
    event = Event(
        "peer-lost", Role.CONFIRMATION, says, f"{one.path}/stderr.log", certainty="likely"
    )
    event = event._replace(node=one.host, rank=one.rank, local_rank=one.local_rank)
    if 1 in statuses:
        says, end = "ended with status 1, and wrote no exception", statuses[1]
        event = event._replace(code="launcher-report", says=says, status=1)
        event = event._replace(file=end.file, line=end.line, text=end.text)
    return [event] if 1 in statuses or has_ended_well(one, folder, case) else []


def assigned(folder: JobFolder, case: Case) -> Iterator[Event]:
    """The events; an event with only a local rank gets the node of the one quiet rank with it."""
    quiet = _quiet(folder, case)
    for event in case.events:
        own = [each for each in quiet if each.local_rank == event.local_rank]
        is_local = event.rank is None and not event.node and event.local_rank is not None
        if is_local and len(own) == 1 and event.status not in NOT_TELLING:
            event = event._replace(rank=own[0].rank, node=own[0].host)
        yield event


def _quiet(folder: JobFolder, case: Case) -> list[RankFiles]:
    """The ranks that wrote nothing of a failure."""
    failing = [event for event in case.events if event.code and event.role is not Role.NOISE]
    complaining = {event.file.rpartition("/")[0] for event in failing}
    return [each for each in folder.ranks if each.path not in complaining]


def has_ended_well(files: RankFiles, folder: JobFolder, case: Case) -> bool:
    """Whether torchrun's report names other ranks of the node that failed, but not this rank."""
    reported = {event.rank for event in case.events if event.status not in (None, 0)}
    others = {each.rank for each in folder.nodes[files.host].ranks}
    return files.rank is not None and files.rank not in reported and bool(others & reported)


def node_events(noted: Evidence, case: Case) -> Iterator[Event]:
    """Events for the notes of a node's kernel and GPUs that explain how one of its ranks ended."""
    own = [event for event in case.events if event.node == noted.host]
    statuses = {event.status for event in own if event.status is not None}
    codes = {event.code for event in own if event.role in CAUSES}
    is_killed = bool(statuses & set(KILLED)) or "killed" in codes
    failed = statuses - {0, -15}  # neither success nor SIGTERM
    if noted.memory and is_killed:
        is_sure = noted.is_job_named or bool(noted.killed & {event.pid for event in own})
        says = f"killed by signal 9; on that node: {noted.memory}"
        yield _event(noted, "host-memory", says, noted.memory_line, own, KILLED, is_sure)
    if "/dev/shm" in noted.full and statuses & set(BUS_ERROR):
        says = "ended by signal 7 (bus error); on that node: /dev/shm 100%"
        yield _event(noted, "shared-memory", says, noted.full["/dev/shm"], own, BUS_ERROR)
    disks = [place for place in noted.full if place != "/dev/shm"]
    if disks and failed - {143} and not codes - {"launcher-report"}:
        says = f"it ended and wrote no reason; on that node: {disks[0]} 100%"
        yield _event(noted, "disk-full", says, noted.full[disks[0]], own, failed, is_sure=False)
    # A broken GPU is the cause if its node's ranks show it, or if ranks only waited for others.
    causes = {e.code for e in case.events if e.role in CAUSES and e.code}
    is_shown = bool(codes & codes_with("gpu") or statuses & set(_SIGNALS_OF_GPUS))
    is_shown |= any("CUDA" in event.text or "NCCL" in event.text for event in own)
    if (noted.broken or noted.ecc) and (is_shown or not causes - codes_with("peers")):
        xids = ", ".join(f"Xid {xid}" for xid in [*noted.broken][:_MOST])
        says = f"a GPU of this node is broken: {xids or noted.ecc_text}"
        line = next(iter((noted.broken or noted.ecc).values()))
        is_sure = bool(noted.broken) and is_shown
        yield _event(noted, "gpu-hardware", says, line, own, failed, is_sure)


def _time_of(noted: Evidence, line: str, times: list[float]) -> float | None:
    """The time of a line of dmesg; None if it is after what followed, as that of a copied file."""
    since_boot = _SINCE_BOOT.match(line)
    if not (since_boot and times and noted.booted):
        return None
    time = time_of(noted.booted + float(since_boot[1]))
    return time if time is not None and time <= max(times) + CLOCKS else None


def _event(
    noted: Evidence, code: str, says: str, line: str,
    own: list[Event], ends: Collection[int | None], is_sure: bool = True,
) -> Event:  # fmt: skip
    """The event of a line of a node's notes; it names a rank if only one rank ended so."""
    ranks = {e.rank for e in own if e.status in ends and e.rank is not None}
    rank = ranks.pop() if len(ranks) == 1 else None
    number = noted.numbers.get(line, 0)
    event = Event(code, Role.CONFIRMATION, says, noted.path, number, line, noted.host, rank)
    event = event._replace(time=_time_of(noted, line, [e.time for e in own if e.time is not None]))
    return event if is_sure else event._replace(certainty="likely")
