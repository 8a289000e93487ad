"""How a rank ended that wrote no reason: what torchrun's report leaves out, what its node noted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.job_folder.evidence import Evidence
from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.verdict import NOT_TELLING
from jobgen.diagnosis.signs import Role

KILLED, BUS_ERROR = (-9, 137), (-7, 135)
_SIGNALS_OF_GPUS = (-6, -7, -9, -11, 134, 137, 139)
# Classes of an exception that a broken GPU can be behind.
_OF_GPUS = frozenset(
    "collective-timeout device-assert fabric gpu-driver gpu-hardware gpu-missing silent-hang"
    " crash".split()
)
_WAITING = frozenset(("collective-timeout", "silent-hang", "peer-lost", "rendezvous", "stalled"))


def quiet_ranks(folder: JobFolder, case: Case) -> list[Event]:
    """The one rank that does not say that it lost the others, where the others do."""
    ranks = [each for host in folder.hosts for each in folder.nodes[host].ranks]
    complaining = _complaining(case)
    quiet = [each for each in ranks if each.path not in complaining]
    if len(quiet) != 1 or len(ranks) < 2:
        return []
    one = quiet[0]
    event = Event("peer-lost", Role.CONFIRMATION, "", f"{one.path}/stderr.log", certainty="likely")
    event = replace(event, node=one.host, rank=one.rank, local_rank=one.local_rank)
    statuses = {e.status: e for e in case.events if e.status is not None and _is_of(e, one)}
    if set(statuses) - {0, 1}:
        return []  # a signal, or a status that tells more
    if 1 in statuses:
        says, shown = "ended with status 1, and wrote no exception", statuses[1]
        place = replace(event, code="launcher-report", says=says, status=1, text=shown.text)
        return [replace(place, file=shown.file, line=shown.line)]
    if _is_reported(one, folder, case):
        return [replace(event, says="it ended early, with status 0, and the others lost it")]
    return []


def assigned(folder: JobFolder, case: Case) -> list[Event]:
    """An agent's line names a local rank: of which node is clear if the others' were lost."""
    ranks = [each for node in folder.nodes.values() for each in node.ranks]
    complaining = _complaining(case)
    quiet = [each for each in ranks if each.path not in complaining]
    return [_assigned(event, quiet) for event in case.events]


def _assigned(event: Event, quiet: list[RankFiles]) -> Event:
    if event.rank is not None or event.node or event.local_rank is None:
        return event
    own = [each for each in quiet if each.local_rank == event.local_rank]
    if len(own) != 1 or event.status in NOT_TELLING:
        return event
    return replace(event, rank=own[0].rank, node=own[0].host)


def _complaining(case: Case) -> set[str]:
    """The folders of the ranks that wrote something of a failure."""
    return {
        event.file.rpartition("/")[0]
        for event in case.events
        if event.code and event.role is not Role.NOISE
    }


def _is_of(event: Event, files: RankFiles) -> bool:
    return event.rank is not None and event.rank == files.rank


def _is_reported(files: RankFiles, folder: JobFolder, case: Case) -> bool:
    """Whether torchrun reported the ranks of a node that failed: what it leaves out ended well."""
    reported = {event.rank for event in case.events if event.status not in (None, 0)}
    return bool({each.rank for each in folder.nodes[files.host].ranks} & reported)


def node_events(evidence: Iterable[Evidence], case: Case) -> list[Event]:
    """What the nodes' kernels and GPUs noted, where it explains how a rank of theirs ended."""
    return [event for each in evidence for event in _of_node(each, case)]


def _of_node(noted: Evidence, case: Case) -> Iterable[Event]:
    own = [event for event in case.events if event.node == noted.host]
    statuses = {event.status for event in own if event.status is not None}
    codes = {event.code for event in own if event.role in (Role.CAUSE, Role.CONFIRMATION)}
    is_killed = bool(statuses & set(KILLED)) or "killed" in codes
    pids = {pid for event in own if (pid := event.groups.get("pid", ""))}
    if noted.memory and is_killed:
        is_sure = noted.is_memory_of_job or bool(noted.killed & set(map(int, pids)))
        says = f"killed by signal 9; on that node: {noted.memory}"
        yield _event(
            noted, "host-memory", says, "memory", "sure" if is_sure else "likely", KILLED, own
        )
    if "/dev/shm" in noted.full and statuses & set(BUS_ERROR):
        says = "ended by signal 7 (bus error); on that node: /dev/shm 100%"
        yield _event(noted, "shared-memory", says, "shm", "sure", BUS_ERROR, own)
    disks = [place for place in noted.full if place != "/dev/shm"]
    if disks and statuses - {0, -15, 143} and not codes - {"launcher-report"}:
        says = f"it ended and wrote no reason; on that node: {disks[0]} 100%"
        yield _event(noted, "disk-full", says, "disk", "likely", (), own)
    if noted.broken or noted.ecc:
        yield from _of_gpus(noted, case, own, codes)


def _of_gpus(noted: Evidence, case: Case, own: list[Event], codes: set[str]) -> Iterable[Event]:
    """A broken GPU: the cause if its own ranks show it, or if nothing else than waiting is seen."""
    causes = {
        event.code
        for event in case.events
        if event.role in (Role.CAUSE, Role.CONFIRMATION) and event.code
    }
    shown = codes & _OF_GPUS or {e.status for e in own} & set(_SIGNALS_OF_GPUS)
    has_text = any("CUDA" in event.text or "NCCL" in event.text for event in own)
    if shown or has_text or not causes - _WAITING:
        xids = ", ".join(f"Xid {xid}" for xid in noted.broken[:4])
        words = xids or f"uncorrectable ECC errors on GPU {', '.join(noted.ecc[:4])}"
        certainty = "sure" if noted.broken and (shown or has_text) else "likely"
        says = f"a GPU of this node is broken: {words}"
        kind = "broken" if noted.broken else "ecc"
        yield _event(noted, "gpu-hardware", says, kind, certainty, (), own)


def _event(
    noted: Evidence,
    code: str,
    says: str,
    kind: str,
    certainty: str,
    statuses: tuple[int, ...],
    own: list[Event],
) -> Event:
    """The event of a note; the rank is the one of the node that ended so, if it is one."""
    ranks = {e.rank for e in own if e.status in statuses and e.rank is not None}
    if not statuses:
        ranks = {e.rank for e in own if e.status not in (None, 0, -15) and e.rank is not None}
    text = noted.lines.get(kind, "")
    event = Event(code, Role.CONFIRMATION, says, noted.path, 0, text, certainty=certainty)
    return replace(event, node=noted.host, rank=ranks.pop() if len(ranks) == 1 else None)
