"""Every rule finds its bad example and passes its good one; our own scripts have no finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.lint import rules as package
from jobgen.lint.reader.parse import parse
from jobgen.lint.rules import NEEDS_PROFILE, Rule, checks, rules
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings
from jobgen.planning.job_options import Job
from tests.golden_cases import CASES, script_of
from tests.helpers import script

FOLDER = Path(package.__file__).parent
RULES = list(rules().values())


def found_codes(script: str, rule: Rule) -> set[str]:
    select = (rule.code,) if rule.optional else ()
    settings = Settings(select, (), rule.profile, (), rule.versions)
    return {problem.code for problem in problems_in(script, "job.sh", settings)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_finds_its_bad_example_and_not_its_good_one(rule: Rule) -> None:
    assert rule.code in found_codes(rule.bad, rule)
    assert found_codes(rule.good, rule) == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_has_a_page(rule: Rule) -> None:
    assert re.fullmatch(r"JG\d\d\d", rule.code)
    assert 10 < len(rule.title) <= 90
    assert rule.page.count("\n\n") >= 1
    assert "Cure: " in rule.page
    assert max(map(len, rule.page.splitlines())) <= 100


def test_a_rule_is_a_check_and_a_text() -> None:
    texts = [path.stem.partition("_")[0].upper() for path in FOLDER.rglob("*.txt")]
    assert sorted(texts) == list(checks()) == list(rules())
    for code, rule in rules().items():
        assert code.startswith(NEEDS_PROFILE) == bool(rule.profile), code


@pytest.mark.parametrize("case", CASES)
def test_generated_script_has_no_finding(case: str) -> None:
    text = script_of(case)
    if "3<>" not in text:  # which the parser does not know
        assert parse(text, f"{case}.sh").parse_error is None
    found = problems_in(text, f"{case}.sh", Settings())
    assert [str(problem) for problem in found] == []


@pytest.mark.parametrize(
    ("command", "profile"), [("sbatch", "mi210"), ("sbatch", "dgx-a100"), ("qsub", "eap")]
)
@pytest.mark.parametrize("nodes", ["1", "2"])
def test_a_chain_is_read_whole_and_has_no_finding(command: str, profile: str, nodes: str) -> None:
    text = script(Job(command, profile, chain="3", nodes=nodes, program=("train.py",)))
    assert parse(text, "chain.sh").parse_error is None
    assert [str(problem) for problem in problems_in(text, "chain.sh", Settings())] == []
