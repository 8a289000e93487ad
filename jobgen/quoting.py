"""Turns values into words of bash: each is one word on one line, and means exactly the value.

Turns words of bash into values, too: the words of a line, and the options among them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

# Words with := or == are quoted, since zsh may replace what follows by a program's path.
_PLAIN = re.compile(r"(?!.*[:=]=)[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*")
# Characters that a reader cannot see, or that move other characters: controls, soft hyphens, zero
# widths, line and text-direction marks, and bytes that are not UTF-8 (as surrogates). The list is
# fixed, since Python's own list of printable characters changes with its version.
UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\u034f\u115f\u1160\u3164\uffa0\U000e0000-\U000e007f"
)
_UNSEEN = f"[{UNSEEN}]"  # compiled when it is needed: few texts are not printable ASCII
# Quotation marks that a reader, or shellcheck, takes for the shell's.
_TYPOGRAPHIC = re.compile("[\u2018-\u201f]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


@lru_cache(4096)  # most words of a script are also in the next one
def quote(text: str) -> str:
    """`text` as one word: plain, in quotes, or as $'…' if it has characters that cannot be seen."""
    if _PLAIN.fullmatch(text):
        return text
    if has_unseen(text) or _TYPOGRAPHIC.search(text):
        return _ansi_c(text)
    if text.startswith("~"):
        rest = text.lstrip("~")
        return "\\~" * (len(text) - len(rest)) + (quote(rest) if rest else "")
    if not re.search(r"['$`\\]", text):
        return f"'{text}'"
    if text.isascii() and "!" not in text:  # in "…" a ! is special to a shell at a terminal
        return '"' + re.sub(r'(["$`\\])', r"\\\1", text) + '"'
    return _ansi_c(text)


def _ansi_c(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{escape_unseen(escaped)}'"


def _escape(character: str) -> str:
    octets = character.encode("utf-8", "surrogateescape")
    return _SHORT.get(character) or "".join(f"\\x{octet:02x}" for octet in octets)


@lru_cache(4096)
def quote_path(text: str) -> str:
    """Returns a value of the node, such as a path, as one word.

    The node replaces `$NAME`, `${NAME}` and a leading `~/`, and `$$` is a dollar sign. No other
    character is special.
    """
    text = _with_home(text)
    parts = _NODE_VARIABLE.split(text)
    pairs = [(part, bool(number % 2)) for number, part in enumerate(parts) if part]
    if len(pairs) > 1 and "$$" not in text and all(v or _PLAIN.fullmatch(p) for p, v in pairs):
        return f'"{text}"'  # one pair of quotes reads better than several
    return "".join(_path_part(part, variable) for part, variable in pairs) or "''"


# The pattern is in brackets, so `split` puts its matches at the odd places.
_NODE_VARIABLE = re.compile(r"(\$\$|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})", re.ASCII)


def _with_home(text: str) -> str:
    return f"$HOME{text[1:]}" if text == "~" or text.startswith("~/") else text


# The schedulers' patterns that have the value of a variable.
_PATTERNS = {
    **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID"), "Slurm's pattern for it is %j"),
    "SLURM_ARRAY_TASK_ID": "Slurm's pattern for it is %a",
    "SLURM_JOB_NAME": "Slurm's pattern for it is %x",
    "PBS_JOBID": "PBS gives a path that ends in / a file JOBID.OU",
    "PBS_ARRAY_INDEX": "PBS's pattern for it is ^array_index^",
}


def variable_problem(text: str) -> tuple[str, str, str] | None:
    """Returns the problem if the text has a $NAME that nothing expands, else None.

    A problem is a message, its code and a hint.
    """
    found = re.search(r"\$(\{)?([A-Za-z_]\w*)(?(1)(?:[^}]*\})?)", text, re.ASCII)
    if text.startswith("~/"):
        message = "`~/` would stay as it is: nobody replaces it in this value"
        return message, "variable", "write what `echo ~/` prints"
    if not found:
        return None
    word = found[0][:40]
    message = f"`{word}` would stay as it is: nobody replaces a variable in this value"
    hint = _PATTERNS.get(found[2], f"write what `echo {word}` prints")
    where = "$NAME is the node's in network.environment, -e, mounts and paths"
    return message, "variable", f"{hint}; {where}"


UNSET = 78  # the exit status of a command in which a $NAME has no value


def names_set(*paths: str) -> str:
    """The lines of bash that end it with an error unless each $NAME in these paths has a value.

    With nothing in its place, `$SCRATCH/bert` would be /bert.
    """
    found = [name for path in paths for name in _NODE_VARIABLE.findall(path) if name != "$$"]
    names = dict.fromkeys(name.strip("${}") for name in found)
    text = "is not set in a login shell there"
    return "".join(
        f"[[ ${{{name}-}} ]] || {{ echo '`${name}` {text}' >&2; exit {UNSET}; }}\n"
        for name in names
    )


def _path_part(text: str, variable: bool) -> str:
    if text == "$$":
        return quote("$")
    return f'"{text}"' if variable else quote(text)


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replaces the variables in a value of the node that have a value in `values`.

    These values are results of this function, too: they have only `${NAME}` and `$$`.
    """
    parts = _NODE_VARIABLE.split(_with_home(text))
    parts[::2] = [part.replace("$", "$$") for part in parts[::2]]  # so that no $ joins a name
    names = (part.strip("${}") for part in parts[1::2])
    parts[1::2] = [values.get(name, f"${{{name}}}" if name else "$$") for name in names]
    return "".join(parts)


