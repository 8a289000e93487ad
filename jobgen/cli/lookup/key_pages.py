"""`jobgen profiles explain`: the page of a key, from its row in the model."""

import textwrap
from collections.abc import Iterable

from jobgen.cli.lookup.text import columns
from jobgen.errors import nearest_hint, problem
from jobgen.planning.job_options import OPTIONS
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Key, MapOf, keys_of, rows_of
from jobgen.profiles.schema.document import example
from jobgen.profiles.yaml_tree import as_yaml
from jobgen.scripts.write import write

WIDTH = 80  # columns


def explain(path: str) -> int:
    """Write the page of the key at `path`, or the keys of a group; "" is the group of all.

    Raises JobgenError with the nearest key.
    """
    keys = {key.path: key for key in keys_of(ROOT.cls)}
    groups = {key.rpartition(".")[0] for key in keys} | {key.partition(".")[0] for key in keys}
    same = [name for name in {*keys, *groups} if name.rpartition(".")[2] == path]
    if path and path not in groups and len(same) == 1:  # its last name says enough
        path = same[0]
    named = next((key for key in keys.values() if _is_in(path, key)), None)
    group = [key for key in keys.values() if key.path.startswith(f"{path}." if path else "")]
    if not named and not group:
        raise problem("explain", f"no key `{path:.60}`", "unknown-key", _hint(path, keys))
    write(_page(named) if named else _group(path, group))
    return 0


def _is_in(path: str, key: Key) -> bool:
    """Whether a path is a key, or below a map of free names, such as network.environment."""
    return path == key.path or (isinstance(key.row.kind, MapOf) and path.startswith(f"{key.path}."))


def _hint(path: str, keys: Iterable[str]) -> str:
    """The keys that a name may mean, or what has no key, or the groups."""
    from jobgen.other_words.search import answers, path_of, places  # only a mistake needs them

    group, _, last = path.rpartition(".")
    if found := places(last, keys, group) or places(path.partition(".")[0], keys, ""):
        return f"did you mean {' or '.join(f'`{path_of(each)}`' for each in found)}?"
    for option in answers("options", last):
        return f"it is each job's own: {option}"
    for sentence in answers("sentences", last):
        return sentence
    return nearest_hint(path, {key.partition(".")[0] for key in keys})


def _group(path: str, keys: list[Key]) -> str:
    doc, cls = "", ROOT.cls
    for name in path.split(".") if path else ():
        row = dict(rows_of(cls))[name]
        doc, cls = row.doc, getattr(row.kind, "cls", cls)
    title = f"{path}: {doc}\n\n" if doc else ""
    rows = [(key.path, textwrap.shorten(key.row.doc, WIDTH, placeholder=" …")) for key in keys]
    return f"{title}{columns(rows)}"


def _page(key: Key) -> str:
    lines = [key.path, "", *textwrap.wrap(key.row.doc, WIDTH), ""]
    values = [("Value", key.row.kind.in_words()), ("Default", key.default or "not set")]
    for name, text in (*values, ("Example", as_yaml(key.path, example(key)))):
        filled = textwrap.fill(
            text,
            WIDTH,
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
