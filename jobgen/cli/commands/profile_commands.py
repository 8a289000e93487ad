"""The commands `jobgen profiles`: list, show, explain, validate, update, schema; doctor's two."""

import json
import textwrap
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from jobgen.cli.app import argument, columns, command_group, option
from jobgen.cli.commands.doctor_command import proof, prove
from jobgen.doctor.proof import newest_in_words
from jobgen.errors import JobgenError, nearest_hint, printable, problem, report
from jobgen.generator import Generator, find_profiles, overrides
from jobgen.planning.job_options import OPTIONS, Job
from jobgen.profiles.login_node import profiles_here
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Key, MapOf, is_record, keys_of, rows_of
from jobgen.profiles.resolve import Resolved
from jobgen.profiles.schema.document import example, schema_document
from jobgen.profiles.search import BASES, HEADINGS, heading_of, profile_files
from jobgen.profiles.yaml_tree import as_yaml
from jobgen.registry.place import release_in_use
from jobgen.registry.validation import check_profile
from jobgen.scripts.write import write
from jobgen.sources.table import source_lines

MOST_VALUE_WIDTH = 60  # the most columns for values, before the origins in `profiles show`
PAGE_WIDTH = 80  # the columns of the page about a key

profiles = command_group("profiles")
profiles.add_command(prove)
profiles.add_command(proof)


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
        # A user's own bases are not shown: their author knows them.
        if profile.scheduler or heading == BASES:
            text = profile.description
            if profile.state == "retired":
                text = f"retired{', see ' + profile.successor if profile.successor else ''}: {text}"
            rows[heading].append((name, profile.scheduler or "", text))
    of_host = profiles_here(loader)
    place = f"This is a login node of {' or '.join(of_host)}.\n\n" if of_host else ""
    taken = release_in_use()
    place += f"Profiles of the registry: {printable(str(taken))}.\n\n" if taken else ""
    write(place + _list_page(rows))
    for text in errors:
        report(text)
    return 1 if errors else 0


@profiles.command("show")
@argument("name", metavar="PROFILE|FILE")
@option("--set PATH=VALUE...", "Override a value, as for a job.", "sets")
@option("--sources", "The document, the line and the words that each value is from.")
def _profiles_show(name: str, sets: tuple[str, ...], sources: bool) -> int:
    """A profile, with the origin of each of its values."""
    job = Job(command="", set_values=sets)
    loader = find_profiles()
    resolved = loader.load(name, overrides(job))
    if sources:
        write("".join(f"{printable(line)}\n" for line in source_lines(resolved, loader)))
        return 0
    bases = ", ".join(resolved.profile.extends)
    title = f"# {resolved.name}, on top of {bases}" if bases else f"# {resolved.name}"
    write(f"{printable(title)}\n")
    if words := newest_in_words(loader, name, date.today()):
        write(f"# {words}\n")
    lines = [tuple(map(printable, line)) for line in _profile_lines(resolved.profile, "", resolved)]
    width = min(max(len(text) for text, _ in lines), MOST_VALUE_WIDTH)
    rows = [f"{text:<{width}}  # {origin}" if origin else text for text, origin in lines]
    write("\n".join(rows) + "\n")
    return 0


@profiles.command("explain")
@argument("path", default="", metavar="[KEY]")
def _profiles_explain(path: str) -> int:
    """What a key of a profile means, what it may be, its default, and an example.

    A group of keys such as `request` lists them; without KEY, all are listed.
    """
    keys = {key.path: key for key in keys_of(ROOT.cls)}
    groups = {key.rpartition(".")[0] for key in keys} | {key.partition(".")[0] for key in keys}
    same = [name for name in {*keys, *groups} if name.rpartition(".")[2] == path]
    if path and path not in groups and len(same) == 1:  # its last name says enough
        path = same[0]
    named = next((key for key in keys.values() if _is_in(path, key)), None)
    below = [key for key in keys.values() if key.path.startswith(f"{path}." if path else "")]
    if not named and not below:
        raise problem("explain", f"no key `{path:.60}`", "unknown-key", _key_hint(path, keys))
    write(_key_page(named) if named else _group_page(path, below))
    return 0


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
            for warning in check_profile(generator, file):
                report(f"warning: {warning}")
        except JobgenError as error:
            write(f"{error}\n")
            wrong += 1
    report(f"{len(files) - wrong} of {len(files)} profiles are valid")
    return 1 if wrong else 0