def quote_with_shell(text: str, pieces: Mapping[str, str]) -> str:
    """`text` as one word in which each key of `pieces` is its shell text, such as `"$node"`."""
    # re.split puts the matches of the pattern at the odd places.
    parts = re.split(f"({'|'.join(map(re.escape, pieces))})", text)
    words = (pieces[part] if n % 2 else part and quote(part) for n, part in enumerate(parts))
    return "".join(words) or "''"


def has_unseen(text: str) -> bool:
    """Whether a character of `text` is invisible, or changes where its neighbours are shown."""
    is_plain = text.isascii() and text.isprintable()
    return not is_plain and bool(re.search(_UNSEEN, text))


def escape_unseen(text: str) -> str:
    """`text` for a comment: on one line, with escapes for characters that cannot be seen."""
    return re.sub(_UNSEEN, lambda found: _escape(found[0]), text) if has_unseen(text) else text


# These are compiled when they are needed, to read the header of a script.
_WORD = r"""(?P<plain>[^\s|&;<>()$`\\"'*?\[\]{}!\#^~]+)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`!]|\\["$`\\])*)"
    | \$'(?P<ansi>(?:[^'\\]|\\(?:[\\'ntr]|x[0-9a-f]{2}))*)'
    | (?P<tildes>(?:\\~)+)
    | (?P<space>[ \t]+)"""
_ESCAPED = r"\\(?:x(..)|(.))"
_LONG = {short[1]: long for long, short in _SHORT.items()}


def split_words(line: str) -> list[str]:
    """The words of a command line that `quote` wrote; nothing is expanded, and nothing is run.

    Raises ValueError, with the place, for anything else that a shell would interpret.
    """
    words: list[list[str]] = []
    is_new = True
    for part in re.finditer(rf"{_WORD} | (?P<other>.)", line, re.VERBOSE | re.DOTALL):
        kind = str(part.lastgroup)  # one of the groups matches
        text = part[kind]
        if kind == "other":
            place = f"{text!r} at character {part.start() + 1}"
            raise ValueError(f"{place} is for a shell, or never closed")
        if kind in ("double", "tildes"):
            text = re.sub(r"\\(.)", r"\1", text)
        elif kind == "ansi":
            text = re.sub(_ESCAPED, _unescaped, text)
        if kind != "space":
            words += [[]] * is_new
            words[-1].append(text)
        is_new = kind == "space"
    # The bytes of one character may come from two escapes.
    return [
        "".join(pieces).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        for pieces in words
    ]


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return bytes([int(found[1], 16)]).decode("utf-8", "surrogateescape")
    return _LONG.get(found[2], found[2])


def options_of(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the options of a command line before its `--`, with their values."""
    end = args.index("--") if "--" in args else len(args)
    words = [*args[:end], ""]
    for word, following in pairwise(words):
        name, equals, value = word.partition("=")
        if short := re.fullmatch(r"(-[NGnc])(\d+)", word):
            yield short[1], short[2]
        elif name.startswith("-"):
            yield name, value if equals else following
