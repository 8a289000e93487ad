"""Every example log has the verdict that its folder expects; logs without a failure have none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobgen.diagnosis.classes import FailureClass, classes, codes
from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import sources
from jobgen.diagnosis.lines.literals import alternatives
from jobgen.diagnosis.reader import ANCHORS
from jobgen.diagnosis.signs import Role

LOGS = Path(__file__).parent / "logs"
FOLDERS = sorted(folder for folder in LOGS.iterdir() if folder.is_dir() and folder.name != "none")
CASES = [
    pytest.param(folder, name, expected or {}, id=f"{folder.name}/{name}")
    for folder in FOLDERS
    for name, expected in yaml.safe_load((folder / "expected.yaml").read_text("utf-8")).items()
]
NONE = sorted((LOGS / "none").glob("*")) if (LOGS / "none").is_dir() else []
CLASSES = list(classes().values())


def verdict_on(path: Path) -> Verdict:
    return diagnose(sources([str(path)]))


@pytest.mark.parametrize(("folder", "name", "expected"), CASES)
def test_example_has_the_expected_verdict(
    folder: Path, name: str, expected: dict[str, Any]
) -> None:
    """A value that expected.yaml leaves out is not checked; `code: null` is "I cannot tell"."""
    verdict = verdict_on(folder / name)
    main = verdict.evidence[0] if verdict.evidence else None
    found = {
        "code": verdict.code,
        "node": verdict.node,
        "rank": verdict.rank,
        "line": main.line if main else None,
        "certainty": verdict.certainty,
        "one_of": list(verdict.one_of),
        "everywhere": verdict.everywhere,
    }
    wanted = {"code": folder.name, **expected}
    assert {key: found[key] for key in wanted} == wanted, verdict


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_example_is_expected(folder: Path) -> None:
    names = yaml.safe_load((folder / "expected.yaml").read_text("utf-8"))
    assert sorted(names) == sorted(
        path.name for path in folder.iterdir() if path.name != "expected.yaml"
    )
    assert folder.name in codes()


@pytest.mark.parametrize("path", NONE, ids=lambda path: path.name)
def test_nothing_is_found_where_nothing_failed(path: Path) -> None:
    verdict = verdict_on(path)
    assert verdict.code is None, verdict.evidence
    assert verdict.evidence == ()


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.code)
def test_class_is_complete(each: FailureClass) -> None:
    assert 10 < len(each.title) <= 100
    assert each.page
    prose = [line for line in each.page.splitlines() if "://" not in line]
    assert max(map(len, prose)) <= 100
    assert set(each.explains) <= set(codes())
    for sign in each.signs:
        assert sign.certainty in ("sure", "likely", "possible")
        groups = set(re.compile(sign.pattern).groupindex)
        used = set(re.findall(r"\{(\w+)\}", sign.says))
        assert used <= groups, sign


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.code)
def test_every_pattern_has_an_anchor(each: FailureClass) -> None:
    """The reader looks at no other lines; a harmless line without one is not looked at anyway."""
    for sign in each.signs:
        for one in alternatives(sign.pattern) if sign.role is not Role.NOISE else ():
            text = re.sub(r"\\(?=\W)|\(\?i\)", "", one).lower()
            text = re.sub(r"\[(\w)\1\]", r"\1", text)  # [Ee] is one letter
            assert any(anchor in text for anchor in ANCHORS), one
