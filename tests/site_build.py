"""The built site for the tests: it is built once, whichever process needs it first."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
NEEDS = ("mkdocs", "material", "spylls", "markdown_it")
# What a browser loads on its own; an <a> is only followed by a person.
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}


def skip_without_packages() -> None:
    """Skip a test where the packages that build the site are missing."""
    if missing := [name for name in NEEDS if not find_spec(name)]:
        pytest.skip(f"no {', '.join(missing)}: pip install '.[docs]'")


def hook(name: str) -> Any:
    """A module of docs/hooks."""
    sys.path.insert(0, str(ROOT / "docs/hooks"))
    try:
        return import_module(name)
    finally:
        sys.path.pop(0)


def build(folder: Path) -> str:
    """Build the site, as `make docs` does; returns what MkDocs wrote, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return f"{done.stdout}exit code {done.returncode}\n"


def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. Processes of one run of the tests share it."""
    skip_without_packages()
    base = tmp_path_factory.getbasetemp()
    base = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, log = base / "site", base / "site.log"
    with (base / "site.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not log.exists():
            log.write_text(build(folder), encoding="utf-8")
    if not log.read_text(encoding="utf-8").endswith("exit code 0\n"):
        pytest.fail(log.read_text(encoding="utf-8"), pytrace=False)
    return folder


@dataclass
class Html(HTMLParser):
    """What the tests need of a page: its anchors, links, loads, elements and prose."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    prose: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._is_article, self._code = False, 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values["id"]} if "id" in values else set()
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loads += [values[name] for element, name in LOADS if tag == element and name in values]
        self._is_article = self._is_article or tag == "article"
        if self._is_article:
            self.counts[tag] = self.counts.get(tag, 0) + 1
            self._code += tag in {"code", "pre", "script", "style"}

    def handle_endtag(self, tag: str) -> None:
        if self._is_article:
            self._code -= tag in {"code", "pre", "script", "style"}
        self._is_article = self._is_article and tag != "article"
        if tag in {"p", "li", "td", "th", "h1", "h2", "h3", "h4"}:
            self.prose.append("\n")

    def handle_data(self, data: str) -> None:
        if self._is_article:
            self.prose.append("`" if self._code else data)


@cache
def html_of(file: Path) -> Html:
    """A page of the site."""
    page = Html()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def styles_of(folder: Path) -> list[tuple[Path, str]]:
    """Each address in a style sheet of the site, and the sheet."""
    files = sorted(folder.rglob("*.css"))
    pattern = re.compile(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")
    return [
        (file, found[1] or found[2])
        for file in files
        for found in pattern.finditer(file.read_text(encoding="utf-8"))
    ]
