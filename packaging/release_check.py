"""The checklist before a release, one line a step: `make release-check`.

A step that does not hold says what to do. The exit code is 1 if there is one.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = "build/tested"  # what `make test-all` writes: the commit that it has run


class Failed(Exception):
    """A step that does not hold: what is wrong, and what to do."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def output(*words: str) -> str:
    """What a command writes, without the last line end; a failed one is a failed step."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed("\n".join((done.stdout + done.stderr).strip().splitlines()[-15:]))
    return done.stdout.rstrip("\n")


def found(name: str, pattern: str) -> str:
    """The one group of a pattern in a file."""
    match = re.search(pattern, read(name), re.MULTILINE)
    if not match:
        raise Failed(f"{name} has no line like {pattern}")
    return match[1]


def version() -> str:
    return found("jobgen/__init__.py", r'^__version__ = "(.+)"$')


def clean_tree() -> str:
    if changed := output("git", "status", "--porcelain"):
        raise Failed(f"commit or remove:\n{changed}")
    return output("git", "rev-parse", "--short", "HEAD")


def same_version() -> str:
    """Every file that names the version names this one."""
    own = version()
    spack = "packaging/spack/spack_repo/jobgen/packages/jobgen/package.py"
    named = {
        "CHANGELOG.md": found("CHANGELOG.md", r"^## (\S+)"),
        "CITATION.cff": found("CITATION.cff", r"^version: (\S+)$"),
        "packaging/conda/jobgen/recipe.yaml": found(
            "packaging/conda/jobgen/recipe.yaml", r'^  version: "(.+)"$'
        ),
        spack: found(spack, r'^    version\("([\d.]+)", tag="v\1"\)$'),
        "man/jobgen.1": found("man/jobgen.1", r'^\.TH .*"jobgen (\S+)"'),
    }
    if wrong := [f"{name}: {text}" for name, text in named.items() if text != own]:
        raise Failed(f"jobgen/__init__.py has {own}, but\n" + "\n".join(wrong))
    return own


def dated() -> str:
    """The changes of this version have a date, which the citation file has, too."""
    heading = found("CHANGELOG.md", r"^## \S+ \((.*)\)$")
    try:
        day = datetime.date.fromisoformat(heading)
    except ValueError:
        text = f"## {version()} (YYYY-MM-DD)"
        raise Failed(f"CHANGELOG.md says `({heading})`; write `{text}`") from None
    if f"\ndate-released: {day}\n" not in read("CITATION.cff"):
        raise Failed(f"CITATION.cff: write `date-released: {day}`")
    return str(day)


def not_tagged() -> str:
    tag = f"v{version()}"
    if output("git", "tag", "--list", tag):
        raise Failed(f"the tag {tag} exists: raise the version")
    return tag


def tested() -> str:
    """`make test-all` has passed on this commit."""
    head = output("git", "rev-parse", "HEAD")
    stamp = ROOT / STAMP
    commit = stamp.read_text().strip() if stamp.exists() else "nothing"
    if commit != head:
        raise Failed(f"`make test-all` has passed on {commit:.12}, not on {head:.12}: run it")
    return f"make test-all, on {head:.12}"


def built_twice() -> str:
    """Two builds have the same bytes; they stay in dist/."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", output("git", "log", "-1", "--format=%ct"))
    build = (sys.executable, "-m", "build", "--quiet", "--no-isolation", "--outdir")
    with tempfile.TemporaryDirectory() as folder:
        output(*build, folder, ".")
        output(*build, "dist", ".")
        first, second = sums(Path(folder)), sums(ROOT / "dist")
    second = {name: second[name] for name in first}
    if first != second:
        raise Failed(f"two builds differ: {first} and {second}")
    return "\n".join(f"{digest}  dist/{name}" for name, digest in first.items())


def sums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def wheel() -> str:
    return output("sh", "tests/wheel-check.sh", "thorough").splitlines()[-1]


def site() -> str:
    if not (ROOT / "mkdocs.yml").exists():
        return "no mkdocs.yml, no site"
    output("make", "docs")
    return "make docs"


STEPS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("nothing is left to commit", clean_tree),
    ("one version everywhere", same_version),
    ("the changes have a date", dated),
    ("the tag is free", not_tagged),
    ("the tests have passed", tested),
    ("two builds, the same bytes", built_twice),
    ("the wheel, installed", wheel),
    ("the site", site),
)


def main() -> int:
    """Run all steps, also those after one that does not hold."""
    failures = 0
    for number, (title, step) in enumerate(STEPS, 1):
        try:
            mark, text = "ok    ", step()
        except Failed as error:
            mark, text = "FAILED", str(error)
            failures += 1
        first, *others = text.splitlines() or [""]
        print(f"{number}. {mark} {title}: {first}", *others, sep="\n          ", flush=True)
    print(f"{len(STEPS) - failures} of {len(STEPS)} steps hold" + " - not ready" * bool(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
