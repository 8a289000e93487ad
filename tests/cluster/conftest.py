"""The cluster that the tests here share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, missing
from tests.cluster.jobs import Desk


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A real Slurm; what needs it is skipped, with the reason, where none can run."""
    if reason := missing():
        pytest.skip(reason)
    with Cluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture
def desk(cluster: Cluster, tmp_path: Path) -> Desk:
    """A folder to submit jobs from; the jobs need torch."""
    pytest.importorskip("torch", reason="the jobs' ranks need torch: pip install '.[trainers]'")
    return Desk(cluster, tmp_path)
