"""The part of an AGENTS.md that says how job scripts are made in a repository."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2

from jobgen.errors import JobgenError, Mark, printable, problem
from jobgen.generator import find_profiles
from jobgen.paths import project_folder, to_path
from jobgen.profiles.model import Profile
from jobgen.profiles.search import profile_files
from jobgen.quoting import quote
from jobgen.repository.manifest import read_manifest
from jobgen.schedulers import COMMANDS

BEGIN = "<!-- jobgen agents-file: begin; write above or below: this part is made again -->"
END = "<!-- jobgen agents-file: end -->"
_MARK = re.compile("^<!-- jobgen agents-file: (begin|end).*$", re.MULTILINE)
MANIFEST = "jobgen.yaml"
_MOST_NAMED = 8  # profiles
_SCRIPTS_NAMED = 3


def old_text(output: str) -> str:
    """The file as it is; "" if there is none. Raises JobgenError."""
    if not output:
        raise problem("-o", "it names no file", "usage", "such as CLAUDE.md")
    try:
        return to_path(output).read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise problem(output, f"cannot be read: {error.strerror}", "unreadable") from None
    except UnicodeDecodeError:
        raise problem(output, "it is not UTF-8 text", "unreadable", "name another file") from None


def new_text(old: str, output: str) -> str:
    """The file with the part of this repository, in its place or at the end. Raises JobgenError."""
    marks = [*_MARK.finditer(old)]
    if not marks:
        above = f"{old.rstrip()}\n\n" if old.strip() else ""
        return f"{above}{_part()}\n"
    if [each[1] for each in marks] != ["begin", "end"]:
        place = Mark(output, old.count("\n", 0, marks[0].start()) + 1, 1)
        hint = f"leave one line `{BEGIN}`, and below it one `{END}`; or remove both"
        raise problem(place, "its marks are no pair", "usage", hint)
    return f"{old[: marks[0].start()]}{_part()}{old[marks[1].end() :]}"


def _part() -> str:
    folder = project_folder(Path())
    profiles = _own_profiles(folder)
    name, scheduler = next(((n, each.scheduler) for n, each in profiles.items()), ("NAME", None))
    total, paths = _scripts(folder / MANIFEST)
    template = Path(__file__).with_name("section.md.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: re.sub("<!--|-->", "", printable(str(value))),  # no new line or mark
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.from_string(template).render(
        profiles=[*profiles.items()],
        most=_MOST_NAMED,
        manifest=MANIFEST,
        total=total,
        paths=", ".join(f"`{each}`" for each in paths),
        command=f"jobgen {COMMANDS[scheduler or 'slurm']} --profile {quote(name)} -N 2 -t 1h",
    )
    return f"{BEGIN}\n{text}\n{END}"


def _own_profiles(folder: Path) -> dict[str, Profile]:
    """The profiles of the repository that jobs can name. Raises JobgenError for a wrong one."""
    files, loader = sorted(profile_files().items()), find_profiles()
    own = [name for name, file in files if file.is_relative_to(folder / "profiles")]
    found = {name: loader.load(name).profile for name in own}
    return {name: profile for name, profile in found.items() if profile.scheduler}


def _scripts(manifest: Path) -> tuple[int, list[str]]:
    """The number of scripts of a manifest, 0 without one, and the paths of some."""
    if not manifest.is_file():
        return 0, []
    total, scripts, _ = read_manifest(manifest)
    some = (each for _, each in zip(range(_SCRIPTS_NAMED), scripts, strict=False))
    paths = [each.path for each in some if not isinstance(each, JobgenError)]
    return total, [str(path.relative_to(manifest.parent)) for path in paths]
