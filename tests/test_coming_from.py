"""docs/coming-from.md: what stands for a word of another tool is an option, key or command of ours.

Its examples are run by test_docs.py.
"""

from __future__ import annotations

import re
import shlex

import pytest

from jobgen.cli.app import NAMES
from jobgen.profiles.model import ROOT as PROFILE
from jobgen.profiles.records import keys_of
from tests.site_build import ROOT, hook

PAGE = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
OPTIONS = {flag for row in hook("option_effects").all_options() for flag in row.flags}
KEYS = {key.path for key in keys_of(PROFILE.cls)}
CODE = re.compile(r"`([^`]+)`")
NOTHING = "—"


def cells() -> list[str]:
    """The second cell of each row: ours for a word of another tool."""
    rows = [re.split(r"(?<!\\)\|", line) for line in PAGE.splitlines() if line.startswith("| ")]
    return [row[2].strip() for row in rows if row[2].strip() not in {"jobgen", "---"}]


def is_ours(code: str) -> bool:
    """Whether a code is an option with a value, a command, a program, or the path of a key."""
    first, *rest = shlex.split(code)
    if first == "jobgen":
        return rest[0] in NAMES
    if first.startswith("-"):
        return first == "--" or first.partition("=")[0] in OPTIONS
    return code in KEYS


def unknown(cell: str) -> list[str]:
    """What is wrong with a cell: codes that are not ours, and words that are no code."""
    words = CODE.sub("", cell).replace(",", "").split()
    return [*(code for code in CODE.findall(cell) if not is_ours(code)), *words]


def test_each_word_of_another_tool_has_one_of_ours_or_none() -> None:
    assert len(cells()) > 60
    assert [unknown(cell) for cell in cells() if cell != NOTHING and unknown(cell)] == []


@pytest.mark.parametrize("cell", ["`--nodelist a`", "`request.mem`", "`jobgen launch`", "a key"])
def test_what_does_not_exist_is_noticed(cell: str) -> None:
    assert unknown(cell)


def test_each_tool_has_its_source_an_example_and_what_jobgen_lacks() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert len(sections) == 4
    for section in sections:
        read = section.rpartition("\nRead: ")[2]
        assert re.search(
            r"\(https://[^)]+\).*(at commit [0-9a-f]{7}|of Slurm [\d.]+)\.", read, re.S
        )
        assert "<!-- run: jobgen sbatch" in section
        assert re.search("and jobgen does not:|What you lose:", section)
