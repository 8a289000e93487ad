"""Finds the meaning of an unknown name: a key at another place, another tool's word, a slip."""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import yaml

from jobgen.bounds import WORD_CHARACTERS
from jobgen.quoting import quote

Tables = Mapping[str, Mapping[str, Any]]
_MOST_OF_VALUE = 400  # characters; a longer value would be the whole message
# Cutoffs of difflib: for names of the same group, for names of all groups, for other tools' words.
_CLOSE, _CLOSER, _CLOSEST = 0.75, 0.82, 0.88


@cache
def _tables(file: str) -> Tables:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tables: Tables = yaml.load(Path(__file__).with_name(file).read_text(encoding="utf-8"), loader)
    return tables


# `words`: other tools' names, and what to write instead. `habits`, for options, and `doubts`, for
# keys of a profile: patterns of values, each with its mistake.
words = partial(_tables, "words.yaml")
habits = partial(_tables, "habits.yaml")
doubts = partial(_tables, "doubts.yaml")


def plain(name: str) -> str:
    """Returns a name in small letters, without `-`, `_`, blanks and submitit's first `slurm_`."""
    return re.sub("^slurm[-_]|[-_ ]", "", name.lstrip("-"), flags=re.IGNORECASE).lower()


def answers(table: str, name: str) -> list[str]:
    """Returns all answers of a table for a name, in the table's order."""
    return _by_word(table).get(plain(name), [])


@cache
def _by_word(table: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for answer, others in words().get(table, {}).items():
        for word in dict.fromkeys(map(plain, others.split())):
            found.setdefault(word, []).append(answer)
    return found


def main_keys(group: str) -> list[str]:
    """Returns the keys of a group that a value may mean if it stands in the place of the group."""
    return str(words()["groups"].get(group, "")).split()


def is_word(name: str) -> bool:
    """Whether the tables have the name of an option; a whole word may have one dash before it."""
    tables = ("keys", "options", "sentences")
    return any(answers(each, name) for each in tables) or any(
        re.search(rf"(?<![\w-]){re.escape(name)}\b", form) for form in words()["forms"]
    )


def form_words(command: str, flag: str, value: str) -> str:
    """Returns what to write instead of an option whose value has a known form; else ""."""
    text = f"{command} {flag} {value}".rstrip()
    for form, answer in words()["forms"].items():
        if found := re.fullmatch(form, text):
            return _filled(answer, found, quote)
    return ""


def with_unit(name: str, value: str) -> str:
    """Returns a number with the unit that its name implies; the value itself if none is clear."""
    name = plain(name)
    if not value.isdigit():
        return value
    if name in ("walltime", "hrt"):  # PBS's and Grid Engine's, in seconds
        minutes, seconds = divmod(int(value), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if found := re.search("mem.*([gm])b$", name):  # submitit's
        return f"{value}{found[1].upper()}"
    found = re.search("(?:time.*|^(?:wall|max)?)(minute|min$|hour)", name)
    return f"{value}{found[1][0]}" if found else value


def path_of(answer: str) -> str:
    """Returns the key in an answer of the table `keys`, without its value and its explanation."""
    return re.split("[=,]", answer)[0]


def places(name: str, paths: Iterable[str], group: str) -> list[str]:
    """Returns the keys that a name in a group may mean, as the table `keys` writes them; or [].

    `group` is the group in which the name stands, "" at the top level.
    """
    return _places(name, tuple(paths), group) if len(name) <= WORD_CHARACTERS else []


@lru_cache(256)
def _places(name: str, paths: tuple[str, ...], group: str) -> list[str]:
    before, _, last = name.rpartition(".")
    if before in paths and name not in paths:
        return _places(last, paths, before)
    own = {_last(path): path for path in paths if path.rpartition(".")[0] == group}
    if same := _same(name, own.values(), has_plural=bool(group)):
        return same
    if name in paths:
        return [name]
    if inner := [each for each in answers("keys", f"{group}.{name}") if path_of(each) in paths]:
        return inner[:1]
    others = (answers("manifest", name) if "defaults.set" in paths else []) or answers("keys", name)
    if exact := [each for each in others if group and path_of(each).rpartition(".")[0] == group]:
        return exact[:1]
    if here := [each for each in others if _last(path_of(each)) in own]:
        path = own[_last(path_of(here[0]))]
        return [here[0] if path == path_of(here[0]) else path]
    if found := [each for each in others if path_of(each) in paths]:
        return _likely(found, "limits." if name.startswith("max") else "")
    if others or answers("options", name) or answers("sentences", name):
        return []
    if same := _same(name, paths):
        return _likely(same)
    return _near(name, paths, own)


def _near(name: str, paths: tuple[str, ...], own: Mapping[str, str]) -> list[str]:
    """Returns keys with a similar name, or that begin with the name; the own group comes first."""
    if close := get_close_matches(name.lower(), own, n=1, cutoff=_CLOSE):
        return [own[close[0]]]
    if "." in name:
        return get_close_matches(name.lower(), paths, n=1, cutoff=_CLOSER)
    lasts = {_last(path) for path in paths}
    for longer in (own, lasts) if len(name) > 3 else ():
        if len(found := [last for last in longer if last.startswith(name)]) == 1:
            return _likely([path for path in paths if _last(path) == found[0]])
    if close := get_close_matches(name.lower(), lasts, n=1, cutoff=_CLOSER):
        return _likely([path for path in paths if _last(path) == close[0]])
    close = get_close_matches(plain(name), _by_word("keys"), n=1, cutoff=_CLOSEST)
    return [each for word in close for each in answers("keys", word) if path_of(each) in paths]


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _likely(paths: list[str], wanted: str = "") -> list[str]:
    """Returns the keys of the `wanted` group; else all but limits, which few people set."""
    first = [path for path in paths if wanted and path.startswith(wanted)]
    return first or [path for path in paths if not path.startswith("limits.")] or paths


def _same(name: str, paths: Iterable[str], has_plural: bool = True) -> list[str]:
    """Returns the keys with a name; if there are none, the keys that differ only by a final `s`."""
    name, others = plain(name), {path: plain(_last(path)) for path in paths}
    plurals = [each for each in others if name == f"{others[each]}s" or f"{name}s" == others[each]]
    return [each for each in others if others[each] == name] or plurals * has_plural


def _filled(answer: str, found: re.Match[str], form: Callable[[str], str] = str) -> str:
    return re.sub(r"\{(\d)\}", lambda number: form(found[int(number[1])]), answer)


def value_hint(path: str, word: str, tables: Tables | None = None) -> str:
    """Returns the hint for a word as the value of the key at a path; "" if the word is unknown.

    `tables` are `doubts`, or by default the tables of wrong values.
    """
    table = (tables or words()["values"]).get(path, {})
    for pattern, hint in table.items() if len(word) <= _MOST_OF_VALUE else ():
        if found := re.fullmatch(pattern, word, re.IGNORECASE):
            return _filled(hint, found)
    return ""
