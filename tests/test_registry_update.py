"""A release of the registry: hostile ones are refused, and one is taken whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pty
import random
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen import bounds
from jobgen.agents.limit import Limit
from jobgen.errors import JobgenError
from jobgen.paths import bundled, registry_folder
from jobgen.profiles.search import OWN, SITES, heading_of, profile_files
from jobgen.registry import archive, layout, place, release
from jobgen.registry.difference import difference
from jobgen.registry.release import Release, read_release
from tests.helpers import jobgen
from tests.test_prove import PROOF

pytestmark = pytest.mark.slow

SLURM = """\
description: {name}, one GPU a node
scheduler: slurm
partition: gpu
node: {{cpus: {cpus}, gpus: 1, gpu: nvidia}}
request: {{time: "1:00:00"}}
"""
GREEN = SLURM.format(name="Green", cpus=8)
FABRIC = 'description: "a base: test"\nnetwork: {interface: eth0}\n'
FILES = {
    "README.md": b"text of the registry",
    "profiles/sites/green.yaml": GREEN.encode(),
    "profiles/fabrics/test.yaml": FABRIC.encode(),
    "profiles/proofs/sites/green/2026-11-29.json": json.dumps(PROOF).encode(),
    "tests/sites/green.yaml": b"facts: []",
}


def tar(members: Mapping[str, bytes] | list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A .tar.gz with files or any members."""
    if isinstance(members, Mapping):
        members = [(tarfile.TarInfo(name), data) for name, data in members.items()]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", errors="surrogateescape") as file:
        for info, data in members:
            info.size = info.size or len(data)
            file.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def put(folder: Path, files: Mapping[str, bytes]) -> str:
    """The files in a folder with their SHA256SUMS, as sha256sum writes it; returns its checksum."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    command = ["sha256sum", *sorted(files)]
    sums = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    (folder / "SHA256SUMS").write_bytes(sums)
    return hashlib.sha256(sums).hexdigest()


def put_archive(tmp_path: Path, files: Mapping[str, bytes], name: str = "r.tar.gz") -> list[str]:
    """The words of `update` for an archive with the files."""
    data = tar(files)
    (tmp_path / name).write_bytes(data)
    return [f"--from={name}", f"--sha256={hashlib.sha256(data).hexdigest()}"]


def run(tmp_path: Path, *words: str) -> tuple[int, str, str]:
    """The exit code of `jobgen profiles WORDS`, its stdout and its stderr."""
    done = jobgen("profiles", *words, cwd=tmp_path)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def update(tmp_path: Path, *words: str) -> tuple[int, str, str]:
    return run(tmp_path, "update", *words)


def refusal(source: Path, checksum: str | None = None) -> str:
    """Why a release is refused, which has the checksum if no other is given."""
    if checksum is None:
        file = source / "SHA256SUMS" if source.is_dir() else source
        checksum = hashlib.sha256(file.read_bytes()).hexdigest()
    with pytest.raises(JobgenError) as error:
        read_release(str(source), checksum)
    return str(error.value)


# ---- what a user sees ----


def test_a_release_comes_between_the_own_and_the_bundled_profiles(tmp_path: Path) -> None:
    lumi = (bundled("profiles") / "sites/lumi-g.yaml").read_bytes()
    words = put_archive(tmp_path, {**FILES, "profiles/sites/lumi-g.yaml": lumi + b"# newer\n"})
    code, stdout, stderr = update(tmp_path, *words, "--yes")
    assert code == 0
    assert "New: fabrics/test, sites/green\nChanged: sites/lumi-g\n" in stdout
    assert "--- sites/lumi-g.yaml\n+++ sites/lumi-g.yaml, of r.tar.gz\n" in stdout
    assert "+# newer\n" in stdout
    assert "New proofs: sites/green/2026-11-29\n" in stdout
    assert re.search(r"those of r\.tar\.gz \(SHA-256 \w{12}…\), taken on \d{4}-", stderr)
    files = profile_files(tmp_path)
    assert files["sites/lumi-g"] == registry_folder() / "profiles/sites/lumi-g.yaml"
    assert files["sites/olivia"].is_relative_to(bundled("profiles"))
    assert heading_of(files["sites/green"]) == heading_of(files["sites/olivia"]) == SITES
    assert not (registry_folder() / "README.md").exists()
    listing = run(tmp_path, "list")[1]
    assert listing.startswith("Profiles of the registry: r.tar.gz (SHA-256 ")
    assert f"\n{SITES}:\n" in listing
    assert "\n  sites/green " in listing
    own = tmp_path / "config/jobgen/profiles/sites/green.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(SLURM.format(name="Mine", cpus=4))
    assert profile_files(tmp_path)["sites/green"] == own
    assert heading_of(own) == OWN
    assert update(tmp_path, *words, "--diff")[0] == 0
    assert update(tmp_path, "--remove", "--yes")[0] == 0
    assert own.read_text() == SLURM.format(name="Mine", cpus=4)
    assert [*(tmp_path / "config/jobgen/registry").iterdir()] == []
    assert profile_files(tmp_path)["sites/lumi-g"].is_relative_to(bundled("profiles"))


def test_an_own_profile_extends_that_of_the_registry(tmp_path: Path) -> None:
    assert update(tmp_path, *put_archive(tmp_path, FILES), "--yes")[0] == 0
    folder = tmp_path / "config/jobgen/profiles/sites"
    folder.mkdir(parents=True)
    (folder / "green.yaml").write_text("extends: sites/green\naccount: me\n")
    shown = run(tmp_path, "show", "sites/green")[1]
    assert 'account: "me"' in shown
    assert "cpus: 8" in shown


def test_a_proof_of_the_registry_is_shown(tmp_path: Path) -> None:
    proof = json.dumps({**PROOF, "profile": "sites/lumi-g"}).encode()
    files = {**FILES, "profiles/proofs/sites/lumi-g/x.json": proof}
    assert update(tmp_path, *put_archive(tmp_path, files), "--yes")[0] == 0
    assert "\n# ran on " in run(tmp_path, "show", "sites/lumi-g")[1]
    (registry_folder() / "profiles/proofs/sites/lumi-g/x.json").write_text("of another format")
    assert "\n# ran on " not in run(tmp_path, "show", "sites/lumi-g")[1]


def test_a_file_of_a_project_that_replaces_one_of_the_registry_is_reported(tmp_path: Path) -> None:
    assert update(tmp_path, *put_archive(tmp_path, FILES), "--yes")[0] == 0
    (tmp_path / "profiles/sites").mkdir(parents=True)
    (tmp_path / "profiles/sites/green.yaml").write_text(SLURM.format(name="Other", cpus=1))
    _, stdout, stderr = run(tmp_path, "show", "sites/green")
    assert "cpus: 1" in stdout
    assert "is used instead of jobgen's own green" in stderr


def test_an_agent_may_read_the_registry(tmp_path: Path) -> None:
    place.take(NEW)
    for name in ("release.json", SITE):
        arguments = (str(registry_folder() / name), "r", os.O_RDONLY)
        Limit(tmp_path / "jobs").check("open", arguments)
    with pytest.raises(PermissionError):
        Limit(tmp_path / "jobs").check("open", (str(tmp_path / "x"), "r", os.O_RDONLY))


def test_values_and_lines_that_run_are_named_first(tmp_path: Path) -> None:
    assert update(tmp_path, *put_archive(tmp_path, FILES), "--yes")[0] == 0
    long = "true " + "x" * 3000
    shell = f"software:\n  commands: [echo a, {long}]\n  container: {{engine: podman, image: i}}\n"
    newer = GREEN.replace("cpus: 8", "cpus: 9") + shell
    extends = "extends: fabrics/test\n" + SLURM.format(name="Blue", cpus=2)
    files = {
        **FILES,
        "profiles/sites/green.yaml": newer.encode(),
        "profiles/sites/blue.yaml": f"{extends}launch: {{srun_options: [--wait=60]}}\n".encode(),
    }
    code, stdout, _ = update(tmp_path, *put_archive(tmp_path, files), "--diff")
    assert code == 1
    lines = stdout.split("\n")
    assert lines[0].startswith(
        "Lines and paths of their authors that differ; jobs run them with your rights"
    )
    assert f"    + {long}" in lines
    assert "  launch.srun_options of sites/blue:" in lines
    assert "  node.cpus: 8 → 9 in sites/green" in lines
    order = ("    + echo a", "  node.cpus: 8 → 9 in sites/green", "New: sites/blue")
    places = [lines.index(each) for each in (*order, "--- sites/green.yaml")]
    assert places == sorted(places)
    assert "cpus: 8" in run(tmp_path, "show", "sites/green")[1]


def test_a_changed_base_names_what_extends_it(tmp_path: Path) -> None:
    blue = ("extends: fabrics/test\n" + SLURM.format(name="Blue", cpus=2)).encode()
    files = {**FILES, "profiles/sites/blue.yaml": blue}
    assert update(tmp_path, *put_archive(tmp_path, files), "--yes")[0] == 0
    files["profiles/fabrics/test.yaml"] = FABRIC.replace("eth0", "ib0").encode()
    del files["profiles/sites/green.yaml"]
    code, stdout, _ = update(tmp_path, *put_archive(tmp_path, files), "--diff")
    assert code == 1
    assert 'network.interface: ["eth0"] → ["ib0"] in fabrics/test, sites/blue\n' in stdout
    assert (
        "Gone: sites/green\nChanged: fabrics/test\nChanged by a base alone: sites/blue\n" in stdout
    )


def test_what_runs_others_code_is_named_first(tmp_path: Path) -> None:
    """Variables of loaders and shells, environments and images: of a new profile, and by a base."""
    many = {
        f"profiles/sites/s{number}.yaml": b"extends: fabrics/test\n" + GREEN.encode()
        for number in range(5)
    }
    assert update(tmp_path, *put_archive(tmp_path, {**FILES, **many}), "--yes")[0] == 0
    base = FABRIC.replace("}", ", environment: {LD_PRELOAD: /tmp/x.so, A: {value: b, why: c}}}")
    new = GREEN + "network: {environment: {PYTHONPATH: /x, NCCL_NET: IB}}\nsoftware: {venv: /y}\n"
    files = {
        **FILES,
        **many,
        "profiles/fabrics/test.yaml": base.encode(),
        "profiles/sites/new.yaml": new.encode(),
        "profiles/proofs/sites/green/2026-11-30.json": json.dumps(PROOF).encode(),
    }
    del files["profiles/proofs/sites/green/2026-11-29.json"]
    _, stdout, stderr = update(tmp_path, *put_archive(tmp_path, files), "--diff")
    assert stderr == ""
    runs, values, names = stdout.split("\n\n")[:3]
    inherit = "fabrics/test and 5 others by their bases"
    assert runs.split("\n")[1:] == [
        f"  network.environment.LD_PRELOAD of {inherit}:",
        "    + /tmp/x.so",
        "  software.venv of sites/new:",
        "    + /y",
        "  network.environment.PYTHONPATH of sites/new:",
        "    + /x",
    ]
    assert values.split("\n")[1:] == [
        f'  network.environment.A: not set → "b" in {inherit}',
        '  network.environment.NCCL_NET: not set → "IB" in sites/new',
    ]
    proofs = "New proofs: sites/green/2026-11-30\nProofs that are gone: sites/green/2026-11-29"
    assert names.endswith(proofs)


def test_a_variable_that_only_some_jobs_have_is_one_line(tmp_path: Path) -> None:
    text = "network: {environment: {A: {value: b, why: W}}}\n"
    files = {**FILES, "profiles/sites/green.yaml": (GREEN + text).encode()}
    assert update(tmp_path, *put_archive(tmp_path, files), "--yes")[0] == 0
    text = text.replace("why: W", "why: V, nodes: several")
    files["profiles/sites/green.yaml"] = (GREEN + text).encode()
    stdout = update(tmp_path, *put_archive(tmp_path, files), "--diff")[1]
    line = 'network.environment.A: "b" → {"value": "b", "nodes": "several"} in sites/green\n\n'
    assert stdout.split(":\n  ")[1].startswith(line)


@pytest.mark.parametrize(
    ("name", "is_older"),
    [("p-2026-11-29.tar.gz", True), ("p-2026-12-06-2.tar.gz", False), ("p.tar.gz", False)],
)
def test_an_older_release_is_said_before_the_question(
    name: str, is_older: bool, tmp_path: Path
) -> None:
    newer = put_archive(tmp_path, FILES, "p-2026-12-06-1.tar.gz")
    assert update(tmp_path, *newer, "--yes")[0] == 0
    files = {**FILES, "profiles/sites/green.yaml": f"{GREEN}# older\n".encode()}
    stderr = update(tmp_path, *put_archive(tmp_path, files, name))[2]
    text = f"jobgen: warning: {name} is older than p-2026-12-06-1.tar.gz, which is in use\n"
    assert (text in stderr) == is_older
    assert stderr.index("nobody can be asked") >= len(text) * is_older


def test_a_terminal_controls_nothing_through_a_release(tmp_path: Path) -> None:
    files = {**FILES, "profiles/sites/green.yaml": f"{GREEN}# \x9b2J \u202e\n".encode()}
    assert update(tmp_path, *put_archive(tmp_path, FILES), "--yes")[0] == 0
    stdout = update(tmp_path, *put_archive(tmp_path, files, "\x1b[2J.tar.gz"), "--diff")[1]
    assert stdout.replace("\n", "").isprintable()


def test_without_a_checksum_it_says_where_it_is_to_be_had(tmp_path: Path) -> None:
    source, checksum = put_archive(tmp_path, FILES)
    code, stdout, stderr = update(tmp_path, source, "--yes")
    assert (code, stdout) == (2, "")
    assert "copy it from the page of the release, and not from a file beside it" in stderr
    assert "`sha256sum r.tar.gz`" in stderr
    assert checksum[-64:] not in stderr
    assert "has 64 digits" in update(tmp_path, source, "--sha256=12", "--yes")[2]
    code, stdout, stderr = update(tmp_path, source, f"--sha256={'0' * 64}", "--yes")
    assert (code, stdout) == (2, "")
    assert "not the one that you give" in stderr
    assert not registry_folder().exists()


def test_wrong_usage(tmp_path: Path) -> None:
    for words in ([], ["--from=x", "--remove"]):
        assert "give one of the two" in update(tmp_path, *words)[2]
    assert "jobgen fetches nothing" in update(tmp_path, "--from=https://x.org/r.tar.gz")[2]
    assert "there is no r.tar.gz" in update(tmp_path, "--from=r.tar.gz")[2]
    assert update(tmp_path, "--remove")[0] == 0


def test_nothing_is_taken_where_nobody_can_be_asked(tmp_path: Path) -> None:
    code, stdout, stderr = update(tmp_path, *put_archive(tmp_path, FILES))
    assert code == 2
    assert "New: " in stdout
    assert "add --yes" in stderr
    assert not registry_folder().exists()


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_a_person_at_a_terminal_is_asked(tmp_path: Path, answer: str) -> None:
    words = put_archive(tmp_path, FILES)
    command = [sys.executable, "-m", "jobgen", "profiles", "update", *words]
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    shown = b""
    while b"[y/N] " not in shown:
        shown += os.read(controller, 4096)
    os.write(controller, f"{answer}\n".encode())
    assert process.wait() == (0 if answer == "y" else 1)
    os.close(controller)
    assert registry_folder().exists() == (answer == "y")


def test_a_script_of_a_changed_profile_is_stale(tmp_path: Path) -> None:
    assert update(tmp_path, *put_archive(tmp_path, FILES), "--yes")[0] == 0
    words = ("sbatch", "--profile=sites/green", "-N2", "-o", "job.sh", "--", "train.py")
    assert jobgen(*words, cwd=tmp_path).returncode == 0
    assert jobgen("check", "job.sh", cwd=tmp_path).stdout == b"job.sh: current\n"
    newer = GREEN.replace("cpus: 8", "cpus: 9")
    files = {**FILES, "profiles/sites/green.yaml": newer.encode()}
    assert update(tmp_path, *put_archive(tmp_path, files), "--yes")[0] == 0
    checked = jobgen("check", "job.sh", cwd=tmp_path)
    assert checked.returncode == 1
    assert checked.stdout.startswith(b"job.sh: stale: the profile changed\n")
    assert update(tmp_path, "--remove", "--yes")[0] == 0
    assert b"no longer possible" in jobgen("check", "job.sh", cwd=tmp_path).stdout


def test_a_script_of_a_bundled_profile_is_stale_if_the_registry_changes_it(tmp_path: Path) -> None:
    site = (bundled("profiles") / "sites/olivia.yaml").read_text()
    words = ("sbatch", "--profile=sites/olivia", "-N2", "-Ame", "-t1:00:00")
    assert jobgen(*words, "-ojob.sh", "--", "train.py", cwd=tmp_path).returncode == 0
    for text, state in (
        (f"{site}# a comment\n", b"current"),
        (re.sub("440G", "430G", site), b"stale"),
    ):
        files = {"profiles/sites/olivia.yaml": text.encode()}
        assert update(tmp_path, *put_archive(tmp_path, files), "--yes")[0] == 0
        assert jobgen("check", "job.sh", cwd=tmp_path).stdout.startswith(b"job.sh: " + state)


# ---- a release that is wrong ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scheduler: slurm\nnodes: 3\n", "green.yaml:2:1: unknown key `nodes`"),
        (f"extends: /etc/motd.yaml\n{GREEN}", "green.yaml:1:10: no file /etc/motd.yaml"),
        (f"extends: ../../../../x.yaml\n{GREEN}", "no file r.tar.gz/profiles/"),
        (f"extends: ~/x.yaml\n{GREEN}", "no file"),
        (f"extends: sites/none\n{GREEN}", "green.yaml:1:10: no profile `sites/none`"),
        (
            f"{GREEN}sources: {{values: {{partition: {{ours: it is}}}}}}\n",
            "`scheduler` has no source",
        ),
        ("a: &x [1]\nb: *x\n", "green.yaml:1:4: "),
        ("\x00", "green.yaml:"),
        ("[" * 1000, "green.yaml:"),
    ],
)
def test_a_wrong_profile_keeps_the_release_out(tmp_path: Path, text: str, message: str) -> None:
    outside = tmp_path / "x.yaml"
    outside.write_text("secret: 12345\n")
    words = put_archive(tmp_path, {**FILES, "profiles/sites/green.yaml": text.encode()})
    code, stdout, stderr = update(tmp_path, *words, "--yes")
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert ("may be for a newer jobgen" in stderr) == ("unknown key" in stderr)
    assert "12345" not in stderr
    assert "/tmp/jobgen-" not in stderr
    assert not registry_folder().exists()


def test_a_wrong_proof_keeps_the_release_out(tmp_path: Path) -> None:
    proof = json.dumps({**PROOF, "host": "node1"}).encode()
    files = {**FILES, "profiles/proofs/sites/green/x.json": proof}
    code, stdout, stderr = update(tmp_path, *put_archive(tmp_path, files), "--yes")
    assert (code, stdout) == (2, "")
    assert "r.tar.gz/profiles/proofs/sites/green/x.json: unknown key `host`" in stderr


def test_a_link_or_a_file_outside_cannot_be_named(tmp_path: Path) -> None:
    outside = tmp_path / "x.yaml"
    outside.write_text("partition: secret\n")
    text = f"extends: {outside}\n{GREEN}"
    words = put_archive(tmp_path, {"profiles/sites/green.yaml": text.encode()})
    code, _, stderr = update(tmp_path, *words, "--yes")
    assert code == 2
    assert "is outside" in stderr


def wrong_folders() -> dict[str, tuple[Callable[[Path], Any], str]]:
    """What is done to the folder of a release, and the message."""
    return {
        "changed": (lambda f: (f / "README.md").write_text("x"), "'README.md' has changed"),
        "missing": (lambda f: (f / "README.md").unlink(), "'README.md' is missing"),
        "more": (lambda f: (f / "more").write_text("x"), "'more' is not in SHA256SUMS"),
        "link": (lambda f: (f / "more").symlink_to("README.md"), "'more' is a link"),
        "folder": (lambda f: (f / "more").symlink_to("/etc"), "'more' is a link"),
        "pipe": (lambda f: os.mkfifo(f / "more"), "'more' is no plain file"),
        "name": (lambda f: (f / "a\nb").write_text("x"), "nobody can see"),
        "bytes": (lambda f: Path(os.fsdecode(bytes(f) + b"/\xff")).write_text("x"), "not in UTF-8"),
        "no sums": (lambda f: (f / "SHA256SUMS").write_text("x"), "is not as sha256sum writes it"),
        "empty": (lambda f: (f / "SHA256SUMS").write_text(""), "is not as sha256sum writes it"),
        "upwards": (
            lambda f: (f / "SHA256SUMS").write_text(f"{'0' * 64}  ../x\n"),
            "leads upwards",
        ),
    }


@pytest.mark.parametrize("name", wrong_folders())
def test_a_folder_that_is_not_as_its_sums_is_refused(tmp_path: Path, name: str) -> None:
    change, message = wrong_folders()[name]
    checksum = put(tmp_path / "r", FILES)
    (tmp_path / "r/.git").mkdir()
    (tmp_path / "r/.git/config").write_text("of a clone, which counts for nothing")
    assert set(read_release(str(tmp_path / "r"), checksum).files) == {*FILES} - {
        "README.md",
        "tests/sites/green.yaml",
    }
    change(tmp_path / "r")
    assert message in refusal(tmp_path / "r")


def test_a_folder_and_its_archive_are_the_same_release(tmp_path: Path) -> None:
    checksum = put(tmp_path / "r", FILES)
    of_folder = read_release(str(tmp_path / "r"), checksum)
    for name in ("r/", "./", ""):
        file = tmp_path / "r.tar.gz"
        file.write_bytes(tar({f"{name}{path}": data for path, data in FILES.items()}))
        of_archive = read_release(str(file), hashlib.sha256(file.read_bytes()).hexdigest().upper())
        assert of_archive.files == of_folder.files
    assert "has no profile" in refusal_of(tmp_path, tar({"profiles/README.md": b"x"}))


def refusal_of(tmp_path: Path, data: bytes) -> str:
    """Why an archive is refused."""
    (tmp_path / "r.tar.gz").write_bytes(data)
    return refusal(tmp_path / "r.tar.gz")


def member(name: str, kind: bytes = tarfile.REGTYPE, **more: Any) -> tarfile.TarInfo:
    """A member of an archive."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in more.items():
        setattr(info, key, value)
    return info


