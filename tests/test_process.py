"""The program as a process: closed streams, signals, locales, and files in its way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jobgen import __main__ as program
from jobgen.scripts import render
from tests.helpers import jobgen

ROOT = Path(__file__).parent.parent
MI210 = ("sbatch", "--profile", "mi210")
UNICODE = (
    *(*MI210, "--set", "software.container=null", "-J", "é", "-e", "X=“ü”\u202e"),
    *("--", "ü.py", "😀", b"\xff"),
)


def bash(command: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """A command line in which `jobgen` is the program."""
    start = f'jobgen() {{ "{sys.executable}" -m jobgen "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", start], cwd=cwd, capture_output=True, check=False)


def test_a_removed_working_folder_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "removed").mkdir()
    done = bash("cd removed; rmdir ../removed; jobgen sbatch --profile mi210", tmp_path)
    message = b"jobgen: the working folder was removed: cd to one\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", message)


@pytest.mark.parametrize("words", ["--profile nope", "--nosuch"])
def test_with_stderr_closed_no_message_goes_to_stdout(words: str, tmp_path: Path) -> None:
    done = bash(f"jobgen sbatch {words} 2>&-", tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_closed_stdout_is_one_message(tmp_path: Path) -> None:
    done = bash("jobgen sbatch --profile mi210 >&-", tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    message = b"jobgen: standard output: cannot be written: it is closed [output]\n"
    assert done.stderr == message


@pytest.mark.parametrize(
    "command",
    [
        *("sbatch --profile mi210", "profiles list", "profiles show mi210", "profiles schema"),
        *("trainers show elastic_ddp", "templates list", "profiles validate tab.yaml"),
    ],
)
def test_a_full_disk_is_one_message_whatever_is_written(command: str, tmp_path: Path) -> None:
    (tmp_path / "tab.yaml").write_text("a:\n\tb: 1\n")
    done = bash(f"jobgen {command} > /dev/full", tmp_path)
    message = b"jobgen: standard output: cannot be written: No space left on device [output]\n"
    assert (done.returncode, done.stderr) == (2, message)


BUFFERING = ["", "1"]


@pytest.mark.parametrize("unbuffered", BUFFERING)
def test_a_reader_that_ends_early_causes_no_message(unbuffered: str, tmp_path: Path) -> None:
    """More than a pipe holds, so that the program is still writing when its reader ends."""
    option = "-e X=$(head -c 90000 /dev/zero | tr '\\0' x)"
    command = f"jobgen sbatch --profile mi210 {option} | head -c 1; exit $PIPESTATUS"
    done = bash(f"export PYTHONUNBUFFERED={unbuffered}; {command}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (141, b"#", b"")


@pytest.mark.parametrize("unbuffered", BUFFERING)
def test_a_disk_that_fills_up_during_the_write_is_an_error(unbuffered: str, tmp_path: Path) -> None:
    """`ulimit -f 4` allows 4 KiB: the first write takes a part, the next one fails."""
    limit = f"export PYTHONUNBUFFERED={unbuffered}; ulimit -f 4"
    done = bash(f"{limit}; jobgen sbatch --profile mi210 > job.sh", tmp_path)
    message = b"jobgen: standard output: cannot be written: File too large [output]\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_an_interrupt_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(render, "template_names", interrupt)
    monkeypatch.setattr(sys, "argv", ["jobgen", "templates", "list"])
    with pytest.raises(SystemExit) as exit_info:
        program.run()
    assert exit_info.value.code == 130
    output = capsys.readouterr()
    assert (output.out, output.err.strip()) == ("", "jobgen: interrupted")


def test_a_pipe_gets_the_script(tmp_path: Path) -> None:
    command = "mkfifo p; cat p > copy & jobgen sbatch --profile mi210 -o p; wait; cat copy"
    done = bash(command, tmp_path)
    assert done.stdout == jobgen(*MI210, cwd=tmp_path).stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "p"]


OLD = "jobgen sbatch --profile=dgx-a100"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (":", ["job.sh"]),
        (f"{OLD} > job.sh; chmod 600 job.sh", ["job.sh"]),
        (f"mkdir d; {OLD} > d/real; ln -s d/real job.sh", ["d", "job.sh"]),
        ("mkdir d; ln -s d/real job.sh", ["d", "job.sh"]),
        (f"{OLD} > other; ln other job.sh", ["job.sh", "other"]),
    ],
)
def test_the_file_is_the_script_executable_and_no_other_file_appears(
    before: str, after: list[str], tmp_path: Path
) -> None:
    done = bash(f"{before}; umask 022; jobgen sbatch --profile mi210 -o job.sh", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "job.sh").read_bytes() == jobgen(*MI210, cwd=tmp_path).stdout
    assert (tmp_path / "job.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "job.sh").is_symlink() == ("ln -s" in before)
    assert sorted(path.name for path in tmp_path.iterdir()) == after
    if "other" in after:
        assert (tmp_path / "other").read_bytes() == jobgen("sbatch", "--profile=dgx-a100").stdout


@pytest.mark.parametrize(("options", "file"), [("-N 0", "job.sh"), ("", "."), ("", "job.sh/x.sh")])
def test_after_a_failure_all_files_are_as_before(options: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("old")
    done = bash(f"jobgen sbatch --profile mi210 {options} -o {file}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("job.sh", "old")]


def test_a_long_name_of_wide_letters_is_written(tmp_path: Path) -> None:
    name = "é" * 125  # 250 bytes, of 255
    (tmp_path / name).touch()  # a file of that name is possible
    assert jobgen(*MI210, "-o", name, cwd=tmp_path).stderr == b""


@pytest.mark.parametrize(
    "words",
    [
        ("sbatch", "--profile", "a" * 300),
        ("sbatch", "--profile", "a" * 300 + ".yaml"),
        ("templates", "show", "a" * 300),
        ("profiles", "validate", "long.yaml"),
    ],
)
def test_a_name_too_long_for_a_file_is_no_traceback(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text("extends: " + "a" * 300 + "\n")
    assert b"Traceback" not in jobgen(*words, cwd=tmp_path).stderr


def test_the_name_of_a_file_that_is_not_utf_8_is_no_traceback(tmp_path: Path) -> None:
    done = jobgen("profiles", "validate", b"\xff.yaml", cwd=tmp_path)
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)


def test_validate_prints_one_printable_line_a_problem(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text('"\\e[31mred\\nline": 1\n')
    done = jobgen("profiles", "validate", "x.yaml", cwd=tmp_path)
    assert done.stdout.decode().isprintable() is False  # its own line end
    assert done.stdout.count(b"\n") == 1
    assert done.stdout.decode().rstrip("\n").isprintable()


@pytest.fixture(scope="session")
def latin_1(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a locale whose letters are not UTF-8; it is made here, if possible."""
    if not shutil.which("localedef"):
        pytest.skip("no localedef to make a Latin-1 locale")
    folder = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", "en_US", "-f", "ISO-8859-1", f"{folder}/en_US.ISO-8859-1"]
    done = subprocess.run(command, capture_output=True, check=False)
    if not any(folder.iterdir()):
        pytest.skip(f"localedef makes no Latin-1 locale: {done.stderr.decode().strip()}")
    return {"LOCPATH": str(folder), "LC_ALL": "en_US.ISO-8859-1"}


