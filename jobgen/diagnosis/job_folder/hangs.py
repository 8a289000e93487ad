"""Finds the rank that the others waited for, after each rank was told to write its Python stack.

It is the rank whose stack is elsewhere, a frozen rank that wrote no stack, or a rank that had ended
well before; never a rank that waits in a collective. If the stacks name no rank, NCCL's own answer
may: the text of its RAS subsystem (user guide: Troubleshooting, RAS), in NCCL 2.24 to 2.30 from
src/ras/client_support.cc. That text has a rank's number in a communicator, which is its number in
the job if the communicator has all ranks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.job_folder.endings import has_ended_well
from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles, changed, read_start
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.stacks import MOST_EVENTS, Stack, stalled_ranks, where_they_are

NO_ANSWER = "it does not answer NCCL"
# Cures that are better than the class's cure, by the beginning of the verdict.
CURES = {
    "it is frozen": "look at the process on that node (ps, /proc/PID/stack, dmesg): a file system"
    " or a GPU that does not answer, or a SIGSTOP; else leave the node out",
    NO_ANSWER: "look at that process and its GPU (ps, nvidia-smi, dmesg); else leave the node out",
    "it ended early": "every rank has to make the same steps: look at where its loop or its data"
    " end sooner than the others'",
}
_FROZEN = "it is frozen: it wrote no stack"
_ENDED = "it ended early, with status 0"
_NO_STACK = r"\brank (\d{1,7}) wrote no stack"
# A row of NCCL RAS' table: group, number of communicators, nodes, ranks of a node, ranks of each.
_ROW = re.compile(r"^ *(?P<group>\d+) +\d+ +\d+ +\d+(?:-\d+)? +(?P<size>\d{1,7}) +\d+ +[A-Z]")
_HEAD = re.compile(r"^(?:#(?P<group>\d+)-\d+ \(\w+\) )?(?P<kind>INCOMPLETE|DEAD|MISMATCH)$")
_DIFFER = re.compile(r"^  Communicator ranks have different (?P<kind>\w+)(?P<counts> operation)?")
_MISSING = re.compile(r"^  (?:The missing ranks?: |Rank )(?P<ranks>\d{1,7}(?:, ?\d{1,7})*)(?!\d)")
_NODE = re.compile(r"^  (?:Rank|Process) .* on node (?P<address>[\w.:%-]+)")
_COUNT = re.compile(
    r"^  (?:(?P<ranks>\d{1,7}) ranks have|Rank \d+ has)"
    r" (?:launched up to operation (?P<count>\d{1,18})\b|not launched any operations)"
)


def hung_ranks(folder: JobFolder, case: Case) -> list[Event]:
    """Events for the ranks that the others waited for; an empty list if nothing shows a hang.

    If the stacks name no rank because all are in one collective, NCCL's own answer may name it.
    """
    events = _by_stacks(folder, case)
    is_named = any(event.rank is not None or event.node for event in events)
    return events if is_named else _ras_events(folder, case) or events


def _by_stacks(folder: JobFolder, case: Case) -> list[Event]:
    is_ordered = folder.has_orders_for_stacks or any(e.code == "stalled" for e in case.events)
    frozen = _frozen(folder)
    stacks = [stack for stack in case.stacks if stack.place and not _was_ending(stack, case)]
    if not stacks or (len(stacks) < 2 and not (is_ordered or frozen)):
        return []
    # The ranks that wrote a stack, or that they lost their peers.
    files = [stack.file for stack in stacks]
    files += [e.file for e in case.events if e.role in (Role.CAUSE, Role.CONSEQUENCE)]
    heard = {file.rpartition("/")[0] for file in files}
    silent = [each for each in folder.ranks if each.path not in heard]
    on_request = folder.has_orders_for_stacks and len(folder.ranks) == 1
    events = [_of(each, stacks, _FROZEN, "sure") for each in silent if each in frozen]
    if not events and any(not stack.collective for stack in stacks):
        events = stalled_ranks(stacks, case.world, on_request=on_request)
        events = events if any(e.rank is not None or e.node for e in events) else []
    if not events:
        gone = [each for each in silent if has_ended_well(each, folder, case)]
        events = [_of(each, stacks, _ENDED, "sure") for each in gone]
    if not events and len(silent) <= max(1, len(stacks)):
        events = [_of(each, stacks, _FROZEN, "likely") for each in silent]
    return (events or stalled_ranks(stacks, case.world, on_request=on_request))[:MOST_EVENTS]


def _was_ending(stack: Stack, case: Case) -> bool:
    """Whether the rank had lost its peers before it wrote the stack: then nobody waited for it."""
    lost = (e for e in case.events if e.role is Role.CONSEQUENCE and e.file == stack.file)
    return not stack.collective and any(event.line < stack.line for event in lost)


def _frozen(folder: JobFolder) -> list[RankFiles]:
    """The ranks that the nodes' keepers saw alive, but that wrote no stack when told to."""
    found: list[RankFiles] = []
    for node in folder.nodes.values():
        numbers = {int(n) for n in re.findall(_NO_STACK, read_start(f"{node.path}/keeper"))}
        found += [each for each in node.ranks if each.rank in numbers]
    return found