SITE = "profiles/sites/green.yaml"


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (member("/etc/passwd"), "an absolute path"),
        (member("../x"), "leads upwards"),
        (member("profiles/../../x"), "leads upwards"),
        (member("a", tarfile.SYMTYPE, linkname="/etc/passwd"), "is a link"),
        (member("a", tarfile.LNKTYPE, linkname=SITE), "is a link"),
        (member("profiles", tarfile.SYMTYPE, linkname="/etc"), "is a link"),
        (member("a", tarfile.FIFOTYPE), "is no plain file"),
        (member("a", tarfile.CHRTYPE, devmajor=1, devminor=5), "is no plain file"),
        (member("a", tarfile.BLKTYPE), "is no plain file"),
        (member("a", b"Z"), "is no plain file"),
        (member(SITE), "twice"),
        (member(f"./{SITE}"), "twice"),
        (member("profiles//sites/green.yaml"), "twice"),
        (member("profiles/sites/A.yaml"), "a profile at a wrong place"),
        (member("profiles/sites/a/b.yaml"), "a profile at a wrong place"),
        (member("profiles/fabrics/a.yml"), "a profile at a wrong place"),
        (member("profiles/sites/.a.yaml"), "a profile at a wrong place"),
        (member("profiles/sites/a\x1b[2J.yaml"), "nobody can see"),
        (member("a\\b"), "nobody can see"),
        (member("a\udcff"), "not in UTF-8"),
        (member("a" * 256), "more than 255 bytes"),
    ],
    ids=lambda value: re.sub(r"[^ -~]", "?", value.name)[:40] if not isinstance(value, str) else "",
)
def test_a_hostile_member_is_refused(tmp_path: Path, info: tarfile.TarInfo, message: str) -> None:
    good = (member(SITE), GREEN.encode())
    for members in ([good, (info, b"")], [(info, b""), good]):
        assert message in refusal_of(tmp_path, tar(members))
    assert [each.name for each in tmp_path.iterdir()] == ["r.tar.gz"]


