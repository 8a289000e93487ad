"""An environment that is copied to the nodes' own disks, and how seldom they then ask for it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, until
from tests.cluster.jobs import ON_CPU, Desk, PbsDesk
from tests.hostile import literal

NODES = ("smc-r07-07", "smc-r07-08", "smc-r07-09")
DISK = "/var/tmp"  # each node has its own here
MODULES = 300
MOST_CALLS = 500
CALLS = "trace=%file,read,pread64,getdents64,fstat,lseek,close"
SHOW = """import os, package, shutil, sys
sys.stdout.write(f"FROM {package.__file__}\\n")  # whole: others write, too
sys.stdout.write(f"TOOL {shutil.which('tool')} {os.popen('tool').read()}\\n")
"""


def empty_disks(cluster: Cluster) -> None:
    for node in NODES:
        code = f"umount {DISK}/small; rm -rf {DISK}/*jobgen* {DISK}/small"
        cluster.on(node, "bash", "-c", code)


@pytest.fixture(autouse=True)
def _empty_disks(cluster: Cluster) -> None:
    empty_disks(cluster)


def make_venv(folder: Path, with_torch: bool = False) -> Path:
    """A virtual environment with a package of many files, and a script as pip writes it.

    With torch: that of the tests, by its path.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (package,) = folder.glob("lib/python*/site-packages")
    package /= "package"
    package.mkdir()
    for number in range(MODULES):
        (package / f"m{number}.py").write_text(f"x = {number}\n")
    imports = "".join(f"from package import m{number}\n" for number in range(MODULES))
    (package / "__init__.py").write_text(imports)
    if with_torch:
        import torch

        (package.parent / "torch.pth").write_text(f"{Path(torch.__file__).parent.parent}\n")
    tool = folder / "bin/tool"
    tool.write_text(f"#!{folder}/bin/python3\nimport sys\nprint(sys.prefix)\n")
    tool.chmod(0o755)
    return folder


def staged(venv: Path, *more: str) -> tuple[str, ...]:
    """The words of a job on three nodes with two ranks each."""
    return (
        *("--profile", "mi210", *ON_CPU, "-N", "3", "-G", "2", "--launcher", "srun"),
        *("--set", f"software.venv={literal(str(venv))}", "--set", "software.stage=venv"),
        *("--set", f"software.stage_to={DISK}", *more, "--", "python3", "show.py"),
    )


def imported(output: str) -> list[str]:
    return re.findall(r"FROM (.*)", output)


@contextmanager
def traced(cluster: Cluster, folder: Path) -> Iterator[dict[str, Path]]:
    """The calls of all processes of jobs on the nodes, in a file for each node."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    files = {node: folder / f"calls-{node}" for node in NODES}
    processes = []
    for node, file in files.items():
        daemon = cluster.on(node, "pgrep", "-xo", "slurmd").stdout.strip()
        words = ["strace", "-f", "-y", "-e", CALLS, "-o", str(file), "-p", daemon]
        start = cluster.command(
            [str(Path(__file__).parent / "slurm/node.sh"), str(cluster.folder), "run", node, *words]
        )
        process = subprocess.Popen(start, cwd="/", stderr=subprocess.PIPE, text=True)
        assert process.stderr
        first = process.stderr.readline()
        if "attached" not in first:
            pytest.skip(f"strace cannot attach to a process here: {first}")
        processes.append(process)
    try:
        yield files
    finally:
        for node in NODES:
            cluster.on(node, "pkill", "-INT", "-x", "strace")
        for process in processes:
            process.wait(30)


def calls(files: dict[str, Path], folder: Path) -> dict[str, int]:
    """How many calls of a node name a file in a folder; strace also names the working one."""
    texts = {node: file.read_text(errors="replace") for node, file in files.items()}
    return {
        node: sum(str(folder) in line for line in re.sub("AT_FDCWD<[^>]*>", "", text).splitlines())
        for node, text in texts.items()
    }


def test_ranks_import_from_the_copy_with_few_calls_on_the_shared_folder(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The first job packs, on its first node; the next, on nodes without a copy, only read."""
    folder = tmp_path_factory.mktemp("shared")
    venv = make_venv(folder / "env")
    desk.program("show.py", SHOW)
    first = desk.run(*staged(venv))
    assert first.state == "COMPLETED", first.output
    assert f"jobgen: packing {venv}, once" in first.output
    empty_disks(desk.cluster)
    with traced(desk.cluster, tmp_path_factory.mktemp("calls")) as files:
        second = desk.run(*staged(venv))
    assert second.state == "COMPLETED", second.output
    assert "packing" not in second.output
    for done in (first, second):
        assert len(imported(done.output)) == 6
        assert all(path.startswith(f"{DISK}/jobgen-0/") for path in imported(done.output))
    found = calls(files, folder)
    print("calls on the shared folder:", found)
    assert all(count < MOST_CALLS for count in found.values()), found


