"""Containers of a real pyxis with enroot, where PYXIS_LAB_PREFIX names a folder with both.

It has lib/slurm/spank_pyxis.so, built for the Slurm that is here, and bin/enroot.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, missing
from tests.cluster.jobs import Desk
from tests.cluster.site import ONE_THREAD
from tests.cluster.test_jobs import MI210_NODES, expected, ranks
from tests.cluster.test_podman import skeleton, wait_for

NODES = MI210_NODES[:2]
PREFIX = Path(os.environ.get("PYXIS_LAB_PREFIX", ""))
PLUGIN = PREFIX / "lib/slurm/spank_pyxis.so"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of its own with the plug-in; enroot keeps containers in $HOME, which is shared."""
    if reason := missing():
        pytest.skip(reason)
    if not PREFIX.name or not PLUGIN.exists() or not shutil.which("mksquashfs"):
        pytest.skip("no pyxis here: PYXIS_LAB_PREFIX names no folder with it, or no mksquashfs")
    folder = tmp_path_factory.mktemp("pyxis")
    with pytest.MonkeyPatch.context() as patch:
        # pyxis searches for enroot on slurmd's PATH; a job has the usual one.
        patch.setenv("PATH", f"{PREFIX}/bin:{os.environ['PATH']}")
        patch.setenv("HOME", str(folder))
        with Cluster(folder / "cluster", plugin=f"{PLUGIN} runtime_path={folder}/run") as running:
            yield running


@pytest.fixture(scope="module")
def image(site: Cluster) -> str:
    """A .sqsh file: links into /usr, which is mounted from here."""
    folder = site.folder.parent / "image"
    with tarfile.open(fileobj=BytesIO(skeleton())) as tar:
        tar.extractall(folder, filter="fully_trusted")
    for name in ("passwd", "group"):
        (folder / "etc" / name).write_bytes(Path("/etc", name).read_bytes())
    file = site.folder.parent / "torch.sqsh"
    subprocess.run(["mksquashfs", folder, file, "-quiet", "-no-progress"], check=True)
    return str(file)


@pytest.fixture
def desk(site: Cluster, tmp_path: Path) -> Desk:
    pytest.importorskip("torch", reason="the jobs' ranks need torch: pip install '.[trainers]'")
    return Desk(site, tmp_path)


def in_pyxis(image: str, *, enroot: bool = True) -> tuple[str, ...]:
    """Options of jobgen; `enroot`: it is on the job's PATH."""
    folders = sorted({"/usr", sys.prefix, sys.base_prefix} - {"/usr/local"})
    container = f"{{engine: pyxis, image: {image}, mounts: [{', '.join(folders)}]}}"
    path = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin" + (f":{PREFIX}/bin" if enroot else "")
    return (
        *("--profile", "mi210", "--set", "node.gpu=none", *ONE_THREAD),
        *("--set", f"software.container={container}", "--set", "launch.join_timeout=60"),
        *("-e", f"PATH={path}"),
    )


def stay(desk: Desk) -> list[str]:
    """The containers that are there."""
    folder = desk.cluster.folder.parent / ".local/share/enroot"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("enroot", [True, False], ids=["named", "unnamed"])
def test_ddp_on_two_nodes(desk: Desk, image: str, enroot: bool) -> None:
    """Both nodes keep their containers in one folder, and none stays."""
    done = desk.run(*in_pyxis(image, enroot=enroot), "-N", "2", "-G", "2", timeout=200)
    assert done.state == "COMPLETED", done.output
    assert ranks(done.output) == expected(NODES, 2)
    assert "does not remove" not in done.output
    assert stay(desk) == []


def test_killed_rank_is_started_again(desk: Desk, image: str) -> None:
    text = """import os, time, torch.distributed as dist
dist.init_process_group("gloo")
again = os.path.exists("killed")
print("again" if again else "on", os.environ["RANK"], flush=True)
time.sleep(0 if again else 1000)
dist.barrier()
dist.destroy_process_group()
"""
    program = desk.program("again.py", text)
    words = ("-N", "2", "-G", "1", "--max-restarts", "1", "--", program)
    job = desk.submit(*in_pyxis(image), *words)
    log = desk.folder / f"again-{job}.out"
    for rank in range(2):
        wait_for(log, f"on {rank}\n")
    (desk.folder / "killed").touch()
    desk.cluster.on(NODES[1], "pkill", "-KILL", "-f", "^[^ ]*python3 .*again.py$", "--newest")
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.output
    assert {"again 0", "again 1"} <= set(done.output.splitlines())
    assert stay(desk) == []


@pytest.mark.parametrize("enroot", [True, False], ids=["named", "unnamed"])
def test_cancelled_job_leaves_nothing(desk: Desk, image: str, enroot: bool) -> None:
    program = desk.program("sleep.py", "import time\nprint('on', flush=True)\ntime.sleep(1000)\n")
    job = desk.submit(*in_pyxis(image, enroot=enroot), "-N", "2", "-G", "1", "--", program)
    wait_for(desk.folder / f"sleep-{job}.out", "\non\n")
    names = [f"pyxis_jobgen-{job}-{node}" for node in range(2)]
    assert (stay(desk) == names) is enroot
    assert stay(desk)
    desk.cluster.run(["scancel", str(job)])
    assert desk.cluster.wait(job, 120).state == "CANCELLED"
    limit = time.monotonic() + 60
    while stay(desk) or desk.cluster.on(NODES[0], "pgrep", "-f", "sleep.py").stdout:
        assert time.monotonic() < limit, stay(desk)
        time.sleep(0.2)


def test_job_that_does_not_start_leaves_nothing(desk: Desk, image: str) -> None:
    """The set-up of one node fails: the container of the other, which is ready, goes too."""
    commands = f'software.commands=["[[ $SLURMD_NODENAME != {NODES[1]} ]]"]'
    done = desk.run(*in_pyxis(image), "-N", "2", "-G", "1", "--set", commands)
    assert done.state == "FAILED"
    assert f"jobgen: {NODES[1]}: its set-up stopped at: no message: " in done.output
    assert stay(desk) == []
