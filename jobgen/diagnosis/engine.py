"""Finds what failed first in a job: reads the job's files, and judges the events in them."""

from collections.abc import Callable, Iterable
from typing import BinaryIO, NamedTuple, NoReturn

from jobgen.bounds import ANSWER_BYTES
from jobgen.diagnosis.answers import FACTS, KERNEL, RAS
from jobgen.diagnosis.events import SCHEDULER, Role, Verdict
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.places import MOST_NAMED
from jobgen.diagnosis.judging.suspects import with_suspects
from jobgen.diagnosis.judging.verdict import judge
from jobgen.diagnosis.lines.file_events import File
from jobgen.diagnosis.lines.labels import Label
from jobgen.diagnosis.reader import LineReader
from jobgen.diagnosis.stacks import stalled_ranks
from jobgen.errors import problem

LAST = 32_000  # bytes of a file, in which a line may look like a failure
DUMP = "dump"  # of torch's flight recorder


class Source(NamedTuple):
    """A file: its name as the user gave it, its bytes, and the label that its path gives lines."""

    name: str
    stream: BinaryIO
    label: Label = Label()
    kind: str = ""  # what it is, if no log: DUMP (it has no bytes), FACTS, RAS or KERNEL
    shown: Callable[[bytes], bytes] = bytes  # the text that is read of a block


def diagnose(sources: Iterable[Source]) -> Verdict:
    """The verdict on the job whose output is in `sources`."""
    return verdict_on(collect(sources))


def verdict_on(case: Case) -> Verdict:
    """The verdict on a job, from the events and the Python stacks of its files."""
    if not case.states and not case.jobs:
        return _judged(case)
    from jobgen.diagnosis.answers.array_jobs import leave_out_ended_well
    from jobgen.diagnosis.answers.other_jobs import leave_out_other_jobs

    others = [f"{name} is left out: it is on another job" for name in leave_out_other_jobs(case)]
    of_array = leave_out_ended_well(case)
    verdict = _judged(case)
    return verdict._replace(notes=(*of_array, *verdict.notes, *others))


def _judged(case: Case) -> Verdict:
    stalled = stalled_ranks(case.stacks, case.world, on_request=case.stacks_are_ordered)
    if case.answers:
        from jobgen.diagnosis.answers.nccl_ras import CURE, NO_ANSWER, with_answers  # seldom needed

        case.events += with_answers(stalled, case)
        verdict = judge(case)
        return verdict._replace(cure=CURE) if verdict.says == NO_ANSWER else verdict
    case.events += stalled
    verdict = with_suspects(judge(case), case)
    verdict = verdict._replace(lacks_end=not (case.says_end or case.ended_well))
    is_read = verdict.says or verdict.evidence or len(case.no_logs) < len(case.lines)
    return verdict if is_read else verdict._replace(says=", ".join(case.no_logs[:MOST_NAMED]))


def collect(sources: Iterable[Source]) -> Case:
    """The events and facts in the files of a job; Python stacks in them are not judged yet."""
    case = Case()
    dumps: list[str] = []
    for source in sources:
        if source.kind == DUMP:
            dumps.append(source.name)
            case.lines[source.name] = 0
            continue
        with source.stream:
            try:
                _read(source, case)
            except OSError as error:
                refuse(error, source.name)
    if dumps:
        from jobgen.diagnosis.flight_recorder.missing_ranks import read_dumps  # few jobs have dumps

        case.events += read_dumps(dumps)
    return case


def _read(source: Source, case: Case) -> None:
    """Add what is in one file to the case."""
    if source.kind == RAS:
        case.answers[source.name] = source.stream.read(ANSWER_BYTES).decode("utf-8", "replace")
        case.lines[source.name] = 0
        return
    if source.kind == KERNEL:
        case.kernels.add(source.name)
    if source.kind == FACTS:
        from jobgen.diagnosis.answers.array_jobs import states_in  # few files have answers

        case.facts.add(source.name)
        case.states[source.name] = states_in(source.stream)
        if source.name != SCHEDULER:  # which was asked for the job itself
            from jobgen.diagnosis.answers.other_jobs import jobs_of

            case.jobs[source.name] = jobs_of(source.stream)
    reader = LineReader(source.stream, source.shown)
    file = File(source.name, reader, source.label, case, is_facts=source.kind == FACTS)
    reader.end_size = LAST
    file.read()
    add_file(case, file)
    if source.kind not in (FACTS, KERNEL):
        case.breaks_off |= file.breaks_off
        case.add_end(file.find_suspects)
        file.tell_end(case)


def add_file(case: Case, file: File) -> None:
    """Add what was read of a file to the events and facts of its job."""
    case.events += file.events
    case.lines[file.name] = file.count
    case.no_logs += [f"{file.name} {file.lacks}"] * bool(file.lacks)
    case.stacks += file.stacks.stacks
    case.cut_off += [(file.name, *place) for place in file.frames.cut_off()]
    events = any(event.role is not Role.NOISE for event in case.events)
    case.says_end = case.says_end or (not events and file.says_end)
    if file.ends_well and file.name in case.facts:
        case.ended_well.add(file.name)
    case.stacks_are_ordered |= file.stacks.are_ordered


def refuse(error: OSError, path: str = "") -> NoReturn:
    """Raise the JobgenError for a file or a folder that cannot be read."""
    text = f"cannot be read: {error.strerror}"
    raise problem(path or str(error.filename), text, "unreadable") from None
