"""The forms of a job's script: the same job may have been submitted with other code.

What a job computes is in the command in a script's header: the program with its arguments, and most
options. The rest of its text depends on the code, the profile and the version of jobgen, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.bounds import SCRIPT_BYTES
from jobgen.code_store.code_files import LIST_FILE
from jobgen.errors import JobgenError, listed
from jobgen.planning.job_options import OPTIONS, Job
from jobgen.planning.parser import parse_command
from jobgen.quoting import split_words
from jobgen.runs.records import Record, read_plain
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import script_facts
from jobgen.scripts.header import read_header

# Options that say where, when and how long a job runs, and not what it computes. The name of the
# code is in the script, whatever the option.
WHERE_AND_WHEN = (
    *(name for name, row in OPTIONS.items() if row.group == "Cluster" and name != "profile"),
    *("time", "after", "mail", "mail_on", "max_restarts", "stall", "requeue", "signal"),
    *("code", "directives"),
)
_SIZES = ("request.nodes=", "request.gpus_per_node=", "request.chdir=")  # may change results
_BY_PEOPLE = {"code", "environment", "options", "profile", "trainer"}
_SHOWN = 3  # files of a kind that a message names


class Form(NamedTuple):
    """One form of a script."""

    digest: str  # the SHA-256 of its text
    request: Job | str  # what it computes; forms of the same request are of the same job
    manifest: str = ""
    parts: frozenset[tuple[str, str]] = frozenset()  # what else it is made of, by name

    def changes(self, other: Form) -> set[str]:
        """The names of the parts that differ between two forms of a request.

        If a person has changed some of them, the others follow from that.
        """
        names = {name for name, _ in self.parts ^ other.parts}
        others = {"script"} if self.digest != other.digest else set[str]()
        return names & _BY_PEOPLE or names or others


def form_of(script: bytes) -> Form:
    """The form of a script; one without a header has no other form."""
    digest, header = hashlib.sha256(script).hexdigest(), read_header(script)
    if header is None:
        return Form(digest, digest)
    parts = frozenset({**header.parts, "options": header.command}.items())
    try:
        job = parse_command(split_words(header.command)[1:])
    except (JobgenError, ValueError):  # it is of another version
        return Form(digest, header.command, header.manifest, parts)
    without: dict[str, Any] = dict.fromkeys(WHERE_AND_WHEN)
    without["set_values"] = tuple(
        each
        for each in job.set_values
        if not each.startswith("request.") or each.startswith(_SIZES)
    )
    return Form(digest, job._replace(**without), header.manifest, parts)


def kept_forms(logs: Path) -> Iterator[Form]:
    """The forms of all scripts of which a copy is in a folder of logs."""
    for path in (logs / "scripts").glob("*.sh"):
        with suppress(OSError):
            form = form_of(read_plain(path, SCRIPT_BYTES))
            if form.digest == path.stem:
                yield form


def code_changes(record: Record, new: bytes, store: Path) -> str:
    """The files that differ between the code of a job and the list `new` of a copy.

    The job's own copy is where its script says, or in `store`. Returns "" if it is gone.
    """
    run = Run(record, script_facts(record))
    for copy in filter(None, (run.place_of(run.code), store / "code" / Path(run.code).name)):
        with suppress(OSError):
            return _changed_files(_by_path((copy / LIST_FILE).read_bytes()), _by_path(new))
    return ""


def _by_path(code: bytes) -> dict[str, set[bytes]]:
    """What the list of a copy says of each file."""
    found: dict[str, set[bytes]] = {}
    for line in code.splitlines():
        before, _, path = line.partition(b" ./")
        found.setdefault(path.decode("utf-8", "replace"), set()).add(before)
    return found


def _changed_files(old: dict[str, set[bytes]], new: dict[str, set[bytes]]) -> str:
    kinds = {
        "changed": [path for path in new if path in old and old[path] != new[path]],
        "new": [path for path in new if path not in old],
        "removed": [path for path in old if path not in new],
    }
    return "; ".join(f"{kind}: {listed(paths, _SHOWN)}" for kind, paths in kinds.items() if paths)
