"""What the pages show is what happens: their files are written, their commands run, in their order.

<!-- file: NAME -->      the block below is a file
<!-- run: COMMAND -->    the block below is what the command writes to stdout
<!-- table: NAME -->     the table below is made from the package (doc_tables.py)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobgen.paths import bundled
from jobgen.scripts.filters import FILTERS
from tests.doc_tables import TABLES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "bench/README.md"])
BLOCK = re.compile(r"<!-- (run|file): (.*?) -->\n```(\w+)\n(.*?)```\n", re.DOTALL)
TABLE = re.compile(r"<!-- table: (\w+) -->\n(?:\|.*\n)+")
LINK = re.compile(r"\]\(([\w./-]+\.md)(?:#([\w-]+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_happens(page: Path, tmp_path: Path, update: bool) -> None:
    text = page.read_text(encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def block(found: re.Match[str]) -> str:
        kind, name, language, content = found.groups()
        if kind == "file":
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        else:
            content = subprocess.run(
                ["bash", "-c", name],
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        return f"<!-- {kind}: {name} -->\n```{language}\n{content}```\n"

    def table(found: re.Match[str]) -> str:
        return f"<!-- table: {found[1]} -->\n{TABLES[found[1]]()}"

    new = TABLE.sub(table, BLOCK.sub(block, text))
    if update:
        page.write_text(new, encoding="utf-8")
    assert new == page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for name, section in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / name
        assert target.is_file(), name
        headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {
            re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings
        }
        assert not section or section in anchors, f"{name}#{section}"


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_names_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    files = re.findall(r"`((?:jobgen|templates|profiles|tests|docs)/[a-z_/.0-9]*)`", text)
    assert len(files) > 15
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_every_room_is_in_the_architecture() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "jobgen").glob("*/__init__.py")}
    files = {path.stem for path in (ROOT / "jobgen").glob("*.py")} - {"__init__"}
    assert {f"`{room}/`" for room in rooms} | {f"`{file}`" for file in files} <= set(
        re.findall(r"`[a-z_]+/?`", text)
    )


def test_every_table_is_in_a_page() -> None:
    shown = {name for page in PAGES for name in TABLE.findall(page.read_text(encoding="utf-8"))}
    assert shown == set(TABLES)


def test_every_block_and_filter_is_in_the_page_on_templates() -> None:
    page = (ROOT / "docs/templates.md").read_text(encoding="utf-8")
    templates = "".join(
        path.read_text(encoding="utf-8") for path in bundled("templates").rglob("*.j2")
    )
    blocks = set(re.findall(r"{%-? block (\w+)", templates))
    assert blocks <= set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert set(FILTERS) <= set(re.findall(r"^\| `(\w+)(?:\(.*\))?` \|", page, re.MULTILINE))


def test_every_page_is_in_readme() -> None:
    """README has the list of all pages."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{page.name})" in readme, page.name


def test_readme_is_short() -> None:
    """A new user reads it before anything else."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200
    assert len((ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()) <= 40
