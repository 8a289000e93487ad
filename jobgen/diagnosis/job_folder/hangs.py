"""The rank that the others waited for, where each rank was to write its Python stack.

The one whose stack is elsewhere; one that wrote none, since it is frozen; one that had ended well
before. Never one that waits in a collective.
"""

import re

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.job_folder.endings import has_ended_well
from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles, read_start
from jobgen.diagnosis.job_folder.ras import NO_ANSWER, ras_events
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.signs import Role
from jobgen.diagnosis.stacks import MOST_EVENTS, Stack, stalled_ranks, where_they_are

# Better than the class's, by how the verdict begins.
CURES = {
    "it is frozen": "look at the process on that node (ps, /proc/PID/stack, dmesg): a file system"
    " or a GPU that does not answer, or a SIGSTOP; else leave the node out",
    NO_ANSWER: "look at that process and its GPU (ps, nvidia-smi, dmesg); else leave the node out",
    "it ended early": "every rank has to make the same steps: look at where its loop or its data"
    " end sooner than the others'",
}
_FROZEN = "it is frozen: it wrote no stack"
_ENDED = "it ended early, with status 0"
_NO_STACK = re.compile(r"\b(?P<local>local )?rank (?P<rank>\d{1,7}) wrote no stack")


def hung_ranks(folder: JobFolder, case: Case, stacks: list[Stack]) -> list[Event]:
    """Whom the others waited for; nothing if the ranks did not hang, as far as is seen.

    Where the stacks name none, since all are in the same collective, NCCL's own answer may.
    """
    events = _by_stacks(folder, case, stacks)
    is_named = any(event.rank is not None or event.node for event in events)
    return events if is_named else ras_events(folder) or events


def _by_stacks(folder: JobFolder, case: Case, stacks: list[Stack]) -> list[Event]:
    is_ordered = folder.has_orders_for_stacks or any(e.code == "stalled" for e in case.events)
    frozen = _frozen(folder)
    stacks = [stack for stack in stacks if stack.place and not _was_ending(stack, case)]
    if not stacks or (len(stacks) < 2 and not (is_ordered or frozen)):
        return []
    heard = _heard(case, stacks)
    silent = [each for each in folder.ranks if each.path not in heard]
    on_request = folder.has_orders_for_stacks and len(folder.ranks) == 1
    events = [_of(each, stacks, _FROZEN, "sure") for each in silent if _keys(each) & frozen]
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
    """Whether the rank had lost its peers before it wrote the stack: then it waited as they did."""
    lost = (e for e in case.events if e.role is Role.CONSEQUENCE and e.file == stack.file)
    return not stack.collective and any(event.line < stack.line for event in lost)


def _frozen(folder: JobFolder) -> set[tuple[str, str, int]]:
    """The ranks that the nodes' keepers saw alive, and that wrote no stack when they were told."""
    found: set[tuple[str, str, int]] = set()
    for host, node in folder.nodes.items():
        if "keeper" in node.names:
            for each in _NO_STACK.finditer(read_start(f"{node.path}/keeper")):
                found.add((host, "local" if each["local"] else "rank", int(each["rank"])))
    return found


def _keys(files: RankFiles) -> set[tuple[str, str, int]]:
    """The names by which a keeper may call a rank."""
    numbers = (("rank", files.rank), ("local", files.local_rank))
    return {(files.host, kind, number) for kind, number in numbers if number is not None}


def _heard(case: Case, stacks: list[Stack]) -> set[str]:
    """The folders of the ranks that wrote a stack, or that they lost their peers."""
    files = [stack.file for stack in stacks]
    files += [e.file for e in case.events if e.role in (Role.CAUSE, Role.CONSEQUENCE)]
    return {file.rpartition("/")[0] for file in files}


def _of(files: RankFiles, stacks: list[Stack], how: str, certainty: str) -> Event:
    others = where_they_are([stack for stack in stacks if stack.collective] or stacks)
    return Event(
        "stalled", Role.CONFIRMATION, f"{how}, while {others}", f"{files.path}/stderr.log",
        node=files.host, rank=files.rank, local_rank=files.local_rank, certainty=certainty,
    )  # fmt: skip
