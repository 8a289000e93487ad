"""NCCL's own answer on a job that hangs: the text of its RAS subsystem, as ncclras prints it.

User guide: Troubleshooting, RAS; in NCCL 2.24 to 2.30 from src/ras/client_support.cc. That text has
a rank's number in a communicator, which is its number in the job if the communicator has all ranks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.stacks import MOST_EVENTS

NO_ANSWER = "it does not answer NCCL"
# A cure that is better than the class's.
CURE = "look at that process and its GPU (ps, nvidia-smi, dmesg); else leave the node out"
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


@dataclass
class _Finding:
    """A paragraph of NCCL's answer, on the job's processes or on one communicator."""

    kind: str  # INCOMPLETE, DEAD, …, or the call whose counts differ, such as AllReduce; else ""
    has_all: bool  # whether the communicator has all ranks of the job
    ranks: dict[int, int] = field(default_factory=dict)  # operations launched: how many ranks
    named: dict[int, list[Event]] = field(default_factory=dict)  # operations launched: named ranks


def with_answers(events: list[Event], case: Case, world: int = 0) -> list[Event]:
    """The events of a hang's stacks, and those of NCCL's answers on the same ranks.

    If the stacks name no rank, as when all are in one collective, NCCL's answer may name it.
    """
    found = [e for file, text in case.answers.items() for e in _events(text, file, world, case)]
    ranks = {event.rank for event in events} - {None}
    if ranks or any(event.node for event in events):
        return events + [event for event in found if event.rank in ranks]
    return found + events


def _events(answer: str, file: str, world: int, case: Case) -> list[Event]:
    """Events for ranks that NCCL did not reach, else for ranks that called it less than most."""
    findings = list(_findings(answer, world or case.world))
    events = _unreached(findings) or [e for each in findings for e in _behind(each)]
    names = case.addresses
    places = ((e, names.get(e.node or "", None if names else e.node)) for e in events)
    events = [event._replace(file=file, node=node) for event, node in places]
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
            everybody = world or max(sizes.values(), default=0)
            has_all = sizes.get(head["group"]) == everybody if head else current.has_all
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
