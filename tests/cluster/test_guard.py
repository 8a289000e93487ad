"""The guard on a real Slurm and a real OpenPBS: no submission is lost, whatever it does."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.cluster.harness import Cluster, until
from tests.cluster.site import USER, OpenPbs, Site
from tests.test_docs import ROOT, blocks_of
from tests.test_guard import BAD, COMMAND, GOOD, WARNED

NOBODY = 65534
# The tests' Python may be below /root, which other users cannot enter: on this machine alone.
OPEN_ROOT = """
[ "$(stat -c %a /root)" != 755 ] || exit 0
mkdir -p /run/root && mount -t tmpfs -o mode=755 root /run/root
mkdir /run/root/upper /run/root/work
mount -t overlay -o lowerdir=/root,upperdir=/run/root/upper,workdir=/run/root/work root /root
chmod 755 /root
"""
ENDS = "#!/bin/bash\n#SBATCH --output=out\necho one\necho two\n"


def as_user(user: int, *words: str) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env", *words]


class Guarded:
    """A folder with the settings, the log and the service, which runs as nobody."""

    def __init__(self, cluster: Cluster, folder: Path, time_limit: int = 60_000) -> None:
        self.cluster, self.folder, self.own = cluster, folder, folder / "own"
        self.own.mkdir(exist_ok=True)
        shutil.chown(self.own, NOBODY, NOBODY)
        cluster.run(["sh", "-ec", OPEN_ROOT])
        self.file, self.log = folder / "guard.yaml", self.own / "log"
        self.settings(time_limit)
        self.service: subprocess.Popen[bytes] | None = None

    def settings(self, time_limit: int, more: str = "") -> None:
        text = f"refuse: [JG101]\nlog: {self.log}\nsocket: {self.own}/s\ntime_limit: {time_limit}\n"
        self.file.write_text(text + more)

    def start(self) -> None:
        (self.own / "s").unlink(missing_ok=True)
        words = ("setpriv", "--pdeathsig", "KILL", *COMMAND, "serve", str(self.file))
        argv = self.cluster.command(as_user(NOBODY, *words))
        self.service = subprocess.Popen(argv, env=self.cluster.environment())
        until(lambda: self.log.exists() and (self.own / "s").exists(), 60)

    def stop(self) -> None:
        if self.service:
            self.service.kill()
            self.service.wait()
            until(lambda: not connects(self.own / "s"), 60)
            self.service = None

    def text(self, scheduler: str) -> str:
        argv = [*COMMAND, scheduler, str(self.file)]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def entries(self, verdict: str, count: int = 1) -> list[dict[str, Any]]:
        """The entries of the log with a verdict, when there are so many."""

        def found() -> list[dict[str, Any]]:
            return [each for each in self.logged() if each["verdict"] == verdict]

        until(lambda: len(found()) >= count, 60)
        return found()

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as link:
        return link.connect_ex(str(path)) == 0


class SlurmGuard(Guarded):
    """With the filter, and a slurm.conf of its own that names it."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        super().__init__(cluster, folder)
        self.etc = folder / "etc"
        self.etc.mkdir()
        for file in (cluster.folder / "etc").glob("*.conf"):
            shutil.copy(file, self.etc)
        self.install()
        with (self.etc / "slurm.conf").open("a") as conf:
            conf.write("CLIFilterPlugins=cli_filter/lua\n")

    def install(self) -> None:
        (self.etc / "cli_filter.lua").write_text(self.text("slurm"))

    def run(self, *words: str, user: int = 0, **more: Any) -> subprocess.CompletedProcess[str]:
        env = {"SLURM_CONF": str(self.etc / "slurm.conf")}
        argv = as_user(user, *words) if user else words
        return self.cluster.run(argv, cwd=self.folder, env=env, **more)

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        return self.run("bash", "-c", line)

    def jobs(self) -> set[str]:
        return set(self.run("squeue", "-h", "-t", "all", "-o", "%A").stdout.split())


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="guard") as made:
        Path(made).chmod(0o777)
        for name, text in (("bad", BAD), ("warned", WARNED), ("good", GOOD)):
            (Path(made) / f"{name}.sh").write_text(text)
        yield Path(made)


@pytest.fixture
def slurm(cluster: Cluster, folder: Path) -> Iterator[SlurmGuard]:
    guard = SlurmGuard(cluster, folder)
    guard.start()
    yield guard
    guard.stop()
    cluster.run(["scancel", "--user=root"])  # what runs would hold nodes that others need
    cluster.run(["scancel", "--user=nobody"])


