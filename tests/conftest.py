"""What all tests share."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import Tab, browser

ROOT = Path(__file__).parent.parent

# No example has to be quick: other programs may be running on the machine.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture(scope="module")  # not longer: its event loop would be in the way of other tests
def chromium() -> Iterator[Any]:
    """A browser; each test opens contexts of its own in it."""
    with browser() as made:
        yield made


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    """An empty tab, in a context of its own."""
    context = chromium.new_context()
    yield Tab(context)
    context.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the golden files; review their diff"
    )
    parser.addoption(
        "--faults", type=int, default=1, metavar="N", help="how often to try each fault"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest come first, so that at the end no process waits for another's."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/cluster/test_survival.py"))
    for item in items:
        for mark in item.iter_markers("thorough"):
            least = mark.args[0] if mark.args else 2
            if config.getoption("--faults") < least:
                command = "make test-all, or " if least == 2 else ""
                reason = f"takes long: {command}--faults {least}"
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of the faults that trainings had to survive."""
    held: dict[str, list[bool]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            if found := re.search(r"::test_fault\[(.*), \d+\]", getattr(report, "nodeid", "")):
                held.setdefault(found[1], []).append(outcome == "passed")
    if held:
        terminalreporter.section("weights as without the fault, to the bit")
    for fault, runs in held.items():
        terminalreporter.line(f"{fault:<40} {sum(runs)} of {len(runs)}")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> None:
    """No test sees the profiles, templates or PET_ variables of the person who runs it."""
    folder = common = tmp_path_factory.getbasetemp()
    if "tmp_path" in request.fixturenames:  # a folder for each test would take seconds
        folder = request.getfixturevalue("tmp_path")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(common / "cache"))
    monkeypatch.delenv("JOBGEN_PROFILE", raising=False)
    monkeypatch.delenv("JOBGEN_PROFILES", raising=False)
    for name in [name for name in os.environ if name.startswith("PET_")]:
        monkeypatch.delenv(name)
