"""`jobgen lint` as its user meets it: files, folders, formats, settings, comments, exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
import yaml

from tests.helpers import jobgen

pytest.importorskip("tree_sitter_bash")

from jobgen.lint import run
from jobgen.lint.run import _SUFFIXES, Settings, lint

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
module load cuda
#SBATCH --gpus-per-node=4
srun python train.py
"""
ROOT = Path(__file__).parent.parent
FOUND = "`--gpus-per-node=4` is ignored: it comes after the first command"
CURE = "move it up, before all commands"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "job.sh").write_text(BAD)
    return tmp_path


def test_a_finding_is_a_line_and_exit_1(there: Path) -> None:
    done = jobgen("lint", "job.sh", cwd=there)
    assert done.stdout.decode() == f"job.sh:4:9: {FOUND}; {CURE} [JG201]\n"
    assert done.stderr == b"jobgen: 1 finding in 1 of 1 scripts\n"
    assert done.returncode == 1


def test_nothing_found_is_0_and_no_output(there: Path) -> None:
    (there / "job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\nsrun hostname\n")
    done = jobgen("lint", "job.sh", cwd=there)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"jobgen: 0 findings in 0 of 1 scripts\n"


def test_a_folder_is_its_job_scripts(there: Path) -> None:
    (there / "a/.hidden").mkdir(parents=True)
    (there / "a/.hidden/job.sh").write_text(BAD)
    (there / "a/train.slurm").write_text(BAD)
    (there / "a/setup.sh").write_text("echo\n")
    (there / "a/data.txt").write_text(BAD)
    done = jobgen("lint", ".", cwd=there)
    files = [line.split(":")[0] for line in done.stdout.decode().splitlines()]
    assert files == ["./job.sh", "./a/train.slurm"]
    assert b"in 2 of 2 scripts; 1 files are no job scripts\n" in done.stderr


def test_links_in_a_folder_are_not_followed(there: Path) -> None:
    (there / "a").mkdir()
    (there / "a/link.sh").symlink_to("../job.sh")
    assert jobgen("lint", "a", cwd=there).stdout == b""
    assert b"a/link.sh:4:9: " in jobgen("lint", "a/link.sh", cwd=there).stdout


def test_names_are_utf_8_in_every_locale(there: Path) -> None:
    (there / "é").mkdir()
    (there / "é/job.sh").write_text(BAD)
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name in ("é", "é/job.sh"):
        argv = [sys.executable, "-m", "jobgen", "lint", name]
        done = subprocess.run(argv, cwd=there, env=env, capture_output=True, check=False)
        assert done.stdout.startswith("é/job.sh:4:9: ".encode())


