"""A login node that is hostile: what comes back from it can replace no file of the user."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from jobgen.code_store.code import read_code
from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.remote import code, job
from jobgen.remote.files import fetch_files, fetch_logs, place_here
from jobgen.remote.job import fetch_job
from jobgen.runs.records import note_submission, read_records
from jobgen.submission.login import Login
from jobgen.submission.machine import Answer
from tests.helpers import planned
from tests.remote.ssh_host import SshHost

pytestmark = pytest.mark.slow

LOGS = "jobgen-logs/hosts/login1"
OTHERS = f"{LOGS}/outputs"
# A program for rsync's part there: it sends all that is in ~/evil, whatever it is asked for.
SENDER = """\
options=()
for word; do [[ $word == . ]] && break; options+=("$word"); done
cd ~/evil && exec {rsync} "${{options[@]}}" {more} . {sent}
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/home/me/p/train-12.out", "train-12.out"),
        ("/home/me/p/logs/n.o12", "logs/n.o12"),
        ("/home/me/p/12.server.OU", "12.server.OU"),
        ("/home/me/slurm-12.out", "slurm-12.out"),
        ("/home/me/p/../slurm-12.out", "slurm-12.out"),
        ("/home/me/p/train.py", f"{OTHERS}/train.py"),
        ("/home/me/p/requirements.txt", f"{OTHERS}/requirements.txt"),
        ("/home/me/p/away/x.out", f"{OTHERS}/x.out"),
        ("/home/me/p/.ssh/authorized_keys", None),
        ("/home/me/p/.ssh/x.out", None),
        ("/home/me/p/.bashrc", None),
        ("/x/.profile.out", None),
        ("/home/me/p", None),
        ("/", None),
        ("", None),
        ("/home/me/p/a\n.out", None),
        ("/home/me/p/a\0.out", None),
    ],
)
def test_where_an_output_comes_to(
    path: str, place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p").mkdir()
    monkeypatch.chdir(tmp_path / "p")
    Path("away").symlink_to(tmp_path)
    found = place_here(Login("login1", "/home/me/p"), path)
    assert found == (Path(place) if place else None)


def files(folder: Path) -> dict[str, str]:
    found = (each for each in folder.rglob("*") if each.is_file() or each.is_symlink())
    return {str(each.relative_to(folder)): each.read_text() for each in found}


@pytest.fixture
def evil(host: SshHost, login: Login, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder there whose files are sent for all others; the test is in the folder here."""
    monkeypatch.chdir(folder)
    made = host.home / "evil"
    (made / ".ssh").mkdir(parents=True)
    for name in ("x-12.out", "train.py", ".bashrc", ".ssh/authorized_keys"):
        (made / name).write_text("evil\n")
    (made / "link").symlink_to("/")
    return made


def send(host: SshHost, more: str, sent: str) -> None:
    host.add("rsync", SENDER.format(rsync=shutil.which("rsync"), more=more, sent=sent))


@pytest.mark.parametrize("more", ["", "-r", "-rlR"])
@pytest.mark.parametrize("sent", [".", "train.py", ".bashrc", "x-12.out train.py", "link"])
def test_an_output_that_is_another_file(
    more: str, sent: str, host: SshHost, evil: Path, folder: Path
) -> None:
    send(host, more, sent)
    rsync = host.folder / "bin/rsync"  # as old ones, it does not look at what it gets
    rsync.write_text(f'#!/bin/sh\nexec {shutil.which("rsync")} --trust-sender "$@"\n')
    rsync.chmod(0o755)
    fetch_files(Login("login1", str(host.home)), [f"{host.home}/x-12.out"])
    found = files(folder)
    assert found.pop("x-12.out", "evil\n") == "evil\n"  # it may send what it likes as the output
    assert found == {"train.py": "print('trained')\n"}
    assert sorted(os.listdir(folder.parent)) == sorted(["host", folder.name])


def test_files_that_nobody_asked_for(host: SshHost, evil: Path, folder: Path) -> None:
    """They may be in the folder of the host alone, and hidden ones not even there."""
    (host.home / "jobgen-logs").mkdir()
    send(host, "-rl", ".")
    try:
        fetch_logs(Login("login1"))
    finally:
        found = files(folder)
    assert found.pop("train.py") == "print('trained')\n"
    assert all(name.startswith(f"{LOGS}/") for name in found)
    assert not any("/." in name for name in found)


@pytest.mark.parametrize(
    "sent", ["[]", "{", "3", "[" * 100_000, f'"{"x" * (1 << 21)}"', '{"job": "12", "end": 2}']
)
def test_records_that_are_none(
    sent: str, host: SshHost, login: Login, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    note_submission(Path(LOGS), "12", b"", "/x")
    (host.home / "jobgen-logs").mkdir()
    (host.home / "jobgen-logs/12.json").write_text(sent)
    fetch_logs(login)
    found = read_records(Path(LOGS))
    assert [(each.end, each.logs_there) for each in found] == [(2, "/x")] * ("end" in sent)


def test_a_folder_that_the_node_names_is_none_here(
    host: SshHost, login: Login, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (host.home / "src/jobgen-logs/12").mkdir(parents=True)
    (host.home / "src/jobgen-logs/12/log").touch()
    fetch_job(login._replace(folder=str(host.home)), ["12"], folders=["src"])
    assert not (folder / "src").exists()


@pytest.mark.parametrize("output", ["", "\n", "x:y\n"])
def test_a_store_that_is_nowhere(
    output: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Login, "run", lambda *_, **__: Answer(0, output, ""))
    with pytest.raises(JobgenError, match="login1 does not say which folder it is"):
        code.send_codes(Login("login1"), [(".", "/store", read_code(folder))])


def test_a_name_is_tested_once_for_all_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = list[str]()
    plan = planned(Job("qsub", "eap", program=("x.py",), set_values=("request.chdir=$SCRATCH",)))

    def reach(*_: object, then: str, **__: object) -> tuple[Login, list[str]]:
        tests.append(then)
        return Login("login1"), []

    monkeypatch.setattr(job, "reach", reach)
    job.prepare(Login("login1"), [plan] * 3)
    assert tests[0].count("is not set in a login shell") == 1
