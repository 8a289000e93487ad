"""What the tests of the registry share."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write tests/golden again")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written again."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(autouse=True)
def _in_the_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """jobgen finds the profiles of the folder that it runs in, and none of the user's."""
    monkeypatch.chdir(Path(__file__).parent.parent)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("JOBGEN_PROFILES", raising=False)
