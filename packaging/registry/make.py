"""Writes the registry of profiles into a folder, ready to be published.

    python packaging/registry/make.py FOLDER

FOLDER is new, empty, a clone of an empty repository, or what an earlier run has written. The same
checkout gives the same bytes.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE / "checks")]

from release import SUMS, files_of, write_sums  # noqa: E402

from jobgen import __version__  # noqa: E402
from jobgen.profiles.schema.document import schema_document  # noqa: E402

# What is copied from here, and from the checkout.
OWN = (
    *("*.md", "MAINTAINERS", ".gitignore", ".github/*", ".github/workflows/*.yml"),
    *("checks/*.py", "tests/*.py"),
)
SHARED = (
    *("LICENSE", "tests/__init__.py", "tests/site_facts.py", "tests/site_scripts.py"),
    *(f"profiles/{kind}/*.yaml" for kind in ("sites", "machines", "fabrics")),
    "profiles/proofs/**/*.json",
    *(f"tests/{kind}/*.yaml" for kind in ("sites", "machines")),
    *(f"tests/golden/{kind}/*.sh" for kind in ("sites", "machines")),
)


def main(words: list[str] | None = None) -> int:
    """The program."""
    arguments = sys.argv[1:] if words is None else words
    if len(arguments) != 1:
        print((__doc__ or "").split("\n")[2].strip(), file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    if strange := foreign_files(folder):
        print(
            f"{folder}: {strange[0]} is no file of a registry; name a new folder", file=sys.stderr
        )
        return 2
    make(folder)
    print(f"{folder}: {len(files_of(folder))} files, with the sums of all in {SUMS}")
    return 0


def foreign_files(folder: Path) -> list[str]:
    """The files of a folder that an earlier run has not written."""
    sums = folder / SUMS
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.is_file() else []
    written = {line.partition("  ")[2] for line in lines}
    return [name for name in files_of(folder) if name not in written | {SUMS}]


def make(folder: Path) -> None:
    """Write the registry, in the place of an older one."""
    for name in files_of(folder):
        (folder / name).unlink()
    for file, name in copied_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)
    for name, text in made_files().items():
        (folder / name).write_text(text, encoding="utf-8")
    write_sums(folder)


def copied_files() -> Iterator[tuple[Path, str]]:
    """Each file that is copied, with its path in the registry."""
    for top, patterns in ((HERE, OWN), (ROOT, SHARED)):
        for pattern in patterns:
            for file in filter(Path.is_file, sorted(top.glob(pattern))):
                yield file, file.relative_to(top).as_posix()


def made_files() -> dict[str, str]:
    """The files that follow from this version of jobgen."""
    schema = json.dumps(schema_document(), indent=2, ensure_ascii=False)
    requirements = f"jobgen=={__version__}\npytest>=8\n"
    return {"profile.schema.json": f"{schema}\n", "requirements.txt": requirements}


if __name__ == "__main__":
    sys.exit(main())
