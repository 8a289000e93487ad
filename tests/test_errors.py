"""Wrong profiles, one kind of mistake each, and impossible jobs: the whole of each message."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from jobgen import quoting
from jobgen.cli.app import run_words
from jobgen.errors import JobgenError, run_command
from jobgen.generator import Generator
from jobgen.paths import bundled
from jobgen.planning.job_options import Job
from jobgen.profiles.mistakes.lines import followed
from jobgen.profiles.yaml_tree import Map, as_flow, parse

FOLDER = Path(__file__).parent / "errors"
_CLICKS = re.compile("Usage: |Try '|\n")
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("case", CASES)
def test_messages_for_a_wrong_profile(
    case: str, update: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER)
    exit_code = run_command(lambda: run_words(["profiles", "validate", f"{case}.yaml"]))
    messages = capsys.readouterr().out
    expected = FOLDER / f"{case}.out"
    if update:
        expected.write_text(messages, encoding="utf-8")
    assert messages == expected.read_text(encoding="utf-8")
    assert exit_code == (1 if messages else 0)
    assert not (FOLDER / "pwned").exists()


@pytest.mark.parametrize(
    "file", sorted(FOLDER.glob("manifests/*.yaml")), ids=lambda file: file.stem
)
def test_messages_for_a_wrong_manifest(
    file: Path, update: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.parent)
    exit_code = run_command(lambda: run_words(["build", "--dry-run", file.name]))
    messages, expected = capsys.readouterr().err, file.with_suffix(".out")
    if update:
        expected.write_text(messages, encoding="utf-8")
    assert (exit_code, messages) == (2, expected.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("names-flat-")])
def test_a_file_that_follows_its_hints_makes_a_script(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (FOLDER / f"{case}.yaml").read_text(encoding="utf-8")
    Path("x.yaml").write_text(text, encoding="utf-8")
    job = Job("qsub" if re.search("pbs|ppn|select", text) else "sbatch", "x.yaml")
    with pytest.raises(JobgenError) as error:
        Generator().plan(job)
    tree = parse(text.encode(), "x.yaml")
    assert isinstance(tree, Map)
    right = followed(tree, error.value.problems)
    Path("x.yaml").write_text(as_flow(right), encoding="utf-8")
    assert Generator().script(job)


def test_every_expected_output_has_its_profile() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.out")) == CASES


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.txt")), ids=lambda file: str(file.stem))
def test_messages_for_an_impossible_job(
    file: Path,
    update: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command of a file is refused with the lines below it; a `$` line is a new case.

    What click writes before an error, which is the same for all, is not in the file.
    """
    expected = file.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    transcript = ""
    for line in re.findall(r"^\$ jobgen (.*)$", expected, re.MULTILINE):
        exit_code = run_command(partial(run_words, quoting.split_words(line)))
        output = capsys.readouterr()
        lines = [each for each in output.err.splitlines(True) if not _CLICKS.match(each)]
        assert (exit_code, output.out, bool(lines)) == (2, "", True), line
        message = "".join(lines).replace(str(bundled("profiles")), "profiles")
        transcript += f"$ jobgen {line}\n{message}\n"
    if update:
        file.write_text(transcript, encoding="utf-8")
    assert transcript == file.read_text(encoding="utf-8")
