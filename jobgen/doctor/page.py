"""The page: one file without a script, a picture or a font from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from jobgen import __version__
from jobgen.doctor.figures import nodes_section, pair_maps, pairs_section, reduce_section
from jobgen.doctor.markup import Markup, joined, section, tag
from jobgen.doctor.numbers import NO_VALUE, count_text, number_text
from jobgen.doctor.results import Finding, Results
from jobgen.doctor.style import STYLE
from jobgen.doctor.tables import nodes_table, pair_tables, ranks_table, table
from jobgen.doctor.verdict import Verdict, verdict_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_SHOWN = 100  # findings, changes and notes; a table has each node's notes
_OPEN = 16  # nodes up to which a table is open from the start


def html_report(results: Results) -> str:
    """The whole page; it holds every value of the results, escaped."""
    verdict = verdict_of(results)
    body = tag(
        "body",
        _header(results, verdict),
        tag(
            "main",
            _changes(results),
            pairs_section(results),
            nodes_section(results),
            reduce_section(results),
            _notes(results),
            _tables(results),
            _method(results),
            _printed(results),
        ),
        tag("footer", f"Written by jobgen {__version__}. This file needs nothing else."),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(results, verdict), body, lang='en')}\n"


def _head(results: Results, verdict: Verdict) -> Markup:
    title = f"{verdict.headline} – {_job_text(results)}"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )


def _job_text(results: Results) -> str:
    parts = [results.cluster, f"job {results.job}"]
    return ", ".join(part for part in parts if part)


def time_text(text: str) -> str:
    """2026-11-23 06:10 UTC for 2026-11-23T06:10:00Z; other forms are shown as they are."""
    day, _, clock = text.partition("T")
    is_usual = len(day) == 10 and len(clock) == 9 and clock.endswith("Z")
    return f"{day} {clock[:5]} UTC" if is_usual else text


def _header(results: Results, verdict: Verdict) -> Markup:
    place = " · ".join(filter(None, ("jobgen doctor", _job_text(results), time_text(results.time))))
    headline = tag(
        "h1", tag("span", verdict.mark, class_="mark-sign", aria_hidden="true"), verdict.headline
    )
    names = tag("p", verdict.names, class_="names") if verdict.names else Markup()
    return tag(
        "header",
        tag("p", place, class_="place"),
        tag("div", headline, names, _paste(verdict), _findings(results), class_="verdict"),
        _facts(results),
        class_=verdict.tone,
    )


def _paste(verdict: Verdict) -> Markup:
    if not verdict.paste:
        return Markup()
    them = "them" if "," in verdict.paste else "it"
    how = f"Add this to the command of the next job, to leave {them} out. It is for Slurm, and"
    how += " replaces request.exclude of the profile:"
    return tag("div", tag("p", how), tag("code", verdict.paste), class_="paste")


def _findings(results: Results) -> Markup:
    texts = [results.network.problem] if results.network.problem else []
    return bounded_list([*texts, *map(finding_text, results.findings)], "findings")


def finding_text(found: Finding) -> str:
    """The job's own sentence, with the names that it may lack."""
    names = [name for name in (found.node, *(found.pair or ())) if name and name not in found.text]
    return f"{' – '.join(names)}: {found.text}" if names else found.text


def bounded_list(texts: list[str], kind: str) -> Markup:
    """A list, cut after its first hundred rows."""
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    rows = (tag("li", text) for text in texts[:_SHOWN] + more)
    return tag("ul", *rows, class_=kind) if texts else Markup()


def _facts(results: Results) -> Markup:
    count, each = len(results.nodes), results.ranks_per_node
    used = ", ".join(results.network.used)
    promised = results.network.promised
    facts = {
        "nodes": f"{count:,}",
        "ranks": f"{count * each:,} ({each} a node)",
        "device": results.device_name or results.device,
        "network": f"{used or NO_VALUE}" + (f" (promised: {promised})" if promised else ""),
        "torch": results.torch,
    }
    rows = (tag("div", tag("dt", key), tag("dd", text)) for key, text in facts.items())
    return tag("dl", *rows, class_="facts")


def _changes(results: Results) -> Markup:
    compared = results.compared
    if not compared:
        text = "No earlier results of this cluster were found beside these."
        return section("What changed", tag("p", text), name="changes")
    since = f"Compared with job {compared.job} of {time_text(compared.time)}"
    if not compared.changes:
        return section("What changed", tag("p", f"{since}: nothing changed."), name="changes")
    rows = bounded_list(list(compared.changes), "changes")
    return section("What changed", tag("p", f"{since}:"), rows, name="changes")


def _notes(results: Results) -> Markup:
    """Equal notes of several nodes are one row."""
    nodes: dict[str, list[str]] = {}
    for node in results.nodes:
        for note in node.notes:
            nodes.setdefault(note, []).append(node.name)
    if not nodes:
        return Markup()
    rows = (
        [_whose(names, len(results.nodes)), note] for note, names in list(nodes.items())[:_SHOWN]
    )
    more = tag("p", f"and {len(nodes) - _SHOWN} more") if len(nodes) > _SHOWN else Markup()
    body = table("What the job noticed beside its measurements", ["node", "note"], rows)
    return section("Notes", body, more, name="notes")


def _whose(names: list[str], count: int) -> str:
    if len(names) == count > 1:
        return f"all {count:,} nodes"
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more


def folded(title: str, *children: str | Markup, is_open: bool = False) -> Markup:
    """A part that opens at a click, without a script."""
    return tag("details", tag("summary", title), *children, open="" if is_open else None)


def _tables(results: Results) -> Markup:
    count = len(results.nodes)
    parts = [folded("Each node", nodes_table(results), is_open=count <= _OPEN)]
    for pairs in pair_maps(results):
        tables = pair_tables(results, pairs.values, pairs.title, pairs.unit, pairs.higher_is_better)
        parts.append(folded(f"{pairs.title} of pairs", tables))
    if ranks := ranks_table(results):
        parts.append(folded("Each rank", ranks))
    return section("All values", *parts, name="values")


def _method(results: Results) -> Markup:
    rows: Iterable[tuple[str, str]] = (
        ("The rule", results.rule),
        (
            "Nodes and pairs",
            "A node's network and latency are those of its best pair, so that a slow node does not"
            " make the others look slow. A pair that is slow while both its nodes are well with"
            " others is a finding about the pair. Of two nodes, nobody can say which one is slow.",
        ),
        (
            "Units",
            "1 GB is 10⁹ bytes. The latency is half of a round trip. The bus bandwidth of an"
            " all-reduce is that of NCCL's tests: the bytes, times 2(n−1)/n for n ranks, divided by"
            " the time; it compares with the speed of the network, however many ranks there are.",
        ),
        ("Measures", "; ".join(map(str, _tolerances(results)))),
        ("Versions", f"torch {results.torch}; jobgen {__version__} made this page"),
    )
    terms = (joined(tag("dt", title), tag("dd", text)) for title, text in rows if text)
    return section("How it was measured", tag("dl", *terms, class_="method"), name="method")


def _tolerances(results: Results) -> Iterable[str]:
    for measure in results.measures:
        unit = f" in {measure.unit}" if measure.unit else ""
        yield f"{measure.title}{unit}, tolerance {number_text(100 * measure.tolerance)} %"


def _printed(results: Results) -> Markup:
    if not results.lines:
        return Markup()
    text = tag("pre", "\n".join(results.lines), tabindex="0")
    title = f"The {count_text(len(results.lines), 'line')} that the job printed"
    return section("Output", folded(title, text), name="output")
