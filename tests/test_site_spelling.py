"""The words of all pages are in a dictionary, or in docs/words.txt.

The dictionary is the American one of Hunspell that spylls brings; docs/words.txt has British forms,
the words of the field and names. `pytest --update tests/test_site_spelling.py` writes it: read the
diff, since a mistake would be in it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.site_build import ROOT, Html, built_site, html_of, skip_without_packages

pytestmark = pytest.mark.slow
WORDS = ROOT / "docs/words.txt"
# A word with a digit, a capital inside, or capitals alone is a name or a short form.
WORD = re.compile(r"(?<![\w./@#$])[A-Za-z]?[a-z]+(?:['’][a-z]+)?(?![\w/@`]|\.\w)")
ENDING = re.compile(r"['’]s?$")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_site(tmp_path_factory)


def readme() -> Html:
    """README, which is no page of the site."""
    from markdown_it import MarkdownIt

    page, text = Html(), (ROOT / "README.md").read_text(encoding="utf-8")
    page.feed(f"<article>{MarkdownIt('commonmark').enable('table').render(text)}</article>")
    return page


def unknown_words(site: Path) -> dict[str, str]:
    """The words that are not in the dictionary, in small letters, each with one of its pages."""
    from spylls.hunspell import Dictionary

    dictionary = Dictionary.from_files("en_US")
    words: dict[str, str] = {}
    pages = {str(page.relative_to(site)): html_of(page) for page in sorted(site.rglob("*.html"))}
    for name, page in {**pages, "README.md": readme()}.items():
        for word in WORD.findall("".join(page.prose)):
            words.setdefault(ENDING.sub("", word.replace("’", "'")), name)
    unknown = (word for word in words if not dictionary.lookup(word))
    return {word.lower(): words[word] for word in unknown}


def test_every_word_is_in_a_dictionary(site: Path, update: bool) -> None:
    unknown = unknown_words(site)
    if update:
        WORDS.write_text("".join(f"{word}\n" for word in sorted(unknown)), encoding="utf-8")
    listed = WORDS.read_text(encoding="utf-8").split()
    assert listed == sorted(set(listed))
    new = {word: page for word, page in unknown.items() if word not in listed}
    assert new == {}, "mend these words, or add them to docs/words.txt"
    assert [word for word in listed if word not in unknown] == [], "no page has these words"


def test_a_mistake_is_found() -> None:
    skip_without_packages()
    from spylls.hunspell import Dictionary

    dictionary = Dictionary.from_files("en_US")
    listed = WORDS.read_text(encoding="utf-8").split()
    for word in ("teh", "recieve", "adress", "rendevous", "seperate", "enviroment", "occured"):
        assert WORD.findall(f"a {word}.") == ["a", word]
        assert not dictionary.lookup(word)
        assert word not in listed
