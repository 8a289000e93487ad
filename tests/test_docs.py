"""What the pages show is what happens: their files are written, their commands run, in their order.

page_blocks.py explains the marks of the blocks. Beside them:

<!-- table: NAME -->     the table below is made from the package (doc_tables.py)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from jobgen.paths import bundled
from jobgen.scripts.jinja_environments import FILTERS
from tests.doc_tables import TABLES
from tests.page_blocks import Block, parts_of

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "bench/README.md"])
TABLE = re.compile(r"<!-- table: (\w+) -->\n(?:\|.*\n)+")
LINK = re.compile(r"\]\(([\w./-]+\.md)?(?:#([\w-]+))?\)")
README = ROOT / "README.md"  # it has no room for the reasons why blocks of it are not run
# Stand-ins for commands that pages give a script to: they read it, and bash has to accept it.
SCHEDULER = """#!/bin/bash
for file; do [[ ! -f $file ]] || exec < "$file"; done
cat > "$0.script" && /bin/bash -n "$0.script" && [[ -s "$0.script" ]] && echo 4711
"""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


def _needs(module: str, extra: str) -> pytest.MarkDecorator:
    reason = f"{module} is not installed: pip install '.[{extra}]'"
    return pytest.mark.skipif(find_spec(module) is None, reason=reason)


def page_cases() -> list[object]:
    """The pages; two run a program, which needs torch, and two need what an extra installs."""
    torch = pytest.mark.torch
    marks = {
        "first-script": [torch],
        "hydra": [torch, _needs("hydra", extra="hydra")],
        "agents": [_needs("mcp", extra="mcp")],
    }
    return [pytest.param(page, id=_name(page), marks=marks.get(page.stem, [])) for page in PAGES]


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """A folder with a sbatch, a qsub, an ssh and a bash that only read what they are given."""
    folder = tmp_path / "stand-ins"
    folder.mkdir()
    for name in ("sbatch", "qsub", "ssh", "bash"):
        (folder / name).write_text(SCHEDULER, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.slow  # `make golden` runs the pages, too
@pytest.mark.parametrize("page", page_cases())
def test_a_page_shows_what_happens(
    page: Path, tmp_path: Path, stand_ins: Path, update: bool
) -> None:
    text = page.read_text(encoding="utf-8")
    folder = tmp_path / "work"
    folder.mkdir()

    def run(command: str, *folders: Path) -> str:
        path = ":".join(map(str, [*folders, Path(sys.executable).parent, os.environ["PATH"]]))
        done = subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{page.name}: exit code {done.returncode}: {command}"
        return done.stdout

    def with_output(block: Block) -> str:
        if block.kind == "file":
            file = folder / block.words
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.content, encoding="utf-8")
        elif block.kind == "run":
            block.content = run(block.words)
        elif runs_with_stand_ins(block, page):
            run(f"set -eo pipefail\n{block.commands}", stand_ins)
        return block.markdown

    def table(found: re.Match[str]) -> str:
        return f"<!-- table: {found[1]} -->\n{TABLES[found[1]]()}"

    parts = [part if isinstance(part, str) else with_output(part) for part in parts_of(text)]
    new = TABLE.sub(table, "".join(parts))
    if update:
        page.write_text(new, encoding="utf-8")
    assert new == page.read_text(encoding="utf-8")


def runs_with_stand_ins(block: Block, page: Path) -> bool:
    """Whether a block has commands that no mark of the page runs."""
    if block.kind or (page == README and not re.match(r" +jobgen \w+ --profile ", block.content)):
        return False
    lines = re.sub(r"\\\n *", "", block.commands).splitlines()
    commands = [re.sub(r"  +# .*", "", line).strip() for line in lines]
    return not all(command in block.next_mark for command in commands)


def blocks_of(page: Path) -> list[Block]:
    parts = parts_of(page.read_text(encoding="utf-8"))
    return [part for part in parts if isinstance(part, Block)]


@pytest.mark.parametrize("page", [page for page in PAGES if page != README], ids=_name)
def test_a_block_is_run_or_says_why_not(page: Path) -> None:
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        assert block.kind or not block.language, f"{where}: add <!-- not run: REASON -->"
        if block.kind == "not run":
            assert len(block.words) > 10, f"{where}: a reason is a few words"


def test_ranks_of_programs_in_pages_meet_before_one_leaves() -> None:
    """Else gloo fails now and then on one that still connects."""
    programs = [block.content for page in PAGES for block in blocks_of(page)]
    for text in (each for each in programs if "dist.destroy_process_group()" in each):
        assert re.search(r"barrier\(|all_reduce\(|\.backward\(", text), text


def test_most_blocks_are_run() -> None:
    """What is not run is counted by its reason: it may not become the rule."""
    blocks = [block for page in PAGES if page != README for block in blocks_of(page)]
    reasons = Counter(block.words for block in blocks if block.kind == "not run")
    for reason, count in reasons.most_common():
        print(f"{count} not run: {reason}")
    assert reasons.total() < len(blocks) / 3, f"{reasons.total()} of {len(blocks)}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for name, section in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / name if name else page
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


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_name_of_the_code_that_a_page_has_exists(name: str) -> None:
    folders = [ROOT / folder for folder in ("jobgen", "tests", "docs/hooks")]
    code = "\n".join(
        file.read_text(encoding="utf-8") for each in folders for file in each.rglob("*.py")
    )
    text = (ROOT / name).read_text(encoding="utf-8")
    names = re.findall(r"`@?(_?[A-Za-z]+(?:_[A-Za-z]+)+|_?[A-Z]{3,})(?:\(\w*\))?`", text)
    files = re.findall(r"`([a-z_]+\.(?:py|txt|sh|yaml|sh\.j2))`", text)
    assert len(names) > 2
    assert len(files) > 2
    assert [
        each for each in names if "NNN" not in each and not re.search(rf"\b{each}\b", code)
    ] == []
    assert [each for each in files if not any(ROOT.glob(f"[jtp]*/**/{each}"))] == []


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


def test_every_page_is_in_the_navigation() -> None:
    """Of the site; README leads to its start page."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = set(re.findall(r"[\w-]+\.md$", navigation, re.MULTILINE))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= named


def test_readme_is_short() -> None:
    """A new user reads it before anything else."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200
    assert len((ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()) <= 40
