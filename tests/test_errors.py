"""Bad profiles, one kind of fault each, and impossible jobs: all that is said of them, whole."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from jobgen import cli, shell
from jobgen.bundled import bundled
from jobgen.commands import validate_profiles
from jobgen.errors import handled

FOLDER = Path(__file__).parent / "errors"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("case", CASES)
def test_all_problems_are_said_with_their_places(
    case: str, update: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER)
    code = handled(lambda: validate_profiles([f"{case}.yaml"]))
    said = capsys.readouterr().out
    expected = FOLDER / f"{case}.out"
    if update:
        expected.write_text(said, encoding="utf-8")
    assert said == expected.read_text(encoding="utf-8")
    assert code == (1 if said else 0)
    assert not (FOLDER / "pwned").exists()


def test_every_expected_output_has_its_case() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.out")) == CASES


def test_what_no_job_can_be_planned_with(
    update: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command of the file is refused in the one line below it; a new case is a `$` line."""
    file = FOLDER / "refusals.txt"
    expected = file.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = ""
    for line in re.findall(r"^\$ jobgen (.*)$", expected, re.MULTILINE):
        code = handled(partial(cli.answer, shell.words(line)))
        shown = capsys.readouterr()
        assert (code, shown.out, shown.err.count("\n")) == (2, "", 1), line
        said += f"$ jobgen {line}\n{shown.err.replace(str(bundled('profiles')), 'profiles')}\n"
    if update:
        file.write_text(said, encoding="utf-8")
    assert said == expected
