"""Bad profiles, one kind of fault each: all that `profiles validate` says, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

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
