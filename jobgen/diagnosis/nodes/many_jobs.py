"""The verdicts on all jobs whose output is in one folder: a table by class, and suspect nodes."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from jobgen.diagnosis.classes import class_of, codes_with
from jobgen.diagnosis.engine import diagnose, refuse
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import as_word, found_files, is_job_folder, is_plain, natural
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import NOTHING, as_line, values_of
from jobgen.errors import JobgenError, printable
from jobgen.paths import to_path

_PREFIX = "jobgen: "
# The names that the schedulers give: slurm-4711.out, NAME.o4711 and NAME.e4711.
_OUTPUT = re.compile(r"slurm-(?P<slurm>\d+(?:_\d+)?)\.(?:out|err)|.+\.[oe](?P<pbs>\d+(?:\.\d+)?)")
_UNREAD = "not read: "
_AGAIN = 2  # jobs in which a node failed first: this is no chance
_NAMED = 4  # nodes shown in a row

Jobs = Mapping[str, Iterable[str]]


def jobs_in(folder: str) -> Jobs:
    """The files or the folder of each job, if the folder has the output of several; else none."""
    jobs: dict[str, list[str]] = {}
    path = to_path(folder)
    if not os.path.isdir(path) or is_job_folder(folder):
        return jobs
    try:
        names = sorted(os.listdir(path), key=natural)
    except OSError as error:
        refuse(error, folder)
    for name in names:
        word = as_word(os.path.join(path, name))
        output = _OUTPUT.fullmatch(name)
        if output and is_plain(word):
            jobs.setdefault(output["slurm"] or output["pbs"], []).append(word)
        elif is_job_folder(word):
            jobs[as_word(name)] = [word]
    return jobs if len(jobs) > 1 else {}


def verdicts_on(jobs: Jobs) -> dict[str, Verdict]:
    """The verdict on each job; what jobgen's script left in a folder tells more than its output."""
    verdicts: dict[str, Verdict] = {}
    for job, paths in jobs.items():
        folder = next(filter(is_job_folder, paths), "")
        try:
            verdicts[job] = diagnose_folder(folder) if folder else diagnose(found_files(paths))
        except JobgenError as error:  # the others are worth a table
            verdicts[job] = Verdict(None, says=f"{_UNREAD}{error}")
    return verdicts


def nodes_to_leave_out(verdicts: Iterable[Verdict]) -> list[str]:
    """The nodes that need repair, and those that failed first in several jobs."""
    found = [each for each in verdicts if each.node and each.code]
    broken = codes_with("repair")
    surely = {each.node for each in found if each.code in broken and each.certainty == "sure"}
    weak = broken | codes_with("gpu") | codes_with("peers") | codes_with("process")
    again = Counter(each.node for each in found if each.code in weak)
    surely |= {node for node, count in again.items() if count >= _AGAIN}
    return sorted(filter(None, surely))


def as_table(verdicts: Mapping[str, Verdict]) -> str:
    """The classes with their jobs and nodes, the nodes to leave out, and a line for each job."""
    causes = [each for each in verdicts.values() if each.code]
    seen = [each for each in verdicts.values() if each.evidence and not each.code]
    unread = sum(each.says.startswith(_UNREAD) for each in verdicts.values())
    rest = len(verdicts) - len(causes) - len(seen) - unread
    lines = [
        f"{len(verdicts)} jobs: {len(causes)} with a cause, {len(seen)} that failed without one,"
        f" {rest} without a failure" + f", {unread} not read" * bool(unread),
        "",
        *_by_class(causes),
    ]
    nodes = nodes_to_leave_out(causes)
    lines += [
        f"leave out: {','.join(nodes)} (sbatch --exclude=…; with jobgen: --set request.exclude=…)"
    ] * bool(nodes)
    width = max(map(len, verdicts))
    for job, verdict in verdicts.items():
        lines.append(f"{job:{width}}  {_in_one_line(verdict)}")
    return "".join(f"{printable(line)}\n" for line in lines)


def _in_one_line(verdict: Verdict) -> str:
    if not (verdict.code or verdict.evidence):
        return verdict.says or NOTHING
    return as_line(verdict._replace(cure="")).strip().removeprefix(_PREFIX)


def _by_class(causes: list[Verdict]) -> list[str]:
    counts = Counter(each.code or "" for each in causes)
    width = max(map(len, counts), default=0)
    lines: list[str] = []
    for code, count in counts.most_common():
        nodes = Counter(each.node for each in causes if each.code == code and each.node)
        names = [f"{n} ({c})" if c > 1 else str(n) for n, c in nodes.most_common(_NAMED)]
        more = [f"{len(nodes) - _NAMED} more"] * (len(nodes) > _NAMED)
        where = f"  on {', '.join(names + more)}" if names else ""
        lines.append(f"{count:4} {code:{width}}  {class_of(code).title}{where}")
    return [*lines, ""] if lines else lines


def all_as_json(verdicts: Mapping[str, Verdict]) -> str:
    """All verdicts as JSON, by job, and the nodes to leave out."""
    value: dict[str, Any] = {
        "jobs": {job: values_of(verdict) for job, verdict in verdicts.items()},
        "leave_out": nodes_to_leave_out(verdicts.values()),
    }
    return json.dumps(value, indent=2) + "\n"
