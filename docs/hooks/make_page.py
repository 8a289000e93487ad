"""The page where a script is made, which is a part of the site: the folder make/."""

from __future__ import annotations

from pathlib import Path

from jobgen.page.folder import page_files
from jobgen.page.packages import PACKAGES

PAGE = "make/index.html"
_PACKAGES = Path(__file__).parent.parent.parent / ".cache/npm"
_NOT_MADE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Make a script</title>
<h1>Make a script</h1>
<p>This copy of the site was built without the packages of npm that the page runs on.
<a href="../page.html#make-the-page-for-your-site">How to make the page</a></p>
</html>
"""


def make_page(packages: Path = _PACKAGES) -> dict[str, bytes]:
    """Its files by their paths; without its packages, one that says how to get it."""
    has_all = all((packages / each.archive).is_file() for each in PACKAGES)
    files = page_files(str(packages), docs="../") if has_all else {"index.html": _NOT_MADE.encode()}
    return {f"make/{name}": data for name, data in files.items()}
