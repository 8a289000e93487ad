"""The page: one file without a script, and without pictures or fonts from elsewhere.

The text and the look of the page are in assets/: a template, its drawings, and a style sheet. The
page begins with the verdict in plain words, and the option that excludes bad nodes from a job.
"""

from pathlib import Path
from typing import NamedTuple

from jobgen import __version__
from jobgen.doctor.charts import FEW, all_reduce_curves, bar_chart
from jobgen.doctor.numbers import NO_VALUE, bytes_text, count_text, number_text, seconds_text
from jobgen.doctor.pairs import pair_maps
from jobgen.doctor.results import Finding, Point, Results
from jobgen.errors import listed
from jobgen.quoting import quote
from jobgen.scripts.jinja_environments import html_environment

_NAMED = 6  # nodes or pairs that the headline names


class Verdict(NamedTuple):
    """The verdict at the start of the page; `tone`, its colour, is good, warn or bad."""

    tone: str
    headline: str
    names: str = ""  # the nodes or pairs that the headline counts
    paste: str = ""  # the option that excludes the bad nodes; "" without bad nodes


def verdict_of(results: Results) -> Verdict:
    """The verdict on the results: bad nodes first, then the network, pairs and other findings."""
    findings = results.verdict.findings
    if bad := results.verdict.exclude:
        count = count_text(len(results.nodes), "node")
        # The nodes are slow if each of their findings is about a measured value, not a wrong sum.
        is_slow = all(
            each.measure in results.measures
            for each in results.verdict.findings
            if each.node in bad
        )
        verb = "are" if bad[1:] else "is"
        headline = f"{len(bad)} of {count} {verb} {'slow' if is_slow else 'not fit'}"
        paste = f"--set {quote('request.exclude=' + ','.join(bad))}"
        return Verdict("bad", headline, listed(bad, _NAMED), paste)
    if results.network.problem:
        return Verdict("bad", "The job did not use the network it was promised")
    if pairs := list(dict.fromkeys(found.pair for found in findings if found.pair)):
        verb = "are" if pairs[1:] else "is"
        headline = f"{count_text(len(pairs), 'pair')} of nodes {verb} slow"
        return Verdict("warn", headline, listed([f"{a} – {b}" for a, b in pairs], _NAMED))
    if findings:
        return Verdict("warn", f"{count_text(len(findings), 'thing')} to look at")
    if len(results.nodes) == 1:
        return Verdict("good", "Nothing is wrong with this node")
    return Verdict("good", "No node is slower than the others")


def finding_text(found: Finding) -> str:
    """The job's sentence about a finding, with the node or pair in front if the text lacks it."""
    names = [name for name in (found.node, *(found.pair or ())) if name and name not in found.text]
    return f"{' – '.join(names)}: {found.text}" if names else found.text


ASSETS = Path(__file__).parent / "assets"
_WIDE = 96  # with more nodes than this, a bar chart has the wide style


def html_report(results: Results) -> str:
    """The whole page, with every value of the results; all texts are escaped."""
    count, findings = len(results.nodes), results.verdict.findings
    environment = html_environment(ASSETS, finalize=_short)
    environment.filters.update(number=number_text, bytes=bytes_text)
    environment.filters.update(count=count_text, time=time_text)
    return environment.get_template("report.html.j2").render(
        version=__version__,
        results=results,
        count=count,
        verdict=verdict_of(results),
        findings=[*filter(None, [results.network.problem]), *map(finding_text, findings)],
        job=", ".join(filter(None, (results.cluster, f"job {results.job}"))),
        maps=pair_maps(results),
        bar_charts=[bar_chart(measure, results) for measure in results.measures.values()],
        bars_class="few" if count <= FEW else "wide" if count > _WIDE else "some",
        curves=all_reduce_curves(results),
        all_reduces=_all_reduces(results),
        notes=_notes(results),
        bad_values={(found.node, found.measure) for found in findings},
    )


def _short(value: object) -> object:
    """A float with five digits: in the template, only coordinates of drawings are floats."""
    return f"{value:.5g}" if isinstance(value, float) else value


def time_text(text: str) -> str:
    """2026-11-23 06:10 UTC for 2026-11-23T06:10:00Z; text of another form is not changed."""
    day, _, clock = text.partition("T")
    is_usual = len(day) == 10 and len(clock) == 9 and clock.endswith("Z")
    return f"{day} {clock[:5]} UTC" if is_usual else text


def _all_reduces(results: Results) -> list[list[str]]:
    """A row for each size: time and rate of all nodes, and, if measured, of the slowest node."""
    both = [{p.size: p for p in each} for each in results.allreduce if each]
    sizes = sorted({size for points in both for size in points})
    return [[bytes_text(size), *(t for p in both for t in _times(p.get(size)))] for size in sizes]


def _times(point: Point | None) -> tuple[str, str]:
    if not point:
        return NO_VALUE, NO_VALUE
    return seconds_text(point.seconds), number_text(point.rate)


def _notes(results: Results) -> list[tuple[str, str]]:
    """Rows of node names and a note; equal notes of several nodes are one row."""
    nodes: dict[str, list[str]] = {}
    for node in results.nodes:
        for note in node.notes:
            nodes.setdefault(note, []).append(node.name)
    count = len(results.nodes)
    everybody = f"all {count:,} nodes"
    return [
        (everybody if len(names) == count > 1 else listed(names, 4), note)
        for note, names in nodes.items()
    ]
