"""What docs/editors.md gives to editors works with what lint writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.helpers import jobgen

pytest.importorskip("tree_sitter_bash")

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/editors.md").read_text(encoding="utf-8")
SCRIPT = "#!/bin/bash\n#SBATCH -c=2\n#SBATCH --output=$HOME/a\nsrun hostname\n"


def block(language: str, beginning: str) -> str:
    """The block of the page that begins so."""
    found = re.findall(rf"```{language}\n({re.escape(beginning)}.*?)```\n", PAGE, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.sh").write_text(SCRIPT)
    return tmp_path


def test_problem_matcher_reads_each_finding(folder: Path) -> None:
    lint, fix = json.loads(block("json", '{\n  "version"'))["tasks"]
    pattern = lint["problemMatcher"]["pattern"]
    done = jobgen(*lint["args"], cwd=folder)
    lines = (done.stdout + done.stderr).decode().splitlines()
    found = [each for line in lines if (each := re.search(pattern["regexp"], line))]
    fields = ("file", "line", "column", "code")
    rows = [[each[pattern[name]] for name in fields] for each in found]
    assert rows == [["./job.sh", "2", "9", "JG215"], ["./job.sh", "3", "9", "JG205"]]
    assert found[1][pattern["message"]].startswith("`$HOME` is not expanded in a directive; ")
    words = [word.replace("${file}", str(folder / "job.sh")) for word in fix["args"]]
    assert jobgen(*words).returncode == 1
    assert (folder / "job.sh").read_text() == SCRIPT.replace("-c=2", "-c 2")


def test_annotations_and_hook(folder: Path) -> None:
    (step,) = yaml.safe_load(block("yaml", "- run: "))
    words = step["run"].split()[1:-1]
    assert jobgen(*words, "job.sh", cwd=folder).stdout.startswith(b"::warning file=job.sh,line=2,")
    (hook,) = yaml.safe_load(block("yaml", "repos:"))["repos"][0]["hooks"]
    own_hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (own,) = (each for each in own_hooks if each["id"] == hook["id"])
    words = [*own["entry"].split()[1:], *hook["args"], "job.sh"]
    assert jobgen(*words, cwd=folder).returncode == 1
    assert "-c 2\n" in (folder / "job.sh").read_text()


def neovim(folder: Path, *commands: str) -> str:
    """What commands print in Neovim, which has the page's settings and a jobgen on its PATH."""
    if not (editor := shutil.which("nvim")):
        pytest.skip("Neovim is not installed")
    (folder / "bin").mkdir()
    (folder / "bin/jobgen").write_text(f'#!/bin/sh\nexec {sys.executable} -m jobgen "$@"\n')
    (folder / "bin/jobgen").chmod(0o755)
    (folder / "jobgen.lua").write_text(block("lua", "local namespace"))
    (folder / "sh.vim").write_text(block("vim", "setlocal"))
    env = {
        **os.environ,
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_DATA_HOME": str(folder / "data"),
    }
    argv = [editor, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile jobgen.lua"]
    for command in ("edit job.sh", "source sh.vim", *commands, "qall!"):
        argv += ["-c", command]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_neovim_has_the_findings_in_its_quickfix_list(folder: Path) -> None:
    fields = "[v:val.valid, bufname(v:val.bufnr), v:val.lnum, v:val.col, v:val.text]"
    command = f"echo json_encode(map(getqflist(), {json.dumps(fields)}))"
    output = neovim(folder, "silent make!", command)
    rows = json.loads(re.findall(r"\[\[.*\]\]", output)[-1])
    assert [row[:4] for row in rows] == [[1, "job.sh", 2, 9], [1, "job.sh", 3, 9]]
    assert rows[0][4].endswith(" [JG215]")


def test_neovim_has_diagnostics_and_mends(folder: Path) -> None:
    fields = "{each.lnum, each.col, each.end_col}"
    rows = f"vim.tbl_map(function(each) return {fields} end, vim.diagnostic.get(0))"
    shown = f"lua print(vim.fn.json_encode({rows}))"
    output = neovim(folder, shown, "JobgenFix", "write")
    found = json.loads(re.findall(r"\[\[.*\]\]", output)[0])
    assert found == [[1, 8, 12], [2, 8, 24]]
    assert (folder / "job.sh").read_text() == SCRIPT.replace("-c=2", "-c 2")
