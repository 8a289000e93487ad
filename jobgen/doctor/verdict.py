"""The verdict in plain words, with the line that leaves the bad nodes out of the next job."""

from __future__ import annotations

from typing import NamedTuple

from jobgen.doctor.numbers import count_text
from jobgen.doctor.results import Results
from jobgen.quoting import quote

_NAMED = 6


class Verdict(NamedTuple):
    """`tone` is good, warn or bad; `mark` repeats it for those who do not see its colour."""

    tone: str
    mark: str
    headline: str
    names: str  # of the nodes that it is about
    paste: str  # "" where no node is to be left out


def verdict_of(results: Results) -> Verdict:
    """What the page begins with."""
    if results.exclude:
        bad, count = results.exclude, len(results.nodes)
        is_one = len(bad) == 1
        headline = f"{len(bad)} of {count_text(count, 'node')} {'is' if is_one else 'are'}"
        paste = f"--set {quote('request.exclude=' + ','.join(bad))}"
        return Verdict("bad", "✕", f"{headline} {_fault(results)}", _names(bad), paste)
    if results.network.problem:
        return Verdict("bad", "✕", "The job did not use the network it was promised", "", "")
    if pairs := list(dict.fromkeys(found.pair for found in results.findings if found.pair)):
        names = _names([f"{a} – {b}" for a, b in pairs])
        is_one = len(pairs) == 1
        headline = f"{count_text(len(pairs), 'pair')} of nodes {'is' if is_one else 'are'} slow"
        return Verdict("warn", "!", headline, names, "")
    if results.findings:
        return Verdict(
            "warn", "!", count_text(len(results.findings), "thing") + " to look at", "", ""
        )
    if len(results.nodes) == 1:
        return Verdict("good", "✓", "Nothing is wrong with this node", "", "")
    return Verdict("good", "✓", "No node is slower than the others", "", "")


def _fault(results: Results) -> str:
    """`slow`, where each finding of the nodes is of a value; a wrong sum is none."""
    bad, measures = set(results.exclude), {measure.name for measure in results.measures}
    is_slow = all(found.measure in measures for found in results.findings if found.node in bad)
    return "slow" if is_slow else "not fit"


def _names(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
