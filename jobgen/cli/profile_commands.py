"""The commands `jobgen profiles`: list, show, explain, validate, schema."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from jobgen.cli.app import Group, argument, main, option
from jobgen.cli.lookup.key_pages import explain
from jobgen.cli.lookup.text import columns
from jobgen.cli.lookup.trial_jobs import refused_jobs
from jobgen.errors import JobgenError, Mark, printable, report
from jobgen.generator import Generator, find_profiles, overrides
from jobgen.planner.advice import profile_advice
from jobgen.planning.job_options import Job
from jobgen.profiles.records import is_record
from jobgen.profiles.resolve import Resolved
from jobgen.profiles.search import BASES, HEADINGS, NOT_RUN, SITES, heading_of, profile_files
from jobgen.scripts.write import write

MOST_VALUE_WIDTH = 60  # columns, before the origins in `profiles show`


@main.group(cls=Group)
def profiles() -> None:
    """The clusters: list, show NAME, explain KEY, validate FILE..., schema."""


@profiles.command("list")
def _profiles_list() -> int:
    """All profiles, with their descriptions: your own, and those that come with jobgen."""
    rows: dict[str, list[tuple[str, str, str]]] = {name: [] for name in HEADINGS}
    errors = []
    loader = find_profiles()
    for name, file in sorted(profile_files().items()):
        try:
            profile = loader.load(name).profile
        except JobgenError as error:
            errors.append(str(error))
            continue
        heading = heading_of(file)
        # Your own bases are not shown: only who wrote them extends them.
        if profile.scheduler or heading == BASES:
            text = profile.description
            if heading == SITES:
                text = text.removesuffix(NOT_RUN)
            rows[heading].append((name, profile.scheduler or "", text))
    write(_list_page(rows))
    for text in errors:
        report(text)
    return 1 if errors else 0


@profiles.command("show")
@argument("name", metavar="PROFILE|FILE")
@option(
    "--set", "sets", metavar="PATH=VALUE", multiple=True, help="Override a value, as for a job."
)
def _profiles_show(name: str, sets: tuple[str, ...]) -> int:
    """A profile, with the origin of each of its values."""
    job = Job(command="", set_values=sets)
    resolved = find_profiles().load(name, overrides(job))
    bases = ", ".join(resolved.profile.extends)
    title = f"# {resolved.name}, on top of {bases}" if bases else f"# {resolved.name}"
    write(f"{printable(title)}\n")
    lines = [tuple(map(printable, line)) for line in _profile_lines(resolved.profile, "", resolved)]
    width = min(max(len(text) for text, _ in lines), MOST_VALUE_WIDTH)
    rows = [f"{text:<{width}}  # {origin}" if origin else text for text, origin in lines]
    write("\n".join(rows) + "\n")
    return 0


@profiles.command("explain")
@argument("key", required=False, metavar="[KEY]")
def _profiles_explain(key: str | None) -> int:
    """What a key of a profile means, what it may be, its default, and an example.

    A group of keys such as `request` lists them; without KEY, all are listed.
    """
    return explain(key or "")


@profiles.command("validate")
@argument("files", nargs=-1, required=True, metavar="FILE...")
def _profiles_validate(files: tuple[str, ...]) -> int:
    """Check profiles.

    Shows every problem with its file, line and column; the exit code is 1 if there is any.
    """
    wrong = 0
    generator = Generator()
    for file in files:
        try:
            warnings = profile_advice(generator.profiles.load(file))
            refused, refused_for_some = refused_jobs(generator, file)
            if refused:
                raise JobgenError(refused)
            for warning in (*warnings, *refused_for_some):
                report(f"warning: {warning}")
        except JobgenError as error:
            places = {"--profile": Mark(f"FILE {file}")}
            later = generator.later_problems(Job("", file, program=("train.py",)), error)
            found = [
                each._replace(mark=places.get(each.mark.file, each.mark))
                for each in (*error.problems, *later)
                if each.code != "no-scheduler"  # it may be a base
            ]
            write(f"{JobgenError(found) if found else error}\n")
            wrong += 1
    report(f"{len(files) - wrong} of {len(files)} profiles are valid")
    return 1 if wrong else 0


@profiles.command("schema")
def _profiles_schema() -> int:
    """The JSON Schema of a profile, for editors."""
    from jobgen.profiles.schema.document import schema_document

    write(json.dumps(schema_document(), indent=2, ensure_ascii=False) + "\n")
    return 0


def _list_page(rows: dict[str, list[tuple[str, str, str]]]) -> str:
    """The headings that have profiles, with the columns of all aligned."""
    lines = columns([row for group in rows.values() for row in group]).splitlines()
    text = ""
    for heading, group in rows.items():
        own_lines, lines = lines[: len(group)], lines[len(group) :]
        body = "".join(f"  {line}\n" for line in own_lines)
        text += f"{heading}:\n{body}\n" if group else ""
    return text.removesuffix("\n")


def _profile_lines(
    value: Any, path: str, resolved: Resolved, depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Lines of YAML for a record or a map, each with the origin of its value."""
    indent = "  " * depth
    for name, child in _items(value):
        child_path = f"{path}.{name}" if path else name
        if is_record(child) or isinstance(child, dict):
            if list(_items(child)):
                yield f"{indent}{name}:", ""
                yield from _profile_lines(child, child_path, resolved, depth + 1)
                continue
            child = {}
        if child_path == "extends":  # the values of the bases are shown already
            continue
        yield f"{indent}{name}: {_as_yaml(child)}", resolved.origin(child_path)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return value.items()
    return [(name, getattr(value, name)) for name in value._fields]


def _as_yaml(value: Any) -> str:
    # JSON is YAML, and puts quotes around what YAML would read as something else.
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
