"""Reads the documents of the profiles again, and says which words are no longer there.

    python checks/check_sources.py [PROFILE.yaml …]

A file of a repository is read at its commit, where the words must be on their line, and in the
newest version, where they may be on another line. The exit code is 1 if words are gone or a
document is dead, and 2 for wrong usage. With --report, issues.py makes issues of what was found.
A server that does not answer is no fault; the last line says how much was read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from documents import Answer, Documents, page_text
from registry import ROOT, Report, existing_file, name_of, profile_files, read, write_reports

RAW = "https://raw.githubusercontent.com"
_WORD = re.compile(r"[^\W_]+")
_FEW = 20  # a page with fewer words shows its text by a script, or is a PDF
_ON_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/blob/([^/]+)/([^#?]+).*")


class Finding(NamedTuple):
    """What is true of one source now; `is_fault`: somebody has to look at the profile."""

    is_fault: bool
    text: str
    unread: str = ""  # the address, if its words could not be read there


class Cited(NamedTuple):
    """A value's path with the words that show it, and their line."""

    value: str
    words: str
    line: int


def main(words: list[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("profiles", nargs="*", type=existing_file, help="all, if none is named")
    parser.add_argument("--raw", default=RAW, help="where OWNER/NAME/COMMIT/PATH is served")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache/documents")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds, for each host")
    parser.add_argument("--report", type=Path, help="a file for issues.py")
    options = parser.parse_args(words)
    documents = Documents(options.cache, options.pause)
    reports, unread, whole = [], set(), 0
    for file in [each.resolve() for each in options.profiles] or profile_files():
        found = list(findings(read(file).get("sources") or {}, options.raw, documents))
        for each in found:
            print(f"{name_of(file)}: {each.text}", flush=True)
        whole += not any(each.is_fault or each.unread for each in found)
        unread |= {each.unread for each in found if each.unread}
        is_silent = any(each.unread in documents.silent() for each in found)
        title = f"{name_of(file)}: its sources have changed"
        reports.append(Report(title, report_text(found), not is_silent))
    if not options.profiles:
        documents.close()
    if options.report:
        write_reports(options.report, reports)
    requested = len(documents.answers)
    print(
        f"{whole} of {len(reports)} profiles have all their sources; "
        f"{requested - len(unread)} of {requested} addresses could be read"
    )
    return 1 if any(each.text for each in reports) else 0


def report_text(found: list[Finding]) -> str:
    """The text of an issue; empty if there is no fault."""
    if not any(each.is_fault for each in found):
        return ""
    lines = [f"- {each.text}" for each in sorted(found, key=lambda each: not each.is_fault)]
    task = "Read the document again, and change the value or its source in the profile:"
    return "\n".join([task, "", *lines, ""])


def findings(sources: dict[str, Any], raw: str, documents: Documents) -> Iterator[Finding]:
    """What is to be said of the sources of a profile, document by document."""
    for name, document in (sources.get("documents") or {}).items():
        cited = [
            Cited(value, " ".join(source.get("words", "").split()), int(source.get("line", 0)))
            for value, source in (sources.get("values") or {}).items()
            if source.get("document") == name
        ]
        if "repository" in document:
            top, path = f"{raw}/{document['repository']}", quote(document["path"])
            then, now = f"{top}/{document['commit']}/{path}", f"{top}/HEAD/{path}"
            yield from _in_repository(then, cited, documents, is_fixed=True)
            yield from _in_repository(now, cited, documents, is_fixed=False)
        else:
            yield from _on_page(_source_of_page(document["address"], raw), cited, documents)


def _in_repository(
    address: str, cited: list[Cited], documents: Documents, is_fixed: bool
) -> Iterator[Finding]:
    """A file at its commit, or its newest version."""
    answer = documents.get(address, is_fixed)
    if answer.text is None:
        yield _unread(address, answer, cited)
        return
    lines = [" ".join(line.split()) for line in answer.text.split("\n")]  # as GitHub counts them
    for value, words, line in cited:
        places = [number for number, text in enumerate(lines, 1) if words in text]
        if line in places:
            continue
        if not places:
            yield Finding(True, f"`{value}`: the words `{words}` are gone from {address}")
        elif is_fixed:
            yield Finding(True, f"`{value}`: `{words}` is not on line {line} of {address}")
        else:
            near = min(places, key=lambda number: abs(number - line))
            yield Finding(False, f"`{value}`: line {line} has become line {near} of {address}")


def _on_page(address: str, cited: list[Cited], documents: Documents) -> Iterator[Finding]:
    """A page, whose marks and blanks do not count."""
    answer = documents.get(address)
    if answer.text is None:
        yield _unread(address, answer, cited)
        return
    text = _tokens(page_text(answer.text))
    if text.count(" ") < _FEW or answer.text.startswith("%PDF"):
        about = f"{address} has no text for this check: look with a browser"
        yield Finding(False, about, unread=address)
        return
    for value, words, _ in cited:
        if _tokens(words) not in text:
            yield Finding(True, f"`{value}`: the words `{words}` are gone from {address}")


def _tokens(text: str) -> str:
    """The words and numbers of a text, each between blanks: `8 GPUs` is not in `128 GPUs`."""
    words = " ".join(_WORD.findall(text))
    return f" {words} "


def _source_of_page(address: str, raw: str) -> str:
    """The address itself; of a page of GitHub that shows a file, the newest version of the file."""
    return _ON_GITHUB.sub(rf"{raw}/\1/HEAD/\3", address)


def _unread(address: str, answer: Answer, cited: list[Cited]) -> Finding:
    values = ", ".join(f"`{each.value}`" for each in cited)
    about = f"{address} {answer.why}; it is the source of {values}"
    return Finding(answer.is_dead, about, unread=address)


if __name__ == "__main__":
    sys.exit(main())
