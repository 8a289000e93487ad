"""The jobs of a folder: each record with its script and its state, and how a person names them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.code_store.store import store_folder
from jobgen.errors import JobgenError, problem
from jobgen.profiles.keys.software import Software
from jobgen.runs.chains import ChainEvent, read_chain
from jobgen.runs.records import LOGS, Record
from jobgen.runs.script_facts import ScriptFacts, script_facts

_SHOWN = 5  # jobs that an error names

# Whether a job runs (True) or waits (False), by its number: 12, 12_3, 12[3]; None: nobody knows.
# An array (12, 12[]) waits as long as one of its jobs does.
Queue = Mapping[str, bool] | None


class Run(NamedTuple):
    """A job: its record, and what its script says."""

    record: Record
    facts: ScriptFacts
    event: ChainEvent | None = None  # the last one of the job in its chain, or of the whole chain

    @property
    def code(self) -> str:
        """Its copy of the code, a path with $NAME; without its script, in the default store.

        The copy here of code that was sent to a host is in that store, too.
        """
        if self.facts.code and not self.record.host:
            return self.facts.code
        name = os.path.basename(self.facts.code) or self.record.code.get("name")
        return f"{Software().store}/code/{name}" if name else ""

    @property
    def folder(self) -> Path | None:
        """The working folder here of the job; None if that is not known."""
        logs = Path(os.path.abspath(self.record.folder))
        inner = Path(self.facts.logs or LOGS)
        if self.record.host:
            logs, inner = logs.parents[1], Path(LOGS)
        found = Path(str(logs).removesuffix(f"/{inner}") or "/")
        return found if found != logs else None

    @property
    def submission_folder(self) -> Path | None:
        """A folder to submit its script from, so that it runs in the same one; None if unknown."""
        chdir = os.path.normpath(self.facts.chdir or ".")
        if self.folder is None or chdir == "." or chdir.startswith(("/", "$", "~")):
            return self.folder
        found = Path(str(self.folder).removesuffix(f"/{chdir}") or "/")
        return found if found != self.folder else None

    def place_of(self, path: str) -> Path | None:
        """The path here of one with $NAME in its script; None if there is none, or none is known.

        $PWD is the working folder of the job, or that of this process.
        """
        within = self.folder or Path()
        with suppress(JobgenError, ValueError):
            return within / store_folder(path, within) if path else None
        return None

    @property
    def output(self) -> Path | None:
        """The output file; None if it is not here, or if its name has what only Slurm knows."""
        number, index = _in_array(self.record.job)
        default = {
            "slurm": "slurm-%A_%a.out" if index else "slurm-%j.out",
            "pbs": f"{self.facts.name}.o{number}{'.' * bool(index)}{index}",
        }
        values = {"%x": self.facts.name, "%A": number, "%a": index, "%%": "%"}
        values |= {"%j": "%j" if index else number, "^array_index^": index}
        pattern = self.facts.output or default.get(self.facts.scheduler, "")
        name = re.sub(r"%.|\^array_index\^", lambda found: values.get(found[0], found[0]), pattern)
        file = (self.folder or Path()) / name
        return file if os.path.isfile(file) else None

    @property
    def has_failed(self) -> bool:
        """Whether it has ended by itself, and not well."""
        return bool(self.record.status) and not self.record.outside and not self.is_done

    @property
    def is_done(self) -> bool:
        """Whether it has ended a chain as it should: with a status that may be 93."""
        return self.event is not None and self.event.is_done

    @property
    def may_be_queued(self) -> bool:
        """Whether only the queue knows its state: it has not ended, or goes back to the queue."""
        record = self.record
        return record.status is None or bool(record.outside) or bool(record.restarts)

    @property
    def id(self) -> str:
        """The job's id, behind its host and a colon if it is no job of this machine."""
        return f"{self.record.host}:{self.record.job}" if self.record.host else self.record.job

    def state(self, queue: Queue) -> str:
        """The state in a few words; without the queue, it is the last one that was recorded."""
        record = self.record
        in_queue = queue.get(_number(record.job)) if queue is not None else None
        if in_queue is False:
            return "queued"
        if self.event and self.event.state:
            return self.event.state
        if record.status is not None:
            return _end(record)
        if record.begin is None:
            return self._of_submitted(queue, in_queue)
        if in_queue or (self._is_local and self._is_alive()):
            return "running"
        return "ended without a word" if queue is not None or self._is_local else "begun"

    def _of_submitted(self, queue: Queue, in_queue: bool | None) -> str:
        if in_queue:
            return "running" if not self.facts.keeps_record else "begins"
        if queue is None or not self.facts.keeps_record:
            return "submitted"  # the plain script writes no record
        return "never began"

    @property
    def _is_local(self) -> bool:
        return self.facts.scheduler in ("local", "") and self.record.submitted is None

    def _is_alive(self) -> bool:
        """Whether a local job runs on this machine; its number is that of its process."""
        is_here = self.record.nodes == os.uname().nodename and self.record.job.isdigit()
        return is_here and os.path.exists(f"/proc/{self.record.job}")


