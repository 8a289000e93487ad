"""`jobgen lint` as its user sees it: files, folders, formats, settings, comments, exit codes."""

from __future__ import annotations

import errno
import json
import mmap
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

from jobgen import untrusted_input
from jobgen.bounds import LINT_BYTES, LINT_TRUSTED_BYTES
from jobgen.errors import JobgenError
from jobgen.lint import files, run, settings
from jobgen.lint.files import SUFFIXES
from jobgen.lint.reader.parse import parse
from jobgen.lint.run import lint
from jobgen.lint.settings import Settings

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
module load cuda
#SBATCH --gpus-per-node=4
srun python train.py
"""
ROOT = Path(__file__).parent.parent
DIRECTIVE = "#SBATCH --gpus-per-node=4"
MESSAGE = "`--gpus-per-node=4` is ignored: it comes after the first command"
CURE = "move it above the first command"
# The parser takes much time and memory for this.
SLOW = "#!/bin/bash\n" + "a|" * 4000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.sh").write_text(BAD)
    return tmp_path


def test_finding_is_a_line_and_exit_code_1(folder: Path) -> None:
    done = jobgen("lint", "job.sh", cwd=folder)
    assert done.stdout.decode() == f"job.sh:4:9: {MESSAGE}; {CURE} [JG201]\n"
    assert done.stderr == b"jobgen: 1 finding in 1 of 1 scripts; --fix mends 1\n"
    assert done.returncode == 1


def test_no_finding_is_no_output_and_exit_code_0(folder: Path) -> None:
    (folder / "job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\nsrun hostname\n")
    done = jobgen("lint", "job.sh", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"jobgen: 0 findings in 0 of 1 scripts\n"


def test_folder_stands_for_its_job_scripts(folder: Path) -> None:
    (folder / "a/.hidden").mkdir(parents=True)
    (folder / "a/.hidden/job.sh").write_text(BAD)
    (folder / "a/jobgen-logs/12").mkdir(parents=True)  # what a job left
    (folder / "a/jobgen-logs/12/job.sh").write_text(BAD)
    (folder / "a/train.slurm").write_text(BAD)
    (folder / "a/setup.sh").write_text("echo\n")
    done = jobgen("lint", ".", cwd=folder)
    files = [line.split(":")[0] for line in done.stdout.decode().splitlines()]
    assert files == ["./job.sh", "./a/train.slurm"]
    assert b"in 2 of 2 scripts; 1 file is no job script; --fix mends 2\n" in done.stderr


def test_folder_is_searched_whatever_the_suffix(folder: Path) -> None:
    directives = "#SBATCH -N 2\n#SBATCH -N 4\n"
    texts = {
        "a.mine": BAD,
        "b.txt": f"\n# A job\n{directives}",
        "c.md": f"# Jobs\n```\n{directives}#SBATCH x\n```\n",
        "d.csh": f"#!/bin/csh\nset a = 1\n{directives}",
        "no.py": f"import os\nJOB = '''\n{directives}'''\n",
        "no.yaml": f"run: |\n{directives}",
        "no.md": "# Jobs\n",
        "no": f"To do:\nif it fails, more memory\n{directives}",
        "yes": f"#!/bin/sh\nulimit -c 0\n{directives}",
        "no.sh.j2": BAD,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "no.bin").write_bytes(directives.encode() + bytes(9))
    done = jobgen("lint", ".", cwd=folder)
    files = {line.split(":")[0] for line in done.stdout.decode().splitlines()}
    assert files == {"./job.sh", "./a.mine", "./b.txt", "./c.md", "./d.csh", "./yes"}
    assert b"no job script" not in done.stderr


def test_links_in_a_folder_are_not_followed(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a/link.sh").symlink_to("../job.sh")
    assert jobgen("lint", "a", cwd=folder).stdout == b""
    assert b"a/link.sh:4:9: " in jobgen("lint", "a/link.sh", cwd=folder).stdout


def test_file_names_are_utf_8_in_every_locale(folder: Path) -> None:
    (folder / "é").mkdir()
    (folder / "é/job.sh").write_text(BAD)
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name in ("é", "é/job.sh"):
        argv = [sys.executable, "-m", "jobgen", "lint", name]
        done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, check=False)
        assert done.stdout.startswith("é/job.sh:4:9: ".encode())


def test_closed_stdin_is_exit_code_2(folder: Path) -> None:
    argv = ["sh", "-c", '"$0" -m jobgen lint - <&-', sys.executable]
    done = subprocess.run(argv, cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"jobgen: -: stdin is closed [unreadable]" in done.stderr


def test_jobs_only_passes_over_other_named_files(folder: Path) -> None:
    (folder / "setup.sh").write_text("cd my\\dir\n")
    assert b"[JG601]" in jobgen("lint", "setup.sh", cwd=folder).stdout
    done = jobgen("lint", "--jobs-only", "setup.sh", "job.sh", cwd=folder)
    assert done.stdout.decode() == f"job.sh:4:9: {MESSAGE}; {CURE} [JG201]\n"
    assert b"1 finding in 1 of 1 scripts; 1 file is no job script" in done.stderr


def test_large_file_is_not_read(folder: Path) -> None:
    (folder / "data").write_bytes(b"#SBATCH -N 1\n" + bytes(LINT_BYTES))
    assert jobgen("lint", ".", cwd=folder).returncode == 1
    assert b"data: it has more than 1048576 bytes" in jobgen("lint", "data", cwd=folder).stderr


def test_file_with_zero_bytes_is_reported(folder: Path) -> None:
    (folder / "job.sh").write_bytes(BAD.encode("utf-16"))
    for path in ("job.sh", "."):
        done = jobgen("lint", path, cwd=folder)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"job.sh: it is not text: it has zero bytes; is it UTF-16?" in done.stderr
    (folder / "job.sh").write_bytes(bytes(9))
    assert jobgen("lint", ".", cwd=folder).returncode == 0


def test_byte_order_mark_is_reported(folder: Path) -> None:
    script = b"\xef\xbb\xbf#!/bin/bash\n#SBATCH --nodes=2\nsrun hostname\n"
    (folder / "job.sh").write_bytes(script)
    done = jobgen("lint", "job.sh", cwd=folder)
    assert re.findall(r"^job.sh:1:1: .*without BOM.*\[(.*)\]$", done.stdout.decode()) == ["JG216"]


def test_unreadable_folder_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> NoReturn:
        raise PermissionError(13, "Permission denied", path)

    (folder / "a").mkdir()
    monkeypatch.setattr(os, "scandir", scandir)
    (unread,) = lint([str(folder / "a")], Settings()).unread
    assert str(unread).endswith("a: cannot be read: Permission denied [unreadable]")


def test_scripts_in_a_document_are_found_on_its_lines(folder: Path) -> None:
    text = BAD.replace("\n", "\n   ")
    (folder / "a.md").write_text(
        f"<you>\n```\n$ cat job.sh\n{BAD}```\n1. So:\n   ```\n   {text}```\n"
    )
    (folder / "a.rst").write_text(f"Run::\n\n   {text}\nIt's done.\n")
    (folder / "b.md").write_text("no `script`\n")
    done = jobgen("lint", "a.md", "a.rst", "b.md", cwd=folder)
    places = [line.partition(": ")[0] for line in done.stdout.decode().splitlines()]
    assert places == ["a.md:7:9", "a.md:15:12", "a.rst:6:12"]
    assert b"3 findings in 2 of 2 scripts; 1 file is no job script" in done.stderr


def test_partly_read_script_is_reported(folder: Path) -> None:
    (folder / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 1\nexec {log}<>log\nsrun hostname\n")
    inner = "sbatch <<END\n#!/bin/bash\n#SBATCH -N 1\nexec {log}<>log\nEND\n"
    (folder / "inner.sh").write_text(f"#!/bin/bash\n{inner}")
    done = jobgen("lint", "job.sh", "inner.sh", cwd=folder)
    assert done.returncode == 0
    places = re.findall(r"(\w+.sh:\d+):\d+: this cannot be parsed", done.stderr.decode())
    assert places == ["job.sh:3", "inner.sh:5"]


def test_hook_selects_the_same_files_as_a_folder() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (hook,) = (hook for hook in hooks if hook["id"] == "jobgen-lint")
    assert hook["entry"].split() == ["jobgen", "lint", "--jobs-only"]
    for suffix in SUFFIXES | {""}:
        assert re.search(hook["files"], f"jobs/train{suffix}")
    assert not re.search(hook["files"], "jobs/train.py")


def test_workflow_in_the_docs(folder: Path) -> None:
    page = (ROOT / "docs/linting.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(r"```yaml\n(on: .*?)```\n", page, re.DOTALL)
    steps = yaml.safe_load(workflow)["jobs"]["lint"]["steps"]
    _, sarif, github = (step["run"] for step in steps if "run" in step)
    (folder / "jobs").mkdir()
    (folder / "job.sh").rename(folder / "jobs/job.sh")
    (folder / "jobgen").write_text(f'#!/bin/sh\nexec {sys.executable} -m jobgen "$@"\n')
    (folder / "jobgen").chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def exit_code(line: str) -> int:
        argv = ["bash", "-e", "-c", line]
        return subprocess.run(argv, cwd=folder, env=env, check=False).returncode

    assert (exit_code(sarif), exit_code(github)) == (0, 1)
    (folder / "jobs/job.sh").write_bytes(bytes(LINT_BYTES + 1))
    assert exit_code(sarif.replace("jobs >", "jobs/job.sh >")) == 1


def test_formats(folder: Path) -> None:
    rows = json.loads(jobgen("lint", "job.sh", "--format=json", cwd=folder).stdout)
    row = {"file": "job.sh", "line": 4, "column": 9, "code": "JG201", "message": MESSAGE}
    edits = [
        {"line": 3, "column": 1, "end_line": 3, "end_column": 1, "text": f"{DIRECTIVE}\n"},
        {"line": 4, "column": 1, "end_line": 5, "end_column": 1, "text": ""},
    ]
    assert rows == [{**row, "end_line": 4, "end_column": 26, "cure": CURE, "edits": edits}]
    sarif = json.loads(jobgen("lint", "job.sh", "--format=sarif", cwd=folder).stdout)
    assert sarif["version"] == "2.1.0"
    (sarif_run,) = sarif["runs"]
    (result,) = sarif_run["results"]
    (rule,) = sarif_run["tool"]["driver"]["rules"]
    assert (result["ruleId"], result["ruleIndex"], rule["id"]) == ("JG201", 0, "JG201")
    assert result["message"]["text"] == f"{MESSAGE}; {CURE}"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "job.sh"}
    region = {"startLine": 4, "startColumn": 9, "endLine": 4, "endColumn": 26}
    assert place["region"] == region
    (folder / "a,b%.sh").write_text(BAD)
    line = jobgen("lint", "a,b%.sh", "--format=github", cwd=folder).stdout.decode()
    assert line == f"::warning file=a%2Cb%25.sh,line=4,col=9,title=JG201::{MESSAGE}; {CURE}\n"


@pytest.mark.parametrize(
    ("options", "findings"),
    [
        (["--ignore", "JG201"], 0),
        (["--ignore", "jg2"], 0),
        (["--select", "JG201"], 1),
        (["--select", "JG1"], 0),
        (["--select", "JG1", "--also", "JG201"], 1),
        (["--select", "JG1,JG2", "--ignore", "JG202"], 1),
    ],
)
def test_rules_are_selected(folder: Path, options: list[str], findings: int) -> None:
    done = jobgen("lint", "job.sh", *options, cwd=folder)
    assert len(done.stdout.splitlines()) == findings


def test_nearest_pyproject_counts_and_the_command_line_overrides_it(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.jobgen.lint]\nignore = ["JG2"]\n')
    assert jobgen("lint", "job.sh", cwd=folder).returncode == 0
    assert jobgen("lint", str(folder / "job.sh")).returncode == 0
    assert jobgen("lint", "job.sh", "--ignore", "JG1", cwd=folder).returncode == 1
    (folder / "sub").mkdir()
    (folder / "sub/pyproject.toml").write_text("[tool.other]\n")
    (folder / "sub/job.sh").write_text(BAD)
    assert jobgen("lint", "sub/job.sh", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# jobgen: ignore=JG201 the directive is only a reminder", []),
        ("# jobgen: ignore=JG702,JG201 JG702 is searched for only with a profile", []),
        ("# jobgen: ignore=JG212,JG201 JG212 is searched for only where it is selected", []),
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
def test_ignore_comment_with_reason_suppresses_the_rule(
    folder: Path, comment: str, codes: list[str]
) -> None:
    directive = "#SBATCH --gpus-per-node=4"
    for text in (f"{comment}\n{directive}", f"{directive}  {comment}"):
        (folder / "job.sh").write_text(BAD.replace(directive, text))
        rows = json.loads(jobgen("lint", "job.sh", "--format=json", cwd=folder).stdout)
        assert sorted(row["code"] for row in rows) == codes


def test_a_comment_above_all_commands_is_also_for_the_first_line(folder: Path) -> None:
    comment, directive, command = "# jobgen: ignore=JG216 a test", "#SBATCH --nodes=1", "srun x"
    for lines, codes in (
        (("# a job", comment, directive, command), []),
        (("# a job", directive, comment, command), []),
        (("# a job", directive, command, comment), ["JG002", "JG216"]),
    ):
        (folder / "job.sh").write_text("\n".join(lines) + "\n")
        select = "--select=JG216,JG002"
        rows = json.loads(jobgen("lint", "job.sh", select, "--format=json", cwd=folder).stdout)
        assert sorted(row["code"] for row in rows) == codes


def test_only_a_comment_suppresses_a_rule(folder: Path) -> None:
    ignore, torchrun = "# jobgen: ignore=JG101 it is one node", "torchrun --nnodes=2 t.py"
    lines = [
        "#!/bin/bash",
        "#SBATCH --nodes=2",
        f'echo "{ignore}"; {torchrun}',
        f"{torchrun}  {ignore}",
        f"bash -c '{torchrun} {ignore}'",
        torchrun,
        "cat <<EOF",
        f"{torchrun} {ignore}",
        "EOF",
    ]
    (folder / "job.sh").write_text("\n".join(lines) + "\n")
    rows = json.loads(jobgen("lint", "job.sh", "--select=JG1", "--format=json", cwd=folder).stdout)
    assert [(row["line"], row["code"]) for row in rows] == [(3, "JG101"), (6, "JG101")]
    selected = jobgen("lint", "job.sh", "--select=JG002,JG2", cwd=folder)
    assert selected.returncode == 0  # a comment for a rule that is not searched for is right


def test_unreadable_file_hides_no_finding(folder: Path) -> None:
    (folder / "bad.sh").write_text("#!/bin/bash\n#SBATCH -N 2\ntorchrun --nnodes 2 t.py\n")
    done = jobgen("lint", "nope.sh", "bad.sh", "--format=json", cwd=folder)
    assert done.returncode == 2
    assert [row["code"] for row in json.loads(done.stdout)] == ["JG101"]
    assert done.stderr.decode().splitlines() == [
        "jobgen: nope.sh: cannot be read: No such file or directory [unreadable]",
        "jobgen: 1 finding in 1 of 1 scripts",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope.sh"], "jobgen: nope.sh: cannot be read: No such file or directory [unreadable]"),
        (["train.py"], "jobgen: train.py: a Python program; lint reads job scripts: name the one"),
        (["my.yaml"], "jobgen: my.yaml: a YAML file; for a profile: `jobgen profiles validate"),
        (["job.sh", "--select", "JG201x"], "there is no rule 'JG201X'; did you mean JG201?"),
        (["job.sh", "--select", "JG999"], "there is no rule 'JG999'; see `jobgen rules`"),
        ([""], "FILE: an empty word names no file"),
        (["job.sh", "--ignore", ""], "there is no rule ''"),
        (["job.sh", "--profile", "nope"], "no profile `nope`"),
        (["job.sh", "--format", "xml"], "Invalid value for '--format'"),
    ],
)
def test_wrong_usage_is_exit_code_2(folder: Path, words: list[str], message: str) -> None:
    for name in ("train.py", "my.yaml"):
        (folder / name).write_text("print(1)\n")
    done = jobgen("lint", *words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.jobgen.lint]\nignored = []\n", "unknown key tool.jobgen.lint.ignored"),
        ('[tool.jobgen.lint]\nignore = "JG2"\n', "tool.jobgen.lint.ignore is not a list of codes"),
        ("[tool.jobgen.lint]\nignore = [2]\n", "tool.jobgen.lint.ignore is not a list of codes"),
        ("[tool.jobgen.lint]\nprofile = 3\n", "tool.jobgen.lint.profile must be a string"),
        ('[tool.jobgen.lint]\nselect = ["JG9x"]\n', "there is no rule 'JG9X'"),
        ("[tool.jobgen.lint]\nselect = []\n", "tool.jobgen.lint.select names no rule"),
        ('[tool.jobgen.lint]\nprofile = "nope"\n', "pyproject.toml: profile: no profile `nope`"),
        ('[tool.jobgen.lint]\nprofile = "../x.yaml"\n', "../x.yaml is outside"),
        ('[tool.jobgen.lint]\nprofile = "link.yaml"\n', "link.yaml is outside"),
        ('[tool.jobgen.lint]\nprofile = "extends.yaml"\n', "is outside"),
        ("jobgen = " + "[" * 3000, "pyproject.toml: it is nested too deep"),
        ("[tool.jobgen]\nlint = 3\n", "tool.jobgen.lint is not a table"),
        ("tool = 3 # jobgen\n", "pyproject.toml: tool is not a table"),
        ("[tool.jobgen.lint\n", "pyproject.toml: it is not valid TOML"),
        ("\udcff", "pyproject.toml: it is not UTF-8"),
    ],
)
def test_wrong_configuration_is_exit_code_2(folder: Path, text: str, message: str) -> None:
    (folder / "pyproject.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    (folder.parent / "x.yaml").write_text("secret: yes\n")
    (folder / "link.yaml").symlink_to("../x.yaml")
    (folder / "extends.yaml").write_text("extends: ../x.yaml\n")
    done = jobgen("lint", "job.sh", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert "secret" not in done.stderr.decode()


def test_configuration_is_read_within_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that takes too long is tried once, also if several scripts need it."""
    tries = []

    def ends_within_bounds(*words: object) -> bool:
        tries.append(words)
        return untrusted_input.ends_within_bounds(*words)

    for module in (untrusted_input, files):
        monkeypatch.setattr(module, "PARSE_SECONDS", 1)
    monkeypatch.setattr(settings, "ends_within_bounds", ends_within_bounds)
    (folder / "b.sh").write_text(BAD)
    file = folder / "pyproject.toml"
    file.write_text("# jobgen\n" + "a." * 100_000 + "a = 1\n")
    outcome = lint([str(folder)], Settings())
    assert [each.text for each in outcome.unread] == ["cannot be parsed within 1 s and 2 GiB"]
    assert len(tries) == 1
    os.truncate(file, 20 << 30)
    settings.configured_settings.cache_clear()
    outcome = lint([str(folder)], Settings())
    assert [each.text for each in outcome.unread] == ["it has more than 1048576 bytes"]


