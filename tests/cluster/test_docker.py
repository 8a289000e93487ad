"""mi210 with a real Docker: a daemon on each of two nodes, on an image made here."""

from __future__ import annotations

import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.cluster.harness import SCRIPTS, Cluster
from tests.cluster.jobs import Desk
from tests.cluster.test_jobs import MI210_NODES, expected, ranks
from tests.cluster.test_podman import IMAGE, in_container, skeleton, wait_for
from tests.hostile import UTF_8, literal

pytestmark = pytest.mark.thorough

NODES = MI210_NODES[:2]
# All of it is on the node's own /var/tmp, and gone with the node.
PLACE = "/var/tmp/docker"
HOST = {"DOCKER_HOST": f"unix://{PLACE}.sock"}
DAEMON = (
    *("dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none"),
    *("--storage-driver=vfs", f"--data-root={PLACE}", f"--exec-root={PLACE}.run"),
    *(f"--pidfile={PLACE}.pid", f"--host={HOST['DOCKER_HOST']}", "--group=root"),
)


@contextmanager
def daemon(cluster: Cluster, node: str, log: Path) -> Iterator[None]:
    """A daemon on a node, with the image; it ends its containerd itself."""
    words = [str(SCRIPTS / "node.sh"), str(cluster.folder), "run", node]
    with log.open("wb") as file:
        running = subprocess.Popen(
            cluster.command([*words, *DAEMON]), env=cluster.environment(),
            stdin=subprocess.DEVNULL, stdout=file, stderr=file,
        )  # fmt: skip
    try:
        limit = time.monotonic() + 60
        while cluster.on(node, "docker", "info", env=HOST).returncode:
            if running.poll() is not None or time.monotonic() > limit:
                pytest.skip(f"dockerd does not start here: {log.read_text()[-500:]}")
            time.sleep(0.2)
        subprocess.run(
            cluster.command([*words, "docker", "import", "-", IMAGE]),
            input=skeleton(), env=cluster.environment(HOST), capture_output=True, check=True,
        )  # fmt: skip
        yield
    finally:
        cluster.on(node, "pkill", "--pidfile", f"{PLACE}.pid")
        try:
            running.wait(30)
        finally:
            running.kill()


@pytest.fixture(scope="module")
def daemons(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if missing := [name for name in ("dockerd", "containerd", "runc") if not shutil.which(name)]:
        pytest.skip(f"not installed: {', '.join(missing)} (docker.io)")
    if not Path("/bin").is_symlink():
        pytest.skip("the image made here needs a system whose /bin is /usr/bin")
    logs = tmp_path_factory.mktemp("docker")
    with ExitStack() as stack:
        for node in NODES:
            stack.enter_context(daemon(cluster, node, logs / node))
        yield


def in_docker(desk: Desk, ranks_per_node: int = 1) -> tuple[str, ...]:
    """Options of jobgen; the limits are those that this machine has, which may not be raised."""
    kinds = {"memlock": resource.RLIMIT_MEMLOCK, "stack": resource.RLIMIT_STACK}
    limits = {name: resource.getrlimit(kind) for name, kind in kinds.items()}
    options = [f"--ulimit={name}={soft}:{hard}" for name, (soft, hard) in limits.items()]
    return (
        *in_container(desk),
        *("--set", "software.container.engine=docker"),
        *("--set", f"software.container.options=[{', '.join(options)}]"),
        *("--set", f'software.commands=["export DOCKER_HOST={HOST["DOCKER_HOST"]}"]'),
        *("-G", str(ranks_per_node)),
    )


def containers(desk: Desk) -> str:
    """The containers that the nodes have, also those that have ended."""
    return "".join(desk.cluster.on(node, "docker", "ps", "-aq", env=HOST).stdout for node in NODES)


def processes(desk: Desk, text: str) -> str:
    """The processes of all nodes whose command has `text`."""
    return "".join(desk.cluster.on(node, "pgrep", "-f", text).stdout for node in NODES)


@pytest.mark.usefixtures("daemons")
def test_ddp_on_two_nodes(desk: Desk) -> None:
    done = desk.run(*in_docker(desk, 2), "-N", "2", timeout=240)
    assert done.state == "COMPLETED", done.output
    assert ranks(done.output) == expected(NODES, 2)
    assert containers(desk) == ""


@pytest.mark.usefixtures("daemons")
def test_program_of_the_user(desk: Desk) -> None:
    """It is found in the job's folder, and gets its arguments and the job's variables."""
    text = """import os, sys
with open("shown-" + os.environ["RANK"], "w") as file:
    file.write(ascii([os.path.exists("/.dockerenv"), os.environ["SLURM_JOB_ID"], os.environ["X"],
        os.environ.get("SLURM_CONF"), os.getuid(), sys.argv[1:]]))
"""
    program = desk.program("show.py", text)
    words = (
        "-N",
        "2",
        "--launcher",
        "srun",
        "-e",
        f"X={literal(''.join(UTF_8))}",
        "--",
        program,
        *UTF_8,
    )
    job = desk.submit(*in_docker(desk), *words)
    done = desk.cluster.wait(job, 240)
    assert done.state == "COMPLETED", done.output
    shown = ascii([True, str(job), "".join(UTF_8), None, 0, UTF_8])
    for rank in range(2):
        assert (desk.folder / f"shown-{rank}").read_text() == shown


@pytest.mark.usefixtures("daemons")
def test_killed_rank_is_started_again(desk: Desk) -> None:
    text = """import os, sys, time, torch.distributed as dist
dist.init_process_group("gloo")
again = os.path.exists("killed")
sys.stdout.write(f"{'again' if again else 'on'} {os.environ['RANK']}\\n")  # whole: two ranks
sys.stdout.flush()
time.sleep(0 if again else 1000)
dist.barrier()
dist.destroy_process_group()
"""
    program = desk.program("again.py", text)
    job = desk.submit(*in_docker(desk), "-N", "2", "--max-restarts", "1", "--", program)
    log = desk.folder / f"again-{job}.out"
    for rank in range(2):
        wait_for(log, f"on {rank}\n")
    (desk.folder / "killed").touch()
    desk.cluster.on(NODES[1], "pkill", "-KILL", "-f", "^[^ ]*python3 .*again.py$", "--newest")
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.output
    assert {"again 0", "again 1"} <= set(done.output.splitlines())
    assert containers(desk) == ""


@pytest.mark.usefixtures("daemons")
@pytest.mark.parametrize("is_early", [False, True])
def test_cancelled_job_leaves_nothing(desk: Desk, is_early: bool) -> None:
    """Also while torchrun is still imported: as the first process there it ignores TERM."""
    program = desk.program("sleep.py", "import time\nprint('on', flush=True)\ntime.sleep(1000)\n")
    job = desk.submit(*in_docker(desk), "-N", "2", "--", program)
    if is_early:
        limit = time.monotonic() + 120
        while not processes(desk, "sleep.py"):
            assert time.monotonic() < limit
            time.sleep(0.05)
    else:
        wait_for(desk.folder / f"sleep-{job}.out", "\non\n")
    desk.cluster.run(["scancel", str(job)])
    assert desk.cluster.wait(job, 120).state == "CANCELLED"
    limit = time.monotonic() + 60
    while processes(desk, "sleep.py") or containers(desk):
        assert time.monotonic() < limit, processes(desk, "sleep.py") + containers(desk)
        time.sleep(0.2)
