"""The values of a profile with the source of each, for `profiles show --sources` and the site."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.profiles.keys.sources import Document, Source, Sources
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.records import is_record
from jobgen.profiles.resolve import Profiles, Resolved
from jobgen.sources.check import WITHOUT_SOURCE, source_of, sources_of


class SourcedValue(NamedTuple):
    """A value that a file or an option sets; `document` is that of its source, if it has one."""

    path: str
    value: str  # as JSON, which is YAML
    place: str  # FILE:LINE:COLUMN, or the option
    source: Source | None
    document: Document | None

    @property
    def link(self) -> str:
        """The address of the document, at the line of the words; "" without a document."""
        if self.document is None or self.source is None:
            return ""
        return self.document.link + (f"#L{self.source.line}" if self.source.line else "")


def sourced_values(resolved: Resolved, profiles: Profiles) -> Iterator[SourcedValue]:
    """The values that are not jobgen's defaults, in the order of the keys."""
    of_files: dict[str, Sources] = {}
    for path, value in leaves(resolved.profile):
        mark = resolved.place(path)
        if mark is None or path in WITHOUT_SOURCE or _is_comment(path):
            continue
        if mark.line and mark.file not in of_files:
            of_files[mark.file] = sources_of(profiles.read(Path(mark.file), ProblemList()))
        sources = of_files.get(mark.file, Sources())
        source = source_of(path, sources)
        document = sources.documents.get(source.document or "") if source else None
        text = json.dumps(value, ensure_ascii=False)
        yield SourcedValue(path, text, str(mark), source, document)


def source_lines(resolved: Resolved, profiles: Profiles) -> Iterator[str]:
    """The lines of a page: each value, and below it its words and the address of the document."""
    yield f"# {resolved.name}: the source of each value"
    for each in sourced_values(resolved, profiles):
        yield f"{each.path}: {each.value}"
        if each.source is None:
            yield f"    no source: {each.place}"
        elif each.document is None:
            yield f"    ours: {each.source.ours}"
        else:
            yield f'    "{each.source.words}"'
            yield f"    {each.link} (read on {each.document.read})"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a profile, or of a part of it, by their paths; lists are one value."""
    if is_record(value):
        children = [(name, getattr(value, name)) for name in value._fields]
    elif isinstance(value, dict) and value:
        children = list(value.items())
    else:
        if value not in (None, {}):
            yield path, value
        return
    for name, child in children:
        yield from leaves(child, f"{path}.{name}" if path else name)


def _is_comment(path: str) -> bool:
    """Whether it is what is said beside a variable's value: why it is set, and in which jobs."""
    return path.startswith("network.environment.") and path.endswith((".why", ".nodes"))
