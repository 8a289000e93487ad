"""The keys of a profile below `sources`, and texts that name a key."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from collections.abc import Mapping
from typing import NamedTuple

from jobgen.errors import nearest_hint
from jobgen.profiles.kinds import FREE, ONE_LINE, WORD, Int, ProblemList, Text
from jobgen.profiles.records import MapOf, Record, keys_of, kind_at, record, row
from jobgen.profiles.yaml_tree import Node

_MONTHS = r"(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
DAY = Text(rf"\d{{4}}-(?:{_MONTHS}|02-(?:0[1-9]|1\d|2\d))", "a day, such as 2026-11-29")
WORDS = 100  # the most characters of the words: a fact, and not a site's sentences


class KeyPath(Text):
    """The whole path of a key of the profile that the text stands in, such as `request.time`."""

    def read(self, node: Node, problems: ProblemList) -> str | None:
        text = super().read(node, problems)
        root = problems.root
        if text and root and not kind_at(Record(root), text.split("."), node.mark, ProblemList()):
            paths = [each.path for each in keys_of(root)]
            same = [each for each in paths if each.endswith(f".{text}")]
            hint = f"write {' or '.join(same)}" if same else nearest_hint(text, paths)
            hint = "such as account, or request.time" if hint.startswith("one of") else hint
            problems.note(node.mark, f"unknown key `{text}`", "unknown-key", hint)
        return text


@record
class Document(NamedTuple):
    """A document: a file of a public repository, or a page at an address."""

    repository: str | None = row(
        Text(r"[\w.-]+/[\w.-]+", "OWNER/NAME of a repository on GitHub"),
        "The repository of the file, on GitHub.",
        example="Lumi-supercomputer/lumi-userguide",
    )
    commit: str | None = row(
        Text("[0-9a-f]{40}", "the 40 digits of a commit"),
        "The commit that was read.",
        example="8f3a0a6c5d9b1e2f7a4c3b2d1e0f9a8b7c6d5e4f",
    )
    path: str | None = row(
        Text(dollar=FREE), "The path of the file in the repository.", example="docs/partitions.md"
    )
    address: str | None = row(
        Text(r"https?://\S+", "an address that begins with https://", dollar=FREE),
        "The address of a page that is in no repository.",
        example="https://example.org/docs/partitions",
    )
    read: str | None = row(DAY, "The day on which it was read.", example="2026-11-29")
    dated: str | None = row(DAY, "The day that the page itself shows.", example="2026-05-01")

    @property
    def link(self) -> str:
        """The address of the document as it was read."""
        if self.repository:
            from urllib.parse import quote  # takes 2 ms, and only a page needs it

            path = quote(self.path or "")
            return f"https://github.com/{self.repository}/blob/{self.commit}/{path}"
        return self.address or ""


@record
class Source(NamedTuple):
    """Where one value is from, or why there is no document for it."""

    document: str | None = row(WORD, "The name of the document.", example="partitions")
    line: int | None = row(Int(1), "The line of the document that has the words.", example="31")
    words: str | None = row(
        Text(most=WORDS, dollar=FREE, any_scalar=True),
        "The words of that line that show the value.",
        example='"2 days"',
    )
    ours: str | None = row(
        Text(f"(?=.*[A-Za-z]){ONE_LINE}", "a reason in words", dollar=FREE),
        "Instead of the other three: no document has the value, and this is why it is set.",
        example="the smallest job of several nodes",
    )


@record
class Sources(NamedTuple):
    """The documents, and which of them shows which value."""

    documents: Mapping[str, Document] = row(
        MapOf(Record(Document), WORD),
        "The documents, by names of your own.",
        dict,
        example='{nodes: {address: "https://example.org/nodes", read: 2026-11-29}}',
    )
    values: Mapping[str, Source] = row(
        MapOf(Record(Source), WORD),
        "The source of each value, by the value's path; it is the source of all below it, too.",
        dict,
        example='{node.gpus: {document: nodes, line: 12, words: "8 GPUs"}}',
    )