def test_links_out_of_a_repository_are_not_read(folder: Path) -> None:
    """Neither a script nor a configuration; what a shell hands over is of no repository."""
    root = folder / "repository"
    (root / ".git").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[tool.jobgen.lint]\nsecret = 1\n")
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
    (folder / "pyproject.toml").unlink()
    (root / "link.sh").symlink_to("job.sh")
    assert jobgen("lint", "link.sh", cwd=root).returncode == 1


def test_pipe_is_read_only_if_a_shell_made_it(folder: Path) -> None:
    os.mkfifo(folder / "pipe.sh")
    done = jobgen("lint", "pipe.sh", cwd=folder)
    first_line = done.stderr.split(b"\n")[0]
    assert (done.returncode, first_line) == (2, b"jobgen: pipe.sh: not a regular file [unreadable]")
    for words in ("<(cat job.sh)", "/dev/stdin < job.sh", "- < job.sh"):
        command = f"{shlex.quote(sys.executable)} -m jobgen lint {words}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, capture_output=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert (done.returncode, done.stdout.count(b"\n")) == (1, 1)


def test_configuration_that_is_a_pipe_is_exit_code_2(folder: Path) -> None:
    os.mkfifo(folder / "pyproject.toml")
    done = jobgen("lint", "job.sh", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"pyproject.toml: not a regular file" in done.stderr


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe", b"#!/bin/bash\n#SBATCH\n", b"#SBATCH --nodes\n", b"((((" * 3000,
     b"#PBS -l\n#PBS -N\n", b"$(" * 2000, b"#SBATCH -N \xff\nsrun '", b"#PBS -l select=:=\n",
     b"bash -c \"bash -c 'bash -c \\\"x", b"#SBATCH --nodes=" + "²".encode() + b"\ntorchrun\n",
     b"#SBATCH --ntasks-per-node=" + "²".encode() + b"\nsrun torchrun --nnodes=2 --rdzv-id\n"],
)  # fmt: skip
def test_no_script_is_too_broken(folder: Path, text: bytes) -> None:
    (folder / "job.sh").write_bytes(text)
    done = jobgen("lint", "job.sh", cwd=folder)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_script_that_exhausts_the_parser_is_exit_code_2(folder: Path) -> None:
    """The other scripts are linted."""
    (folder / "all.sh").write_text("#!/bin/bash\n" + "a|" * 131000)
    (folder / "job.sh").write_text(BAD + "echo\n" * 4000)  # it is only long
    done = jobgen("lint", "--select=JG201", "all.sh", "job.sh", cwd=folder)
    assert (done.returncode, done.stdout.count(b"\n")) == (2, 1)
    assert b"jobgen: all.sh: cannot be parsed within 10 s and 2 GiB" in done.stderr
    assert b"1 finding in 1 of 1 scripts" in done.stderr


