"""The cluster that the tests here share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cluster.harness import Cluster, missing
from tests.cluster.jobs import Desk, PbsDesk
from tests.cluster.site import OpenPbs, Site, prefix
from tests.cluster.standin import StandIn


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A real Slurm; what needs it is skipped, with the reason, where none can run.

    Not in pytest's folder: another run of pytest takes the rights of other users from that.
    """
    if reason := missing():
        pytest.skip(reason)
    made = TemporaryDirectory(prefix="slurm", ignore_cleanup_errors=True)
    with made as folder, Cluster(Path(folder)) as running:
        yield running


@pytest.fixture
def desk(cluster: Cluster, tmp_path: Path) -> Desk:
    """A folder to submit jobs from; the jobs need torch."""
    pytest.importorskip("torch", reason="the jobs' ranks need torch: pip install '.[trainers]'")
    return Desk(cluster, tmp_path)


@pytest.fixture(scope="session", params=["stand-in", "OpenPBS"])
def site(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """PBS on the cluster: every test runs on the stand-in, and on a real one where there is one."""
    if request.param == "stand-in":
        yield StandIn(cluster, tmp_path_factory.mktemp("pbs"))
        return
    if not (folder := prefix()):
        pytest.skip("no OpenPBS here: PBS_LAB_PREFIX names none, and no qsub is on PATH")
    with TemporaryDirectory(prefix="home") as home:
        running = OpenPbs(cluster, folder, Path(home))
        if reason := running.missing():
            pytest.skip(reason)
        yield running


@pytest.fixture
def pbs(site: Site) -> Iterator[PbsDesk]:
    """A folder to submit PBS jobs from, which other users see; no process of a job may be left."""
    pytest.importorskip("torch", reason="the jobs' ranks need torch: pip install '.[trainers]'")
    with TemporaryDirectory(prefix="job") as folder:
        Path(folder).chmod(0o755)
        desk = PbsDesk(site, Path(folder))
        yield desk
        desk.clear()
        assert site.leftovers() == {}
        assert not list(desk.folder.glob(".jobgen*"))


@pytest.fixture
def real(pbs: PbsDesk) -> PbsDesk:
    """A folder to submit from, where the site is a real one."""
    if not isinstance(pbs.site, OpenPbs):
        pytest.skip("what the stand-in does not know")
    return pbs