def test_a_latin_1_locale_changes_no_byte(latin_1: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print(sys.getfilesystemencoding())"]
    env = {**os.environ, **latin_1}
    done = subprocess.run(command, env=env, capture_output=True, check=True)
    assert done.stdout == b"iso8859-1\n"
    (tmp_path / "ü.py").touch()
    done = jobgen(*UNICODE, cwd=tmp_path, env=latin_1)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == jobgen(*UNICODE, cwd=tmp_path).stdout


@pytest.mark.parametrize("name", ["é.sh", "€.sh"])
def test_the_name_of_a_file_has_the_same_bytes_in_any_locale(
    name: str, latin_1: dict[str, str], tmp_path: Path
) -> None:
    done = jobgen(*MI210, "-o", name.encode(), cwd=tmp_path, env=latin_1)
    assert (done.returncode, done.stderr) == (0, b"")
    assert os.listdir(bytes(tmp_path)) == [name.encode()]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_some_letters_gets_the_message(encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding}
    done = jobgen("sbatch", "--profile", "nop€\udcff".encode("utf-8", "surrogateescape"), env=env)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: --profile: no profile `nop\\u20ac\\udcff`; `jobgen ")


@pytest.mark.parametrize("command", ["profiles", "sbatch"])
def test_help_is_shown_in_any_locale(command: str, latin_1: dict[str, str]) -> None:
    assert jobgen(command, "--help", env=latin_1).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_no_hash_seed_changes_the_output(seed: str, tmp_path: Path) -> None:
    """Scripts, and the order of problems."""
    plain = {"PYTHONHASHSEED": "2"}
    wrong = ("profiles", "validate", *sorted(map(str, (ROOT / "tests/errors").glob("*.yaml"))))
    for words in (UNICODE, wrong, ("profiles", "show", "mi210"), ("profiles", "schema")):
        other = jobgen(*words, cwd=tmp_path, env={"PYTHONHASHSEED": seed})
        assert other.stdout == jobgen(*words, cwd=tmp_path, env=plain).stdout
