"""Each text that a pattern matches has one of the parts by which the pattern is chosen."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen.diagnosis.classes.index import index
from jobgen.diagnosis.lines.activities import _rows
from jobgen.diagnosis.lines.labels import _HINTS, _HOST_NAME, _JOURNAL, _PREFIXES, _TASK
from jobgen.diagnosis.lines.process_ends import _STATUS
from jobgen.diagnosis.signs import ABOVE

OF_LINES = [*_PREFIXES, *_HINTS, _HOST_NAME, _JOURNAL, _TASK, *_STATUS]


@pytest.mark.parametrize(("part", "pattern"), OF_LINES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_of_a_label_and_of_an_exit_status(part: str, pattern: str, data: st.DataObject) -> None:
    assert part in data.draw(st.from_regex(pattern))


@pytest.mark.parametrize(("parts", "pattern"), [row[2:] for row in _rows()])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_of_an_activity(parts: list[str], pattern: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(pattern, re.MULTILINE))).lower()
    assert any(part in text for part in parts)


OF_TWO_LINES = [row[1] for _, row in index().rows if ABOVE.search(row[1])]


@pytest.mark.parametrize("pattern", OF_TWO_LINES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_pattern_for_two_lines_matches_no_line_alone(pattern: str, data: st.DataObject) -> None:
    assert "\n" in data.draw(st.from_regex(pattern))