def test_an_archive_that_takes_all_memory_is_refused(tmp_path: Path) -> None:
    zeros = gzip.compress(bytes(bounds.REGISTRY_BYTES + 1), 1)
    assert "bytes when unpacked" in refusal_of(tmp_path, zeros)
    (tmp_path / "r.tar.gz").write_bytes(b"")
    os.truncate(tmp_path / "r.tar.gz", bounds.REGISTRY_BYTES + 1)
    with pytest.raises(JobgenError, match="more than"):
        read_release(str(tmp_path / "r.tar.gz"), "0" * 64)
    (tmp_path / "r").mkdir()
    (tmp_path / "r.tar.gz").replace(tmp_path / "r/SHA256SUMS")
    with pytest.raises(JobgenError, match="no readable file SHA256SUMS"):
        read_release(str(tmp_path / "r"), "0" * 64)
    for kind, message in ((tarfile.GNUTYPE_SPARSE, "no plain file"), (b"0", "damaged")):
        header = member(SITE, kind, size=1 << 40).tobuf(tarfile.GNU_FORMAT) + bytes(1024)
        assert message in refusal_of(tmp_path / "r", gzip.compress(header))


def test_a_release_of_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"{number}": b"" for number in range(bounds.REGISTRY_FILES + 1)}
    assert "members" in refusal_of(tmp_path, tar(many))
    monkeypatch.setattr(release, "REGISTRY_FILES", 3)
    put(tmp_path / "r", FILES)
    assert "is not as sha256sum writes it" in refusal(tmp_path / "r")
    (tmp_path / "r/SHA256SUMS").write_text(f"{'0' * 64}  a\n")
    assert "more than 3 files" in refusal(tmp_path / "r")
    monkeypatch.setattr(release, "REGISTRY_FILES", bounds.REGISTRY_FILES)
    monkeypatch.setattr(release, "REGISTRY_BYTES", 1000)
    put(tmp_path / "r", {**FILES, "large": bytes(999)})
    assert "more than 1000 bytes" in refusal(tmp_path / "r")