def _end(record: Record) -> str:
    if record.outside and record.status == 0:
        return record.outside  # it goes back to the queue
    if record.outside:
        return "ended from outside"
    return f"failed {record.status}" if record.status else "ok"


def _number(job: str) -> str:
    """The number of a job, without the server of PBS or the cluster of Slurm."""
    return re.split("[.;]", job)[0]


def runs_of(records: Sequence[Record]) -> list[Run]:
    """The jobs of these records; each copy of a script is read once."""
    one_of_each = {record.script_file: record for record in records}
    facts = {file: script_facts(record) for file, record in one_of_each.items()}
    return [_run(each, facts[each.script_file]) for each in records]


def _run(record: Record, facts: ScriptFacts) -> Run:
    if not facts.is_chain:
        return Run(record, facts)
    number, index = _in_array(record.job)
    own = [each for each in read_chain(record.folder, number) if index in ("", each.job)]
    return Run(record, facts, own[-1] if own else None)


def state_among(run: Run, runs: Sequence[Run], queue: Queue) -> str:
    """The state of one of these jobs; that of an array says how many of its jobs have which state.

    The state of a chain is that of the last of its jobs that began.
    """
    place, (number, index) = run.record.host, _in_array(run.record.job)
    of_place = (each for each in runs if each.record.host == place)
    begun = [each for each in of_place if _in_array(each.record.job)[0] == number and each != run]
    if index or not begun:
        return run.state(queue)
    if run.event:
        return run.event.state or begun[-1].state(queue)
    states = Counter(each.state(queue) for each in begun)
    return ", ".join(f"{count} {state}" for state, count in states.items())


def shown_runs(runs: Sequence[Run], queue: Queue) -> Iterator[Run]:
    """The jobs without arrays whose own jobs have begun, unless some of them wait still."""
    begun = {number for number, index in (_in_array(each.record.job) for each in runs) if index}
    for run in runs:
        job = run.record.job
        waits = queue is not None and queue.get(_number(job)) is False
        if run.record.begin is not None or waits or _in_array(job)[0] not in begun:
            yield run


def _in_array(job: str) -> tuple[str, str]:
    """The number of a job's array, or else its own; and its number in the array, or else ""."""
    found = re.match(r"(\d+)(?:[_[](\d+))?", job)
    return (found[1], found[2] or "") if found else (job, "")


def find_run(runs: Sequence[Run], job: str, logs: Path) -> Run:
    """The job of an id, whose server may be left out. Raises JobgenError."""
    found = [each for each in runs if job in (each.record.job, each.id)]
    found = found or [each for each in runs if _number(each.record.job).removesuffix("[]") == job]
    names = [each.id for each in found or runs if found or _in_array(each.record.job)[0] == job]
    if len(found) == 1:
        return found[0]
    if names:
        text = "several jobs have this number" if found else "this is an array"
        raise problem(job, text, "job", f"name one of them: {', '.join(names[:_SHOWN])}")
    for each in reversed(runs):
        if each.event and _in_array(each.record.job)[0] == _in_array(job)[0]:
            raise problem(job, f"it has not begun; of its chain, {each.event.text}", "job")
    text = f"no record of this job is in {logs}"
    hint = "see jobgen runs, or name the folder of its submission, request.chdir or --log-dir"
    raise problem(job, text, "job", hint)
