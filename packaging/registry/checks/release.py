"""Writes the sums of a folder's files and the archive of both, and prints the release's text.

    python checks/release.py FOLDER ARCHIVE.tar.gz

The same files give the same bytes: members are sorted, without owners and times.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
import tarfile
from pathlib import Path

SUMS = "SHA256SUMS"
_NOT_OURS = {".git", ".cache", ".pytest_cache", ".venv", "__pycache__"}


def main(words: list[str] | None = None) -> int:
    """The program."""
    arguments = sys.argv[1:] if words is None else words
    if len(arguments) != 2:
        print((__doc__ or "").split("\n")[2].strip(), file=sys.stderr)
        return 2
    folder, archive = map(Path, arguments)
    write_sums(folder)
    write_archive(folder, archive)
    print(notes(archive.name, sum_of(archive), sum_of(folder / SUMS)), end="")
    return 0


def files_of(folder: Path) -> list[str]:
    """The paths of all files below a folder, in the order of their bytes.

    What git, Python and the checks keep there for themselves is none.
    """
    found = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return sorted(each.as_posix() for each in found if not _NOT_OURS & {*each.parts})


def sum_of(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_sums(folder: Path) -> None:
    """Write the sums of all files but this one, in the format of sha256sum."""
    lines = (f"{sum_of(folder / name)}  {name}\n" for name in files_of(folder) if name != SUMS)
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def write_archive(folder: Path, archive: Path) -> None:
    """Write an archive of a folder's files, in one folder with the archive's name."""
    top = archive.name.partition(".")[0]
    with (
        archive.open("wb") as stream,
        gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in files_of(folder):
            member = tarfile.TarInfo(f"{top}/{name}")  # mode 644, no owner, the time 0
            member.size = (folder / name).stat().st_size
            with (folder / name).open("rb") as file:
                tar.addfile(member, file)


def notes(name: str, archive_sum: str, folder_sum: str) -> str:
    """The text of a release's page, with both sums."""
    return (
        f"    jobgen profiles update --from {name} --sha256 {archive_sum}\n\n"
        f"| SHA-256 of | |\n| --- | --- |\n"
        f"| `{name}` | `{archive_sum}` |\n"
        f"| `{SUMS}` in it, for an unpacked folder | `{folder_sum}` |\n"
    )


if __name__ == "__main__":
    sys.exit(main())
