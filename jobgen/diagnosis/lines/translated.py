"""What bash and the C library say in other languages, in English: patterns are in English.

translations.txt has an English message in a line, and below it its translations, each behind the
name of its language.
"""

import os
import re
from functools import cache

from jobgen.diagnosis.reader import GRAM, shape_of

_FILE = os.path.join(os.path.dirname(__file__), "translations.txt")
_LINE = "line"  # bash: `FILE: line N: …`
_BLANK = r"[\s\u00a0]*"
_COLON = rf"{_BLANK}[:：]{_BLANK}"


def in_english(text: str) -> str:
    """A line with the translated messages in English; another line as it is."""
    text = re.sub(rf"^(\S+?){_COLON}(?:{_words()}) ?(\d+){_COLON}", rf"\1: {_LINE} \2: ", text)
    for english, translations in _messages().items():
        for each in translations if english != _LINE else ():
            found = text.find(each)
            if found >= 0 and _is_apart(text, found, found + len(each)):
                before, rest = text[:found], text[found + len(each) :]
                if before.rstrip().endswith((":", "：")):
                    before = f"{before.rstrip()[:-1].rstrip()}: "
                return f"{before}{english}{rest}"
    return text


def _is_apart(text: str, begin: int, end: int) -> bool:
    """Whether the part of a text is no part of longer words; some languages have no blanks."""
    around = f"{text[begin - 1 : begin] if begin else ''}{text[end : end + 1]}"
    return not any(letter.isalpha() and ord(letter) < 0x3000 for letter in around)


@cache
def _messages() -> dict[str, list[str]]:
    """The translations of each English message."""
    messages: dict[str, list[str]] = {}
    with open(_FILE, encoding="utf-8") as stream:
        lines = stream.read().partition("\n\n")[2].splitlines()
    english = ""
    for line in lines:
        if line.startswith(" "):
            messages[english].append(line.split(maxsplit=1)[1])
        else:
            english = line
            messages[english] = []
    return messages


def shapes_of_translations() -> list[str]:
    """The shapes of all translations but of `line`; short shapes are in too many lines."""
    return [shape for shape in _shapes() if len(shape) >= GRAM]


@cache
def short_shapes() -> frozenset[str]:
    """The shapes of translations of three letters, which count only as a whole line."""
    return frozenset(shape for shape in _shapes() if len(shape) == GRAM - 1)


def _shapes() -> list[str]:
    messages = _messages()
    texts = "\n".join(each for key in messages if key != _LINE for each in messages[key])
    return shape_of(texts.encode()).decode("latin-1").split("\n")


@cache
def _words() -> str:
    return "|".join(map(re.escape, _messages()[_LINE]))
