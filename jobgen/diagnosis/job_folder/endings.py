"""How a rank ended that wrote no reason: what torchrun's report leaves out, what its node noted."""

from collections.abc import Collection, Iterable

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event
from jobgen.diagnosis.job_folder.evidence import Evidence
from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles
from jobgen.diagnosis.judging.case import CAUSES, Case
from jobgen.diagnosis.judging.verdict import NOT_TELLING
from jobgen.diagnosis.signs import Role

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
    pids = {pid for event in own if (pid := event.groups.get("pid", ""))}
    if noted.memory and is_killed:
        is_sure = noted.is_memory_of_job or bool(noted.killed & set(map(int, pids)))
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
