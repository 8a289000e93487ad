"""The guard's service and its client, with real processes; tests/cluster has the schedulers."""

from __future__ import annotations

import grp
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from jobgen import bounds
from jobgen.guard import client, texts
from jobgen.guard.judge import Submission, judge
from jobgen.guard.report import report_on
from jobgen.guard.settings import Choice, Guard, read_guard
from jobgen.lint.rules import checks, rules
from jobgen.lint.settings import Settings
from jobgen.quoting import quote

pytestmark = pytest.mark.slow

BAD = """\
#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=4 --time=3:00:00
torchrun --nnodes=2 --nproc-per-node=4 --rdzv-endpoint=$HOSTNAME:29500 train.py
"""
WARNED = "#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py | tee log\n"
GOOD = "#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py\n"
COMMAND = (sys.executable, "-m", "jobgen", "guard")


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


class Service:
    """A service in a folder, with a limit that no busy machine exceeds unless a test sets one."""

    def __init__(
        self, folder: Path, settings: str = "", time_limit: int = 60_000, refuse: str = "JG101"
    ) -> None:
        self.log, self.socket, self.file = (folder / name for name in ("log", "s", "guard.yaml"))
        text = f"refuse: [{refuse}]\nlog: {self.log}\nsocket: {self.socket}\n"
        self.file.write_text(f"{text}time_limit: {time_limit}\n{settings}")
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen([*COMMAND, "serve", str(self.file)])
        until(lambda: self.log.exists() and self.socket.exists())

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, source: str, name: str, *words: str, **more: Any) -> str:
        argv = [sys.executable, "-I", "-S", client.__file__, str(self.socket), source]
        done = subprocess.run([*argv, name, *words], capture_output=True, **more, check=False)
        return str(done.stdout, "utf-8")

    def entries(self, verdict: str, count: int = 1) -> list[dict[str, Any]]:
        """The entries of the log with a verdict, when there are so many."""

        def found() -> list[dict[str, Any]]:
            return [each for each in self.logged() if each["verdict"] == verdict]

        until(lambda: len(found()) >= count)
        return found()

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    running = Service(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "job.sh").write_text(BAD)
    return tmp_path / "job.sh"


def test_each_verdict_is_answered_and_logged(service: Service, script: Path) -> None:
    answer = service.ask("file", str(script))
    assert answer.startswith("refused\njobgen: the job is not submitted:\njob.sh:3:1: torchrun for")
    assert answer.endswith("# jobgen: ignore=JG101 REASON\n")
    [entry] = service.entries("refused")
    assert (entry["codes"], entry["gpu_hours"]) == (["JG101"], 24)
    script.write_text(WARNED)
    answer = service.ask("file", str(script))
    assert re.fullmatch(r"warned\njobgen warns, .*:\njob\.sh:3:1: .* \[JG304\]\n", answer)
    script.write_text(GOOD)
    assert service.ask("file", str(script)) == "accepted\n"
    assert [each["verdict"] for each in service.logged()].count("accepted") >= 1


def test_words_of_the_command_line_replace_directives(service: Service, script: Path) -> None:
    words = ("-N", "1", "job.sh", "-N", "2")
    assert "JG101" not in service.ask("file", str(script), *words)
    assert "JG101" in service.ask("file", str(script), "--time=1:00:00", "job.sh", "-N", "1")
    assert service.entries("refused")[0]["gpu_hours"] == 8
    service.ask("file", str(script), "--gpus=2", "-t", "30", "job.sh")
    assert service.entries("refused", 2)[1]["gpu_hours"] == 1


def test_only_root_names_another_user() -> None:
    """As the hook of PBS does; other users are those whom the kernel names."""
    head = b"someone\0pbs\0job.sh"
    request = b"%d %d\n%b%b" % (len(head), len(GOOD), head, GOOD.encode())
    users = [os.getuid()] if os.getuid() else [0, 1]
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # pytest's folders are closed to others
        service = Service(Path(folder))
        try:
            for user in users:
                words = ("setpriv", f"--reuid={user}") if user != os.getuid() else ()
                argv = [*words, sys.executable, "-c", SENDS, str(service.socket)]
                done = subprocess.run(argv, input=request, capture_output=True, check=True)
                assert done.stdout == b"accepted\n"
            named = [pwd.getpwuid(user).pw_name if user else "someone" for user in users]
            assert [each["user"] for each in service.entries("accepted", len(named))] == named
        finally:
            service.stop()