@pytest.mark.thorough
def test_without_staging_each_rank_reads_the_shared_folder(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """So the count above counts."""
    folder = tmp_path_factory.mktemp("shared")
    venv = make_venv(folder / "env")
    desk.program("show.py", SHOW)
    with traced(desk.cluster, tmp_path_factory.mktemp("calls")) as files:
        done = desk.run(*staged(venv, "--set", "software.stage=null"))
    assert done.state == "COMPLETED", done.output
    found = calls(files, folder)
    print("calls on the shared folder, without staging:", found)
    assert all(count > 4 * MODULES for count in found.values()), found


@pytest.mark.thorough
def test_torchrun_and_a_folder(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The launcher is the copy's, too, and the path of the folder is only a path."""
    name = "a b'\"$(touch pwned)`touch pwned`é*"
    venv = make_venv(tmp_path_factory.mktemp("shared") / name, with_torch=True)
    program = (
        "import os, package, torch\nprint(f'FROM {package.__file__}\\n', end='', flush=True)\n"
    )
    done = desk.run(
        *("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1"),
        *("--set", "software.stage=folder", "--set", f"software.stage_to={DISK}"),
        *("--set", f"software.stage_from={literal(str(venv))}"),
        *("--", desk.program("train.py", program)),
    )
    assert done.state == "COMPLETED", done.output
    assert len(imported(done.output)) == 2
    assert all(path.startswith(f"{DISK}/jobgen-0/") for path in imported(done.output))
    assert not list(desk.folder.rglob("pwned"))


def test_two_jobs_at_once_on_the_same_nodes(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    venv = make_venv(tmp_path_factory.mktemp("shared") / "env")
    desk.program("show.py", SHOW + "import time\ntime.sleep(5)\n")
    half = ("--set", "request.exclusive=false", "--set", "request.memory=1G")
    jobs = [desk.submit(*staged(venv, *half)) for _ in range(2)]
    done = [desk.cluster.wait(job, 120) for job in jobs]
    assert [each.state for each in done] == ["COMPLETED"] * 2, [each.output for each in done]
    paths = {path for each in done for path in imported(each.output)}
    assert len(paths) == 1
    for node in NODES:
        shown = desk.cluster.on(node, "bash", "-c", f"ls -A {DISK} {DISK}/jobgen-0").stdout
        assert ".jobgen" not in shown
        assert "part" not in shown


def test_a_full_disk_on_one_node(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its name and what to type are in the last lines, and nothing stays on that disk."""
    venv = make_venv(tmp_path_factory.mktemp("shared") / "env")
    (venv / "big").write_bytes(bytes(8_000_000))
    desk.program("show.py", SHOW)
    for node in NODES:
        size = "4m" if node == NODES[1] else "40m"
        mount = f"mkdir {DISK}/small; mount -t tmpfs -o size={size},mode=1777 small {DISK}/small"
        desk.cluster.on(node, "bash", "-c", mount)
    done = desk.run(*staged(venv, "--set", f"software.stage_to={DISK}/small"))
    assert done.state == "FAILED"
    assert f"jobgen: {NODES[1]}: no copy of {venv}.jobgen-" in done.output
    assert "it needs 8 MB, and" in done.output
    assert not imported(done.output)
    shown = desk.cluster.on(NODES[1], "find", f"{DISK}/small", "-mindepth", "1").stdout.split()
    assert shown == [f"{DISK}/small/jobgen-0", f"{DISK}/small/jobgen-0/lock"]


@pytest.mark.thorough
def test_a_job_that_is_cancelled_while_it_copies(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The next one gets a whole copy."""
    venv = make_venv(tmp_path_factory.mktemp("shared") / "env")
    desk.program("show.py", SHOW)
    slow = desk.folder / "tools"
    slow.mkdir()
    # A KILL may reach tar before its shell, which then removes what tar wrote: this rm does not.
    for tool, case in (("tar", '"$3" != -xf ] || sleep 60'), ("rm", '! -d "$2/files" ] || exit 0')):
        (slow / tool).write_text(f'#!/bin/sh\n[ {case}\nexec /bin/{tool} "$@"\n')
        (slow / tool).chmod(0o755)
    first = desk.submit(*staged(venv, "--set", f"software.commands=['PATH={slow}:$PATH']"))
    looked = ["test", "-d", f"{DISK}/jobgen-0/part"]
    until(lambda: desk.cluster.on(NODES[2], *looked).returncode == 0)
    desk.cluster.run(["scancel", "--signal=KILL", str(first)])
    desk.cluster.wait(first, 150)
    assert desk.cluster.on(NODES[2], *looked).returncode == 0
    second = desk.run(*staged(venv))
    assert second.state == "COMPLETED", second.output
    assert len(imported(second.output)) == 6
    assert desk.cluster.on(NODES[2], *looked).returncode == 1


@pytest.mark.thorough
@pytest.mark.parametrize("mounts", [True, False])
def test_an_image(desk: Desk, tmp_path_factory: pytest.TempPathFactory, mounts: bool) -> None:
    """Mounted while the ranks run, and unpacked on nodes that cannot mount it."""
    if lacking := [name for name in ("mksquashfs", "squashfuse") if not shutil.which(name)]:
        pytest.skip(f"not installed: {', '.join(lacking)} (squashfs-tools, squashfuse)")
    folder = tmp_path_factory.mktemp("shared")
    venv, image = make_venv(folder / "env"), folder / "image $x.squashfs"
    subprocess.run(["mksquashfs", str(venv), str(image), "-quiet", "-no-progress"], check=True)
    shutil.rmtree(venv)
    tools = desk.folder / "tools"
    tools.mkdir()
    if not mounts:
        (tools / "squashfuse").write_text("#!/bin/sh\nexit 1\n")
        (tools / "squashfuse").chmod(0o755)
    show = "import os, package, sys\n"
    show += "sys.stdout.write(f'FROM {os.path.ismount(os.environ[\"JOBGEN_STAGED\"])}\\n')\n"
    desk.program("show.py", show)
    done = desk.run(
        *("--profile", "mi210", *ON_CPU, "-N", "3", "-G", "2", "--launcher", "srun"),
        *("--set", "software.stage=squashfs", "--set", f"software.stage_to={DISK}"),
        *("--set", f"software.stage_from={literal(str(image))}"),
        *("--set", f"software.commands=['PATH={tools}:$PATH']", "--", "python3", "show.py"),
    )
    assert done.state == "COMPLETED", done.output
    if mounts and "True" not in done.output:
        pytest.skip("squashfuse cannot mount in a namespace of its own here: it was unpacked")
    assert imported(done.output) == [str(mounts)] * 6
    for node in NODES:
        mounts = desk.cluster.on(node, "bash", "-c", "pgrep -x squashfuse; grep fuse /proc/mounts")
        assert mounts.stdout == ""


@pytest.mark.thorough
def test_pbs(pbs: PbsDesk) -> None:
    """Each node reads the one archive."""
    venv = make_venv(pbs.folder / "env", with_torch=True)
    program = "import package, sys, torch\nsys.stdout.write(f'FROM {package.__file__}\\n')\n"
    done = pbs.run(
        *("-N", "2", "--set", "software.stage=folder", "--set", "software.venv=null"),
        *("--set", f"software.stage_from={venv}", "--set", f"software.stage_to={DISK}"),
        *("--", pbs.program("train.py", program)),
    )
    assert done.status == 0, done.output
    assert len(imported(done.output)) == 2
    assert all(path.startswith(f"{DISK}/jobgen-") for path in imported(done.output))
    assert len(list(pbs.folder.glob("env.jobgen-*.tar"))) == 1