def test_parsing_is_bounded_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert untrusted_input.ends_within_bounds(parse, SLOW, "job.sh")
    monkeypatch.setattr(untrusted_input, "PARSE_SECONDS", 0.01)
    assert not untrusted_input.ends_within_bounds(parse, SLOW, "job.sh")


def test_parsing_is_bounded_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert untrusted_input.ends_within_bounds(parse, SLOW, "job.sh")
    monkeypatch.setattr(untrusted_input, "PARSE_MEMORY", 16 << 20)
    text = SLOW * 100  # more than what this process may have free of its own
    assert not untrusted_input.ends_within_bounds(parse, text, "job.sh")


def test_parsing_in_a_large_process() -> None:
    """Such as one that has imported torch, or that has many threads."""
    with mmap.mmap(-1, untrusted_input.PARSE_MEMORY, prot=mmap.PROT_READ):
        assert untrusted_input.ends_within_bounds(bytearray, 64 << 20)


def test_a_machine_without_room_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", none)
    with pytest.raises(JobgenError) as error:
        untrusted_input.ends_within_bounds(parse, SLOW, "job.sh")
    text = "a second process: cannot be started: Resource temporarily unavailable"
    assert str(error.value) == f"{text}; end others of yours [process]"


@pytest.mark.thorough
@pytest.mark.slow
def test_only_a_long_script_is_tried_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def ends_within_bounds(function: object, text: str, *words: object) -> bool:
        tried.append(len(text))
        return True

    monkeypatch.setattr(run, "ends_within_bounds", ends_within_bounds)
    for size in (LINT_TRUSTED_BYTES, LINT_TRUSTED_BYTES + 1):
        (folder / "job.sh").write_text(BAD + "\n" * (size - len(BAD)))
        assert len(lint([str(folder / "job.sh")], Settings()).problems) == 1
    assert tried == 2 * [LINT_TRUSTED_BYTES + 1]  # what is found, and what --fix would mend


def test_parser_is_an_extra(folder: Path) -> None:
    (folder / "tree_sitter.py").write_text("raise ImportError\n")
    environ = {"PYTHONPATH": f"{folder}:{ROOT}"}
    done = jobgen("lint", "job.sh", cwd=folder, env=environ)
    message = b"jobgen: lint: tree-sitter and tree-sitter-bash are not installed; "
    message += b"pip install tree-sitter tree-sitter-bash [missing]\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", message)
    assert jobgen("local", cwd=folder, env=environ).returncode == 0
    words = ("sbatch", "--profile", "mi210", "--directive=--nise=100")  # its name is looked at
    assert jobgen(*words, cwd=folder, env=environ).returncode == 0


def test_rules_are_listed_and_shown(folder: Path) -> None:
    lines = jobgen("rules", cwd=folder).stdout.decode().splitlines()
    assert len(lines) > 20
    page = jobgen("rules", "jg101", cwd=folder).stdout.decode()
    assert page.startswith("JG101: torchrun for several nodes runs on the first node only\n")
    assert "\nEvidence: " in page
    assert "\nFound in:\n\n    #!/bin/bash\n" in page
    done = jobgen("rules", "JG1", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no rule `JG1`" in done.stderr
