"""What NCCL answered before a job that hung was ended: whom its communicators miss.

The text of its RAS subsystem, as NCCL's user guide shows it (Troubleshooting, RAS) and
src/ras/client_support.cc prints it, 2.24 to 2.30. A rank has its number in the communicator there:
that is the job's if the communicator has all ranks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.job_folder.layout import JobFolder, changed, read_start
from jobgen.diagnosis.signs import Role

NO_ANSWER = "it does not answer NCCL"
_MOST_EVENTS = 8
# A row of the table of communicators: group, communicators, nodes, ranks a node, ranks of each.
_ROW = re.compile(r"^ *(?P<group>\d+) +\d+ +\d+ +\d+(?:-\d+)? +(?P<size>\d{1,7}) +\d+ +[A-Z]")
_HEAD = re.compile(r"^(?:#(?P<group>\d+)-\d+ \(\w+\) )?(?P<kind>INCOMPLETE|DEAD|MISMATCH)$")
_DIFFER = re.compile(r"^  Communicator ranks have different (?P<kind>\w+)(?P<counts> operation)?")
_MISSING = re.compile(r"^  (?:The missing ranks?: |Rank )(?P<ranks>\d{1,7}(?:, ?\d{1,7})*)(?!\d)")
_NODE = re.compile(r"^  (?:Rank|Process) .* on node (?P<address>[\w.:%-]+)")
_COUNT = re.compile(
    r"^  (?:(?P<ranks>\d{1,7}) ranks have|Rank \d+ has)"
    r" (?:launched up to operation (?P<count>\d{1,18})\b|not launched any operations)"
)
_READY = re.compile(r"^jobgen: (?P<host>\S+) is ready, (?P<address>\S+) on ", re.MULTILINE)


@dataclass
class _Finding:
    """A paragraph of the answer, on the job's processes or on one communicator."""

    kind: str  # INCOMPLETE, DEAD, or what differs: AllReduce, collective, "" for others
    has_all: bool  # whether the communicator has all ranks of the job
    lines: list[tuple[int, str]] = field(default_factory=list)


def ras_events(folder: JobFolder) -> list[Event]:
    """The ranks that NCCL did not reach, else those that have called it less often than most."""
    path = f"{folder.path}/ras"
    is_new = changed(path) >= folder.last_start
    answer = read_start(path) if "ras" in folder.names and is_new else ""
    findings = list(_findings(answer, len(folder.ranks)))
    events = _unreached(findings) or [e for each in findings for e in _behind(each)]
    ready = _READY.finditer(read_start(f"{folder.path}/roll-call") if events else "")
    hosts = {each["address"]: each["host"] for each in ready}
    events = [event._replace(file=path, node=hosts.get(event.node or "")) for event in events]
    return [each for each in events if each.node or each.rank is not None][:_MOST_EVENTS]


def _findings(answer: str, world: int) -> Iterator[_Finding]:
    sizes: dict[str | None, int] = {}
    current = _Finding("", False)
    for number, line in enumerate(answer.splitlines(), 1):
        head, differ = _HEAD.match(line), _DIFFER.match(line)
        if row := _ROW.match(line):
            sizes[row["group"]] = int(row["size"])
        elif head or differ or (line and not line.startswith(" ")):
            yield current
            kind = head["kind"] if head else differ["kind"] if differ and differ["counts"] else ""
            has_all = sizes.get(head["group"]) == world if head else current.has_all
            current = _Finding(kind, has_all)
        current.lines.append((number, line))
    yield current


def _unreached(findings: list[_Finding]) -> list[Event]:
    """The ranks of which NCCL has no data; without their numbers, the nodes of the processes."""
    ranks: dict[str, Event] = {}
    nodes: dict[str, Event] = {}
    lost = [finding for finding in findings if finding.kind in ("INCOMPLETE", "DEAD")]
    for finding, (number, line) in ((each, pair) for each in lost for pair in each.lines):
        event = Event("stalled", Role.CONFIRMATION, NO_ANSWER, "", number, line.strip())
        if node := _NODE.match(line):
            event = event._replace(node=node["address"])
            nodes.setdefault(node["address"], event)
        if finding.has_all and (missing := _MISSING.match(line)):
            for rank in re.findall(r"\d+", missing["ranks"]):
                ranks.setdefault(rank, event._replace(rank=int(rank)))
    return list((ranks or nodes).values())


def _behind(finding: _Finding) -> list[Event]:
    """The ranks that have launched the fewest operations, if more of them have launched more."""
    if finding.kind in ("", "INCOMPLETE", "DEAD", "MISMATCH"):
        return []
    count, ranks = 0, dict[int, int]()  # how many ranks have launched as many
    named: dict[int, list[Event]] = {}
    for number, line in finding.lines:
        if group := _COUNT.match(line):
            count = int(group["count"] or 0)
            ranks[count] = int(group["ranks"] or 1)
        if rank := _MISSING.match(line):
            node = _NODE.match(line)
            event = Event("stalled", Role.CONFIRMATION, "", "", number, line.strip())
            event = event._replace(node=node["address"] if node else None, certainty="likely")
            event = event._replace(rank=int(rank["ranks"]) if finding.has_all else None)
            named.setdefault(count, []).append(event)
    fewest, most = min(ranks, default=0), max(ranks, default=0)
    if ranks.get(fewest, 0) * 2 >= sum(ranks.values()):
        return []
    kind = "" if finding.kind == "collective" else f" {finding.kind}"
    says = f"it has called{kind} {fewest} times, and others {most} times, as NCCL knows"
    return [event._replace(says=says) for event in named.get(fewest, [])]
