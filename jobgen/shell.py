"""Values as words of bash. What comes out is one word, is one line, and means the value exactly."""

from __future__ import annotations

import re
from functools import lru_cache

# Not those with := or ==, where zsh may put a program's path for what follows.
_PLAIN = re.compile(r"(?!.*[:=]=)[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*")
# Characters that a reader would not see, or that would move what he sees: controls, soft hyphens,
# zero widths, line and text-direction marks, and bytes that are not UTF-8 (as surrogates). A fixed
# list, since Python's own idea of a printable character changes with its version.
UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\u034f\u115f\u1160\u3164\uffa0\U000e0000-\U000e007f"
)
_UNSEEN = re.compile(f"[{UNSEEN}]")
_TYPESET = re.compile(
    "[\u2018-\u201f]"
)  # quotes that a reader, or shellcheck, takes for the shell's
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


@lru_cache(4096)  # scripts have most of their words in common
def quote(text: str) -> str:
    """`text` as one word: plain, in quotes, or as $'…' where it has characters one cannot see."""
    if _PLAIN.fullmatch(text):
        return text
    if _UNSEEN.search(text) or _TYPESET.search(text):
        return _ansi_c(text)
    if text.startswith("~"):
        rest = text.lstrip("~")
        return "\\~" * (len(text) - len(rest)) + (quote(rest) if rest else "")
    if not re.search(r"['$`\\]", text):
        return f"'{text}'"
    if text.isascii() and "!" not in text:  # a ! is special in "…" to a shell at a terminal
        return '"' + re.sub(r'(["$`\\])', r"\\\1", text) + '"'
    return _ansi_c(text)


def _ansi_c(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _UNSEEN.sub(lambda found: _escape(found[0]), escaped) + "'"


def _escape(character: str) -> str:
    octets = character.encode("utf-8", "surrogateescape")
    return _SHORT.get(character) or "".join(f"\\x{octet:02x}" for octet in octets)


def path(text: str) -> str:
    """A path as one word in which `$NAME`, `${NAME}` and a leading `~/` are the node's.

    Nothing else is special; `$$` is a dollar sign.
    """
    if text == "~" or text.startswith("~/"):
        text = "$HOME" + text[1:]
    found = re.split(r"(\$\$|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})", text, flags=re.ASCII)
    # re.split puts what the pattern matched at the odd places.
    return "".join(_part(part, bool(n % 2)) for n, part in enumerate(found) if part) or "''"


def indexed(text: str, variable: str) -> str:
    """`text` as one word in which %a is a variable's value."""
    return f'"${variable}"'.join(part and quote(part) for part in text.split("%a")) or "''"


def _part(text: str, variable: bool) -> str:
    if text == "$$":
        return quote("$")
    return f'"{text}"' if variable else quote(text)


def has_unseen(text: str) -> bool:
    """Whether a character of `text` would not be seen, or would move what is."""
    return bool(_UNSEEN.search(text))


def visible(text: str) -> str:
    """`text` for a comment: in one line, with unseen characters as escapes."""
    return _UNSEEN.sub(lambda found: _escape(found[0]), text)


_WORD = re.compile(
    r"""(?P<plain>[^\s|&;<>()$`\\"'*?\[\]{}!\#^~]+)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`!]|\\["$`\\])*)"
    | \$'(?P<ansi>(?:[^'\\]|\\(?:[\\'ntr]|x[0-9a-f]{2}))*)'
    | (?P<tildes>(?:\\~)+)
    | (?P<space>[ \t]+)""",
    re.VERBOSE,
)
_ALL_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+(?: [A-Za-z0-9_@%+=:,./-]+)*")
_ESCAPED = re.compile(r"\\(?:x(..)|(.))")
_LONG = {short[1]: long for long, short in _SHORT.items()}


def words(line: str) -> list[str]:
    """The words of a command line that `quote` wrote; nothing is expanded, and nothing is run.

    Raises ValueError, with the place, for whatever more than words a shell would see in it.
    """
    if _ALL_PLAIN.fullmatch(line):
        return line.split(" ")
    found: list[list[str]] = []
    start = True
    at = 0
    while at < len(line):
        part = _WORD.match(line, at)
        if not part:
            raise ValueError(f"{line[at]!r} at character {at + 1} is for a shell, or never closed")
        if part.lastgroup == "space":
            start = True
        else:
            text = _meant(part.lastgroup or "", part[part.lastgroup or 0])
            if start:
                found.append([])
            found[-1].append(text)
            start = False
        at = part.end()
    # Bytes of one character may come from two escapes.
    return [
        "".join(pieces).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        for pieces in found
    ]


def _meant(kind: str, text: str) -> str:
    if kind in ("double", "tildes"):
        return re.sub(r"\\(.)", r"\1", text)
    if kind == "ansi":
        return _ESCAPED.sub(_unescaped, text)
    return text


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return bytes([int(found[1], 16)]).decode("utf-8", "surrogateescape")
    return _LONG.get(found[2], found[2])
