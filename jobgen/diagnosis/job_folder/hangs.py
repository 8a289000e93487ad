"""Finds the rank that the others waited for, after each rank was told to write its Python stack.

It is the rank whose stack is elsewhere, a frozen rank that wrote no stack, or a rank that had ended
well before; never a rank that waits in a collective. NCCL's own answer is in the file `ras`.
"""

import re

from jobgen.diagnosis.answers.nccl_ras import CURE, NO_ANSWER, with_answers
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.job_folder.endings import has_ended_well
from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles, changed, read_start
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.stacks import MOST_EVENTS, Stack, stalled_ranks, where_they_are

# Cures that are better than the class's cure, by the beginning of the verdict.
CURES = {
    "it is frozen": "look at the process on that node (ps, /proc/PID/stack, dmesg): a file system"
    " or a GPU that does not answer, or a SIGSTOP; else leave the node out",
    NO_ANSWER: CURE,
    "it ended early": "every rank has to make the same steps: look at where its loop or its data"
    " end sooner than the others'",
}
_FROZEN = "it is frozen: it wrote no stack"
_ENDED = "it ended early, with status 0"
_NO_STACK = r"\brank (\d{1,7}) wrote no stack"


def hung_ranks(folder: JobFolder, case: Case) -> list[Event]:
    """Events for the ranks that the others waited for; an empty list if nothing shows a hang."""
    path = f"{folder.path}/ras"
    if "ras" in folder.names and changed(path) >= folder.last_start:
        case.answers[path] = read_start(path)
    return with_answers(_by_stacks(folder, case), case, len(folder.ranks))


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