def test_an_archive_is_first_read_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ends_within_bounds", lambda *_: False)
    assert "too long or too much memory" in refusal_of(tmp_path, tar(FILES))


def test_a_size_below_zero_is_refused(tmp_path: Path) -> None:
    """Some versions of tarfile read such a member again and again."""
    for size in (-512, -1024, -1):
        header = bytearray(member("a").tobuf(tarfile.GNU_FORMAT))
        header[124:136] = b"\xff" * 4 + size.to_bytes(8, "big", signed=True)
        header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * ord(" ") + sum(header[156:]))
        assert refusal_of(tmp_path, gzip.compress(bytes(header) + bytes(1024)))


def test_other_files_are_no_archive(tmp_path: Path) -> None:
    plain = gzip.decompress(tar(FILES))
    for data in (b"", b"PK\x03\x04", plain, b"\x1f\x8b", gzip.compress(b"text" * 200)):
        assert "is no .tar.gz, or damaged" in refusal_of(tmp_path, data)
    (tmp_path / "r.tar.gz").unlink()
    os.mkfifo(tmp_path / "r.tar.gz")
    with pytest.raises(JobgenError, match="no plain file"):
        read_release(str(tmp_path / "r.tar.gz"), "0" * 64)


PARTS = st.sampled_from(
    [
        "profiles",
        "sites",
        "fabrics",
        "proofs",
        "a.yaml",
        "b.json",
        "..",
        ".",
        "",
        "A.yaml",
        "\udcff",
        "é",
    ]
)
NAMES = st.lists(PARTS, min_size=1, max_size=5).map("/".join)
KINDS = st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, b"7"])
MEMBERS = st.lists(st.tuples(NAMES, KINDS, NAMES, st.binary(max_size=40)), max_size=6)