SENDS = """
import socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
link.sendall(sys.stdin.buffer.read())
link.shutdown(socket.SHUT_WR)
sys.stdout.write(link.recv(100).decode())
"""


def test_a_comment_in_the_script_is_the_way_out(service: Service, script: Path) -> None:
    script.write_text(BAD.replace("torchrun", "# jobgen: ignore=JG101 a test\ntorchrun", 1))
    assert "refused" not in service.ask("file", str(script))


def test_a_comment_below_the_first_line_is_the_way_out_for_the_command_line(
    tmp_path: Path, script: Path
) -> None:
    service = Service(tmp_path, "warn: [JG1]\nprofile: sites/perlmutter", refuse="JG703")
    comment = "#!/bin/bash\n# jobgen: ignore=JG703"
    words = ("-N", "999999", "job.sh")
    try:
        script.write_text(GOOD)
        answer = service.ask("file", str(script), *words)
        assert answer.startswith("refused\n")
        assert answer.endswith("write below the first line: # jobgen: ignore=JG703 REASON\n")
        script.write_text(GOOD.replace("#!/bin/bash", comment))
        answer = service.ask("file", str(script), *words)
        assert answer.startswith("refused\n")
        assert "the ignore comment is not valid: it has no reason" in answer
        script.write_text(GOOD.replace("#!/bin/bash", f"{comment} a test"))
        assert service.ask("file", str(script), *words) == "accepted\n"
    finally:
        service.stop()


def test_the_options_of_sbatch_make_no_script_one_for_the_cluster() -> None:
    """As `jobgen lint` says nothing of a script without directives."""
    lint = Settings(("JG702",), profile="sites/perlmutter")
    choice = Choice(Guard(), frozenset({"JG702"}), lint)
    for text, word in (("#!/bin/bash\ntrue\n", "accepted"), (GOOD, "refused")):
        submission = Submission("", "slurm", "job.sh", ("--test-only", "job.sh"), text.encode())
        assert judge(submission, choice).word == word


def test_what_is_not_to_be_submitted_is_a_rehearsal(service: Service, script: Path) -> None:
    assert service.ask("file", str(script), "--test-only", "job.sh").startswith("refused\n")
    assert service.ask("file", str(script), "job.sh", "--test-only").startswith("refused\n")
    assert len(service.entries("rehearsed")) == len(service.entries("refused")) == 1


