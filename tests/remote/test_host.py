"""--host: jobs that are submitted and followed by ssh, with a real sshd and stand-ins for Slurm."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.remote.files import existing_outputs, left_by
from jobgen.submission.login import Login, for_any_shell, parse_host
from tests.helpers import jobgen
from tests.remote.conftest import NAME
from tests.remote.ssh_host import SshHost

pytestmark = pytest.mark.slow

PROFILE = ("--profile", "dgx-a100")
SQUEUE = """
for job in 12=RUNNING 13=PENDING; do
  printf '%s\\x1f' "${job%=*}" "${job#*=}" 0:00 None n /x; echo 2026-01-01T00:00:00
done
"""
SHELLS = ("bash", "sh", "tcsh", "fish", "zsh")


# ---- commands ----


@pytest.mark.parametrize(
    ("text", "name", "folder"),
    [
        ("login1", "login1", ""),
        ("me@login-1.site.org:a b", "me@login-1.site.org", "a b"),
        ("login1:/scratch/me:x", "login1", "/scratch/me:x"),
        ("[fe80::1%eth0]:x", "[fe80::1%eth0]", "x"),
    ],
)
def test_a_host(text: str, name: str, folder: str) -> None:
    assert parse_host(text)[:2] == (name, folder)


@pytest.mark.parametrize(
    "text", ["", "-oProxyCommand=x", "a b", "ssh://a", "a;b", "$(a)", "a\n", "a:b\nc"]
)
def test_a_text_that_is_no_host(text: str) -> None:
    with pytest.raises(JobgenError, match=r"is not HOST\[:FOLDER\]"):
        parse_host(text)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "text",
    ["", "a b", "it's", "a\\b\\\\", "!1 !!", "$x `y` $(z)", "\\'!\\!", 'a"b', "~ * ?", "é#%"],
)
def test_a_word_is_the_same_in_any_shell(shell: str, text: str) -> None:
    line = f"exec /usr/bin/printf %s {for_any_shell(text)}"
    try:
        output = subprocess.check_output([shell, "-c", line])
    except FileNotFoundError:
        pytest.skip(f"there is no {shell}")
    assert output.decode() == text


@pytest.mark.parametrize("shell", SHELLS[:-1])
def test_a_command_has_its_words_and_its_input_alone(
    shell: str, host: SshHost, login: Login
) -> None:
    if not any((Path(folder) / shell).exists() for folder in ("/bin", "/usr/bin")):
        pytest.skip(f"there is no {shell}")
    host.set_shell(shell, "echo noise; echo noise >&2; cat; printf half")
    (host.home / "a 'b' $c\n").mkdir()
    login = login._replace(folder="a 'b' $$c\n")
    words = ("bash", "-c", 'printf "%s|" "$@"; cat; basename "$PWD"; echo its own >&2; exit 7', "x")
    answer = login.run((*words, "a b!'\\", "$x\n", ""), b"data\n")
    assert answer == (7, "a b!'\\|$x\n||data\na 'b' $c\n\n", "its own\n")


def test_what_ssh_says_when_it_fails(host: SshHost, login: Login) -> None:
    host.stop()
    answer = login.run(("true",))
    assert answer.status is None
    assert "Connection refused" in answer.reason


def test_a_status_of_255_is_the_command_s(host: SshHost, login: Login) -> None:
    assert login.run(("bash", "-c", "exit 255")).status == 255


def test_what_a_person_types_to_run_a_command_there() -> None:
    assert Login("me@[::1]", "x").shown(("scancel", "12")) == "ssh me@::1 scancel 12"


# ---- --submit and --wait ----


def run(host: SshHost, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return jobgen(*words, cwd=folder, env=host.here)


def test_a_job_is_submitted_in_its_folder_there(host: SshHost, folder: Path) -> None:
    words = ("sbatch", *PROFILE, "--code", ".", "-J", "n")
    done = run(host, folder, *words, "--host", "login1", "--submit", "--", "train.py")
    assert (done.returncode, done.stdout) == (0, b"12\n"), done.stderr
    assert re.fullmatch(rb"jobgen: code: 1 file, 1 kB, in .*\n", done.stderr)
    job_folder = host.home / f"jobgen/{NAME}"
    assert (host.home / "taken/12/folder").read_text() == str(job_folder)
    script = (host.home / "taken/12/script").read_bytes()
    assert script == jobgen(*words, "--", "train.py", cwd=folder).stdout
    note, copy = sorted(
        (job_folder / ".jobgen/store/code").iterdir(), key=lambda each: -len(each.name)
    )
    assert json.loads(note.read_text())["folder"] == str(folder)
    assert (copy / "train.py").read_text() == "print('trained')\n"
    assert copy.stat().st_mode & 0o777 == 0o500
    assert copy.name.encode() in script


def test_a_long_name_of_the_folder_for_what_is_temporary(host: SshHost, folder: Path) -> None:
    host.here["TMPDIR"] = str(folder / ("x" * 100))  # no socket there has a name
    Path(host.here["TMPDIR"]).mkdir()
    done = run(host, folder, "sbatch", *PROFILE, "--host", "login1", "--submit", "--", "true")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"12\n", b"")


def test_what_is_there_is_not_sent_again(host: SshHost, folder: Path) -> None:
    words = ("sbatch", *PROFILE, "--code", ".", "--host", "login1:$HOME/x", "--submit")
    (folder / "large").write_bytes(os.urandom(100_000))
    run(host, folder, *words, "--", "train.py")
    (folder / "train.py").write_text("print('again')\n")
    done = run(host, folder, *words, "--", "train.py")
    assert done.returncode == 0, done.stderr
    copies = [copy for copy in (host.home / "x/.jobgen/store/code").iterdir() if copy.is_dir()]
    assert len({(copy / "large").stat().st_ino for copy in copies}) == 1
    assert len({(copy / "train.py").read_text() for copy in copies}) == 2


def test_a_copy_that_was_damaged_is_sent_again(host: SshHost, folder: Path) -> None:
    words = ("sbatch", *PROFILE, "--code", ".", "--host", "login1:x", "--submit", "--", "train.py")
    run(host, folder, *words)
    (copy,) = (each for each in (host.home / "x/.jobgen/store/code").iterdir() if each.is_dir())
    (folder / "new").touch()
    run(host, folder, *words)
    (folder / "new").unlink()
    copy.chmod(0o700)
    (copy / "train.py").unlink()
    (copy / "train.py").write_text("print('painted')\n")
    done = run(host, folder, *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"14\n", b"")
    assert (copy / "train.py").read_text() == "print('trained')\n"
    assert len(list(copy.parent.iterdir())) == 4  # two copies and their notes
    modes = [each.stat().st_mode for each in copy.parent.rglob("*/*") if each.is_file()]
    assert not any(mode & stat.S_IWUSR for mode in modes)


def test_another_run_was_faster(host: SshHost, folder: Path) -> None:
    """Jobs may run its copy, which stays."""
    shell = host.folder / "login_shell"
    shell.write_text(shell.read_text().replace("cd\n", 'cd\nexport PATH="$HOME/bin:$PATH"\n'))
    name = '"${part:1:32}"'
    host.add(
        "rsync",
        f'{shutil.which("rsync")} "$@" && cd x/.jobgen/store/code && for part in .*.*; do\n'
        f"cp -a $part {name} && chmod a-w {name} && stat -c %i {name} > ~/number; done",
    )
    words = ("sbatch", *PROFILE, "--code", ".", "--host", "login1:x", "--submit", "--", "train.py")
    done = run(host, folder, *words)
    assert (done.returncode, done.stdout) == (0, b"12\n"), done.stderr
    copy, note = sorted((host.home / "x/.jobgen/store/code").iterdir())
    assert copy.stat().st_ino == int((host.home / "number").read_text())
    assert note.suffix == ".json"


def test_a_store_behind_a_link_and_with_any_umask(host: SshHost, folder: Path) -> None:
    host.set_shell("bash", "umask 000")
    (host.home / "real").mkdir(mode=0o755)
    (host.home / "link").symlink_to("real")
    store = ("--set", "software.store=$HOME/link/store", "--code", ".", "--", "train.py")
    done = run(host, folder, "sbatch", *PROFILE, "--submit", "--host", "login1", *store)
    assert (done.returncode, done.stdout) == (0, b"12\n"), done.stderr
    assert (host.home / "real/store").stat().st_mode & 0o777 == 0o755


def test_output_record_and_status_come_back(host: SshHost, folder: Path) -> None:
    (host.home / "state").write_text("FAILED")
    (host.home / "code").write_text("7")
    logs = host.home / f"jobgen/{NAME}/jobgen-logs"
    for name in ("12", "12.1", "123", "13"):
        (logs / name).mkdir(parents=True)
        (logs / name / "log").touch()
        (logs / f"{name}.json").write_text("{}")
    words = ("sbatch", *PROFILE, "--code", ".", "--host", "login1", "--wait", "--", "train.py")
    done = run(host, folder, *words)
    assert (done.returncode, done.stdout) == (7, b"12\n")
    assert b"FAILED (exit code 7)" in done.stderr
    assert (folder / "slurm-12.out").read_text() == "step 1\n"
    here = sorted(each.name for each in (folder / "jobgen-logs/hosts/login1").iterdir())
    assert here == ["12", "12.1", "12.1.json", "12.json", "scripts"]


ARRAY = """\
for each in 1:COMPLETED:0 2:FAILED:7 3:CANCELLED:0; do
  IFS=: read -r index state code <<< "$each"
  printf '%s\n' "JobId=1$index ArrayJobId=12 ArrayTaskId=$index JobName=x" \
    "   JobState=$state Reason=None Dependency=(null)" \
    "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=$code:0" \
    "   RunTime=00:01:03 TimeLimit=1-00:00:00 TimeMin=N/A" \
    "   StdOut=$HOME/jobgen/x/x-12_$index.out" ""
