"""mi210 with its real podman, on an image made here under the profile's own name."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, until
from tests.cluster.jobs import Desk
from tests.cluster.site import ONE_THREAD
from tests.cluster.test_jobs import MI210_NODES, expected, ranks
from tests.helpers import unlabelled
from tests.hostile import UTF_8, literal

IMAGE = "docker.io/rocm/pytorch:latest"


def skeleton() -> bytes:
    """The tar of an image that holds nothing but links into /usr, which is mounted from here."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name in ("usr", "etc", "tmp", "proc", "sys", "dev", "run", "root", "var"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        for name in ("bin", "sbin", "lib", "lib64"):
            if Path("/", name).is_symlink():
                link = tarfile.TarInfo(name)
                link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
                tar.addfile(link)
    return stream.getvalue()


@pytest.fixture(scope="module")
def image(cluster: Cluster) -> None:
    """The image in the cluster's own storage. What cannot run podman is skipped with its words."""
    if not shutil.which("podman"):
        pytest.skip("podman is not installed")
    if not Path("/bin").is_symlink():
        pytest.skip("the image made here needs a system whose /bin is /usr/bin")
    made = subprocess.run(
        cluster.command(["podman", "import", "-", IMAGE]),
        input=skeleton(),
        env=cluster.environment(),
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"podman does not work here: {made.stderr.decode()}")


def mounts(*folders: str) -> tuple[str, str]:
    """This system's /usr and Python in the container; the source's own folders are not here."""
    python = {sys.prefix, sys.base_prefix}
    listed = [f"{folder}:{folder}:ro" for folder in sorted({"/usr", *python} - {"/usr/local"})]
    return ("--set", f"software.container.mounts=[{', '.join([*listed, *folders])}]")


def in_container(desk: Desk) -> tuple[str, ...]:
    path = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin"
    words = ("--profile", "mi210", "--set", "node.gpu=none", *ONE_THREAD, *mounts())
    words += ("-e", f"PATH={path}")
    return (*words, "--set", "launch.join_timeout=120")


@pytest.mark.thorough
@pytest.mark.usefixtures("image")
def test_mi210_in_podman(desk: Desk) -> None:
    done = desk.run(*in_container(desk), "-N", "2", "-G", "2", timeout=240)
    assert done.state == "COMPLETED", done.output
    assert ranks(done.output) == expected(MI210_NODES[:2], 2)


@pytest.mark.usefixtures("image")
def test_program_of_the_user_in_podman(desk: Desk) -> None:
    """It is found in the job's folder, and gets its arguments and the job's variables."""
    # Into a file of each rank: srun passes long lines on in pieces, and mixes those of ranks.
    text = """import os, sys
with open("shown-" + os.environ["RANK"], "w") as file:
    file.write(ascii([os.path.exists("/run/.containerenv"), os.environ["SLURM_JOB_ID"],
        os.environ["X"], os.environ["GLOO_SOCKET_IFNAME"], os.environ.get("SLURM_CONF"),
        sys.argv[1:]]))
"""
    words = ("-N", "2", "-G", "1", "-e", f"X={literal(''.join(UTF_8))}")
    words += ("--set", "network.interface=hsn0")
    program = desk.program("show.py", text)
    job = desk.submit(*in_container(desk), *words, "--", program, *UTF_8)
    done = desk.cluster.wait(job, 240)
    assert done.state == "COMPLETED", done.output
    shown = ascii([True, str(job), "".join(UTF_8), "hsn0", None, UTF_8])
    for rank in range(2):
        assert (desk.folder / f"shown-{rank}").read_text() == shown


@pytest.mark.usefixtures("image")
def test_one_node_in_podman(desk: Desk) -> None:
    """The step ends with its container."""
    program = desk.program("once.py", "print('ran here')\n")
    done = desk.run(*in_container(desk), "-N", "1", "-G", "1", "--", program, timeout=240)
    assert done.state == "COMPLETED", done.output
    assert done.output.count("ran here") == 1, done.output
    assert done.output.count(" is ready: ") == 1, done.output


@pytest.mark.usefixtures("image")
def test_image_that_does_not_start(desk: Desk) -> None:
    words = ("-N", "1", "-G", "1", "--set", "software.container.options=[--pull=never]")
    image = ("--set", "software.container.image=localhost/not:there")
    done = desk.run(*in_container(desk), *words, *image, timeout=240)
    assert "jobgen: smc-r07-07: python3 has no torch: " in done.output
    assert "localhost/not:there" in done.output


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("is_early", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_cancelled_container_is_gone(desk: Desk, is_early: bool) -> None:
    """Also one whose torchrun is still imported: as the first process there it ignores TERM."""
    program = desk.program("sleep.py", "import time\nprint('on', flush=True)\ntime.sleep(1000)\n")
    job = desk.submit(*in_container(desk), "-N", "1", "-G", "1", "--", program)
    log = desk.folder / f"sleep-{job}.out"
    if is_early:
        until(lambda: desk.cluster.on("smc-r07-07", "pgrep", "-f", "sleep.py").stdout)
    else:
        wait_for(log, "\non\n")
    desk.cluster.run(["scancel", str(job)])
    assert desk.cluster.wait(job, 120).state == "CANCELLED"
    wait_until_gone(desk)


@pytest.mark.thorough
@pytest.mark.usefixtures("image")
def test_warning_reaches_ranks_in_podman(desk: Desk) -> None:
    trained = ("--trainer", "regression", "--", "1000", "1000")
    job = desk.submit(*in_container(desk), "-N", "1", "-G", "1", "--signal", "60", *trained)
    wait_for(desk.folder / f"regression-{job}.out", "Epoch 0")
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.output
    assert "Stopped early, epoch " in done.output


def wait_for(log: Path, text: str) -> None:
    limit = time.monotonic() + 120
    while not log.exists() or text not in unlabelled(log.read_text()):
        assert time.monotonic() < limit, log.read_text() if log.exists() else "no output"
        time.sleep(0.2)


def wait_until_gone(desk: Desk) -> None:
    on = desk.cluster.on
    until(lambda: not on("smc-r07-07", "pgrep", "-f", "sleep.py").stdout)
    until(lambda: on("smc-r07-07", "podman", "ps", "-aq").stdout == "")  # removed a little later