def test_a_second_service_does_not_take_the_socket(service: Service, script: Path) -> None:
    argv = [*COMMAND, "serve", str(service.file)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"socket: {service.socket}: a guard listens there already; end it first" in done.stderr
    assert service.ask("file", str(script)).startswith("refused\n")
    assert len(service.entries("refused")) == len(service.logged())


def test_unknown_users_and_groups_are_reported(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text("exempt_users: [none-such]\nexempt_groups: [nor-such]\n")
    argv = [*COMMAND, "slurm", str(tmp_path / "g.yaml")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "exempt_users: this machine has no `none-such`" in done.stderr
    assert "exempt_groups: this machine has no `nor-such`" in done.stderr


def test_a_script_in_a_pipe_stays_there(service: Service) -> None:
    reader, writer = os.pipe()
    os.write(writer, BAD.encode())
    os.close(writer)
    assert service.ask("stdin", "-", stdin=reader).startswith("refused\n")
    with os.fdopen(reader) as rest:
        assert rest.read() == BAD


def test_an_empty_pipe_is_no_script(service: Service) -> None:
    assert service.ask("stdin", "-", input=b"") == ""
    assert service.ask("stdin", "-", stdin=subprocess.DEVNULL) == ""


def test_a_script_in_a_file_on_stdin_stays_there(service: Service, script: Path) -> None:
    with script.open("rb") as stream:
        assert service.ask("stdin", "-", stdin=stream).startswith("refused\n")
        assert stream.read() == BAD.encode()


def test_what_is_no_regular_file_is_not_read(service: Service, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        assert service.ask("file", str(name)) == "unread\n"
    assert service.ask("file", str(tmp_path / "none")) == ""
    assert len(service.entries("unread", 3)) == 3


HOSTILE = [
    b"#!/bin/bash\n$(touch pwned); `touch pwned`\n#SBATCH --output=$(touch pwned)\n",
    b"#!/bin/bash\n" + b"a|" * 60_000,
    b"#SBATCH --nodes=\xff\xfe\x00\x01\n",
    b"\0" * 100,
    b"#!/bin/bash\nif\n((\n" + b"(" * 30_000,
    b"x" * (2 * bounds.LINT_BYTES),
    b"",
]


def test_a_hostile_script_runs_nothing_and_ends(tmp_path: Path) -> None:
    service = Service(tmp_path, time_limit=3000)
    try:
        for number, text in enumerate(HOSTILE):
            (tmp_path / f"{number}").write_bytes(text)
            service.ask("file", str(tmp_path / f"{number}"), "-J", "$(touch pwned)", cwd=tmp_path)
        for text in (
            b"",
            b"-1 0\n",
            b"99999999999 1\nx",
            b"9 1\n\0sl\0x\0y\0x",
            b"\xff" * 99,
            b"1\n",
        ):
            with socket.socket(socket.AF_UNIX) as link:
                link.connect(str(service.socket))
                link.sendall(text)
                link.shutdown(socket.SHUT_WR)
        (tmp_path / "good").write_text(GOOD)
        assert service.ask("file", str(tmp_path / "good")) == "accepted\n"
        failed = service.entries("failed")
        assert "zero bytes" in str(failed)
        assert {each["user"] for each in failed} == {pwd.getpwuid(os.getuid()).pw_name}
    finally:
        service.stop()
    assert not list(tmp_path.rglob("pwned"))


def test_connections_that_send_nothing_end_at_the_limit(tmp_path: Path) -> None:
    """GUARD_CHILDREN of them hold others up no longer."""
    service = Service(tmp_path, time_limit=5000)
    links = [socket.socket(socket.AF_UNIX) for _ in range(bounds.GUARD_CHILDREN + 5)]
    try:
        for link in links:
            link.connect(str(service.socket))
        (tmp_path / "good").write_text(GOOD)
        children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
        until(lambda: children.read_text())
        found = children.read_text().split()
        assert len(found) <= bounds.GUARD_CHILDREN
        status, limits = (Path(f"/proc/{found[0]}/{name}") for name in ("status", "limits"))
        until(lambda: os.getuid() or "\nUid:\t65534\t" in status.read_text())
        until(lambda: re.search("cpu time +6 +6 ", limits.read_text()))
        assert service.entries("late")
        assert service.ask("file", str(tmp_path / "good")) == "accepted\n"
    finally:
        for link in links:
            link.close()
        service.stop()


def test_a_full_disk_changes_no_answer(tmp_path: Path, script: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    service = Service(tmp_path)
    try:
        for _ in range(3):
            assert service.ask("file", str(script)).startswith("refused")
        assert service.process.poll() is None
    finally:
        service.stop()


def test_users_and_groups_are_exempt(tmp_path: Path, script: Path) -> None:
    user = pwd.getpwuid(os.getuid())
    group = grp.getgrgid(user.pw_gid).gr_name
    for more in (f"exempt_users: [{user.pw_name}]", f"exempt_groups: [none-such, {group}]"):
        service = Service(tmp_path, more)
        try:
            assert service.ask("file", str(script)) == "exempt\n"
        finally:
            service.stop()


def test_it_warns_only_of_the_chosen_rules(tmp_path: Path, script: Path) -> None:
    service = Service(tmp_path, "warn: [JG1]")
    try:
        script.write_text(WARNED)
        assert service.ask("file", str(script)) == "accepted\n"
        script.write_text(BAD)
        assert service.ask("file", str(script)).startswith("refused\n")
    finally:
        service.stop()


def test_the_service_ends_with_a_signal(service: Service) -> None:
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(60) == -signal.SIGTERM


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "refuse: [JG999]",
            ":1:10: expected a code of `jobgen rules`, or its beginning, got 'JG999'",
        ),
        ("warn: JG1", "expected a list"),
        ("time_limit: 0", "0 is out of range; a whole number from 1 to 60000"),
        ("log: here", "expected an absolute path, got 'here'"),
        ("versions: [slurm=1.0]", "versions: no Slurm '1.0' is known"),
        ("profile: none-such", "none-such"),
        ("refuze: [JG101]", "unknown key `refuze`; write `refuse: [JG101]`"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "guard.yaml"
    file.write_text(text + "\n")
    done = subprocess.run(
        [*COMMAND, "slurm", str(file)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert str(file) in done.stderr


def test_a_log_or_socket_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    for key in ("log", "socket"):
        (tmp_path / "guard.yaml").write_text(f"log: {tmp_path}/l\nsocket: {tmp_path}/s\n")
        text = (tmp_path / "guard.yaml").read_text().replace(f"{key}: ", f"{key}: /proc/none")
        (tmp_path / "guard.yaml").write_text(text)
        argv = [*COMMAND, "serve", str(tmp_path / "guard.yaml")]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2
        assert f"jobgen: {key}: /proc/none" in done.stderr


def test_the_texts_quote_their_values() -> None:
    guard = Guard(socket="/run/it's $(x)/s")
    compile(texts.pbs(guard), "hook", "exec")
    assert "|--hold|" in texts.slurm(guard)
    assert "|--output|" not in texts.slurm(guard)
    assert f"/timeout -s KILL 0.15 {sys.executable} -I -S " in texts.slurm(guard)
    assert quote(guard.socket) in texts.slurm(guard)


@pytest.mark.skipif(os.getuid() != 0, reason="PBS runs a hook as root")
def test_the_hook_reads_with_the_rights_of_a_user_and_never_waits() -> None:
    event = SimpleNamespace(job=None, accept=lambda: None)
    module = SimpleNamespace(event=lambda: event, LOG_WARNING=4, logmsg=lambda *_: None)
    hook: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setitem(sys.modules, "pbs", module)
        exec(texts.pbs(Guard(time_limit=60_000)), hook)
        Path(folder).chmod(0o755)
        for name, mode in (("open", 0o644), ("closed", 0o600)):
            (Path(folder) / name).write_text(GOOD)
            (Path(folder) / name).chmod(mode)
        os.mkfifo(f"{folder}/pipe", 0o644)
        end = time.monotonic() + 60

        def read(name: str, user: str = "nobody") -> bytes | None:
            text = hook["text_of"](user, os.path.join(folder, name), end)
            assert text is None or isinstance(text, bytes)
            return text

        assert read("open") == GOOD.encode()
        assert read("closed") is None
        assert read("open", "root") is None
        assert read("pipe") in (b"", None)
        assert read(".") is None
        assert len(read("/dev/zero") or b"") == bounds.LINT_BYTES + 1
        with pytest.raises(subprocess.TimeoutExpired):
            hook["text_of"]("nobody", f"{folder}/open", time.monotonic() - 1)


def test_the_hook_finds_the_script_in_the_words_of_qsub() -> None:
    module = SimpleNamespace(event=lambda: None, LOG_WARNING=4, logmsg=lambda *_: None)
    hook: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pbs", module)
        text = texts.pbs(Guard()).partition("event, refusal =")[0]
        exec(text, hook)
    job = SimpleNamespace(Variable_List={"PBS_O_WORKDIR": "/home/x"})
    here = SimpleNamespace(job=job, requestor_host=f"{socket.gethostname()}.some.domain")
    for words, path in {
        "-l select=1 -Vh job.sh a -N b": "/home/x/job.sh",
        "-N x /a/../b/job.sh": "/b/job.sh",
        "/tmp/job.sh": "/tmp/job.sh",
        "-l select=1 -- /bin/true x": None,
        "-h": None,
    }.items():
        assert hook["path_of"](here, words.split()) == path, words
    elsewhere = SimpleNamespace(job=job, requestor_host="other")
    assert hook["path_of"](elsewhere, ["../../tmp/job.sh"]) is None
    assert hook["path_of"](elsewhere, ["job.sh"]) == "/home/x/job.sh"


def _log(*verdicts: tuple[str, Sequence[str], float | None]) -> list[str]:
    return [
        json.dumps(
            {"time": f"2026-11-0{day}T10:00:00+00:00", "verdict": word, "codes": codes, "ms": day}
            | ({} if hours is None else {"gpu_hours": hours})
        )
        for day, (word, codes, hours) in enumerate(verdicts, 1)
    ]


def test_the_report_sums_up_the_log() -> None:
    lines = _log(
        ("refused", ["JG101"], 1200.4), ("refused", ["JG101"], None), ("warned", ["JG304"], None)
    )
    rehearsed = '{"time": "2026-11-02T11", "verdict": "rehearsed", "codes": ["JG101"]}'
    assert report_on([rehearsed, *lines, '{"time": "2026-1']) == (
        "3 submissions from 2026-11-01 to 2026-11-03\n"
        "refused 2; rehearsed 1; warned 1; unreadable lines 1\n"
        "time: half within 2 ms, 99 of 100 within 3 ms\n"
        "refused jobs asked for 1,200 GPU-hours; 1 more did not say their GPUs or time\n"
        "\n"
        "rule   refused  warned\n"
        "JG101        2       0  torchrun for several nodes runs on the first node only\n"
        "JG304        0       1  A pipe hides the exit status of the run\n"
    )
    assert report_on(lines, "2026-11-03").startswith("1 submission from 2026-11-03")
    assert report_on(lines, "2027-01-01") == "no submissions\n"


def test_the_report_takes_several_logs_and_a_day(tmp_path: Path) -> None:
    lines = _log(("warned", ["JG304"], None), ("warned", ["JG304"], None))
    for name, line in zip("ba", lines, strict=True):
        (tmp_path / name).write_text(f"{line}\n")

    def report(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [*COMMAND, "report", str(tmp_path / "a"), str(tmp_path / "b"), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    assert report().stdout.startswith("2 submissions from 2026-11-01 to 2026-11-02\n")
    assert report("--since", "2026-11-02").stdout.startswith("1 submission from 2026-11-02")
    done = report("--since", "yesterday")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'--since': 'yesterday' does not match" in done.stderr


def test_the_settings_of_a_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text("refuse: [jg10, JG212]\nwarn: [JG3, JG117]\n")
    choice = read_guard(str(tmp_path / "g.yaml"))
    assert "JG101" in choice.refused
    assert "JG212" not in choice.refused
    assert choice.lint
    chosen = {*choice.lint.select}
    assert {"JG002", "JG101", "JG117", "JG304"} <= chosen  # JG117 is off by default, but named
    assert not chosen & {"JG109", "JG201", "JG301"}  # JG109 and JG301 are off by default


def test_options_of_the_command_line_fit_every_script() -> None:
    """A finding about such an option names the script's first line, where the option is not."""
    choice = Choice(Guard(), frozenset(checks()), Settings(also=tuple(checks())))
    slurm = "-N 4 --gres=gpu:8 --gpus-per-node=4 --tiem=1 -t 1:00 -o a/%j.out --array=0-3 --wrap=x"
    pbs = "-l select=2:ncpus=4:ngpus=2 -l walltime=1:00:00 -N x -J 0-3 -v A='1 2' -q none"
    for rule in rules().values():
        for scheduler, words in (("slurm", slurm), ("pbs", pbs)):
            for text in (rule.bad, ""):
                submission = Submission("", scheduler, "job.sh", words.split(), text.encode())
                verdict = judge(submission, choice)
                assert all(each.mark.line >= 1 for each in verdict.problems)
                assert verdict.text.startswith(f"{verdict.word}\n")


JUDGES = """
import os, sys
from jobgen.guard.judge import Submission, judge
from jobgen.guard.settings import Choice, Guard
from jobgen.lint.rules import checks, rules
from jobgen.lint.settings import Settings

own, found = (sys.argv[1], sys.prefix, sys.base_prefix, "/usr/", "/dev/null"), []

def note(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "os.open") and isinstance(arguments[0], str):
        found.append(os.path.realpath(arguments[0]))

choice = Choice(Guard(), frozenset(), Settings(also=tuple({*checks()} - {"JG212"})))
sys.addaudithook(note)
for text in (sys.argv[2], *(rule.bad for rule in rules().values())):
    for scheduler in ("slurm", "pbs"):
        judge(Submission("", scheduler, "job.sh", (), text.encode()), choice)
print([each for each in found if not each.startswith(own)])
"""


def test_a_judge_opens_no_file_that_a_script_names(tmp_path: Path) -> None:
    (tmp_path / "env.sh").touch()
    text = f"{GOOD}source env.sh\n. {tmp_path}/env.sh\nsbatch env.sh\nsrun -N1 bash env.sh\n"
    argv = [sys.executable, "-c", JUDGES, str(Path(client.__file__).parents[2]), text]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