done
"""


def test_the_outputs_and_records_of_an_array_come_back(host: SshHost, folder: Path) -> None:
    """Those of jobs that ran; the message names that of the job that failed."""
    host.add("scontrol", ARRAY)
    job_folder = host.home / "jobgen/x"
    (job_folder / "jobgen-logs/12_2").mkdir(parents=True)
    for index in (1, 2):
        (job_folder / f"x-12_{index}.out").write_text(f"of {index}\n")
        (job_folder / f"jobgen-logs/12_{index}.json").write_text("{}")
    words = ("sbatch", *PROFILE, "--host", "login1:jobgen/x", "--wait", "--array", "1-3")
    (job_folder / "train.py").touch()
    done = run(host, folder, *words, "--", "train.py")
    assert done.returncode == 7
    lines = done.stderr.decode().splitlines()
    assert any(line.endswith("x-12_2.out") for line in lines)
    assert "jobgen: job 12: its 2 output files came here, such as x-12_2.out" in lines
    assert [(folder / f"x-12_{index}.out").exists() for index in (1, 2, 3)] == [True, True, False]
    here = {each.name for each in (folder / "jobgen-logs/hosts/login1").iterdir()}
    assert {"12_1.json", "12_2.json", "12_2"} <= here


def test_the_outputs_of_an_array_of_pbs(host: SshHost, login: Login) -> None:
    for name in ("a *.o12.1", "a *.o12.10", "a b.o12.3", "a *.o12.x", "other"):
        (host.home / name).touch()
    found = existing_outputs(login, [f"{host.home}/a *.o12.^array_index^", "nowhere", "other"])
    assert found == [f"{host.home}/a *.o12.1", f"{host.home}/a *.o12.10", "other"]
    common = ["chain-12", "scripts"]
    assert left_by("12[].server", records_only=True) == ["12.*json", "12_*json", *common]
    assert left_by("12_3") == ["12", "12.*", "12_*", *common]


def test_the_cause_of_a_job_there(host: SshHost, folder: Path) -> None:
    job_folder = host.home / "elsewhere"
    (host.home / "taken/12").mkdir(parents=True)
    (host.home / "taken/12/folder").write_text(str(job_folder))
    (host.home / "state").write_text("FAILED")
    (job_folder / "jobgen-logs/12").mkdir(parents=True)
    (job_folder / "slurm-12.out").write_text("torch.cuda.OutOfMemoryError: CUDA out of memory.\n")
    done = run(host, folder, "why", "12", "--host", "login1")
    assert done.returncode == 0, done.stderr
    assert b"memory" in done.stdout
    assert (folder / "slurm-12.out").exists()
    assert not (host.home / "jobgen").exists()  # asking makes no folder
    done = run(host, folder, "why", "13", "--host", "login1")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"13: no scheduler knows this job: slurm_load_jobs error: Invalid job" in done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("sbatch", *PROFILE, "--host", "login1"), "--host: the script is only written; add"),
        (("sbatch", *PROFILE, "--submit", "--host", "-x"), "--host: '-x' is not HOST[:FOLDER]"),
        (("why", "x.log", "--host", "login1"), "--host: 'x.log' is no job's number"),
    ],
)
def test_wrong_words(words: tuple[str, ...], text: str) -> None:
    done = jobgen(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert text in done.stderr.decode()


@pytest.mark.parametrize(
    ("name", "words", "text"),
    [
        ("login1", ("train.py",), "there is no train.py on login1; --code . sends this folder's"),
        ("login1:/proc/x", ("-m", "x"), "login1: mkdir: cannot create directory"),
        ("login1:$NONE/x", ("-m", "x"), "login1: `$NONE` is not set in a login shell there"),
        ("nowhere", ("-m", "x"), "--host: nowhere does not answer: ssh: Could not resolve"),
    ],
)
def test_what_the_node_lacks(
    name: str, words: tuple[str, ...], text: str, host: SshHost, folder: Path
) -> None:
    done = run(host, folder, "sbatch", *PROFILE, "--submit", "--host", name, "--", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert text in done.stderr.decode()
    assert not (host.home / "taken").exists()


def test_a_node_without_the_scheduler(host: SshHost, folder: Path) -> None:
    done = run(host, folder, "qsub", "--profile", "eap", "--submit", "--host", "login1")
    text = b"--host: login1: there is no qsub, in a login shell of bash; name a login node"
    assert text in done.stderr


def test_a_refusal_is_shown(host: SshHost, folder: Path) -> None:
    (host.home / "refuses").touch()
    done = run(host, folder, "sbatch", *PROFILE, "--submit", "--host", "login1")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"jobgen: sbatch: error: no such partition\n"


def test_a_store_that_others_can_write(host: SshHost, folder: Path) -> None:
    store = host.home / "store/code"
    store.mkdir(parents=True)
    store.chmod(0o777)
    words = ("--set", "software.store=$HOME/store", "--code", ".", "--", "train.py")
    done = run(host, folder, "sbatch", *PROFILE, "--submit", "--host", "login1", *words)
    assert (done.returncode, list(store.iterdir())) == (2, [])
    assert b"software.store: login1: another user can write in" in done.stderr


def test_the_store_of_a_job_in_another_folder(host: SshHost, folder: Path) -> None:
    """It is where the job looks for it, from its working folder."""
    (host.home / "x/su b").mkdir(parents=True)
    words = ("--set", "request.chdir=su b", "--code", ".")
    where = ("--submit", "--host", "login1:x")
    done = run(host, folder, "sbatch", *PROFILE, *where, *words, "--", "train.py")
    assert done.returncode == 0, done.stderr
    assert len(list((host.home / "x/su b/.jobgen/store/code").glob("*/train.py"))) == 1
    assert not (host.home / "x/.jobgen/store").exists()
    (host.home / "x/su b").rename(host.home / "x/other")
    done = run(host, folder, "sbatch", *PROFILE, *where, *words, "--", "train.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"su b: No such file or directory" in done.stderr


def test_a_store_whose_name_is_not_set_there(host: SshHost, folder: Path) -> None:
    host.here["NONE"] = str(folder)  # it is set here
    store = ("--set", "software.store=$NONE/store", "--code", ".", "--", "train.py")
    done = run(host, folder, "sbatch", *PROFILE, "--submit", "--host", "login1", *store)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"software.store: login1: `$NONE` is not set in a login shell there" in done.stderr
    assert not (folder / "store").exists()
    assert not Path("/store").exists()
    assert not (host.home / "taken").exists()


def test_noise_of_a_shell_that_rsync_cannot_bear(host: SshHost, folder: Path) -> None:
    host.set_shell("bash")
    login = host.folder / "login_shell"
    login.write_text(login.read_text().replace("cd\n", "cd\necho noise\n"))
    words = ("sbatch", *PROFILE, "--submit", "--host", "login1")
    assert run(host, folder, *words).returncode == 0
    done = run(host, folder, *words, "--code", ".", "--", "train.py")
    assert done.returncode == 2
    assert b"`ssh login1 true` must print nothing" in done.stderr


def test_a_job_of_pbs_whose_status_only_its_record_has(host: SshHost, folder: Path) -> None:
    host.add("qsub", "cat > ~/script; echo $# > ~/words; echo 12.server")
    host.add("qstat", "echo 'qstat: Unknown Job Id 12.server' >&2; exit 153")
    logs = host.home / "x/logs $y"
    logs.mkdir(parents=True)
    (logs / "12.server.json").write_text('{"job": "12.server", "script": "0", "status": 7}')
    words = ("--set", "request.log_folder=logs $$y", "--host", "login1:x", "--wait", "--", "true")
    done = run(host, folder, "qsub", "--profile", "eap", *words)
    assert (done.returncode, done.stdout) == (7, b"12.server\n")
    assert b"job 12.server: ENDED (exit status 7)" in done.stderr
    assert (host.home / "words").read_text() == "0\n"  # no qsub that waits: it would be cut off


def test_jobs_in_other_folders_there_are_listed(host: SshHost, folder: Path) -> None:
    words = ("--host", "login1:other $$x", "--submit", "--", "true")
    assert run(host, folder, "sbatch", *PROFILE, *words).stdout == b"12\n"
    logs = host.home / "other $x/jobgen-logs"
    logs.mkdir()
    host.add("squeue", SQUEUE)
    record = logs / "12.json"
    for end, state in (({}, b"running"), ({"end": 61, "status": 0}, b"ok")):
        record.write_text(json.dumps({"job": "12", "script": "0", "begin": 1, "nodes": "n", **end}))
        done = run(host, folder, "runs", "--host", "login1")
        assert (done.returncode, done.stderr) == (0, b"")
        assert state in done.stdout.splitlines()[1]


def test_the_jobs_there_are_listed(host: SshHost, folder: Path) -> None:
    words = ("sbatch", *PROFILE, "--host", "login1", "--submit", "--", "true")
    done = run(host, folder, "runs", "--host", "login1")  # there is no folder yet
    none = b"jobgen: no record of a job is in jobgen-logs of login1\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", none)
    assert run(host, folder, *words).stdout == b"12\n"
    done = run(host, folder, "runs", "--host", "login1")  # the job has not begun
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines()[1].startswith(b"login1:12 ")
    record = json.loads((folder / "jobgen-logs/hosts/login1/12.json").read_text())
    logs = host.home / f"jobgen/{NAME}/jobgen-logs"
    logs.mkdir()
    host.add("squeue", SQUEUE)
    for job in ("12", "13"):
        (logs / f"{job}.json").write_text(
            json.dumps({**record, "job": job, "begin": 1, "nodes": "n"})
        )
    done = run(host, folder, "runs", "--host", "login1")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["login1:12", "login1:13"]
    assert "running" in lines[0]
    assert "queued" in lines[1]
    done = run(host, folder, "runs", "list", "x", "--host", "login1")
    assert done.returncode == 2