def test_slurm_accepts_warns_and_refuses(slurm: SlurmGuard) -> None:
    done = slurm.run("sbatch", "good.sh")
    assert (done.returncode, done.stderr) == (0, "")
    done = slurm.run("sbatch", "--parsable", "warned.sh")
    assert done.returncode == 0
    assert done.stdout.strip().isdigit()
    assert re.search(r"warned\.sh:3:1: .* \[JG304\]", done.stderr)
    before = slurm.jobs()
    done = slurm.run("sbatch", "bad.sh")
    assert done.returncode == 1
    assert re.search(
        r"jobgen: the job is not submitted:\n.*bad\.sh:3:1: torchrun .*\[JG101\]", done.stderr
    )
    assert slurm.jobs() == before
    assert slurm.entries("refused")[0]["user"] == "root"
    assert slurm.run("sbatch", "-N", "1", "bad.sh").returncode == 0  # one node: nothing is wrong


@pytest.mark.parametrize(
    "line",
    [
        "sbatch < bad.sh",
        "sbatch -o guard.yaml < bad.sh",
        "sbatch --hold --output guard.yaml -N2 < bad.sh",
        "cat bad.sh | sbatch /dev/stdin",
        "sbatch /dev/fd/0 < bad.sh",
        "cat bad.sh | sbatch",
        "(sleep 0.5; cat bad.sh) | sbatch -N 2 --hold",
        "sbatch << END\n" + BAD + "END",
        "sbatch -N 2 --wrap 'torchrun --nnodes=2 --rdzv-endpoint=$HOSTNAME:29500 train.py'",
        "sbatch $PWD/bad.sh < good.sh",
    ],
)
def test_slurm_refuses_a_script_wherever_it_is(slurm: SlurmGuard, line: str) -> None:
    done = slurm.shell(line)
    assert done.returncode == 1, done.stderr
    assert "JG101" in done.stderr


def test_slurm_gets_a_script_from_a_pipe_as_a_whole(slurm: SlurmGuard) -> None:
    for line in (
        f"sbatch --parsable << 'END'\n{ENDS}END",
        f"printf %s '{ENDS}' | sbatch --parsable",
    ):
        job = slurm.shell(line)
        assert slurm.cluster.wait(int(job.stdout), 60).output == "one\ntwo\n", job.stderr
    slurm.entries("accepted", 2)


def test_slurm_logs_a_script_that_is_not_read(slurm: SlurmGuard) -> None:
    """A pipe with a name is empty when sbatch has read it."""
    done = slurm.shell("sbatch --hold <(cat bad.sh)")
    assert done.returncode == 0, done.stderr
    assert len(slurm.entries("unread")) == len(slurm.logged())


def test_slurm_asks_once_and_only_of_scripts(slurm: SlurmGuard) -> None:
    """A loop over a list on stdin, as shell scripts have it, gives the script by name."""
    done = slurm.shell("seq 2 > list; while read x; do sbatch good.sh $x; done < list")
    assert done.stdout.count("Submitted") == 2, done.stderr
    assert slurm.run("srun", "-N1", "true").returncode == 0
    assert slurm.shell("sbatch --hold good.sh < list").returncode == 0
    slurm.entries("accepted", 3)
    assert len(slurm.logged()) == 3


def test_slurm_submits_when_the_guard_is_broken(slurm: SlurmGuard) -> None:
    text = (slurm.etc / "cli_filter.lua").read_text()
    slurm.stop()
    (slurm.folder / "logger").write_text(f'#!/bin/sh\necho "$@" >> {slurm.folder}/syslog\n')
    (slurm.folder / "logger").chmod(0o755)
    assert slurm.shell("PATH=$PWD:$PATH sbatch bad.sh").returncode == 0
    line = (
        "a script of root was not linted: ConnectionRefusedError: [Errno 111] Connection refused\n"
    )
    syslog = slurm.folder / "syslog"
    until(lambda: syslog.exists() and syslog.read_text().endswith(line), 60)
    assert slurm.shell("sbatch < bad.sh").returncode == 0
    for old, new in ((sys.executable, "/none/python"), ("timeout ", "/none/timeout ")):
        (slurm.etc / "cli_filter.lua").write_text(text.replace(old, new))
        done = slurm.run("sbatch", "bad.sh")
        assert done.returncode == 0, done.stderr
    broken = text.replace("local function words()", "local function words() error('x')")
    (slurm.etc / "cli_filter.lua").write_text(broken)
    assert slurm.run("sbatch", "bad.sh").returncode == 0


