"""The index of the classes is that of their texts."""

from pathlib import Path

from jobgen.diagnosis.classes import classes
from jobgen.diagnosis.classes.fixed_texts import text_of_index
from jobgen.diagnosis.classes.index import INDEX


def test_the_index_is_that_of_the_texts(update: bool) -> None:
    """With --update, this test must run before others, which read the index."""
    expected, file = text_of_index(classes().values()), Path(INDEX)
    if update:
        file.write_text(expected, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == expected, "`make golden` writes it"
