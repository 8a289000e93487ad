"""The pages that are kept outside of docs/, and what a page of the repository is on the site."""

from __future__ import annotations

import re
from pathlib import Path

from rule_pages import Pages

ROOT = Path(__file__).parent.parent.parent
# Files of the repository, and their pages.
FILES = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changes.md",
    "bench/README.md": "measurements.md",
}
_FILE = re.compile(r"<!-- file: (\S+) -->\n```(\w+)\n")
_MARK = re.compile(r"<!-- (?:run|not run|table): .*? -->\n", re.DOTALL)
_LINK = re.compile(r"\]\((?:\.\./)?(docs/|docs(?=\))|CONTRIBUTING\.md|SECURITY\.md|CHANGELOG\.md"
                   r"|README\.md|bench/README\.md)")  # fmt: skip

# GitHub reads \| in a table as |, also in code; here, | in code needs no escape.
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
_CODE = re.compile(r"`[^`]+`")


def repository_pages() -> Pages:
    """The pages of the files at the root of the repository."""
    return {page: (ROOT / file).read_text(encoding="utf-8") for file, page in FILES.items()}


def with_site_links(markdown: str) -> str:
    """Markdown whose links lead to pages of the site, and whose files have their names as titles.

    Marks for the tests are left out: what they say is shown.
    """
    text = _FILE.sub(r'```\2 title="\1"\n', markdown)
    text = _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), text)
    return _LINK.sub(lambda found: f"]({_page_of(found[1])}", _MARK.sub("", text))


def _page_of(path: str) -> str:
    """The page for a path of the repository; README tells what the start page tells."""
    return {"docs/": "", "docs": "index.md", "README.md": "index.md"}.get(path) or FILES.get(
        path, ""
    )
