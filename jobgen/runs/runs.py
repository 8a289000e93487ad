"""The jobs of a folder: each record with its script and its state, and how a person names them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import problem
from jobgen.profiles.software_keys import Software
from jobgen.runs.records import Record
from jobgen.runs.script_facts import ScriptFacts, script_facts

_SHOWN = 5  # jobs that an error names

# Whether a job runs (True) or waits (False), by its number: 12, 12_3, 12[3]; None: nobody knows.
Queue = Mapping[str, bool] | None


class Run(NamedTuple):
    """A job: its record, and what its script says."""

    record: Record
    facts: ScriptFacts

    @property
    def code(self) -> str:
        """Its copy of the code, a path with $NAME; without its script, in the default store."""
        name = self.record.code.get("name")
        return self.facts.code or (f"{Software().store}/code/{name}" if name else "")

    @property
    def has_failed(self) -> bool:
        """Whether it has ended by itself, and not well."""
        return bool(self.record.status) and not self.record.outside

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
    return [Run(each, facts[each.script_file]) for each in records]


def shown_runs(runs: Sequence[Run], queue: Queue) -> Iterator[Run]:
    """The jobs without arrays whose own jobs have begun, unless some of them wait still."""
    arrays = {_array(each.record.job) for each in runs}
    waiting = {_array(number) for number, runs_now in (queue or {}).items() if not runs_now}
    for run in runs:
        number = _number(run.record.job).removesuffix("[]")
        if run.record.begin is not None or number not in arrays or number in waiting:
            yield run


def _array(job: str) -> str:
    """The number of the array that a job belongs to; "" if it belongs to none."""
    found = re.match(r"(\d+)(?:_\d+|\[\d+\])", job)
    return found[1] if found else ""


def find_run(runs: Sequence[Run], job: str, logs: Path) -> Run:
    """The job of an id, whose server may be left out. Raises JobgenError."""
    found = [each for each in runs if job in (each.record.job, each.id)]
    found = found or [each for each in runs if _number(each.record.job) == job]
    names = [each.id for each in found or runs if found or _array(each.record.job) == job]
    if len(found) == 1:
        return found[0]
    if names:
        text = "several jobs have this number" if found else "this is an array"
        raise problem(job, text, "job", f"name one of them: {', '.join(names[:_SHOWN])}")
    hint = "see jobgen runs, or name the folder that it was submitted from"
    raise problem(job, f"no record of this job is in {logs}", "job", hint)
