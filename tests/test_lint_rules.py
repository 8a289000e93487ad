"""Every rule finds what its bad example has, nothing in its good one; none in our own scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.lint.rules import Rule, rules
from jobgen.lint.run import Settings, script

ROOT = Path(__file__).parent.parent
ALL = list(rules().values())
GOLDEN = sorted((ROOT / "tests/golden").glob("*.sh"))


def codes(text: str, rule: Rule) -> set[str]:
    select = (rule.code,) if rule.optional else ()
    return {each.code for each in script(text, "job.sh", Settings(select, (), rule.profile))}


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_a_rule_finds_its_bad_example_and_not_its_good_one(rule: Rule) -> None:
    assert rule.code in codes(rule.module.BAD, rule)
    assert codes(rule.module.GOOD, rule) == set()


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_a_rule_has_a_page(rule: Rule) -> None:
    assert re.fullmatch(r"JG\d\d\d", rule.code)
    assert 10 < len(rule.title) <= 90
    assert rule.page.count("\n\n") >= 1
    assert "Cure: " in rule.page
    assert max(map(len, rule.page.splitlines())) <= 110


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_generated_scripts_have_no_finding(file: Path) -> None:
    found = script(file.read_text(encoding="utf-8"), file.name, Settings())
    assert [str(each) for each in found] == []