@profiles.command("update")
@option("--from FOLDER|FILE", "The release: its folder, or its .tar.gz.", "source")
@option("--sha256 SUM", "Its SHA-256, from the page of the release.", "checksum")
@option("--diff", "Only show what differs; exit 1 if anything does.", "only_shows")
@option("--yes", "Take it without a question.", "is_sure")
@option("--remove", "Go back to the profiles that come with jobgen.", "removes")
def _profiles_update(
    source: str | None, checksum: str | None, only_shows: bool, is_sure: bool, removes: bool
) -> int:
    """Take newer profiles from a release of the registry.

    jobgen fetches nothing: download the release, and copy its SHA-256 from the page of the release.
    What differs is shown first, and lines that jobs would run before all. The release is kept in
    ~/.config/jobgen/registry; your own profiles stay, and come before it. The SHA-256 of a folder
    is that of its file SHA256SUMS. Example:

      jobgen profiles update --from registry.tar.gz --sha256 6f7e…
    """
    from jobgen.registry.update import remove_release, update  # they need the reader of archives

    if bool(source) == removes:
        text = "give one of the two: a release with --from, or --remove"
        raise problem("profiles update", text, "usage")
    if source is None:
        return remove_release(only_shows, is_sure)
    return update(source, checksum, only_shows, is_sure)


@profiles.command("schema")
def _profiles_schema() -> int:
    """The JSON Schema of a profile, for editors."""
    write(json.dumps(schema_document(), indent=2, ensure_ascii=False) + "\n")
    return 0


def _list_page(rows: dict[str, list[tuple[str, str, str]]]) -> str:
    """The profiles under their headings, in columns that are aligned over all headings."""
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
    """The lines of YAML for a record or a map, each with the origin of its value."""
    indent = "  " * depth
    for name, child in _items(value):
        child_path = f"{path}.{name}" if path else name
        if child_path in ("extends", "sources"):  # values of bases are shown like all others
            continue
        if is_record(child) or isinstance(child, dict):
            if list(_items(child)):
                yield f"{indent}{name}:", ""
                yield from _profile_lines(child, child_path, resolved, depth + 1)
                continue
            child = {}
        # JSON is YAML; it quotes every text, also those that YAML would read as another type.
        text = json.dumps(child, ensure_ascii=False)
        yield f"{indent}{name}: {text}", resolved.origin(child_path)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return value.items()
    return [(name, getattr(value, name)) for name in value._fields]


def _is_in(path: str, key: Key) -> bool:
    """Whether a path is the key, or a name below it if it is a map, such as network.environment."""
    return path == key.path or (isinstance(key.row.kind, MapOf) and path.startswith(f"{key.path}."))


def _key_hint(path: str, keys: Iterable[str]) -> str:
    """A hint for an unknown key: similar keys, an option, a sentence, or the nearest group."""
    from jobgen.other_words.search import answers, path_of, places  # only a mistake needs them

    group, _, last = path.rpartition(".")
    if found := places(last, keys, group) or places(path.partition(".")[0], keys, ""):
        return f"did you mean {' or '.join(f'`{path_of(each)}`' for each in found)}?"
    for flag in answers("options", last):
        return f"it is each job's own: {flag}"
    for sentence in answers("sentences", last):
        return sentence
    return nearest_hint(path, {key.partition(".")[0] for key in keys})


def _group_page(path: str, keys: list[Key]) -> str:
    doc, cls = "", ROOT.cls
    for name in path.split(".") if path else ():
        row = dict(rows_of(cls))[name]
        doc, cls = row.doc, getattr(row.kind, "cls", cls)
    title = f"{path}: {doc}\n\n" if doc else ""
    rows = [(key.path, textwrap.shorten(key.row.doc, PAGE_WIDTH, placeholder=" …")) for key in keys]
    return f"{title}{columns(rows)}"


def _key_page(key: Key) -> str:
    lines = [key.path, "", *textwrap.wrap(key.row.doc, PAGE_WIDTH), ""]
    values = [("Value", key.row.kind.in_words()), ("Default", key.default or "not set")]
    for name, text in (*values, ("Example", as_yaml(key.path, example(key)))):
        filled = textwrap.fill(
            text,
            PAGE_WIDTH,
            initial_indent=f"{name + ':':<9} ",
            subsequent_indent=" " * 10,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines.append(filled if name != "Example" else f"Example:  {text}")  # YAML stays as it is
    free = ".NAME" if isinstance(key.row.kind, MapOf) else ""
    own = [
        f"{row.flags[0]} {row.metavar}".strip() for row in OPTIONS.values() if row.path == key.path
    ]
    options = ", or ".join([*own, f"--set {key.path}{free}=VALUE"])
    return "\n".join([*lines, f"Option:   {options}"]) + "\n"