@given(members=MEMBERS)
def test_any_members_are_files_of_the_layout_or_refused(members: list[Any]) -> None:
    infos = [(member(name, kind, linkname=to), data) for name, kind, to, data in members]
    try:
        files = archive._members("r.tar.gz", tar(infos))
    except JobgenError:
        return
    assert all(map(layout.is_wanted, files))
    assert not any(kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) for _, kind, _, _ in members)
    for path in files:
        assert re.fullmatch(r"profiles(/[a-z0-9][\w.-]*)+", path)


@given(seed=st.integers(), count=st.integers(1, 8), is_packed=st.booleans())
def test_damaged_archives_are_files_of_the_layout_or_refused(
    seed: int, count: int, is_packed: bool
) -> None:
    """Bytes of the archive, or of what is packed in it, are changed, and its end is lost."""
    source = random.Random(seed)
    data = bytearray(tar(FILES) if is_packed else gzip.decompress(tar(FILES)))
    for _ in range(count):
        data[source.randrange(len(data))] = source.randrange(256)
    del data[source.randrange(len(data)) + 1 :]
    try:
        files = archive._members("r", bytes(data) if is_packed else gzip.compress(data))
    except JobgenError:
        return
    assert all(map(layout.is_wanted, files))


# ---- taking one ----