def test_a_closed_stdin_is_2(there: Path) -> None:
    argv = ["sh", "-c", '"$0" -m jobgen lint - <&-', sys.executable]
    done = subprocess.run(argv, cwd=there, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"jobgen: -: stdin is closed [unreadable]" in done.stderr


def test_of_named_files_only_job_scripts_if_so_said(there: Path) -> None:
    (there / "setup.sh").write_text("cd my\\dir\n")
    assert b"[JG601]" in jobgen("lint", "setup.sh", cwd=there).stdout
    done = jobgen("lint", "--jobs-only", "setup.sh", "job.sh", cwd=there)
    assert done.stdout.decode() == f"job.sh:4:9: {FOUND}; {CURE} [JG201]\n"
    assert b"1 finding in 1 of 1 scripts; 1 files are no job scripts" in done.stderr


def test_a_large_file_in_a_folder_is_no_script(there: Path) -> None:
    (there / "data").write_bytes(b"#SBATCH -N 1\n" + bytes(1 << 20))
    assert jobgen("lint", ".", cwd=there).returncode == 1
    assert b"has more than" in jobgen("lint", "data", cwd=there).stderr


def test_what_is_no_text_is_said(there: Path) -> None:
    (there / "job.sh").write_bytes(BAD.encode("utf-16"))
    for words in (["job.sh"], ["."]):
        done = jobgen("lint", *words, cwd=there)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"job.sh: no text: it has zero bytes in it" in done.stderr
    (there / "job.sh").write_bytes(bytes(9))
    assert jobgen("lint", ".", cwd=there).returncode == 0


def test_a_byte_order_mark_has_to_go(there: Path) -> None:
    (there / "job.sh").write_bytes(b"\xef\xbb\xbf#!/bin/bash\n#SBATCH --nodes=2\nsrun hostname\n")
    done = jobgen("lint", "job.sh", cwd=there)
    assert re.findall(r"^job.sh:1:1: .*without BOM.*\[(.*)\]$", done.stdout.decode()) == ["JG216"]


def test_a_folder_that_cannot_be_read_is_said(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> NoReturn:
        raise PermissionError(13, "Permission denied", path)

    (there / "a").mkdir()
    monkeypatch.setattr(os, "scandir", scandir)
    (unread,) = lint([str(there / "a")], Settings()).unread
    assert str(unread).endswith("a: cannot be read: Permission denied [unreadable]")


def test_scripts_in_a_text_are_found_on_its_lines(there: Path) -> None:
    text = BAD.replace("\n", "\n   ")
    (there / "a.md").write_text(
        f"<you>\n```\n$ cat job.sh\n{BAD}```\n1. So:\n   ```\n   {text}```\n"
    )
    (there / "a.rst").write_text(f"Run::\n\n   {text}\nIt's done.\n")
    (there / "b.md").write_text("no `script`\n")
    done = jobgen("lint", "a.md", "a.rst", "b.md", cwd=there)
    places = [line.partition(": ")[0] for line in done.stdout.decode().splitlines()]
    assert places == ["a.md:15:12", "a.rst:6:12"]
    assert b"2 findings in 2 of 2 scripts; 1 files are no job scripts" in done.stderr


def test_a_script_that_is_read_in_part_is_said(there: Path) -> None:
    (there / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 1\nexec {log}<>log\nsrun hostname\n")
    inner = "sbatch <<END\n#!/bin/bash\n#SBATCH -N 1\nexec {log}<>log\nEND\n"
    (there / "inner.sh").write_text(f"#!/bin/bash\n{inner}")
    done = jobgen("lint", "job.sh", "inner.sh", cwd=there)
    assert done.returncode == 0
    places = re.findall(r"(\w+.sh:\d+):\d+: the parser is at a loss here", done.stderr.decode())
    assert places == ["job.sh:3", "inner.sh:5"]


def test_the_hook_takes_what_a_folder_would() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (hook,) = (each for each in hooks if each["id"] == "jobgen-lint")
    assert hook["entry"].split() == ["jobgen", "lint", "--jobs-only"]
    for suffix in _SUFFIXES:
        assert re.search(hook["files"], f"jobs/train{suffix}")
    assert not re.search(hook["files"], "jobs/train.py")


def test_the_workflow_of_the_readme(there: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(on: .*?)```\n", text, re.DOTALL)
    steps = yaml.safe_load(shown)["jobs"]["lint"]["steps"]
    _, sarif, github = (step["run"] for step in steps if "run" in step)
    (there / "jobs").mkdir()
    (there / "job.sh").rename(there / "jobs/job.sh")
    (there / "jobgen").write_text(f'#!/bin/sh\nexec {sys.executable} -m jobgen "$@"\n')
    (there / "jobgen").chmod(0o755)
    path = {"PATH": f"{there}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def run(line: str) -> int:
        told = subprocess.run(["bash", "-e", "-c", line], cwd=there, env=path, check=False)
        return told.returncode

    assert (run(sarif), run(github)) == (0, 1)
    (there / "jobs/job.sh").write_bytes(bytes((1 << 20) + 1))
    assert run(sarif.replace("jobs >", "jobs/job.sh >")) == 1


def test_formats(there: Path) -> None:
    told = json.loads(jobgen("lint", "job.sh", "--format=json", cwd=there).stdout)
    row = {"file": "job.sh", "line": 4, "column": 9, "code": "JG201", "message": FOUND}
    assert told == [{**row, "cure": CURE}]
    run = json.loads(jobgen("lint", "job.sh", "--format=sarif", cwd=there).stdout)["runs"][0]
    (result,) = run["results"]
    assert (result["ruleId"], run["tool"]["driver"]["rules"][0]["id"]) == ("JG201", "JG201")
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 4, "startColumn": 9}
    (there / "a,b%.sh").write_text(BAD)
    told = jobgen("lint", "a,b%.sh", "--format=github", cwd=there).stdout.decode()
    assert told == f"::warning file=a%2Cb%25.sh,line=4,col=9,title=JG201::{FOUND}; {CURE}\n"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--ignore", "JG201"], 0),
        (["--ignore", "jg2"], 0),
        (["--select", "JG201"], 1),
        (["--select", "JG1"], 0),
        (["--select", "JG1", "--also", "JG201"], 1),
        (["--select", "JG1,JG2", "--ignore", "JG202"], 1),
    ],
)
def test_rules_are_chosen(there: Path, words: list[str], left: int) -> None:
    done = jobgen("lint", "job.sh", *words, cwd=there)
    assert len(done.stdout.splitlines()) == left


def test_the_nearest_pyproject_counts_and_the_command_line_before_it(there: Path) -> None:
    (there / "pyproject.toml").write_text('[tool.jobgen.lint]\nignore = ["JG2"]\n')
    assert jobgen("lint", "job.sh", cwd=there).returncode == 0
    assert jobgen("lint", str(there / "job.sh")).returncode == 0
    assert jobgen("lint", "job.sh", "--ignore", "JG1", cwd=there).returncode == 1
    (there / "sub").mkdir()
    (there / "sub/pyproject.toml").write_text("[tool.other]\n")
    (there / "sub/job.sh").write_text(BAD)
    assert jobgen("lint", "sub/job.sh", cwd=there).returncode == 0


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# jobgen: ignore=JG201 it is asked for by hand", []),
        ("# jobgen: ignore=JG702,JG201 JG702 is tried with a profile alone", []),
        ("# jobgen: ignore=JG212,JG201 JG212 is tried where it is named", []),
        ("# jobgen: ignore=JG101,JG201 there is no torchrun", ["JG002"]),
        ("# jobgen: ignore=JG101, JG201 why", ["JG002", "JG201"]),
        ("# jobgen: ignore=JG201 , JG101 why", ["JG002", "JG201"]),
        ("# jobgen: ignore=jg201 why", ["JG002", "JG201"]),
        ("# jobgen: ignore why", ["JG002", "JG201"]),
        ("# jobgen: ignore=JG201", ["JG002", "JG201"]),
        ("# jobgen: ignore=JG999 why", ["JG002", "JG201"]),
        ("# jobgen: ignore= why", ["JG002", "JG201"]),
        ("# jobgen: ignore=JG101 why", ["JG002", "JG201"]),
    ],
)
def test_a_comment_with_a_reason_keeps_a_rule_away(
    there: Path, comment: str, codes: list[str]
) -> None:
    late = "#SBATCH --gpus-per-node=4"
    for text in (f"{comment}\n{late}", f"{late}  {comment}"):
        (there / "job.sh").write_text(BAD.replace(late, text))
        told = json.loads(jobgen("lint", "job.sh", "--format=json", cwd=there).stdout)
        assert sorted(row["code"] for row in told) == codes


def test_only_a_comment_keeps_a_rule_away(there: Path) -> None:
    said, run = "# jobgen: ignore=JG101 it is one node", "torchrun --nnodes=2 t.py"
    lines = [
        "#!/bin/bash",
        "#SBATCH --nodes=2",
        f'echo "{said}"; {run}',
        f"{run}  {said}",
        f"bash -c '{run} {said}'",
        run,
        "cat <<EOF",
        f"{run} {said}",
        "EOF",
    ]
    (there / "job.sh").write_text("\n".join(lines) + "\n")
    told = json.loads(jobgen("lint", "job.sh", "--format=json", cwd=there).stdout)
    assert [(row["line"], row["code"]) for row in told] == [(n, "JG101") for n in (3, 6)]
    selected = jobgen("lint", "job.sh", "--select=JG002,JG2", cwd=there)
    assert selected.returncode == 0  # of rules that are not tried nothing is said


def test_what_cannot_be_read_keeps_no_finding_back(there: Path) -> None:
    (there / "bad.sh").write_text("#!/bin/bash\n#SBATCH -N 2\ntorchrun --nnodes 2 t.py\n")
    done = jobgen("lint", "nope.sh", "bad.sh", "--format=json", cwd=there)
    assert done.returncode == 2
    assert [row["code"] for row in json.loads(done.stdout)] == ["JG101"]
    assert done.stderr.decode().splitlines() == [
        "jobgen: nope.sh: cannot be read: No such file or directory [unreadable]",
        "jobgen: 1 finding in 1 of 1 scripts",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope.sh"], "jobgen: nope.sh: cannot be read: No such file or directory [unreadable]"),
        (["job.sh", "--select", "JG201x"], "there is no rule 'JG201X'; did you mean JG201?"),
        (["job.sh", "--ignore", ""], "there is no rule ''"),
        (["job.sh", "--profile", "nope"], "no profile `nope`"),
        (["job.sh", "--format", "xml"], "Invalid value for '--format'"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage_is_2_and_says_why(there: Path, words: list[str], said: str) -> None:
    done = jobgen("lint", *words, cwd=there)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.jobgen.lint]\nignored = []\n", "unknown key tool.jobgen.lint.ignored"),
        ('[tool.jobgen.lint]\nignore = "JG2"\n', "tool.jobgen.lint.ignore is not a list of codes"),
        ("[tool.jobgen.lint]\nprofile = 3\n", "tool.jobgen.lint.profile is not a text"),
        ('[tool.jobgen.lint]\nselect = ["JG9x"]\n', "there is no rule 'JG9X'"),
        ("[tool.jobgen.lint]\nselect = []\n", "tool.jobgen.lint.select names no rule"),
        ('[tool.jobgen.lint]\nprofile = "nope"\n', "pyproject.toml: profile: no profile `nope`"),
        ('[tool.jobgen.lint]\nprofile = "../x.yaml"\n', "../x.yaml is outside of"),
        ('[tool.jobgen.lint]\nprofile = "link.yaml"\n', "link.yaml is outside of"),
        ('[tool.jobgen.lint]\nprofile = "extends.yaml"\n', "is outside of"),
        ("jobgen = " + "[" * 3000, "pyproject.toml: is nested too deep"),
        ("[tool.jobgen]\nlint = 3\n", "tool.jobgen.lint is no table"),
        ("tool = 3 # jobgen\n", "pyproject.toml: tool is no table"),
        ("[tool.jobgen.lint\n", "is no TOML"),
        ("\udcff", "pyproject.toml: no UTF-8 text"),
    ],
)
def test_a_wrong_configuration_is_2(there: Path, text: str, said: str) -> None:
    (there / "pyproject.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    (there.parent / "x.yaml").write_text("secret: yes\n")
    (there / "link.yaml").symlink_to("../x.yaml")
    (there / "extends.yaml").write_text("extends: ../x.yaml\n")
    done = jobgen("lint", "job.sh", cwd=there)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert "secret" not in done.stderr.decode()


def test_a_configuration_takes_little_memory_and_time(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SECONDS", 1)
    (there / "b.sh").write_text(BAD)
    file = there / "pyproject.toml"
    file.write_text("# jobgen\n" + "a." * 100_000 + "a = 1\n")
    outcome = lint([str(there)], Settings())
    assert [each.text for each in outcome.unread] == ["takes more than 1 s, or 2 GiB, to read"]
    os.truncate(file, 20 << 30)
    run.configured.cache_clear()
    outcome = lint([str(there)], Settings())
    assert [each.text for each in outcome.unread] == ["has more than 1048576 bytes"]


def test_what_leads_out_of_a_repository_is_not_shown(there: Path) -> None:
    """A script, or a configuration; what a shell hands over is not of a repository."""
    root = there / "repository"
    (root / ".git").mkdir(parents=True)
    (there / "pyproject.toml").write_text("[tool.jobgen.lint]\nsecret = 1\n")
    (root / "job.sh").symlink_to("../job.sh")
    (root / "folder").symlink_to("..")
    for path in ("job.sh", "folder/job.sh", "folder"):
        done = jobgen("lint", path, cwd=root)
        assert (done.returncode, done.stdout) == (2, b"")
        assert f"job.sh: a link out of {root}; name the file itself".encode() in done.stderr
    (root / "job.sh").unlink()
    (root / "job.sh").write_text(BAD)
    (root / "pyproject.toml").symlink_to("../pyproject.toml")
    done = jobgen("lint", "job.sh", cwd=root)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"pyproject.toml: a link out of its repository; keep a copy" in done.stderr
    (root / "pyproject.toml").unlink()
    (there / "pyproject.toml").unlink()
    (root / "link.sh").symlink_to("job.sh")
    assert jobgen("lint", "link.sh", cwd=root).returncode == 1


def test_a_pipe_keeps_nobody_waiting_but_where_a_shell_makes_one(there: Path) -> None:
    os.mkfifo(there / "pipe.sh")
    done = jobgen("lint", "pipe.sh", cwd=there)
    assert (done.returncode, done.stderr.split(b"\n")[0]) == (
        2, b"jobgen: pipe.sh: no regular file [unreadable]"
    )  # fmt: skip
    for given in ("<(cat job.sh)", "/dev/stdin < job.sh", "- < job.sh"):
        command = f"{shlex.quote(sys.executable)} -m jobgen lint {given}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=there, capture_output=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert (done.returncode, done.stdout.count(b"\n")) == (1, 1)


def test_a_configuration_that_is_a_pipe_is_2(there: Path) -> None:
    os.mkfifo(there / "pyproject.toml")
    done = jobgen("lint", "job.sh", cwd=there)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"pyproject.toml: no regular file" in done.stderr


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe", b"#!/bin/bash\n#SBATCH\n", b"#SBATCH --nodes\n", b"((((" * 3000,
     b"#PBS -l\n#PBS -N\n", b"$(" * 2000, b"#SBATCH -N \xff\nsrun '", b"#PBS -l select=:=\n",
     b"bash -c \"bash -c 'bash -c \\\"x", b"#SBATCH --nodes=" + "²".encode() + b"\ntorchrun\n",
     b"#SBATCH --ntasks-per-node=" + "²".encode() + b"\nsrun torchrun --nnodes=2 --rdzv-id\n"],
)  # fmt: skip
def test_no_script_is_too_broken(there: Path, text: bytes) -> None:
    (there / "job.sh").write_bytes(text)
    done = jobgen("lint", "job.sh", cwd=there)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


def test_a_file_that_takes_the_parser_all_memory_is_2_and_the_others_go_on(there: Path) -> None:
    (there / "all.sh").write_text("#!/bin/bash\n" + "a|" * 131000)
    (there / "job.sh").write_text(BAD + "echo\n" * 4000)  # long, and no more
    done = jobgen("lint", "--select=JG201", "all.sh", "job.sh", cwd=there)
    assert (done.returncode, done.stdout.count(b"\n")) == (2, 1)
    assert b"jobgen: all.sh: takes more than 10 s, or 2 GiB, to read" in done.stderr
    assert b"1 finding in 1 of 1 scripts" in done.stderr


def test_the_parser_is_an_extra(there: Path) -> None:
    (there / "tree_sitter.py").write_text("raise ImportError\n")
    done = jobgen("lint", "job.sh", cwd=there)
    said = b"jobgen: lint: it needs tree-sitter and tree-sitter-bash; "
    said += b"pip install 'jobgen[lint]' [missing]\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", said)
    assert jobgen("local", cwd=there).returncode == 0


def test_rules_are_listed_and_shown(there: Path) -> None:
    listed = jobgen("rules", cwd=there).stdout.decode().splitlines()
    assert len(listed) > 20
    page = jobgen("rules", "jg101", cwd=there).stdout.decode()
    assert page.startswith("JG101: torchrun of a job of several nodes")
    assert "\nEvidence: " in page
    assert "\nFound in:\n\n    #!/bin/bash\n" in page
    done = jobgen("rules", "JG1", cwd=there)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no rule `JG1`" in done.stderr
