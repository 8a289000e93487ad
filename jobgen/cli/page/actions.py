"""What `jobgen page` does."""

from __future__ import annotations

from jobgen.errors import problem, report
from jobgen.page.folder import page_files, write_folder
from jobgen.page.site import is_utf8
from jobgen.paths import to_path
from jobgen.quoting import quote


def write_page(
    output: str, packages: str, profiles: str | None, title: str | None, notes: str | None
) -> int:
    """Write the folder of the page, and report how to look at it."""
    if not is_utf8(title or ""):
        raise problem("--title", "it is not UTF-8 text", "value")
    text = _notes(notes) if notes is not None else ""
    files = page_files(packages, profiles, title, text)
    write_folder(output, files)
    size = sum(map(len, files.values())) / 1e6
    report(f"{output}: {len(files)} files, {size:.0f} MB; to look at the page:")
    report(f"python3 -m http.server --bind 127.0.0.1 -d {quote(output)}")
    return 0


def _notes(file: str) -> str:
    try:
        return to_path(file).read_bytes().decode("utf-8")
    except OSError as error:
        text = f"{file} cannot be read: {error.strerror}"
        raise problem("--notes", text, "unreadable") from None
    except UnicodeDecodeError:
        raise problem("--notes", f"{file} is not UTF-8 text", "unreadable") from None
