"""Copies of an environment on a node's own disk: whole ones, and of nobody else."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.quoting import quote
from jobgen.scripts.parts import PARTS
from jobgen.scripts.render import machinery
from tests.helpers import planned

FOLDER = ("fail", "stage/folder", "stage/copy")
SENT = (*FOLDER, "stage/send")
IMAGE = ("fail", "stage/image", "stage/copy")
HOSTILE = "a b'\"$(touch pwned)`touch pwned`é*[x]"
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts, and makes files of others")


def functions(names: tuple[str, ...]) -> str:
    """The functions of these parts, which are not called."""
    parts = {part.name: part for part in PARTS if part.name in names}
    return machinery(tuple(parts.values())).removesuffix("\nsend_environment\n")


class Node:
    """A shell with the machinery, an environment to copy, and a disk of its own."""

    def __init__(self, folder: Path) -> None:
        self.source, self.disk = folder / "shared" / HOSTILE, folder / "disk"
        (self.source / "bin").mkdir(parents=True)
        (self.source / "lib/python3.11/site-packages").mkdir(parents=True)
        (self.source / "module.py").write_text("x = 1\n" * 1000)
        self.disk.mkdir(mode=0o700)

    def start(self, code: str, parts: tuple[str, ...] = FOLDER) -> subprocess.Popen[str]:
        """Run the parts, and then bash code, as on a node."""
        values = (
            f"nodes=2 host=here; stage_values() {{ stage_from={quote(str(self.source))}"
            f" stage_to={quote(str(self.disk))}; }}"
        )
        script = f"set -euo pipefail\n{values}\nsleep() {{ :; }}\n{functions(parts)}\n{code}"
        return subprocess.Popen(
            # Mounts of a test end with its shell.
            [*(("unshare", "--mount") if os.geteuid() == 0 else ()), "bash", "-c", script],
            cwd=self.disk.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, parts: tuple[str, ...] = FOLDER) -> tuple[int, str, str]:
        """The exit status, the output and the errors of that; what fails is also in the errors."""
        process = self.start(code, parts)
        output, errors = process.communicate(timeout=60)
        failures = [line for line in output.splitlines() if line.startswith("jobgen: here: ")]
        return process.returncode, output, "\n".join([errors, *failures])

    def stage(self, more: str = "") -> Path:
        """The copy that a job gets."""
        code = f'{more}\npack_environment; stage_environment; echo "$JOBGEN_STAGED"'
        status, output, errors = self.run(code)
        assert status == 0, errors
        return Path(output.splitlines()[-1])

    def archives(self) -> list[Path]:
        return [each for each in self.source.parent.iterdir() if ".jobgen-" in each.name]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
def own(node: Node) -> Path:
    """The folder of the copies."""
    return node.disk / f"jobgen-{os.getuid()}"


def names(folder: Path) -> list[str]:
    """The copies, and what is left of others."""
    return sorted(each.name for each in folder.iterdir() if each.name != "lock")


def test_a_copy_is_used_again_until_the_environment_changes(node: Node, own: Path) -> None:
    first = node.stage()
    assert (first / "module.py").read_text() == (node.source / "module.py").read_text()
    inode = first.stat().st_ino
    assert node.stage().stat().st_ino == inode
    assert len(node.archives()) == 1
    (node.source / "lib/python3.11/site-packages/new").mkdir()  # as pip does
    second = node.stage()
    assert second != first
    assert (second / "lib/python3.11/site-packages/new").is_dir()
    assert names(own) == [second.parent.name]  # no job uses the first
    assert len(node.archives()) == 2  # a job may still read the first
    assert not list(node.disk.parent.rglob("pwned"))


def test_archives_of_an_environment_that_has_changed_go_after_a_day(node: Node) -> None:
    node.stage()
    (archive,) = node.archives()
    part = Path(f"{archive}.abcdef")  # of a job that was killed
    part.touch()
    for file in (archive, part):
        os.utime(file, (0, 0))
    (node.source / "bin/new").touch()
    node.stage()
    assert len(node.archives()) == 1
    assert archive not in node.archives()


def test_a_copy_that_a_job_uses_stays(node: Node, own: Path) -> None:
    job = node.start('pack_environment; stage_environment; echo "$JOBGEN_STAGED"; exec sleep 60')
    assert job.stdout
    first = [Path(job.stdout.readline().strip()) for _ in range(2)][-1]  # behind `packing`
    (node.source / "bin/new").touch()
    second = node.stage()
    assert names(own) == sorted((first.parent.name, second.parent.name))
    job.kill()
    job.communicate()
    (node.source / "bin/newer").touch()
    third = node.stage()
    assert names(own) == [third.parent.name]


def test_jobs_at_once_make_one_copy(node: Node, own: Path) -> None:
    """All begin with nothing: each may pack, and one unpacks."""
    code = """eval "real_$(declare -f unpack)"
        unpack() { echo unpacked; command sleep 0.5; real_unpack "$@"; }
        pack_environment; stage_environment; cat "$JOBGEN_STAGED/module.py" | wc -l"""
    jobs = [node.start(code) for _ in range(4)]
    outputs = [job.communicate(timeout=60) for job in jobs]
    assert [job.returncode for job in jobs] == [0] * 4, outputs
    assert "".join(output for output, _ in outputs).count("unpacked") == 1
    assert all(output.endswith("1000\n") for output, _ in outputs)
    assert len(names(own)) == 1
    assert len(node.archives()) == 1


@pytest.mark.parametrize("moment", ["unpack", "rm", "mv"])
def test_a_killed_job_leaves_no_half_copy(node: Node, own: Path, moment: str) -> None:
    """While it unpacks, before it gives the copy its name, and while it removes another one."""
    if moment == "rm":
        node.stage()
        (node.source / "bin/new").touch()
    kill = 'kill -9 "$BASHPID"'
    killed = {
        "unpack": f'unpack() {{ mkdir "$2/files/half"; {kill}; }}',
        "mv": f'mv() {{ if [[ $2 == */part ]]; then {kill}; fi; command mv "$@"; }}',
        "rm": f'rm() {{ if [[ -e $2/files ]]; then {kill}; fi; command rm "$@"; }}',
    }[moment]
    status, _, _ = node.run(f"pack_environment; {killed}; stage_environment")
    assert status == -9
    assert names(own) == ["part"]
    copy = node.stage()
    assert not (copy / "half").exists()
    assert (copy / "module.py").is_file()
    assert names(own) == [copy.parent.name]


@is_root
@pytest.mark.parametrize("lying", ["", "df() { echo; echo 999999999; }; "])
def test_a_full_disk(node: Node, lying: str) -> None:
    """Before anything is written, and where the room is gone while it is unpacked."""
    (node.source / "big").write_bytes(bytes(3_000_000))
    code = f"""{lying}pack_environment
        mount -t tmpfs -o size=1m,mode=700 small "$stage_to"
        trap 'ls -A "$stage_to/jobgen-$UID"' EXIT
        stage_environment"""
    status, output, errors = node.run(code)
    assert status == 1
    assert "it needs 3 MB, and" in errors
    assert "--set software.stage_to=FOLDER" in errors
    assert output.splitlines()[-1] == "lock"


@is_root
@pytest.mark.parametrize("how", ["folder", "mode", "link", "parent", "owner"])
def test_an_environment_that_somebody_else_may_have_put_there(
    node: Node, own: Path, how: str
) -> None:
    other = 65534
    if how == "parent":  # whoever may write there can rename what is there
        node.disk.chmod(0o777)
    elif how == "owner":
        os.chown(node.disk, other, other)
    elif how == "link":
        (node.disk.parent / "theirs").mkdir(mode=0o700)
        own.symlink_to(node.disk.parent / "theirs")
    else:
        own.mkdir()
        own.chmod(0o755 if how == "mode" else 0o700)
        os.chown(own, other if how == "folder" else 0, 0)
    status, _, errors = node.run("pack_environment; stage_environment")
    assert status == 1
    assert "is not safe from other users" in errors


@is_root
def test_an_archive_of_somebody_else_is_not_used(node: Node) -> None:
    node.stage()
    (archive,) = node.archives()
    os.chown(archive, 65534, 65534)
    status, _, errors = node.run("pack_environment")
    assert status == 1
    assert "is of somebody else" in errors


def test_a_sticky_folder_such_as_tmp_is_safe(node: Node) -> None:
    node.disk.chmod(0o1777)
    assert node.stage().is_dir()


def test_a_shared_file_system_is_no_disk_of_the_node(node: Node) -> None:
    lying = 'stat() { if [[ $1 == -f ]]; then echo lustre; else command stat "$@"; fi; }; '
    status, _, errors = node.run(f"{lying}pack_environment; stage_environment")
    assert status == 1
    assert "is not on this node's own disk: --set software.stage_to=FOLDER" in errors


def test_a_python_that_is_not_copied(node: Node) -> None:
    """A venv's on a shared file system; not one on the node, and not the environment's own."""
    shared = 'stat() { if [[ $1 == -f ]]; then echo nfs; else command stat "$@"; fi; }; '
    own = node.source / "bin/python3"
    own.touch()
    for lying, expected in ((shared, False), ("", False)):
        assert ("is not copied" in node.run(f"{lying}pack_environment")[2]) == expected
    own.unlink()
    own.symlink_to("/bin/sh")
    for lying, expected in ((shared, True), ("", False)):
        assert ("is not copied" in node.run(f"{lying}pack_environment")[2]) == expected


def test_an_environment_that_changes_while_it_is_packed(node: Node) -> None:
    changing = 'tar() { command tar "$@"; touch "$stage_from/bin/new"; }; '
    status, _, errors = node.run(f"{changing}pack_environment")
    assert status == 1
    assert "has changed meanwhile" in errors
    assert node.archives() == []


def test_without_an_environment(node: Node) -> None:
    for parts in (FOLDER, IMAGE):
        status, _, errors = node.run(
            "stage_values() { stage_from=/nowhere/x stage_to=/tmp; }; pack_environment", parts
        )
        assert status == 1
        assert "/nowhere/x: see stage_values in the script" in errors


@is_root
def test_an_environment_of_somebody_else_is_packed_beside_the_job(node: Node) -> None:
    os.chown(node.source, 65534, 65534)
    node.stage()
    assert node.archives() == []
    assert len(list(node.disk.parent.glob("*.jobgen-*.tar"))) == 1


def test_scripts_run_the_python_of_the_copy(node: Node) -> None:
    """Those of pip, and those that it writes if the path is long or has a blank."""
    short, long, binary = (node.source / "bin" / each for each in ("short", "long", "binary"))
    short.write_text(f"#!{node.source}/bin/python3.11\nimport sys\nprint(sys.prefix)\n")
    long.write_text(
        f"#!/bin/sh\n'''exec' \"{node.source}/bin/python3\" \"$0\" \"$@\"\n' '''\n"
        "import sys\nprint(sys.argv[1])\n"
    )
    binary.write_bytes(b"\x7fELF\0\n#!/x/bin/python3\n")
    (node.source / "bin/link").symlink_to("short")
    for file in (short, long):
        file.chmod(0o755)
    copy = node.stage()
    assert (copy / "bin/short").read_text().startswith("#!/usr/bin/env python3\nimport")
    assert "'''exec' python3 \"$0\" \"$@\"\n' '''\n" in (copy / "bin/long").read_text()
    assert (copy / "bin/binary").read_bytes() == binary.read_bytes()
    assert (copy / "bin/link").is_symlink()
    run = [str(copy / "bin/long"), "an argument"]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "an argument\n"
    assert str(node.source) in short.read_text()  # the original stays


@pytest.mark.parametrize("answer", ["sent", "failed", "missing"])
def test_the_file_that_slurm_sends(node: Node, answer: str) -> None:
    """It is used instead of the archive, and removed; without it, the node reads the archive."""
    sbcast = {"sent": 'sbcast() { cp "$1" "$2"; }', "failed": "sbcast() { return 1; }"}
    code = f"""{sbcast.get(answer, ":")}; SLURM_JOB_ID=7
        pack_environment; send_environment
        dd() {{ echo "$1" >&2; command dd "$@"; }}
        stage_environment"""
    path = "" if answer != "missing" else 'type() { [[ $1 != sbcast ]] && builtin type "$@"; }; '
    status, _, errors = node.run(f"{path}{code}", SENT)
    assert status == 0
    assert (f"if={node.disk}/.jobgen-7" in errors) == (answer == "sent")
    assert ("each node reads" in errors) == (answer == "failed")
    assert not (node.disk / ".jobgen-7").exists()


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Node]:
    """A node with an image, in a path that FUSE takes."""
    with TemporaryDirectory(prefix="image") as folder:
        node = Node(Path(folder))
        source = node.source
        node.source = source.with_name("image of $x.squashfs")
        try:
            pack = ["mksquashfs", str(source), str(node.source), "-quiet", "-no-progress"]
            subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
        except FileNotFoundError:
            pytest.skip("mksquashfs is not installed (squashfs-tools)")
        yield node


SHOW = 'pack_environment; stage_environment; container cat "$JOBGEN_STAGED/module.py"'


def test_an_image_is_mounted_as_long_as_the_command_runs(image: Node) -> None:
    code = 'pack_environment; stage_environment; container mountpoint "$JOBGEN_STAGED"'
    status, output, errors = image.run(code, IMAGE)
    (copy,) = (image.disk / f"jobgen-{os.getuid()}").glob("*-*")
    if not (copy / "image").exists():
        pytest.skip(f"no image can be mounted here (squashfuse, /dev/fuse, namespaces): {errors}")
    assert (status, output) == (0, f"{copy}/files is a mountpoint\n")
    assert image.run(SHOW, IMAGE)[:2] == (0, "x = 1\n" * 1000)
    assert list((copy / "files").iterdir()) == []  # nothing stays mounted
    assert str(copy) not in Path("/proc/mounts").read_text()
    assert subprocess.run(["pgrep", "-f", f"squashfuse -f {copy}"], check=False).returncode == 1


SAVE = """trap 'cat "$JOBGEN_STAGED/module.py"; exit 3' TERM; echo ready
while :; do read -rt 0.1 < <(:) || :; done"""


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_a_signal_for_the_ranks(image: Node, name: str) -> None:
    """After TERM they can still read what they need to save; and squashfuse ends with them."""
    code = f"pack_environment; stage_environment; container bash -c {quote(SAVE)}"
    job = image.start(f"set -m; ({code}) & echo $!; wait $!", IMAGE)
    assert job.stdout
    group = int(job.stdout.readline())
    assert job.stdout.readline() == "ready\n"
    os.kill(-group, getattr(signal, f"SIG{name}"))
    rest, _ = job.communicate(timeout=30)
    assert (job.returncode, rest) == ((3, "x = 1\n" * 1000) if name == "TERM" else (137, ""))
    assert (
        subprocess.run(["pgrep", "-f", f"squashfuse -f {image.disk}"], check=False).returncode == 1
    )


def test_the_command_in_an_image_has_the_user_s_id_and_words(image: Node) -> None:
    code = f"pack_environment; stage_environment; container printf '%s\\n' {quote(HOSTILE)} a"
    assert image.run(code, IMAGE)[:2] == (0, f"{HOSTILE}\na\n")
    code = "pack_environment; stage_environment; container id -u"
    assert image.run(code, IMAGE)[:2] == (0, f"{os.getuid()}\n")


def test_an_image_is_unpacked_where_it_cannot_be_mounted(image: Node) -> None:
    tool = image.disk.parent / "unshare"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    status, output, errors = image.run(f"PATH=$PWD:$PATH; {SHOW}", IMAGE)
    assert (status, output) == (0, "x = 1\n" * 1000), errors
    (copy,) = (image.disk / f"jobgen-{os.getuid()}").glob("*-*")
    assert not (copy / "image").exists()
    assert (copy / "files/module.py").is_file()


def test_the_site_s_squashfs_mount_comes_first(image: Node) -> None:
    tool = image.disk.parent / "squashfs-mount"
    tool.write_text('#!/bin/bash\n[[ $2 == -- ]] && echo "with $1" >&2 && exec "${@:3}"\n')
    tool.chmod(0o755)
    status, _, errors = image.run(f"PATH=$PWD:$PATH; {SHOW.replace('cat', 'echo')}", IMAGE)
    assert status == 0
    (copy,) = (image.disk / f"jobgen-{os.getuid()}").glob("*-*")
    assert f"with {copy}/image:{copy}/files\n" in errors


VENV = ("software.venv=$HOME/env", "software.stage=venv")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("software.stage=venv",), "copies the folder that `venv` names"),
        ((*VENV, "software.stage_from=/x"), "copies the folder that `venv` names"),
        (("software.stage=folder",), "`stage: folder` has no `stage_from`"),
        (("software.stage_from=/x",), "`stage_from` without `stage`"),
        (
            ("software.stage=folder", "software.stage_from=/x", "software.conda=a"),
            "`conda` and `stage: folder` are both set",
        ),
        ((*VENV, "software.container.image=x/y"), "`container` and `stage: venv` are both set"),
        ((*VENV, "launch.plain=true"), "the plain script copies nothing"),
        (("software.stage=folder", "software.stage_from=env"), "a path from / or $NAME"),
    ],
)
def test_what_cannot_be_copied(values: tuple[str, ...], text: str) -> None:
    with pytest.raises(JobgenError) as caught:
        planned(Job("sbatch", "dgx-a100", set_values=values, program=("a.py",)))
    assert text in str(caught.value)


def test_a_local_job_and_hosts_by_hand_copy_nothing() -> None:
    with pytest.raises(JobgenError, match="a local job reads its environment where it is"):
        planned(Job("local", set_values=VENV, program=("a.py",)))
    by_hand = Job("byhand", "dgx-a100", set_values=VENV, hosts="a,b", program=("a.py",))
    with pytest.raises(JobgenError, match="by hand there is none"):
        planned(by_hand)


@is_root
def test_a_disk_with_room_for_one_of_both(node: Node) -> None:
    """What sbcast sent goes, and the node reads the archive."""
    code = """sbcast() { cp "$1" "$2"; }; SLURM_JOB_ID=7; pack_environment
        mount -t tmpfs -o size=2m,mode=700 small "$stage_to"
        send_environment; [[ -f $stage_to/.jobgen-7 ]]
        dd() { echo "$1"; command dd "$@"; }
        stage_environment; ls -A "$stage_to" """
    (node.source / "big").write_bytes(bytes(1_200_000))
    status, output, errors = node.run(code.replace("dd() { echo", "dd() { >&2 echo"), SENT)
    assert status == 0, errors
    assert f"if={node.archives()[0]}\n" in errors
    assert output.endswith("\njobgen-0\n")
