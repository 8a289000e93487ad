"""The pages that are kept outside of docs/, and what a page of the repository is on the site."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pymdownx.slugs import slugify
from rule_pages import Pages

ROOT = Path(__file__).parent.parent.parent
# Files of the repository, and their pages.
FILES = {
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changes.md",
    "bench/README.md": "measurements.md",
    "packaging/README.md": "packaging.md",
}
# README tells what the start page tells.
_PAGES = {**FILES, "docs/": "", "docs": "index.md", "README.md": "index.md"}
_LINK = re.compile(rf"\]\((?:\.\./)?({'|'.join(FILES)}|README\.md|docs/|docs(?=\)))")
_FILE = re.compile(r"<!-- file: (\S+) -->\n```(\w+|\{[^}\n]+)(\}?)\n")
# What only the site has, such as a link to the folder make/; GitHub shows nothing of it.
_ON_SITE = re.compile(r"<!-- on the site: (.*?) -->", re.DOTALL)
_MARK = re.compile(r"<!-- (?:run|not run|table): .*? -->\n", re.DOTALL)
# GitHub reads \| in a table as |, also in code; here, | in code needs no escape.
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
_CODE = re.compile(r"`[^`]+`")
# On GitHub, a link shows the name of a file; on the site, the title of the page or of its part.
_NAMED = re.compile(r"\[[\w/-]+\.md\]\(([\w-]+\.md)(?:#([\w-]+))?\)")


def repository_pages() -> Pages:
    """The pages of the files at the root of the repository."""
    return {page: (ROOT / file).read_text(encoding="utf-8") for file, page in FILES.items()}


def with_site_links(markdown: str) -> str:
    """Markdown whose links lead to pages of the site, and whose files have their names as titles.

    Marks for the tests are left out: what they say is shown.
    """
    text = _FILE.sub(r'```\2 title="\1"\3\n', _ON_SITE.sub(r"\1", markdown))
    text = _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), text)
    text = _LINK.sub(lambda found: f"]({_PAGES[found[1]]}", _MARK.sub("", text))
    return _NAMED.sub(_with_title, text)


def _with_title(link: re.Match[str]) -> str:
    """A link with the title of its target; one that leads nowhere stays: MkDocs reports it."""
    page, anchor = link.groups()
    title = _titles(page).get(anchor or "")
    return f"[{title}]({page}{f'#{anchor}' if anchor else ''})" if title else link[0]


@cache
def _titles(page: str) -> dict[str, str]:
    """The headings of a page by their anchors; the first one also has the anchor ""."""
    names = {page: file for file, page in FILES.items()}
    file = ROOT / names.get(page, f"docs/{page}")
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    slug = slugify(case="lower")
    return {"": titles[0] if titles else "", **{slug(title, "-"): title for title in titles}}
