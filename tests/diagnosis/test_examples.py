"""Every example log has the verdict that its folder expects; logs without a failure have none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobgen.diagnosis.classes import TRAITS, FailureClass, class_of, classes, codes
from jobgen.diagnosis.classes.fixed_texts import literals
from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.events import Event, Role, Verdict
from jobgen.diagnosis.files import sources
from jobgen.diagnosis.lines.matching import may_matter
from jobgen.diagnosis.reader import GRAM, shape_of
from jobgen.diagnosis.report import as_line, as_text
from jobgen.diagnosis.signs import read_signs

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
        "local_rank": verdict.local_rank,
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


@pytest.mark.parametrize(
    ("text", "lacks_end"),
    [("step 1\n", True), ("step 1\ntraining finished\n", False), ("", True)],
)
def test_where_to_look_if_no_line_says_that_the_job_ended_well(
    tmp_path: Path, text: str, lacks_end: bool
) -> None:
    (tmp_path / "x.log").write_text(text)
    verdict = verdict_on(tmp_path / "x.log")
    shown = as_text(verdict).splitlines()
    assert verdict.lacks_end == lacks_end
    assert len(shown) == 1 + (lacks_end and bool(text))  # of an empty file, the head says so
    assert "ended well" not in as_line(verdict)


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.code)
def test_class_is_complete(each: FailureClass) -> None:
    assert 10 < len(each.title) <= 100
    assert each.page
    prose = [line for line in each.page.splitlines() if "://" not in line]
    assert max(map(len, prose)) <= 100
    assert each.cures
    assert each.misleads
    assert each.explains <= set(codes())
    assert each.traits <= TRAITS.keys()
    for sign in each.signs:
        assert sign.event.certainty in ("sure", "likely", "possible")
        groups = set(re.compile(sign.pattern).groupindex)
        used = set(re.findall(r"\{(\w+)\}", sign.event.says + sign.event.cures))
        assert used <= groups, sign


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.code)
def test_every_pattern_has_a_fixed_text(each: FailureClass) -> None:
    """By it, the reader finds the lines that may matter; a sign without one matters in each."""
    for sign in each.signs if "last-resort" not in each.traits else ():
        shapes = [shape_of(text.encode()) for text in literals([sign.pattern])[0]]
        assert min(map(len, shapes)) >= GRAM, sign


def test_an_ordinary_line_does_not_matter() -> None:
    assert not may_matter(shape_of(b"step 17 of epoch 3: loss 0.71, 12.5 samples/s"))
    assert may_matter(shape_of(b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"))


def test_signs_are_written_as_a_text() -> None:
    text = r"""
DEVICE = mlx
        \d
# A comment.
likely report if failed: the port {port} failed, and
        others waited
        Cure: look at it, and
        wait
    error: <DEVICE>
        : down
    # Another comment.
    fatal: <DEVICE>[ ]
noise:
    harmless
"""
    says = "the port {port} failed, and others waited"
    report = Event("", Role.CAUSE, says, certainty="likely", needs_failure=True, reporter=True)
    report = report._replace(cures="look at it, and wait")
    assert [(sign.pattern, sign.event) for sign in read_signs(text)] == [
        (r"error: mlx\d: down", report),
        (r"fatal: mlx\d[ ]", report),
        ("harmless", Event("", Role.NOISE)),
    ]


@pytest.mark.parametrize("line", ["sure caus: x", "maybe cause: x", "sure cause", "cause if: x"])
def test_a_kind_of_sign_that_there_is_not_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=line):
        next(read_signs(f"{line}\n    pattern\n")).event.says.upper()


def test_a_class_whose_text_has_an_unknown_field_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-class.txt").write_text("Title.\n\nCure: x\nTrait: gpu\n\nSigns:\n")
    monkeypatch.setattr("jobgen.diagnosis.classes._FOLDER", str(tmp_path))
    with pytest.raises(ValueError, match=r"a-class\.txt: `Trait` is none of Cure, .*Traits"):
        class_of("a-class")
