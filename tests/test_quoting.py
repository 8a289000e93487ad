"""A quoted word is one line, and bash makes of it exactly the value; nothing of it is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobgen import quoting

PIECES = [
    "'",
    '"',
    "\\",
    "$(id)",
    "`id`",
    "$x",
    "${x}",
    "!",
    "~",
    "*",
    "{a,b}",
    "#",
    "\n",
    "\r",
    "\t",
]
PIECES += [
    " ",
    ";",
    "&",
    "|",
    "<",
    ">",
    "-",
    "=",
    "\x7f",
    "\x1b[1m",
    "\u202e",
    "\xa0",
    "“",
    "é",
    "😀",
    "\udcff",
]
TEXT = (
    st.lists(
        st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    )
    .map("".join)
    .map(lambda text: text.replace("\0", ""))
)


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def read_back(words: list[str], locale: str) -> list[bytes]:
    """The arguments that bash passes on for these words."""
    done = subprocess.run(
        ["bash"],
        input=b"x=run; printf '%s\\0' " + " ".join(words).encode() + b"\n",
        env={"PATH": os.environ["PATH"], "LC_ALL": locale, "HOME": "/home/x"},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.split(b"\0")[:-1]


@settings(max_examples=150)
@given(st.lists(TEXT, min_size=1, max_size=20))
@example(
    ["", "~", "~/x", "a~", "-n", "=x", "a\\", "'\\''", "!!", "\n", "$", "\x80", "é”'!", "\\x41"]
)
def test_bash_reads_the_value_back(texts: list[str]) -> None:
    words = [quoting.quote(text) for text in texts]
    assert not any("\n" in word or "\r" in word for word in words)
    for locale in ("C", "C.UTF-8"):
        assert read_back(words, locale) == [bytes_of(text) for text in texts]


@settings(max_examples=60)
@given(st.lists(TEXT, min_size=1, max_size=20))
def test_shellcheck_finds_nothing(texts: list[str]) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    script = "#!/bin/bash\nprintf '%s' " + " ".join(map(quoting.quote, texts)) + "\n"
    done = subprocess.run(
        ["shellcheck", "--norc", "-"], input=script.encode(), capture_output=True, check=False
    )
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("train.py", "train.py"),
        ("--lr=0.1", "--lr=0.1"),
        ("a b", "'a b'"),
        ("it's", '"it\'s"'),
        ("$x", '"\\$x"'),
        ("", "''"),
        ("a\nb", "$'a\\nb'"),
        ("\udcff", "$'\\xff'"),
        ("=hsn0", "'=hsn0'"),
        ("~/x", "\\~/x"),
        ("~~X", "\\~\\~X"),
        ("~", "\\~"),
        ("-AZaz059_@%+=:,./", "-AZaz059_@%+=:,./"),
        ("it's!", "$'it\\'s!'"),
        ("a\u2018", "$'a\u2018'"),
        ("a\u201f", "$'a\u201f'"),
        ("é", "'é'"),
        ("a=b=c:d", "a=b=c:d"),
        ("a:=ls", "'a:=ls'"),
        ("a==ls", "'a==ls'"),
    ],
)
def test_a_word_has_no_more_quotes_than_it_needs(text: str, word: str) -> None:
    assert quoting.quote(text) == word


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("/a b/c", b"/a b/c"),
        ("~/x", b"/home/x/x"),
        ("~", b"/home/x"),
        ("a~", b"a~"),
        ("$HOME/$x", b"/home/x/run"),
        ("${HOME}y:/w", b"/home/xy:/w"),
        ("$$HOME", b"$HOME"),
        ("$(id)`id`${x:-y}$1$", b"$(id)`id`${x:-y}$1$"),
        ("$HOMEé", b"/home/x" + "é".encode()),
        ("", b""),
    ],
)
def test_a_path_expands_the_node_s_variables_and_nothing_else(text: str, value: bytes) -> None:
    assert read_back([quoting.quote_path(text)], "C.UTF-8") == [value]


def test_a_variable_s_name_ends_at_the_same_place_in_every_locale() -> None:
    assert quoting.quote_path("$HOMEé") == "\"$HOME\"'é'"


def test_a_value_of_the_node_with_a_variable_that_has_another() -> None:
    values = {"XDG": "${HOME}/x", "X": "/x"}
    assert quoting.expand("~/$XDG/${X}$y$$X$", values) == "${HOME}/${HOME}/x//x${y}$$X$$"


@pytest.mark.parametrize(
    ("text", "word"),
    [("", "''"), ("%a", '"$N"'), ("a b%a%a$x", """'a b'"$N""$N""\\$x\""""), ("%A", "%A")],
)
def test_an_array_index_is_a_variable_in_a_quoted_word(text: str, word: str) -> None:
    assert quoting.quote_with_shell(text, {"%a": '"$N"'}) == word


@settings(max_examples=100)
@given(TEXT)
def test_a_path_is_one_word_and_runs_nothing(text: str) -> None:
    text = re.sub(r"\$+(?=[A-Za-z_{])|\$\$+", "", text)  # a variable, and $$, mean something
    if text.startswith("~"):
        text = "/" + text
    assert read_back([quoting.quote_path(text)], "C.UTF-8") == [bytes_of(text)]


@given(TEXT)
def test_a_comment_stays_on_one_line(text: str) -> None:
    escaped = quoting.escape_unseen(text)
    assert not set(escaped) & set("\n\r\x1b\u202e\x0b\x0c\x85\u2028")
    assert not quoting.has_unseen(escaped)


def test_a_comment_has_escapes_for_unseen_characters() -> None:
    escaped = quoting.escape_unseen("é\t\r\n\x1b\xa0\u202e\udcff")
    assert escaped == "é\\t\\r\\n\\x1b\xa0\\xe2\\x80\\xae\\xff"


@settings(max_examples=200)
@given(st.lists(TEXT | st.text(st.characters(exclude_categories=["Cs"]))))
def test_words_are_read_as_they_were_quoted(texts: list[str]) -> None:
    assert quoting.split_words(" ".join(map(quoting.quote, texts))) == texts


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a 'b c'd \t e", ["a", "b cd", "e"]),
        (r"""\~"\$\"" $'\xc3\xa9\xff\n\t\r\'\\'""", ['~$"', "é\udcff\n\t\r'\\"]),
        ("", []),
    ],
)
def test_adjacent_quoted_parts_are_one_word(line: str, words: list[str]) -> None:
    assert quoting.split_words(line) == words


@pytest.mark.parametrize(
    ("line", "at"),
    [("a|b", 2), ("a 'b", 3), ("$x", 1), ('"$x"', 1), ("a *", 3), ("a\nb", 2), ("$'\\x4'", 1)],
)
def test_text_that_a_shell_would_interpret_is_refused_with_its_place(line: str, at: int) -> None:
    message = f"{line[at - 1]!r} at character {at} is for a shell, or never closed"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        quoting.split_words(line)


def test_thousands_of_tildes_are_one_word() -> None:
    text = "~" * 5000 + "a b"
    assert quoting.split_words(quoting.quote(text)) == [text]
