"""What the README shows is what happens: its files are written, its commands run, in its order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SHOWN = re.compile(r"<!-- (run|file): (.*?) -->\n```(\w+)\n(.*?)```\n", re.DOTALL)


def test_readme_shows_what_happens(tmp_path: Path, update: bool) -> None:
    text = README.read_text(encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def as_it_is(found: re.Match[str]) -> str:
        kind, what, language, shown = found.groups()
        if kind == "file":
            file = tmp_path / what
            file.parent.mkdir(exist_ok=True)
            file.write_text(shown, encoding="utf-8")
        else:
            done = subprocess.run(
                ["bash", "-c", what],
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            shown = done.stdout
        return f"<!-- {kind}: {what} -->\n```{language}\n{shown}```\n"

    new = SHOWN.sub(as_it_is, text)
    if update:
        README.write_text(new, encoding="utf-8")
    assert new == README.read_text(encoding="utf-8")
    assert len(SHOWN.findall(text)) > 5


def test_every_option_is_in_the_readme() -> None:
    from jobgen.job import options

    text = README.read_text(encoding="utf-8")
    table = {
        flag
        for row in re.findall(r"^\| (`-.*?) \|", text, re.M)
        for flag in re.findall(r"`(-[-\w]*)", row)
    }
    commands = ("sbatch", "qsub", "local", "interactive")
    known = {flag for name in commands for _, row in options(name) for flag in row.flags}
    assert known - table - {"--profile"} == set()
    assert table - known == {"-o", "--output", "--submit", "--wait"}