OLD = Release("old", "1" * 64, {"profiles/sites/green.yaml": b"old", "profiles/sites/a.yaml": b"a"})
NEW = Release("new", "2" * 64, {"profiles/sites/green.yaml": b"new", "profiles/sites/b.yaml": b"b"})


def files_in_use() -> dict[str, bytes]:
    top = registry_folder()
    return {
        file.relative_to(top).as_posix(): file.read_bytes() for file in top.glob("profiles/**/*.*")
    }


def name_in_use() -> str:
    taken = place.release_in_use()
    return taken.name if taken else ""


def killed_at(step: int, action: Callable[[], object]) -> bool:
    """Whether the action was killed before it could make its change number `step`."""
    changes = ("open", "os.rename", "os.symlink", "os.remove", "os.mkdir", "os.rmdir", "os.utime")
    child = os.fork()
    if not child:
        steps = [step]

        def hook(event: str, _: object) -> None:
            if event in changes:
                steps[0] -= 1
                if steps[0] < 0:
                    os._exit(9)

        sys.addaudithook(hook)
        try:
            action()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def steps(action: Callable[[], object]) -> Iterator[int]:
    """Kills the action at each of its steps, one after the other, until it ends by itself."""
    step = 0
    while killed_at(step, action):
        yield step
        step += 1
    assert step > 5


