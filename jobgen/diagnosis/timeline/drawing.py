"""The drawing of a verdict, nodes × time: text of at most 100 columns, JSON, or one HTML file."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from textwrap import wrap

from jobgen import __version__
from jobgen.diagnosis.events import SCHEDULER, Verdict
from jobgen.diagnosis.judging.places import name_of
from jobgen.diagnosis.lines.labels import clock
from jobgen.diagnosis.report import WIDTH, as_text, encodable, shortened, values_of
from jobgen.diagnosis.timeline import moments
from jobgen.diagnosis.timeline.moments import MARKS, Moment, moments_of, notes_on
from jobgen.errors import counted, printable
from jobgen.scripts.jinja_environments import html_environment

_COLUMNS = 6
_CELL, _NAME, _SAYS = 12, 18, 36  # characters of a cell, of a node's name, of a moment
_ROWS = 10  # nodes in the text
_FIRST, _LAST = 8, 2  # moments in the text that are shown without --all
_LAST_LINES = 3  # more of them are not all shown, either
_MOST = 1000  # rows of a table of the page
_SILENT = "·"
LEGEND = "; ".join(f"{mark} {text}" for mark, text in (*MARKS.items(), (_SILENT, "silent")))
_NO_NODE = "(no node named)"


class Drawing:
    """What is drawn; `columns` are the beginnings of spans of time."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.headline = as_text(verdict).partition("\n")[0]
        self.moments = moments_of(verdict)
        self.notes = [*notes_on(self.moments, verdict), *verdict.notes]
        self._begins_untimed = any(each.time is None for each in self.moments[:1])
        self.untimed = ["no time"] * any(each.time is None for each in self.moments)
        times = sorted({each.time for each in self.moments if each.time is not None})
        gaps = sorted((b - a, b) for a, b in pairwise(times) if a // 1 < b // 1)
        most = _COLUMNS - len(self.untimed)
        self.columns = times[:1] + sorted(begin for _, begin in gaps[-most + 1 :])
        self.days = {clock(time)[:5] for time in self.columns}
        self._marks: dict[tuple[str, int], list[str]] = {}
        for each in self.moments:
            self._marks.setdefault((each.node, self._column(each)), []).append(each.mark)
        first = [each.node for each in self.moments if each.mark == moments.FIRST]
        nodes = dict.fromkeys([*first, *(each.node for each in self.moments)])
        self.nodes = sorted(nodes, key=lambda node: node in (SCHEDULER, ""))
        self.quiet = len(verdict.seen_nodes - set(nodes))

    def _column(self, moment: Moment) -> int:
        """The column of a moment; those without a time have a column of their own."""
        if moment.time is None:
            return 0 if self._begins_untimed else len(self.columns)
        return bisect_right(self.columns, moment.time) - 1 + self._begins_untimed

    def clock(self, time: float | None) -> str:
        """A time without its day, if there is only one day."""
        return "" if time is None else clock(time)[6 * (len(self.days) == 1) :]

    @property
    def heads(self) -> list[str]:
        """The headings of the columns: a day where it changes, or the clock, or `no time`."""
        times = [self.clock(time) for time in self.columns]
        is_new = [a[:-9] != b[:-9] for a, b in pairwise(["", *times])]
        texts = (t[: _CELL - 1] if new else t[-8:] for t, new in zip(times, is_new, strict=True))
        return [*self.untimed, *texts] if self._begins_untimed else [*texts, *self.untimed]

    def row(self, node: str) -> list[str]:
        """The marks of a node in each column, with their numbers, and where it was silent."""
        texts: list[str] = []
        for index in range(len(self.heads)):
            own = self._marks.get((node, index), [])
            counts = ((mark, own.count(mark)) for mark in MARKS if mark in own)
            texts.append(" ".join(f"{mark}{n if n > 1 else ''}" for mark, n in counts))
        marked = [index for index, text in enumerate(texts) if text]
        for begin, end in pairwise(marked):
            if texts[begin] == moments.LAST:
                texts[begin + 1 : end] = [_SILENT] * (end - begin - 1)
        return texts

    def groups(self) -> list[list[Moment]]:
        """The moments, those together that say the same at one time.

        Of many last lines, only those of the rank that failed first are among them.
        """
        first = {(m.node, m.rank) for m in self.moments if m.mark == moments.FIRST}
        are_few = sum(m.mark == moments.LAST for m in self.moments) <= _LAST_LINES
        own = (m for m in self.moments if m.mark != moments.LAST or (m.node, m.rank) in first)
        shown = self.moments if are_few else own
        same = groupby(shown, lambda m: (m.mark, self._column(m), re.sub(r"\d+", "", m.says)))
        return [[*group] for _, group in same]

    def cells(self, group: Sequence[Moment]) -> tuple[str, str, str, str, str]:
        """The time, the place, the mark, the meaning and the source of moments."""
        first, nodes = group[0], {each.node for each in group}
        ranks = len({(each.node, each.rank) for each in group})
        time = f"{'' if first.is_exact else '~'}{self.clock(first.time)}"
        place = f"{len(nodes)} nodes" if len(nodes) > 1 else first.node
        place = f"{place} ({ranks} ranks)" if ranks > 1 else name_of(first.node or None, first.rank)
        more = f" and {len(group) - 1} more" if group[1:] else ""
        return time, place, first.mark, first.says, f"{first.source}{more}"


def drawn(verdict: Verdict, format: str, everything: bool = False) -> str:
    """The drawing in a format: text, json or html; the text shows `everything`, or the first."""
    drawing = Drawing(verdict)
    if format == "json":
        return _as_json(drawing)
    if format == "html":
        environment = html_environment(Path(__file__).parents[2], finalize=_shown)
        page = environment.get_template("diagnosis/timeline/page.html.j2")
        return page.render(
            drawing=drawing,
            nodes=[[node or _NO_NODE, *drawing.row(node)] for node in drawing.nodes[:_MOST]],
            moments=[drawing.cells([each]) for each in drawing.moments[:_MOST]],
            legend=LEGEND,
            version=__version__,
        )
    return _as_text(drawing, everything) if drawing.moments else as_text(verdict)


def _as_text(drawing: Drawing, everything: bool) -> str:
    lines = [*_wrapped(drawing.headline), ""]
    lines += [*_grid(drawing), ""] if drawing.columns else []
    groups = [[each] for each in drawing.moments] if everything else drawing.groups()
    hidden = 0 if everything else max(len(groups) - _FIRST - _LAST, 0)
    for group in groups[:_FIRST] if hidden else groups:
        lines += _listed(drawing, group)
    if hidden:
        lines.append(f"… {hidden} more: --all shows them")
        lines += [line for group in groups[-_LAST:] for line in _listed(drawing, group)]
    cure = [f"cure: {drawing.verdict.cure}"] * bool(drawing.verdict.cure)
    for text in (*(f"note: {note}" for note in drawing.notes), *cure):
        lines += _wrapped(text)
    return "".join(f"{printable(line).rstrip()}\n" for line in lines)


def _wrapped(text: str) -> list[str]:
    return wrap(printable(text), WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _grid(drawing: Drawing) -> Iterator[str]:
    day = f" {min(drawing.days)}" if len(drawing.days) == 1 else ""
    yield _in_columns(f"node{day}", drawing.heads)
    for node in drawing.nodes[:_ROWS]:
        yield _in_columns(node or _NO_NODE, drawing.row(node))
    if drawing.nodes[_ROWS:]:
        yield f"and {counted(len(drawing.nodes) - _ROWS, 'more node')} with marks"
    if drawing.quiet:
        yield f"{counted(drawing.quiet, 'other node')} without a line of the failure"
    yield LEGEND


def _in_columns(name: str, cells: list[str]) -> str:
    shown = "".join(f"{shortened(cell, _CELL - 1):{_CELL}}" for cell in cells)
    return f"{shortened(printable(name), _NAME):{_NAME}}  {shown}"


def _listed(drawing: Drawing, group: list[Moment]) -> Iterator[str]:
    """The row of moments, with their source behind it or, if that is long, below."""
    time, place, mark, says, source = map(printable, drawing.cells(group))
    width = 15 if len(drawing.days) > 1 else 9
    begin = f"{time:>{width}}  {shortened(place, _NAME + 6):{_NAME}}  {mark} "
    room = WIDTH - len(begin) - len(f"  {source}")
    if room >= min(len(says), _SAYS):
        yield f"{begin}{shortened(says, room)}  {source}"
    else:
        yield shortened(f"{begin}{says}", WIDTH)
        yield f"{'':{width + 4}}{source}"


def _as_json(drawing: Drawing) -> str:
    """The verdict as JSON, with its moments as `timeline`."""
    value = values_of(drawing.verdict)
    value["timeline"] = [
        encodable(each._asdict())
        | {"mark": MARKS[each.mark], "time": None if each.time is None else clock(each.time)}
        for each in drawing.moments
    ]
    return json.dumps(value, indent=2) + "\n"


def _shown(value: object) -> object:
    """A text without characters that HTML cannot have."""
    return printable(value) if type(value) is str else value