def test_slurm_submits_when_the_guard_is_slow(slurm: SlurmGuard) -> None:
    """A service that takes connections and never answers."""
    slurm.stop()
    slurm.settings(200)
    slurm.install()
    (slurm.own / "s").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(slurm.own / "s"))
        listener.listen(10)
        for line in ("sbatch bad.sh", "sbatch < bad.sh", "sbatch bad.sh < <(sleep 5)"):
            start = time.monotonic()
            assert slurm.shell(line).returncode == 0
            assert time.monotonic() - start < 25
        # A pipe that is closed late: sbatch itself waits for it, the guard no longer.
        assert slurm.shell("(cat good.sh; sleep 2) | sbatch").returncode == 0


def test_slurm_takes_fifty_submissions_at_once(slurm: SlurmGuard) -> None:
    names = ["good.sh", "bad.sh"] * 25
    with ThreadPoolExecutor(50) as pool:
        made = list(pool.map(lambda name: slurm.run("sbatch", "--hold", name), names))
    codes = [done.returncode for done in made]
    assert codes == [0, 1] * 25
    assert len({done.stdout for done in made[::2]}) == 25
    assert len(slurm.entries("refused", 25)) == 25


def test_slurm_calls_a_filter_that_the_site_has(slurm: SlurmGuard) -> None:
    file = slurm.etc / "cli_filter.lua"
    mine = "function slurm_cli_pre_submit(options)\n"
    mine += "return options['job-name'] == 'no' and slurm.ERROR or slurm.SUCCESS end\n"
    mine += "function slurm_cli_setup_defaults() return 0 end\n"
    mine += "function slurm_cli_post_submit() return 0 end\n"
    file.write_text(mine + file.read_text())
    assert slurm.run("sbatch", "good.sh").returncode == 0
    assert slurm.run("sbatch", "bad.sh").returncode == 1
    assert slurm.run("sbatch", "-J", "no", "good.sh").returncode == 1


def test_slurm_runs_nothing_of_hostile_words(slurm: SlurmGuard) -> None:
    name = "a'$(touch pwned)`touch pwned`;touch pwned #\".sh"
    shutil.copy(slurm.folder / "bad.sh", slurm.folder / name)
    words = ("--comment", "$(touch pwned)", "-J", "'; touch pwned; '", "--export=A=]==]")
    assert slurm.run("sbatch", *words, name, "';touch pwned'", user=NOBODY).returncode == 1
    assert slurm.run("sbatch", *words, "--wrap", "$(touch pwned)'\n").returncode == 0
    assert not list(slurm.folder.glob("pwned"))
    assert slurm.entries("refused")[0]["user"] == "nobody"


def test_slurm_shows_what_the_page_shows(slurm: SlurmGuard) -> None:
    blocks = {block.words: block.content for block in blocks_of(ROOT / "docs/guard.md")}
    slurm.stop()
    slurm.settings(60_000, blocks["guard.yaml"].partition("\n")[2])
    slurm.start()
    (slurm.folder / "job.sh").write_text(blocks["job.sh"])
    shown = blocks["needs Slurm; tests/cluster/test_guard.py runs it"]
    assert shown == "$ sbatch job.sh\n" + slurm.run("sbatch", "job.sh").stderr
    before = slurm.jobs()
    assert "not submitted" in slurm.run("sbatch", "--test-only", "job.sh").stderr
    assert "[JG304]" in slurm.run("sbatch", "--test-only", "warned.sh").stderr
    assert slurm.jobs() == before


# ---- OpenPBS ----

