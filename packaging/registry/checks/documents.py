"""Reads documents from the web: with a cache, and a pause between two requests to one host."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

AGENT = "jobgen-profiles/1 (reads cited documents once a week)"
MOST_BYTES = 32_000_000
GONE = (404, 410)
# A page that did not answer in so many weeks is as dead as one that is gone.
MOST_SILENCES = 3
_INLINE = set("a abbr b code em font i kbd mark small span strong sub sup tt u var".split())


class Answer(NamedTuple):
    """The text of a document; without one, why, and whether nobody will find it there again."""

    text: str | None
    why: str = ""
    is_dead: bool = False


class Documents:
    """The documents at addresses. Each is asked for once in a run.

    A file at a commit never changes: it is read from the cache. The server is asked whether any
    other document has changed since. What no profile names any more leaves the cache at the end.
    """

    def __init__(
        self,
        cache: Path,
        pause: float,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache, self._pause, self._sleep, self._clock = cache, pause, sleep, clock
        self.answers: dict[str, Answer] = {}  # of each address that was asked for
        self._next: dict[str, float] = {}  # when a host may be asked again
        cache.mkdir(parents=True, exist_ok=True)
        self._index = cache / "index.json"
        is_there = self._index.is_file()
        self._entries: dict[str, Any] = json.loads(self._index.read_text()) if is_there else {}

    def get(self, address: str, is_fixed: bool = False) -> Answer:
        """The document at an address; `is_fixed`: it is there as it is, or nowhere."""
        if address not in self.answers:
            cached = self._body(address)
            if is_fixed and cached.is_file():
                self.answers[address] = Answer(_text(cached))
            else:
                self.answers[address] = self._request(address)
        return self.answers[address]

    def silent(self) -> set[str]:
        """The addresses of which nobody knows what is there now."""
        found = self.answers.items()
        return {each for each, answer in found if answer.text is None and not answer.is_dead}

    def close(self) -> None:
        """Write the index, and remove from the cache what was not asked for."""
        self._entries = {each: self._entries.get(each, {}) for each in self.answers}
        in_use = {self._index, *map(self._body, self.answers)}
        for file in self._cache.iterdir():
            if file not in in_use:
                file.unlink()
        self._index.write_text(json.dumps(self._entries, indent=1) + "\n")

    def _request(self, address: str) -> Answer:
        entry = self._entries.setdefault(address, {})
        if urlsplit(address).scheme not in ("http", "https"):
            return Answer(None, "is no address of the web", True)
        self._wait(urlsplit(address).netloc)
        cached = self._body(address)
        headers = {"User-Agent": AGENT}
        if "tag" in entry and cached.is_file():
            headers["If-None-Match"] = entry["tag"]
        # An address may have letters of any language.
        request = urllib.request.Request(quote(address, "%/:=&?~#+!$,;'@()*[]"), headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                data = response.read(MOST_BYTES)
                tag = response.headers.get("ETag")
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 304:
                entry.pop("silences", None)
                return Answer(_text(cached))
            return self._failed(entry, f"answers {error.code}", error.code in GONE)
        except (OSError, HTTPException, ValueError) as error:
            return self._failed(entry, f"does not answer: {getattr(error, 'reason', error)}", False)
        cached.write_bytes(gzip.compress(data, mtime=0))
        entry.clear()
        entry.update({"tag": tag} if tag else {})
        return Answer(_text(cached))

    def _failed(self, entry: dict[str, Any], why: str, is_dead: bool) -> Answer:
        entry["silences"] = entry.get("silences", 0) + 1
        if not is_dead and entry["silences"] >= MOST_SILENCES:
            return Answer(None, f"{why} (run {entry['silences']} in which it does not)", True)
        return Answer(None, why, is_dead)

    def _wait(self, host: str) -> None:
        seconds = self._next.get(host, 0) - self._clock()
        if seconds > 0:
            self._sleep(seconds)
        self._next[host] = self._clock() + self._pause

    def _body(self, address: str) -> Path:
        return self._cache / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.gz"


def _text(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode("utf-8", "replace")


class _PageText(HTMLParser):
    """The text of a page as a reader sees it, with a blank where an element begins or ends."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in ("script", "style")
        self.parts.append("" if tag in _INLINE else " ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0
        self.parts.append("" if tag in _INLINE else " ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def page_text(text: str) -> str:
    """The text of a page, without its marks if it is HTML."""
    if not re.search(r"(?i)<(html|body|head|!doctype html)\b", text[:5000]):
        return text
    parser = _PageText()
    parser.feed(text)
    parser.close()
    return "".join(parser.parts)
