"""The verdict in plain words, with the line that leaves the bad nodes out of the next job."""

from collections.abc import Sequence
from typing import NamedTuple

from jobgen.doctor.numbers import count_text
from jobgen.doctor.results import Finding, Results
from jobgen.quoting import quote

_NAMED = 6


class Verdict(NamedTuple):
    """`tone` is good, warn or bad."""

    tone: str
    headline: str
    names: str = ""  # of the nodes that it is about
    paste: str = ""  # "" where no node is to be left out


def verdict_of(results: Results) -> Verdict:
    """What the page begins with."""
    if bad := results.exclude:
        count = count_text(len(results.nodes), "node")
        headline = f"{len(bad)} of {count} {_are(len(bad))} {_fault(results)}"
        paste = f"--set {quote('request.exclude=' + ','.join(bad))}"
        return Verdict("bad", headline, _names(bad), paste)
    if results.network.problem:
        return Verdict("bad", "The job did not use the network it was promised")
    if pairs := list(dict.fromkeys(found.pair for found in results.findings if found.pair)):
        headline = f"{count_text(len(pairs), 'pair')} of nodes {_are(len(pairs))} slow"
        return Verdict("warn", headline, _names([f"{a} – {b}" for a, b in pairs]))
    if results.findings:
        return Verdict("warn", f"{count_text(len(results.findings), 'thing')} to look at")
    if len(results.nodes) == 1:
        return Verdict("good", "Nothing is wrong with this node")
    return Verdict("good", "No node is slower than the others")


def finding_text(found: Finding) -> str:
    """The job's own sentence, with the names that it may lack."""
    names = [name for name in (found.node, *(found.pair or ())) if name and name not in found.text]
    return f"{' – '.join(names)}: {found.text}" if names else found.text


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _fault(results: Results) -> str:
    """`slow`, where each finding of the nodes is of a value; a wrong sum is none."""
    bad, measures = set(results.exclude), {measure.name for measure in results.measures}
    is_slow = all(found.measure in measures for found in results.findings if found.node in bad)
    return "slow" if is_slow else "not fit"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
