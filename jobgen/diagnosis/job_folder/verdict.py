"""The verdict on a job, from all the files in its folder."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobgen.diagnosis.answers.array_jobs import leave_out_ended_well
from jobgen.diagnosis.chain_job import in_chain
from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.engine import Source, collect, refuse
from jobgen.diagnosis.events import Event, Role, Verdict
from jobgen.diagnosis.job_folder.endings import Evidence, assigned, node_events, quiet_ranks
from jobgen.diagnosis.job_folder.hangs import CURES, hung_ranks
from jobgen.diagnosis.job_folder.layout import JobFolder, read_layout
from jobgen.diagnosis.job_folder.ranks import number_ranks, read_error_file
from jobgen.diagnosis.job_folder.sources import folder_sources, without_ranks
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.verdict import judge
from jobgen.paths import to_path

# The line that `why --line` itself wrote at the end of the job's log.
_OWN_VERDICT = re.compile(r"^jobgen: (?:.* failed first: |the ranks hung: |no cause found)")
_IN_AGENT = re.compile(r"\] failed \(exitcode: -?\d+\) local_rank: ")
_IN_REPORT = re.compile(r"^\s*exitcode *: ")


def diagnose_folder(path: str, others: Iterable[Source] = ()) -> Verdict:
    """The verdict on the job of this folder; `others` are its log and its scheduler's facts.

    Raises JobgenError if the folder cannot be read.
    """
    logs, name = os.path.split(os.path.abspath(to_path(path)))
    return in_chain(_diagnose(path, others), Path(logs), name)


def _diagnose(path: str, others: Iterable[Source]) -> Verdict:
    try:
        folder = read_layout(path)
    except OSError as error:
        refuse(error, path)
    number_ranks(folder)
    for each in folder.ranks:
        read_error_file(each)
    # The job's log also has the ranks' lines, but there, halves of two lines may be mixed.
    logs = [without_ranks(source, folder) for source in others]
    case = collect([*folder_sources(folder), *logs])
    of_array = leave_out_ended_well(case)
    _complete(case, folder)
    case.is_jobgens = True
    if folder.end[0] == "0":
        return Verdict(None, says="the job ended with status 0")
    if folder.is_ended_from_outside:
        return _ended_from_outside(case)
    case.events = [*assigned(folder, case)]
    case.events += hung_ranks(folder, case) or quiet_ranks(folder, case)
    evidence = {host: Evidence.read(node, folder) for host, node in folder.nodes.items()}
    case.events += [event for noted in evidence.values() for event in node_events(noted, case)]
    verdict = judge(case)
    verdict = verdict._replace(notes=(*of_array, *verdict.notes))
    cures = (cure for begin, cure in CURES.items() if verdict.says.startswith(begin))
    noted = evidence.get(verdict.node or "")
    notes = noted.notes_for(verdict, case) if noted else ()
    return verdict._replace(cure=next(cures, verdict.cure), node_notes=notes)


def _complete(case: Case, folder: JobFolder) -> None:
    """Give events the nodes that the folder knows; remove events of earlier starts of ranks."""
    hosts = {each.rank: each.host for each in folder.ranks if each.rank is not None}
    case.rank_nodes |= hosts
    case.world = case.world or len(folder.ranks)
    case.launchers |= {"torchrun"} if all(each.run for each in folder.ranks) else set()
    old = set[str]()
    if any(each.attempt for each in folder.ranks):
        # Failed processes that no final report names: the ranks have started again since.
        reported = {event.pid for event in case.events if _IN_REPORT.match(event.text)}
        old = {event.pid for event in case.events} - reported - {""} if reported else old
    events = [e for e in case.events if not (e.pid in old and "(pid: " in e.text)]
    events = [e for e in events if not _OWN_VERDICT.match(e.text)]
    # The folder has the scheduler's names of nodes; torchrun's report may have other names.
    events = [
        e._replace(attempt=None, node=hosts.get(-1 if e.rank is None else e.rank, e.node))
        for e in events
    ]
    case.events = _without_repeats([*_ranked(events)])


def _ranked(events: list[Event]) -> Iterator[Event]:
    """The events; if an agent's line names only a process, the agent's report gives the rank."""
    local_ranks = {e.pid: e.local_rank for e in events if _IN_AGENT.search(e.text)}
    for index, event in enumerate(events):
        # Two agents' reports may be mixed line by line: a status counts only for its process.
        local = local_ranks.get(event.pid, event.local_rank)
        if local != event.local_rank and _IN_REPORT.match(event.text):
            events[index] = event._replace(rank=None, node=None, local_rank=local)
    # With the status, because nodes that started at the same time have equal process ids.
    ranks = {(e.pid, e.status): e for e in events if e.rank is not None and e.pid}
    for event in events:
        same = ranks.get((event.pid, event.status)) if event.rank is None else None
        yield event._replace(rank=same.rank, node=same.node) if same else event


def _without_repeats(events: list[Event]) -> list[Event]:
    """The events without exceptions of torchrun's error.json that the rank has also printed."""
    printed = (e.file for e in events if e.context and not e.file.endswith("/error.json"))
    repeated = {f"{file.rpartition('/')[0]}/error.json" for file in printed}
    return [event for event in events if event.file not in repeated]


def _ended_from_outside(case: Case) -> Verdict:
    """The verdict on a job ended from outside, from the scheduler's facts; it blames no rank."""
    outside = codes_with("scheduler") | {"node-lost"}
    causes = [event for event in case.events if event.role is Role.CAUSE and event.context]
    case.events = [
        event
        for event in case.events
        if event.code in outside or (event.code and event.file in case.facts)
    ]
    first = causes[0] if causes and causes[0].rank is not None else None
    words = (f"rank {first.rank} on {first.node} wrote {first.says}",) if first else ()
    return judge(case)._replace(notes=words)
