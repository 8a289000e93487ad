"""`jobgen lint --fix`: what it changes, what it leaves, and how it writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import jobgen

pytest.importorskip("tree_sitter_bash")

from jobgen.errors import JobgenError, Problem
from jobgen.lint import fix
from jobgen.lint.fix import Mended, applied, mended, write_mended
from jobgen.lint.rules import rules
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings

MENDED = ("JG201", "JG202", "JG203", "JG204", "JG209", "JG215", "JG216", "JG403", "JG404")
HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n"
WRONG = "#!/bin/bash\n#SBATCH -c=2\nsrun hostname\n"
RIGHT = "#!/bin/bash\n#SBATCH -c 2\nsrun hostname\n"


def search(text: str) -> list[Problem]:
    return problems_in(text, "job.sh", Settings())


def fixed(text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    return mended("job.sh", data, search).new_data.decode("utf-8", "surrogateescape")


def test_rules_with_a_mend_say_so() -> None:
    assert {code for code, rule in rules().items() if "\nMend: " in rule.page} == set(MENDED)


@pytest.mark.parametrize("code", [code for code in MENDED if code != "JG204"])
def test_bad_example_is_mended(code: str) -> None:
    new = fixed(rules()[code].bad)
    assert code not in {problem.code for problem in search(new)}
    assert fixed(new) == new


@pytest.mark.parametrize("code", sorted(set(rules()) - set(MENDED)))
def test_other_rules_have_no_edits(code: str) -> None:
    rule = rules()[code]
    settings = Settings((code,), (), rule.profile, (), rule.versions)
    found = problems_in(rule.bad, "job.sh", settings)
    assert found
    assert not any(problem.edits for problem in found)


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("#SBATCH --ntasks_per_node=1", "#SBATCH --ntasks-per-node=1"),
        ("#SBATCH --gpu-per-node=4 -t 5", "#SBATCH --gpus-per-node=4 -t 5"),
        ("#SBATCH --Ntasks-per-ndoe=1", "#SBATCH --ntasks-per-node=1"),
        ("#SBATCH -o=job.out -c=2", "#SBATCH -o job.out -c 2"),
        ('#SBATCH -J="my job"', '#SBATCH -J "my job"'),
        ("#SBATCH \u2014time=5", "#SBATCH --time=5"),
        ("#SBATCH -\u2013time=5", "#SBATCH --time=5"),
        ("#SBATCH \u2013c 4", "#SBATCH -c 4"),
        ("#SBATCH --time = 5", "#SBATCH --time=5"),
        ("#SBATCH --time= 5", "#SBATCH --time=5"),
        ("#SBATCH time=5", "#SBATCH --time=5"),
        ("#SBTACH --time=5", "#SBATCH --time=5"),
        ("  #SBATCH --time=5", "#SBATCH --time=5"),
    ],
)
def test_directive_is_written_right(line: str, new: str) -> None:
    assert fixed(f"{HEAD}{line}\nsrun hostname\n") == f"{HEAD}{new}\nsrun hostname\n"


@pytest.mark.parametrize(
    "line",
    [
        "#SBATCH --node=4",  # it may be --nodes or --nodelist
        "#SBATCH --tme=5",  # --time and --tmp are as near
        "#SBATCH --job-name my job",  # are there quotes missing, or a #?
        "#SBATCH --job-name = my job",
        "#SBATCH -c=",
        "#SBTACH --ntasks_per_node=1",  # twice wrong: is it meant to be read?
        "#SBTACH -N 4",  # --nodes is given already
        "#SBTACH --time=$T",  # it would be another finding
    ],
)
def test_what_may_mean_something_else_is_left(line: str) -> None:
    script = f"{HEAD}{line}\nsrun hostname\n"
    assert fixed(script) == script


def test_late_directives_move_below_the_last_that_counts() -> None:
    script = f"{HEAD}# why\nset -e\n#SBATCH --mem=4G  # much\n# a note\n#SBATCH -t 5\nsrun a\n"
    script += "#SBATCH --qos=high"
    late_directives = "#SBATCH --mem=4G  # much\n#SBATCH -t 5\n#SBATCH --qos=high\n"
    assert fixed(script) == f"{HEAD}{late_directives}# why\nset -e\n# a note\nsrun a"
    pbs = "#!/bin/bash\ncd a\n#PBS -l select=2:ncpus=4\n#PBS -l walltime=5\n./a\n"
    lines = pbs.splitlines(keepends=True)
    assert fixed(pbs) == "".join([lines[0], *lines[2:4], lines[1], lines[4]])


@pytest.mark.parametrize(
    "lines",
    [
        "set -e\n#SBATCH --nodes=4\n",
        "set -e\n#SBATCH --mem=4G\nsrun a\n#SBATCH --mem=8G\n",
        "set -e\n#SBATCH --mem=4G\nsrun a\n#SBATCH --nodes=2\n",  # all or none
        "if [ $A ]; then\n#SBATCH --mem=4G\nfi\n",
        "f() {\n#SBATCH --mem=4G\ntrue\n}\n",
        "for a in b; do\n#SBATCH --mem=4G\ndone\n",
        "set -e\n#!/bin/bash\n#SBATCH --mem=4G\n",
        "set -e\n#PBS -l nodes=4\n",
        "set -e\n#SBATCH --fpga=4\n",
        "set -e\n#SBATCH --mem 4 G\n",
        "set -e\n#SBATCH --mem=4G\n#SBATCH time=5\n",
        "#SBATCH --mem-per-cpu=4G\nset -e\n#SBATCH --mem=4G\n",
        "set -e\n#SBATCH --output=$HOME/a\n",
        "cat <<EOF\n#SBATCH --mem=4G\nEOF\n",
    ],
)
def test_late_directives_that_may_mean_something_else_stay(lines: str) -> None:
    script = f"{HEAD}{lines}srun hostname\n"
    assert fixed(script) == script


def test_rule_whose_mend_makes_another_finding_is_left_alone() -> None:
    script = f"{HEAD}#SBATCH -c=2 --mem-per-cpu=4G\nset -e\n#SBATCH --mem=4G\n"
    new = mended("job.sh", script.encode(), search)
    assert new.new_data.decode() == script.replace("-c=2", "-c 2")
    assert new.refused == {"JG201": "its mend would make another finding, JG211"}
    assert [(each.mark.line, each.code) for each in new.findings] == [(3, "JG215")]


def test_mend_that_changes_a_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix, "applied", lambda text, problems: text.replace("srun", "srum"))
    assert mended("job.sh", WRONG.encode(), search).new_data == WRONG.encode()


def test_byte_order_mark_and_interpreter() -> None:
    assert fixed(f"\ufeff{WRONG}") == RIGHT
    assert fixed(f"# a\n\n{WRONG}") == RIGHT.replace("bash\n", "bash\n# a\n\n", 1)
    assert fixed(f"# a\n{HEAD}") == f"# a\n{HEAD}"  # nothing runs: it is a part of a script


def test_heredoc_and_document_are_left(tmp_path: Path) -> None:
    script = f"#!/bin/bash\nsbatch <<'EOF'\n{WRONG}EOF\n"
    assert [problem.code for problem in search(script)] == ["JG215"]
    assert fixed(script) == script
    (tmp_path / "a.md").write_text(f"```bash\n{WRONG}```\n")
    done = jobgen("lint", "--fix", "a.md", cwd=tmp_path)
    assert (done.returncode, done.stdout.count(b"JG215")) == (1, 1)
    assert (tmp_path / "a.md").read_text() == f"```bash\n{WRONG}```\n"


def test_ignore_comment_and_chosen_rules_count(tmp_path: Path) -> None:
    script = WRONG.replace("-c=2", "-c=2 # jobgen: ignore=JG215 why")
    assert fixed(script) == script
    (tmp_path / "job.sh").write_text(WRONG.replace("-c=2", "-c=2 --ntasks_per_node=1"))
    jobgen("lint", "--fix", "--select=JG203", "job.sh", cwd=tmp_path)
    assert "-c=2 --ntasks-per-node=1" in (tmp_path / "job.sh").read_text()


LINES = st.sampled_from(
    [
        *("#SBATCH -c=2", "#SBATCH --ntasks_per_node=1", "#SBTACH --time=5", "  #SBATCH --mem=4G"),
        *("#SBATCH --gres=gpu:4", "#SBATCH \u2014qos=high", "#SBATCH --job-name my job"),
        *("#PBS -q gpu  # big", "#PBS -l select=1:ncpus=4", '#PBS -v A=b,C="x,y"'),
        *("#SBATCH -p gpu\r", "srun b\r", "# jobgen: ignore=JG215 why", "# note", "#!/bin/bash"),
        *("set -e", "if true; then", "fi", "cat <<EOF", "EOF", "srun hostname", "echo 'a", ""),
    ]
)


@given(st.booleans(), st.lists(LINES, max_size=9))
def test_mending_is_idempotent_and_changes_what_was_found(has_mark: bool, lines: list[str]) -> None:
    script = "\ufeff" * has_mark + "\n".join(["#!/bin/bash", *lines])
    new = fixed(script)
    assert fixed(new) == new
    problems = [problem for problem in search(script) if problem.edits]
    if not problems:
        assert new == script
    # What the shell runs is the same, but for carriage returns, which no mend may leave.
    assert _commands(script) == _commands(new)
    once = applied(script, problems)
    numbers = {line for each in problems for edit in each.edits for line in _lines(edit)}
    others = [line for n, line in enumerate(script.split("\n"), 1) if n not in numbers]
    remaining = iter(once.split("\n"))
    assert all(line in remaining for line in others)  # in this order


def _lines(edit: fix.Edit) -> range:
    return range(edit.line, edit.end_line + (edit.end_column > 1 or edit.line == edit.end_line))


def _commands(script: str) -> list[str]:
    text = script.removeprefix("\ufeff").replace("\r\n", "\n")
    return [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]


@given(st.lists(LINES, max_size=7))
def test_bash_parses_the_new_script_if_it_parsed_the_old_one(lines: list[str]) -> None:
    script = "\n".join(["#!/bin/bash", *lines, ""])
    new = fixed(script)
    if new != script and _is_parsed(script):
        assert _is_parsed(new)


def _is_parsed(script: str) -> bool:
    done = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
    return done.returncode == 0


# ---- the command ----


def test_fix_shows_the_changes_and_reports_what_is_left(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text(WRONG.replace("srun", "#SBATCH --mem=$M\nsrun"))
    done = jobgen("lint", "--fix", "job.sh", cwd=tmp_path)
    shown = done.stdout.decode()
    assert "--- job.sh\n+++ job.sh, mended\n" in shown
    assert "\n-#SBATCH -c=2\n+#SBATCH -c 2\n" in shown
    assert re.findall(r"\[(JG\d+)\]$", shown, re.MULTILINE) == ["JG205"]
    assert done.stderr.decode().splitlines() == [
        "jobgen: job.sh:2:9: mended: the value of -c is `=2`, with the = [JG215]",
        "jobgen: 1 finding in 1 of 1 scripts; 1 mended",
    ]
    assert done.returncode == 1
    assert "#SBATCH -c 2\n" in file.read_text()
    file.write_text(WRONG)
    assert jobgen("lint", "--fix", ".", cwd=tmp_path).returncode == 0
    assert file.read_text() == RIGHT
    before = file.stat()
    assert jobgen("lint", "--fix", ".", cwd=tmp_path).stdout == b""
    assert file.stat() == before


@pytest.mark.parametrize(
    ("words", "verb"), [(["--diff", "job.sh"], "to be mended"), (["--fix", "job.sh"], "mended")]
)
def test_each_mend_names_its_rule_and_its_line_before(
    words: list[str], verb: str, tmp_path: Path
) -> None:
    """Also of two mends on one line, and of one whose line moves."""
    script = (
        "#SBATCH -c=2 --ntasks_per_node=1\n#SBTACH --time=5\nset -e\n#SBATCH --mem=4G\nsrun a\n"
    )
    (tmp_path / "job.sh").write_text(f"#!/bin/bash\n{script}")
    lines = jobgen("lint", *words, cwd=tmp_path).stderr.decode().splitlines()
    assert [re.sub(r": [^:]*: .* \[", " ", line) for line in lines[:-1]] == [
        "jobgen: job.sh:2:9 JG215]",
        "jobgen: job.sh:2:14 JG203]",
        "jobgen: job.sh:3:1 JG202]",
        "jobgen: job.sh:5:9 JG201]",
    ]
    assert all(f": {verb}: " in line for line in lines[:-1])


def test_mend_that_is_left_says_why(tmp_path: Path) -> None:
    script = f"{HEAD}#SBATCH -c=2 --mem-per-cpu=4G\nset -e\n#SBATCH --mem=4G\n"
    (tmp_path / "job.sh").write_text(script)
    done = jobgen("lint", "--fix", "job.sh", cwd=tmp_path)
    text = "jobgen: job.sh:5:9: JG201 is left: its mend would make another finding, JG211;"
    assert f"{text} mend it by hand\n" in done.stderr.decode()
    again = jobgen("lint", "--fix", "job.sh", cwd=tmp_path).stderr.decode()
    assert again.splitlines()[-1] == "jobgen: 1 finding in 1 of 1 scripts"


def test_only_edits_that_fix_takes_are_offered(tmp_path: Path) -> None:
    script = f"{HEAD}#SBATCH -c=2 --mem-per-cpu=4G\nset -e\n#SBATCH --mem=4G\n"
    (tmp_path / "job.sh").write_text(script)
    done = jobgen("lint", "--format", "json", "job.sh", cwd=tmp_path)
    offered = {each["code"]: bool(each["edits"]) for each in json.loads(done.stdout)}
    assert offered == {"JG215": True, "JG201": False}
    assert done.stderr.endswith(b"; --fix mends 1\n")


def test_diff_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(WRONG)
    done = jobgen("lint", "--diff", "job.sh", cwd=tmp_path)
    assert (done.returncode, done.stdout.count(b"\n+#SBATCH -c 2\n")) == (1, 1)
    assert b"[JG" not in done.stdout
    assert (tmp_path / "job.sh").read_text() == WRONG
    (tmp_path / "job.sh").write_text(RIGHT)
    assert jobgen("lint", "--diff", "job.sh", cwd=tmp_path).returncode == 0


def _filtered(
    folder: Path, text: bytes, *words: str, status: int
) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-m", "jobgen", "lint", "-", *words]
    done = subprocess.run(argv, cwd=folder, input=text, capture_output=True, check=False)
    assert done.returncode == status
    return done


def test_stdin_is_a_filter(tmp_path: Path) -> None:
    assert _filtered(tmp_path, WRONG.encode(), "--fix", status=0).stdout.decode() == RIGHT
    bad = WRONG.replace("srun", "#SBATCH --mem=$M\n# \udcff\nsrun")
    done = _filtered(
        tmp_path, bad.encode("utf-8", "surrogateescape"),
        "--fix", "--stdin-filename=a/x.sh", status=1,
    )  # fmt: skip
    expected = bad.replace("-c=2", "-c 2").encode("utf-8", "surrogateescape")
    assert done.stdout == expected
    assert b"a/x.sh:3:9: " in done.stderr
    assert list(tmp_path.iterdir()) == []
    # What is not linted comes back as it is, so that an editor does not lose it.
    for text, words in (("echo\n", ["--jobs-only"]), (f"# a\n\n    {WRONG}", ["a.md"])):
        words = ["--stdin-filename", *words] if words == ["a.md"] else words
        done = _filtered(tmp_path, text.encode(), "--fix", *words, status=0)
        assert done.stdout.decode() == text
    assert _filtered(tmp_path, bytes(4), "--fix", status=2).stdout == b""


def test_stdin_filename_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/pyproject.toml").write_text('[tool.jobgen.lint]\nignore = ["JG215"]\n')
    _filtered(tmp_path, WRONG.encode(), status=1)
    _filtered(tmp_path, WRONG.encode(), "--stdin-filename", "a/job.sh", status=0)
    done = _filtered(tmp_path, WRONG.encode(), "--stdin-filename", "b.sh", status=1)
    assert done.stdout.startswith(b"b.sh:2:9: ")
    text = f"Run::\n\n    {WRONG}".replace("\n", "\n    ").encode()
    done = _filtered(tmp_path, text, "--stdin-filename", "b.rst", "--format=json", status=1)
    (row,) = json.loads(done.stdout)
    assert (row["file"], row["line"], row["edits"]) == ("b.rst", 4, [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fix", "--diff", "job.sh"], "--diff: --fix is given, too; give one of the two"),
        (["--diff", "--format=json", "job.sh"], "--diff: it has no format json"),
        (["--fix", "-", "job.sh"], "--fix: with -, the mended script goes to stdout"),
        (["--stdin-filename=a.sh", "job.sh"], "--stdin-filename: stdin is not read"),
        (["--fix=1", "job.sh"], "Option '--fix' does not take a value"),
        (["job.sh", "--profile"], "Option '--profile' requires an argument"),
    ],
)
def test_wrong_usage_changes_nothing(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "job.sh").write_text(WRONG)
    done = jobgen("lint", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert (tmp_path / "job.sh").read_text() == WRONG


# ---- writing ----


def test_file_keeps_its_mode_and_links_inside_a_repository_are_followed(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    file = tmp_path / "job.sh"
    file.write_text(WRONG)
    file.chmod(0o751)
    (tmp_path / "link.sh").symlink_to("job.sh")
    assert jobgen("lint", "--fix", "link.sh", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link.sh").is_symlink()
    assert (file.read_text(), file.stat().st_mode & 0o777) == (RIGHT, 0o751)


def test_link_out_of_a_repository_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a/.git").mkdir(parents=True)
    (tmp_path / "job.sh").write_text(WRONG)
    (tmp_path / "a/job.sh").symlink_to("../job.sh")
    done = jobgen("lint", "--fix", "job.sh", cwd=tmp_path / "a")
    assert (done.returncode, done.stdout) == (2, b"")
    assert (tmp_path / "job.sh").read_text() == WRONG


def test_read_only_file_is_left(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(WRONG)
    (tmp_path / "job.sh").chmod(0o444)
    done = jobgen("lint", "--fix", "job.sh", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"job.sh: it is read-only; chmod u+w, or mend a copy" in done.stderr
    assert (tmp_path / "job.sh").read_text() == WRONG


def test_file_that_changes_meanwhile_is_left(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text("# edited\n")
    with pytest.raises(JobgenError, match="it has changed since it was read; lint it again"):
        write_mended(Mended(str(file), WRONG.encode(), RIGHT.encode()))
    assert file.read_text() == "# edited\n"


def test_failed_write_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(*words: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "job.sh"
    file.write_text(WRONG)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(JobgenError, match="No space left"):
        write_mended(Mended(str(file), WRONG.encode(), RIGHT.encode()))
    assert [each.name for each in tmp_path.iterdir()] == ["job.sh"]
    assert file.read_text() == WRONG


# ---- formats ----


@pytest.mark.parametrize(
    ("script", "raw"),
    [
        (f'{HEAD}#SBATCH -J="my job" -t 5\nsrun a\n', '-J="my job"'),
        (f'{HEAD}export A=$(hostname -I | cut -d" " -f1)\n', "hostname"),
        (f"{HEAD}srun bash -c 'cd é && torchrun --nnodes=2 --rdzv-id=$$ --rdzv-backend=c10d a'\n",
         "--rdzv-id=$$"),
        (f'{HEAD}podman run \\\n  "--privileged" image:1\n', '"--privileged"'),
        (f"{HEAD}OMP_NUM_THREADS=4\nsrun a\n", "OMP_NUM_THREADS=4"),
        (f"sbatch <<EOF\n{HEAD}#SBATCH -o=\\$A.out\nEOF\n", "-o=\\$A.out"),
        (f"{HEAD}srun a\r\n", "\r"),
    ],
)  # fmt: skip
def test_end_is_after_the_word(script: str, raw: str) -> None:
    problem = search(script)[0]
    lines = script.split("\n")
    assert problem.end[0] == problem.mark.line
    text = lines[problem.mark.line - 1][problem.mark.column - 1 : problem.end[1] - 1]
    assert text == raw


def test_sarif_has_fixes(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(f"\ufeff{WRONG}")
    done = jobgen("lint", "--format=sarif", "job.sh", cwd=tmp_path)
    mark, result = json.loads(done.stdout)["runs"][0]["results"]
    assert "fixes" not in mark  # a byte order mark is no character of a region
    region = {"startLine": 2, "startColumn": 11, "endLine": 2, "endColumn": 12}
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"] == {"uri": "job.sh"}
    replacement = {"deletedRegion": region, "insertedContent": {"text": " "}}
    assert change["replacements"] == [replacement]


def test_edits_of_json_are_those_of_fix(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(WRONG)
    (row,) = json.loads(jobgen("lint", "--format=json", "job.sh", cwd=tmp_path).stdout)
    (edit,) = row["edits"]
    lines = WRONG.split("\n")
    line = lines[edit["line"] - 1]
    start, end = edit["column"] - 1, edit["end_column"] - 1
    lines[edit["line"] - 1] = line[:start] + edit["text"] + line[end:]
    assert "\n".join(lines) == RIGHT
