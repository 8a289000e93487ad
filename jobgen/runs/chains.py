"""How the jobs of a chain began and ended, as LOGS/chain-NUMBER has it: a line for each event."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import RECORD_BYTES
from jobgen.runs.records import read_plain

_EVENT = re.compile(r"\S+ (job (\d+) (began on|goes on|is done|stopped)\b( without progress)?.*)")


class ChainEvent(NamedTuple):
    """What happened to a job of a chain."""

    job: str  # its number in the chain
    state: str  # how it ended: "goes on", "done", "stopped", each perhaps without progress
    text: str  # the event and its reason

    @property
    def is_done(self) -> bool:
        """Whether the training was done by it."""
        return self.state == "done"

    @property
    def has_stopped(self) -> bool:
        """Whether the chain stopped by it before the training was done."""
        return self.state.startswith("stopped")


def chain_events(text: str) -> list[ChainEvent]:
    """The events in the text of a chain's file; a line that a full disk has cut is none."""
    return [_event(found) for found in map(_EVENT.fullmatch, text.splitlines()) if found]


def read_state(file: Path) -> str:
    """The state of a chain; "" if it cannot be read. It may be a stranger's."""
    with suppress(OSError):
        return read_plain(file, RECORD_BYTES).decode("utf-8", "replace")
    return ""


def last_event(text: str) -> ChainEvent | None:
    """The last event in the text of a chain's file; None if it has none."""
    return next(reversed(chain_events(text)), None)


def read_chain(logs: Path, number: str) -> list[ChainEvent]:
    """The events of the chain of this number, in their order; [] if there is none."""
    return chain_events(read_state(logs / f"chain-{number}"))


def _event(found: re.Match[str]) -> ChainEvent:
    text, job, kind, without_progress = found.groups("")
    state = "" if kind == "began on" else kind.removeprefix("is ") + without_progress
    return ChainEvent(job, state, text)
