"""The manual: --help, the table of options and the man page, all from the same rows."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from jobgen.cli.app import COMMANDS, RowOption, main
from jobgen.cli.commands.job_commands import OUTPUT_OPTIONS
from jobgen.planning.option_row import GROUPS, Option
from tests.site_build import hook

manual, option_effects = hook("manual"), hook("option_effects")
ROOT = Path(__file__).parent.parent
PAGE = ROOT / "man/jobgen.1"


def test_every_command_and_option_has_a_heading() -> None:
    overview = {name: text for names in COMMANDS.values() for name, text in names.items()}
    assert overview == {name: each.get_short_help_str(80) for name, each in main.commands.items()}
    rows = option_effects.all_options()  # raises ValueError for an unknown heading
    assert len({id(row) for row in rows}) == len(rows)
    assert all(("repeatable" in row.help) == row.repeatable for row in rows)
    for name in ("sbatch", "qsub", "local", "interactive", "byhand"):
        command = main.commands[name]
        context = click.Context(command, info_name=name)
        options = [each for each in command.get_params(context) if isinstance(each, RowOption)]
        assert all(option.group in GROUPS for option in options)
        text = command.get_help(context)
        headings = re.findall(r"^(\w.*):$", text, re.M)
        used = {"Other"} | {option.group for option in options}  # --help is there
        assert headings == [group for group in GROUPS if group in used]
        assert all(flag in text for option in options for flag in option.opts)


JOB_OPTIONS = [row for row in option_effects.all_options() if row not in OUTPUT_OPTIONS.values()]


@pytest.mark.parametrize("row", JOB_OPTIONS, ids=lambda row: row.flags[-1])
def test_every_option_shows_what_it_changes(row: Option) -> None:
    for command in set(option_effects.SAMPLES) & row.commands:
        hint = "give its row an example, or name its effect in docs/hooks/option_effects.py"
        assert any(option_effects.changes(row, command)), (
            f"{row.flags[-1]} changes nothing for {command}: {hint}"
        )


def test_the_changes_by_an_option_are_planned() -> None:
    rows = {row.flags[-1]: row for row in option_effects.all_options()}
    changes = option_effects.changes
    assert changes(rows["--time"], "sbatch") == (["--time=01:30:00"], "")
    assert changes(rows["--nodes"], "qsub")[0] == ["-l select=3:…"]
    assert changes(rows["--signal"], "qsub") == ([], "the script measures the time")
    assert changes(rows["--partition"], "qsub") == ([], "")
    assert changes(rows["--rendezvous"], "sbatch") == ([], "in the script")
    row, context = (
        rows["--set"]._replace(example="request.exclusive=false"),
        "--set=request.exclusive=true",
    )
    assert changes(row, "sbatch", context) == (["--cpus-per-task=32"], "no `--exclusive`")
    assert changes(row, "qsub", context) == (["-l place=scatter"], "")


def test_the_man_page_is_current(update: bool) -> None:
    if update:
        PAGE.write_text(manual.page(), encoding="ascii")
    assert PAGE.read_text(encoding="ascii") == manual.page(), "make golden"


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
    warnings = (done.stdout + done.stderr).splitlines()
    assert [line for line in warnings if "missing date" not in line] == []
    done = subprocess.run(show, capture_output=True, text=True, check=True)
    text = re.sub(".\b", "", done.stdout)  # bold is a letter twice
    assert all(flag in text for row in option_effects.all_options() for flag in row.flags)
    assert "jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch\n" in text
    assert 'eval "$(jobgen completion bash)"\n' in text


def test_special_characters_are_escaped_in_roff() -> None:
    text = r".so \n(.x 'a' `--b` …"
    assert manual._filled(text) == [r"\&.so \en(.x \(aqa\(aq \fB\-\-b\fR \[u2026]"]
