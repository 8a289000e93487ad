"""The manual: --help, the README's table of options and the man page, all from the same rows."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from jobgen import manpage, manual
from jobgen.cli import main
from jobgen.job import DOING, GROUPS
from jobgen.jobs import Row
from jobgen.overview import COMMANDS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGE = ROOT / "man/jobgen.1"
TABLE = re.compile(r"(?<=<!-- table: options -->\n)(?:\|.*\n)+")


def test_every_command_and_option_has_a_heading() -> None:
    shown = {name: text for names in COMMANDS.values() for name, text in names.items()}
    assert shown == {name: each.get_short_help_str(80) for name, each in main.commands.items()}
    rows = {id(row) for row in manual.rows()}  # raises for a heading that is none
    assert len(rows) == len(manual.rows())
    for name in ("sbatch", "qsub", "local", "interactive", "byhand"):
        command = main.commands[name]
        context = click.Context(command, info_name=name)
        options = [each for each in command.get_params(context) if isinstance(each, Row)]
        assert all(option.group in GROUPS for option in options)
        shown = command.get_help(context)
        headings = re.findall(r"^(\w.*):$", shown, re.M)
        used = {"Anything else"} | {option.group for option in options}
        assert headings == [group for group in GROUPS if group in used]
        assert all(flag in shown for option in options for flag in option.opts)


OF_JOBS = [row for row in manual.rows() if row not in DOING.values()]


@pytest.mark.parametrize("row", OF_JOBS, ids=lambda row: row.flags[-1])
def test_every_option_says_what_it_becomes(row: manual.Option) -> None:
    for command in set(manual.SAMPLES) & row.commands:
        hint = "give its row an example, what has to be beside that, or else an effect"
        assert any(manual.becomes(row, command)), (
            f"{row.flags[-1]} does nothing to {command}: {hint}"
        )


def test_what_options_become_is_planned() -> None:
    found = {row.flags[-1]: row for row in manual.rows()}
    assert manual.becomes(found["--time"], "sbatch") == (["--time=01:30:00"], "")
    assert manual.becomes(found["--nodes"], "qsub")[0] == ["-l select=3:…"]
    assert manual.becomes(found["--signal"], "qsub") == ([], "the script keeps time")
    assert manual.becomes(found["--partition"], "qsub") == ([], "")
    assert manual.becomes(found["--rendezvous"], "sbatch") == ([], "in the script")
    shared = ("--set=request.exclusive=true",)
    row = found["--set"]._replace(example="request.exclusive=false", beside=shared)
    assert manual.becomes(row, "sbatch") == (["--cpus-per-task=32"], "no `--exclusive`")
    assert manual.becomes(row, "qsub") == (["-l place=scatter"], "")


def test_the_table_in_the_readme_is_current(update: bool) -> None:
    text = README.read_text(encoding="utf-8")
    assert len(TABLE.findall(text)) == 1
    if update:
        text = TABLE.sub(lambda _: manual.table(), text)
        README.write_text(text, encoding="utf-8")
    assert TABLE.findall(text) == [manual.table()], "make golden"


def test_the_man_page_is_current(update: bool) -> None:
    if update:
        PAGE.write_text(manpage.page(), encoding="ascii")
    assert PAGE.read_text(encoding="ascii") == manpage.page(), "make golden"


READERS = {
    "groff": (["-man", "-ww", "-z"], ["-man", "-T", "utf8", "-P", "-bcou"]),
    "mandoc": (["-T", "lint"], ["-T", "utf8"]),
}


@pytest.mark.parametrize("reader", READERS)
def test_the_man_page_can_be_read(reader: str) -> None:
    if not shutil.which(reader):
        pytest.skip(f"no {reader} on this machine")
    lint, show = ([reader, *words, str(PAGE)] for words in READERS[reader])
    done = subprocess.run(lint, capture_output=True, text=True, check=False)
    # It has no date, so that it is the same whenever it is made.
    said = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
    assert said == []
    done = subprocess.run(show, capture_output=True, text=True, check=True)
    shown = re.sub(".\b", "", done.stdout)  # bold is a letter twice
    assert all(flag in shown for row in manual.rows() for flag in row.flags)
    assert "jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch\n" in shown
    assert 'eval "$(jobgen completion bash)"\n' in shown


def test_text_stays_as_it_is_in_roff() -> None:
    text = r".so \n(.x 'a' `--b` …"
    assert manpage._filled(text) == [r"\&.so \en(.x \(aqa\(aq \fB\-\-b\fR \[u2026]"]