def _of(files: RankFiles, stacks: list[Stack], how: str, certainty: str) -> Event:
    others = where_they_are([stack for stack in stacks if stack.collective] or stacks)
    return Event(
        "stalled", Role.CONFIRMATION, f"{how}, while {others}", f"{files.path}/stderr.log",
        node=files.host, rank=files.rank, local_rank=files.local_rank, certainty=certainty,
    )  # fmt: skip


# ---- what NCCL answered ----


@dataclass
class _Finding:
    """A paragraph of NCCL's answer, on the job's processes or on one communicator."""

    kind: str  # INCOMPLETE, DEAD, …, or the call whose counts differ, such as AllReduce; else ""
    has_all: bool  # whether the communicator has all ranks of the job
    ranks: dict[int, int] = field(default_factory=dict)  # operations launched: how many ranks
    named: dict[int, list[Event]] = field(default_factory=dict)  # operations launched: named ranks


def _ras_events(folder: JobFolder, case: Case) -> list[Event]:
    """Events for ranks that NCCL did not reach, else for ranks that called it less than most."""
    path = f"{folder.path}/ras"
    is_new = changed(path) >= folder.last_start
    answer = read_start(path) if "ras" in folder.names and is_new else ""
    findings = list(_findings(answer, len(folder.ranks)))
    events = _unreached(findings) or [e for each in findings for e in _behind(each)]
    places = ((event, case.addresses.get(event.node or "")) for event in events)
    events = [event._replace(file=path, node=node) for event, node in places]
    return [each for each in events if each.node or each.rank is not None][:MOST_EVENTS]


def _findings(answer: str, world: int) -> Iterator[_Finding]:
    sizes: dict[str | None, int] = {}
    current, count = _Finding("", False), 0
    for number, line in enumerate(answer.splitlines(), 1):
        head, differ = _HEAD.match(line), _DIFFER.match(line)
        if row := _ROW.match(line):
            sizes[row["group"]] = int(row["size"])
        elif head or differ or (line and not line.startswith(" ")):
            yield current
            kind = head["kind"] if head else differ["kind"] if differ and differ["counts"] else ""
            has_all = sizes.get(head["group"]) == world if head else current.has_all
            current, count = _Finding(kind, has_all), 0
        if group := _COUNT.match(line):
            count = int(group["count"] or 0)
            current.ranks[count] = int(group["ranks"] or 1)
        current.named.setdefault(count, []).extend(_named(number, line, current.has_all))
    yield current


def _named(number: int, line: str, has_all: bool) -> Iterator[Event]:
    """Events for the ranks of a line if the communicator has all ranks, else for their node."""
    node, ranks = _NODE.match(line), _MISSING.match(line)
    event = Event("stalled", Role.CONFIRMATION, NO_ANSWER, "", number, line.strip())
    event = event._replace(node=node["address"] if node else None)
    if ranks and has_all:
        yield from (event._replace(rank=int(rank)) for rank in re.findall(r"\d+", ranks["ranks"]))
    elif node:
        yield event


def _unreached(findings: list[_Finding]) -> list[Event]:
    """Events for ranks of which NCCL has no data; for their nodes, if no line has the ranks."""
    lost = (finding for finding in findings if finding.kind in ("INCOMPLETE", "DEAD"))
    events = [event for each in lost for named in each.named.values() for event in named]
    events = [event for event in events if event.rank is not None] or events
    places: dict[object, Event] = {}
    for event in events:
        places.setdefault(event.node if event.rank is None else event.rank, event)
    return list(places.values())


def _behind(finding: _Finding) -> list[Event]:
    """Events for the ranks that launched the fewest operations, if most ranks launched more."""
    fewest, most = min(finding.ranks, default=0), max(finding.ranks, default=0)
    is_most = finding.ranks.get(fewest, 0) * 2 >= sum(finding.ranks.values())
    if is_most or finding.kind in ("", "INCOMPLETE", "DEAD", "MISMATCH"):
        return []
    kind = "" if finding.kind == "collective" else f" {finding.kind}"
    says = f"it has called{kind} {fewest} times, and others {most} times, as NCCL knows"
    return [e._replace(says=says, certainty="likely") for e in finding.named.get(fewest, [])]
