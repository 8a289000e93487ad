"""Finds what failed first in a job: reads the job's files, and judges the events in them."""

from collections.abc import Callable, Iterable
from typing import BinaryIO, NamedTuple

from jobgen.diagnosis.events import SCHEDULER, Verdict
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.verdict import judge
from jobgen.diagnosis.lines.file_events import File
from jobgen.diagnosis.lines.labels import Label
from jobgen.diagnosis.reader import LineReader
from jobgen.diagnosis.stacks import stalled_ranks


class Source(NamedTuple):
    """A log: its name as the user gave it, its bytes, and the label that its path gives its lines.

    Or a dump of torch's flight recorder: its path, without bytes.
    """

    name: str
    stream: BinaryIO
    label: Label = Label()
    is_dump: bool = False
    shown: Callable[[bytes], bytes] = bytes  # the text that is read of a block


def diagnose(sources: Iterable[Source]) -> Verdict:
    """The verdict on the job whose output is in `sources`."""
    return verdict_on(collect(sources))


def verdict_on(case: Case) -> Verdict:
    """The verdict on a job, from the events and the Python stacks of its files."""
    case.events += stalled_ranks(case.stacks, case.world, on_request=case.stacks_are_ordered)
    return judge(case)


def collect(sources: Iterable[Source]) -> Case:
    """The events and facts in the files of a job; Python stacks in them are not judged yet."""
    case = Case()
    dumps: list[str] = []
    for source in sources:
        if source.is_dump:
            dumps.append(source.name)
            case.lines[source.name] = 0
            continue
        with source.stream:
            file = File(source.name, LineReader(source.stream, source.shown), source.label, case)
            file.read()
        add_file(case, file)
    if dumps:
        from jobgen.diagnosis.flight_recorder.missing_ranks import read_dumps  # few jobs have dumps

        case.events += read_dumps(dumps)
    return case


def add_file(case: Case, file: File) -> None:
    """Add what was read of a file to the events and facts of its job."""
    case.events += file.events
    case.lines[file.name] = file.count
    case.stacks += file.stacks.stacks
    case.has_ended_well |= file.ends_well and file.name == SCHEDULER
    case.stacks_are_ordered |= file.stacks.are_ordered