def test_after_a_kill_at_any_step_the_old_or_the_new_release_is_there(tmp_path: Path) -> None:
    place.take(OLD)
    seen = set()
    for _ in steps(lambda: place.take(NEW)):
        assert files_in_use() in (dict(OLD.files), dict(NEW.files))
        assert name_in_use() == ("old" if files_in_use() == OLD.files else "new")
        seen.add(name_in_use())
        place.take(OLD)
    assert seen == {"old", "new"}
    place.take(NEW)
    assert files_in_use() == NEW.files


def test_after_a_kill_at_any_step_the_first_release_is_there_or_none(tmp_path: Path) -> None:
    for _ in steps(lambda: place.take(NEW)):
        assert files_in_use() in ({}, dict(NEW.files))
        place.remove_registry()
        assert files_in_use() == {}
    place.take(OLD)
    for _ in steps(place.remove_registry):
        assert files_in_use() in ({}, dict(OLD.files))
        place.take(OLD)


def test_what_was_killed_or_replaced_is_removed_after_a_day(tmp_path: Path) -> None:
    place.take(OLD)
    first = registry_folder()
    os.utime(first, (0, 0))
    place.take(NEW)
    assert first.is_dir()  # a process may read it
    os.utime(first, (0, 0))
    place.take(OLD)
    assert not first.is_dir()
    store = registry_folder().parent
    assert len([*store.iterdir()]) == 3  # the link, and two releases
    (store / "own.txt").write_text("a user's")
    place.remove_registry()
    assert [each.name for each in store.iterdir()] == ["own.txt"]
    assert place.release_in_use() is None
    assert not difference(None)


def test_a_folder_that_cannot_be_written_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", os.devnull)
    with pytest.raises(JobgenError, match="cannot be written: Not a directory"):
        place.take(NEW)


@pytest.mark.parametrize("note", ["", "[]", "{}", "[" * 10_000, '{"name": 1}', "\x00"])
def test_a_note_that_is_damaged_is_none(tmp_path: Path, note: str) -> None:
    place.take(NEW)
    (registry_folder() / "release.json").write_text(note)
    assert place.release_in_use() is None
    assert "to remove the release; nothing was changed" in update(tmp_path, "--remove")[2]
    assert update(tmp_path, "--remove", "--yes")[0] == 0
    assert not registry_folder().is_dir()


def test_a_release_that_an_older_jobgen_took_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.take(NEW)
    assert "jobgen" not in str(place.release_in_use())
    monkeypatch.setattr(place, "__version__", "9.9")
    assert " by jobgen " in str(place.release_in_use())