PBS_BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=1 -l walltime=1:00:00
torchrun --nnodes=2 --rdzv-endpoint=$HOSTNAME:29500 train.py
"""


class PbsGuard(Guarded):
    """With the hook, which PBS's manager imports."""

    def __init__(self, site: OpenPbs, folder: Path) -> None:
        super().__init__(site.cluster, folder)
        self.site = site
        for name, text in (("bad", PBS_BAD), ("good", PBS_BAD.replace("=2", "=1"))):
            (folder / f"{name}.sh").write_text(text)
        self.qmgr("create hook jobgen_guard event=queuejob")
        self.install()

    def qmgr(self, line: str) -> None:
        done = self.cluster.run([str(self.site.folder / "bin/qmgr"), "-c", line])
        assert done.returncode == 0, done.stderr

    def install(self) -> None:
        (self.folder / "hook.py").write_text(self.text("pbs"))
        name = f"{self.folder}/hook.py"
        self.qmgr(f"import hook jobgen_guard application/x-python default {name}")

    def qsub(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        # -f: else a server of somebody else who runs these tests may get it, by a socket in /tmp.
        return self.site.tool("qsub", "-fh", *words, cwd=more.pop("cwd", self.folder), **more)

    def server_log(self) -> str:
        return self.cluster.run(["sh", "-c", "cat /mnt/server_logs/*"]).stdout


@pytest.fixture
def pbs_guard(site: Site, folder: Path) -> Iterator[PbsGuard]:
    if not isinstance(site, OpenPbs):
        pytest.skip("the stand-in has no hooks")
    guard = PbsGuard(site, folder)
    guard.start()
    try:
        yield guard
    finally:
        guard.qmgr("delete hook jobgen_guard")
        guard.stop()
        for line in site.tool("qselect").stdout.split():
            site.delete(line)


def test_pbs_accepts_and_refuses(pbs_guard: PbsGuard) -> None:
    done = pbs_guard.qsub("good.sh")
    assert (done.returncode, done.stderr) == (0, "")
    done = pbs_guard.qsub("bad.sh")
    assert done.returncode != 0
    assert re.search(
        r"qsub: jobgen: the job is not submitted:\nbad\.sh:3:1: .*\[JG101\]", done.stderr
    )
    entry = pbs_guard.entries("refused")[0]
    assert entry["user"] == "labuser"
    assert pbs_guard.qsub("-l", "select=1:ncpus=1", "-N", "one", "bad.sh").returncode == 0
    assert pbs_guard.qsub("-v", "A='x y',B=<&>", "bad.sh").returncode != 0


def test_pbs_submits_what_the_hook_cannot_see(pbs_guard: PbsGuard) -> None:
    """A script from stdin comes after the hook; a command has none."""
    assert pbs_guard.qsub(input=PBS_BAD).returncode == 0
    assert pbs_guard.qsub("--", "/bin/true", "bad.sh").returncode == 0
    qsub = str(pbs_guard.site.folder / "bin/qsub")
    pbs_guard.cluster.run([qsub, "-f", "bad.sh"], cwd=pbs_guard.folder)  # PBS may refuse it
    assert "a script of root was not linted" in pbs_guard.server_log()
    assert "a script of labuser was not linted" in pbs_guard.server_log()
    assert pbs_guard.log.read_text() == ""


def test_pbs_submits_when_the_guard_is_broken_or_slow(pbs_guard: PbsGuard) -> None:
    pbs_guard.stop()
    assert pbs_guard.qsub("bad.sh").returncode == 0
    text = pbs_guard.text("pbs")
    for old, new in (("setpriv", "/none"), ("dd", "/none"), ("getopt.getopt", "x")):
        (pbs_guard.folder / "hook.py").write_text(text.replace(old, new))
        name = f"{pbs_guard.folder}/hook.py"
        pbs_guard.qmgr(f"import hook jobgen_guard application/x-python default {name}")
        assert pbs_guard.qsub("bad.sh").returncode == 0
    assert "not linted: NameError" in pbs_guard.server_log()
    pbs_guard.settings(200)
    pbs_guard.install()
    (pbs_guard.own / "s").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(pbs_guard.own / "s"))
        (pbs_guard.own / "s").chmod(0o666)
        listener.listen(10)
        assert pbs_guard.qsub("bad.sh").returncode == 0


def test_pbs_takes_fifty_submissions_at_once(pbs_guard: PbsGuard) -> None:
    with ThreadPoolExecutor(50) as pool:
        made = list(pool.map(pbs_guard.qsub, ["good.sh", "bad.sh"] * 25))
    assert [bool(done.returncode) for done in made] == [False, True] * 25
    assert len(pbs_guard.entries("refused", 25)) == 25


def test_pbs_reads_a_script_with_the_rights_of_its_user_alone(pbs_guard: PbsGuard) -> None:
    """Also where the words that PBS passes on name a file of another user."""
    secret, folder = pbs_guard.folder / "secret", pbs_guard.folder
    secret.mkdir(mode=0o700)
    (secret / "bad.sh").write_text(PBS_BAD)
    os.mkfifo(folder / "pipe.sh")
    (folder / "pipe.sh").chmod(0o666)
    assert pbs_guard.qsub("-v", f"PBS_O_WORKDIR={secret}", "good.sh").returncode == 0
    hostile = "a'$(touch pwned);#.sh"
    shutil.copy(folder / "bad.sh", folder / hostile)
    assert pbs_guard.qsub("-N", "x", "-v", "A=$(touch pwned)", hostile).returncode != 0
    assert not list(folder.rglob("pwned"))
    hook = (folder / "hook.py").read_text()
    path = f"{secret}/bad.sh"
    forged = hook.replace("folder, rest[0]", f"'/', '{path}'")
    assert forged != hook
    (folder / "hook.py").write_text(forged)
    pbs_guard.qmgr(f"import hook jobgen_guard application/x-python default {folder}/hook.py")
    refused = len(pbs_guard.entries("refused"))
    assert pbs_guard.qsub("bad.sh").returncode == 0
    assert len(pbs_guard.entries("refused")) == refused
    assert USER != NOBODY
