"""`jobgen agents-file`: what it writes into AGENTS.md, and what it leaves as it is."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from jobgen.agents.agents_file import BEGIN, END
from tests.helpers import jobgen

NODE = "scheduler: {}\nnode: {{cpus: 64, gpus: 4, gpu: nvidia}}\nnetwork: {{interface: ib0}}\n"
MANIFEST = """\
defaults: {profile: gpu, file: "jobs/{name}-{nodes}n.sh"}
jobs: {bert: {matrix: {nodes: [1, 2, 3, 4]}, program: [train.py]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    (made / "profiles").mkdir(parents=True)
    (made / "profiles/base.yaml").write_text("description: for the others\n")
    text = f"description: our GPUs\n{NODE.format('slurm')}"
    (made / "profiles/gpu.yaml").write_text(text)
    return made


def run(folder: Path, *words: str) -> tuple[int, str]:
    done = jobgen("agents-file", *words, cwd=folder)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


def part(folder: Path) -> str:
    return (folder / "AGENTS.md").read_text().partition(BEGIN)[2].partition(END)[0]


def test_a_new_file_says_what_is_here(folder: Path) -> None:
    assert run(folder, "--check") == (
        1,
        "jobgen: AGENTS.md is missing: write it with jobgen agents-file\n",
    )
    assert not (folder / "AGENTS.md").exists()
    assert run(folder) == (0, "jobgen: AGENTS.md is written\n")
    assert run(folder, "--check") == (0, "jobgen: AGENTS.md is current\n")
    text = (folder / "AGENTS.md").read_text()
    assert text.startswith(f"{BEGIN}\n## ")
    assert text.endswith(f"\n{END}\n")
    assert "- profile `gpu`: our GPUs (slurm)\n" in text
    assert "base" not in text
    assert "jobgen build" not in text
    assert (folder / "AGENTS.md").stat().st_mode & 0o111 == 0


def test_what_users_wrote_around_it_stays(folder: Path) -> None:
    (folder / "AGENTS.md").write_text("# Ours\n\nBe kind.")
    run(folder)
    file = folder / "AGENTS.md"
    assert file.read_text().startswith(f"# Ours\n\nBe kind.\n\n{BEGIN}\n")
    with file.open("a") as stream:
        stream.write("\n## Below\n")
    (folder / "jobgen.yaml").write_text(MANIFEST)
    assert run(folder, "--check")[0] == 1
    old = file.read_text()
    run(folder)
    new = file.read_text()
    assert new != old
    around = [re.sub(f"(?s){re.escape(BEGIN)}.*{re.escape(END)}", "", each) for each in (old, new)]
    assert around[0] == around[1] == "# Ours\n\nBe kind.\n\n\n\n## Below\n"


def test_a_manifest_is_named_with_its_scripts(folder: Path) -> None:
    (folder / "jobgen.yaml").write_text(MANIFEST)
    run(folder)
    scripts = "`jobs/bert-1n.sh`, `jobs/bert-2n.sh`, `jobs/bert-3n.sh`"
    assert f"- manifest `jobgen.yaml` of 4 scripts, such as {scripts}:\n" in part(folder)


def test_its_commands_are_those_of_this_jobgen(folder: Path) -> None:
    """Each one is run, with its help for what needs a job or a finding."""
    (folder / "jobgen.yaml").write_text(MANIFEST)
    (folder / "train.py").write_text("")
    run(folder)
    commands = re.findall(r"`(jobgen [^`]+)`", part(folder))
    assert len(commands) > 7
    for command in commands:
        words = [word for word in shlex.split(command)[1:] if not re.fullmatch("[A-Z]{3,}", word)]
        needs_more = words[:2] != ["sbatch", "--profile"]
        done = jobgen(*words, *["--help"] * needs_more, cwd=folder)
        assert done.returncode == 0, (command, done.stderr)
    assert (folder / "job.sh").is_file()


def test_a_pbs_profile_gets_its_command(folder: Path) -> None:
    (folder / "profiles/gpu.yaml").write_text(NODE.format("pbs"))
    run(folder)
    assert "`jobgen qsub --profile gpu -N 2 -t 1h -o job.sh -- train.py`" in part(folder)


def test_a_description_ends_neither_the_part_nor_its_line(folder: Path) -> None:
    text = f'description: "a\\n{END} <!-- b"\n{NODE.format("slurm")}'
    (folder / "profiles/gpu.yaml").write_text(text)
    code, message = run(folder)
    if code == 0:  # a description may have no line end
        assert run(folder, "--check")[0] == 0
    else:
        assert "profiles/gpu.yaml:1:14: " in message


def test_many_profiles_are_counted(folder: Path) -> None:
    for number in range(10):
        (folder / f"profiles/p{number}.yaml").write_text(NODE.format("slurm"))
    run(folder)
    assert "- and 3 more profiles: `jobgen profiles list`\n" in part(folder)


def test_without_a_profile_it_says_how_to_make_one(tmp_path: Path) -> None:
    run(tmp_path)
    assert "`jobgen detect` writes one" in part(tmp_path)
    assert "--profile NAME" in part(tmp_path)


def test_in_a_subfolder_it_is_about_the_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "inner").mkdir()
    run(folder / "inner", "-o", "../CLAUDE.md")
    assert "profile `gpu`" in (folder / "CLAUDE.md").read_text()


@pytest.mark.parametrize(
    ("text", "line"),
    [(f"a\n{BEGIN}\nb\n", 2), (f"{END}\n{BEGIN}\n", 1), (f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n", 1)],
)
def test_marks_that_are_no_pair_are_an_error(folder: Path, text: str, line: int) -> None:
    (folder / "AGENTS.md").write_text(text)
    code, message = run(folder)
    assert code == 2
    assert f"AGENTS.md:{line}:1: its marks are no pair; leave one line `{BEGIN}`" in message
    assert (folder / "AGENTS.md").read_text() == text


def test_marks_of_another_version_are_found(folder: Path) -> None:
    old = "a\n<!-- jobgen agents-file: begin -->\nold\n<!-- jobgen agents-file: end -->\nb\n"
    (folder / "AGENTS.md").write_text(old)
    run(folder)
    text = (folder / "AGENTS.md").read_text()
    assert "old" not in text.splitlines()
    assert (text.startswith(f"a\n{BEGIN}\n"), text.endswith(f"\n{END}\nb\n")) == (True, True)


@pytest.mark.parametrize(
    ("data", "message"), [(b"\xff\xfe", "it is not UTF-8 text"), (None, "cannot be read: Is a")]
)
def test_a_file_that_cannot_be_read_stays(folder: Path, data: bytes | None, message: str) -> None:
    if data is None:
        (folder / "AGENTS.md").mkdir()
    else:
        (folder / "AGENTS.md").write_bytes(data)
    code, text = run(folder)
    assert (code, message in text) == (2, True), text


def test_an_empty_name_is_an_error(folder: Path) -> None:
    assert run(folder, "-o", "") == (2, "jobgen: -o: it names no file; such as CLAUDE.md [usage]\n")


def test_a_wrong_profile_is_named_with_its_place(folder: Path) -> None:
    (folder / "profiles/gpu.yaml").write_text("schedular: slurm\n")
    code, message = run(folder)
    assert code == 2
    assert message.startswith("jobgen: profiles/gpu.yaml:1:1: unknown key `schedular`")
