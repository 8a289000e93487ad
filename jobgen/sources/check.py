"""Checks that every value of a profile's file has a source, and every source a value."""

from collections.abc import Iterator
from time import gmtime, strftime, time

from jobgen.errors import Mark, Problem
from jobgen.profiles.keys.sources import Document, Source, Sources
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.records import Record
from jobgen.profiles.yaml_tree import Map, Node, is_null

# They say what the profile is; a reader of the file sees whether it is so.
WITHOUT_SOURCE = ("description", "state", "needs", "sources")
_DOCUMENT_HINT = (
    "{repository: OWNER/NAME, commit: …, path: …, read: DAY}, or {address: …, read: DAY}"
)


def sources_of(tree: Node | None) -> Sources:
    """The sources in the tree of one file, which was checked by itself; none if it has none."""
    section = tree.items.get("sources") if isinstance(tree, Map) else None
    return Record(Sources).read(section, ProblemList()) if isinstance(section, Map) else Sources()


def source_of(path: str, sources: Sources) -> Source | None:
    """The source of the value at a path: its own, or that of the nearest group that it is in."""
    while path not in sources.values and path:
        path = path.rpartition(".")[0]
    return sources.values.get(path)


def source_problems(tree: Node | None) -> list[Problem]:
    """What is wrong with the sources of a file, each at its place; nothing if it has none.

    The file itself was checked before: all keys are known, and all values are of their kinds.
    """
    if not isinstance(tree, Map) or not isinstance(section := tree.items.get("sources"), Map):
        return []
    sources = sources_of(tree)
    documents, values = (_keys(section, name) for name in ("documents", "values"))
    leaves = dict(_leaves(tree))
    misnamed = {each.document for each in sources.values.values()} - {None, *sources.documents}
    found = []
    for name, document in sources.documents.items():
        if text := _document_problem(document):
            found.append(Problem(documents[name], f"{name}: {text}", "source", _DOCUMENT_HINT))
        elif not misnamed and all(name != each.document for each in sources.values.values()):
            text = f"no value is from the document `{name}`"
            found.append(Problem(documents[name], text, "source", "remove it"))
    for path, source in sources.values.items():
        if text := _source_problem(source, sources):
            hint = "{document: NAME, line: N, words: …}, or {ours: REASON}"
            found.append(Problem(values[path], f"{path}: {text}", "source", hint))
        elif not any(f"{leaf}.".startswith(f"{path}.") for leaf in leaves):
            text = f"this file has no value `{path}`"
            found.append(Problem(values[path], text, "source", "a value of a base has its own"))
    for path, mark in leaves.items():
        if source_of(path, sources) is None:
            hint = "add it to sources.values, or {ours: REASON} if no document has it"
            found.append(Problem(mark, f"`{path}` has no source", "source", hint))
    return found


def _keys(section: Map, name: str) -> dict[str, Mark]:
    group = section.items.get(name)
    return group.keys if isinstance(group, Map) else {}


def _leaves(tree: Map, before: str = "") -> Iterator[tuple[str, Mark]]:
    """The paths and places of all values that need a source; lists are one value."""
    for name, child in tree.items.items():
        path = f"{before}{name}"
        if path in WITHOUT_SOURCE or is_null(child):
            continue
        if isinstance(child, Map) and child.items:
            yield from _leaves(child, f"{path}.")
        else:
            yield path, child.mark


def is_future(day: str) -> bool:
    """Whether a day is after tomorrow: it is tomorrow already elsewhere."""
    return day > strftime("%Y-%m-%d", gmtime(time() + 86_400))


def _document_problem(document: Document) -> str:
    of_file = (document.repository, document.commit, document.path)
    if document.address and any(of_file):
        return "an address, and a file of a repository: it is one of the two"
    if not document.address and not all(of_file):
        return "no address, and not all of repository, commit and path"
    if not document.read:
        return "`read` is missing, the day on which it was read"
    return f"it was read on {document.read}, a day to come" if is_future(document.read) else ""


def _source_problem(source: Source, sources: Sources) -> str:
    place = (source.document, source.line, source.words)
    if source.ours:
        return "a document, and `ours`: it is one of the two" if any(place) else ""
    if not source.document:
        return "neither a document nor `ours`"
    document = sources.documents.get(source.document)
    if document is None:
        return f"no document `{source.document}` is in sources.documents"
    if not source.words:
        return "`words` are missing, which show the value"
    if document.repository and not source.line:
        return "`line` is missing, the line of the file that has the words"
    return "`line` counts in the file of a repository" if document.address and source.line else ""
