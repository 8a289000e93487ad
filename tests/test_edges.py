"""Where two parts of jobgen meet, and each alone is right."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobgen import store
from jobgen.cli import main
from jobgen.commands import _shown, show_profile
from jobgen.errors import JobgenError
from jobgen.job import Job, command_line, options
from jobgen.profile import ROOT
from jobgen.schedulers import pbs, slurm
from jobgen.schema import Reading
from jobgen.yamltree import parse
from tests.helpers import jobgen, planned

NUMBER = st.integers(0, 200).map(str)
TIMES = st.one_of(
    *(st.tuples(*[NUMBER] * count).map(":".join) for count in (1, 2, 3)),
    *(
        st.tuples(NUMBER, st.tuples(*[NUMBER] * count).map(":".join)).map("-".join)
        for count in (1, 2, 3)
    ),
)


@settings(max_examples=100, deadline=None)
@given(TIMES)
def test_the_walltime_of_a_plan_is_the_one_that_was_asked_for(text: str) -> None:
    assume(slurm.seconds(text))
    (said,) = re.findall(
        "--time=(.*)", "\n".join(planned(Job("sbatch", "mi210", time=text)).directives)
    )
    assert slurm.seconds(said) == slurm.seconds(text)


@pytest.mark.parametrize("command", ["profiles/mi210.yaml", "./profiles/mi210.yaml", "mi210"])
def test_a_profile_that_builds_on_its_own_name_is_right_by_name_and_by_path(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()
    Path("profiles/mi210.yaml").write_text("extends: mi210\naccount: mine\n")
    assert store.load(command).profile.node.gpus == 8


@pytest.mark.parametrize(
    "name",
    ["UID", "PPID", "EXECIGNORE", "SHELLOPTS", "JOBGEN_HEAD", "JOBGEN_X"],
)
def test_a_variable_that_e_may_not_set_a_profile_may_not_either(name: str) -> None:
    path = f"network.environment.{name}=1"
    with pytest.raises(JobgenError):
        planned(Job("sbatch", "mi210", sets=(path,)))


@pytest.mark.parametrize("name", sorted({*slurm.VARIABLES, *pbs.VARIABLES}))
def test_what_the_scheduler_says_to_a_rank_e_may_not_say(name: str) -> None:
    """Else every job of an array would have the same number."""
    with pytest.raises(JobgenError, match="the script's, torchrun's or bash's own"):
        planned(Job("sbatch", "mi210", environment=(f"{name}=99",)))


def test_a_program_that_no_job_can_be_named_after_names_it_job() -> None:
    assert planned(Job("sbatch", "mi210", program=("hetjob.py",))).name == "job"


@pytest.mark.parametrize("word", ["", "-", "--"])
def test_an_empty_word_or_an_option_is_no_program(word: str) -> None:
    with pytest.raises(JobgenError) as error:
        planned(Job("sbatch", "mi210", program=(word, "x")))
    said = f"--: {word!r} is no program; a script, a command, or -m MODULE [usage]"
    assert str(error.value) == said


def test_more_local_nodes_than_there_are_addresses_are_refused() -> None:
    assert planned(Job("local", "local", nodes="254")).nodes == 254
    with pytest.raises(JobgenError):
        planned(Job("local", "local", nodes="255"))


@pytest.mark.parametrize("name", ["IFS", "BASH_ENV", "rank", "name"])
def test_a_variable_that_would_change_the_script_itself_is_refused(name: str) -> None:
    with pytest.raises(JobgenError):
        planned(Job("local", "local", environment=(f"{name}=.",)))


SHOWN = ["mi210", "local", "dgx-a100"]


@pytest.mark.parametrize("name", SHOWN)
def test_a_shown_profile_is_the_same_profile_when_it_is_read(
    name: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    show_profile(name, ())
    (tmp_path / f"{name}.yaml").write_bytes(capfdbinary.readouterr().out)
    again = store.load(str(tmp_path / f"{name}.yaml"))
    assert again.profile == replace(store.load(name).profile, extends=())


def shown_again(path: str, text: str) -> tuple[object, object]:
    """The profile `local` with a value, and what is read from how it is shown."""
    before = store.load("local", [("--set", path, text)])
    lines = [line for line, _ in _shown(before.profile, "", before)]
    to, tree = Reading(), parse("\n".join(lines).encode(), "shown")
    again = ROOT.read(tree, to)
    return before.profile, to.problems or again


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8)


@settings(max_examples=100, deadline=None)
@given(TEXT, st.sampled_from(["description", "request.output", "network.environment.X"]))
def test_a_shown_value_is_the_same_value_when_it_is_read(text: str, path: str) -> None:
    try:
        before, again = shown_again(path, text)
    except JobgenError:  # not all text is YAML, which a variable's value may be
        assume(path != "network.environment.X")
        raise
    assert before == again


@pytest.mark.parametrize("text", ["\x80", "\x85", "\x9f"])
def test_a_control_character_that_could_not_be_shown_is_refused(text: str) -> None:
    with pytest.raises(JobgenError):
        shown_again("description", text)


WORD = st.one_of(
    st.sampled_from(["", "-", "--", "-x", "--name", "a b", "=", "é", "$(id)", "\n", "'", "\udcff"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)
JOBS = st.builds(
    lambda **said: Job("sbatch", **said),  # of a class, it would make up the other fields, too
    profile=WORD,
    nodes=st.none() | WORD,
    name=st.none() | WORD,
    time=st.none() | WORD,
    environment=st.lists(WORD, max_size=2).map(tuple),
    sets=st.lists(WORD, max_size=2).map(tuple),
    directives=st.lists(WORD, max_size=2).map(tuple),
    template=st.none() | WORD,
    program=st.lists(WORD, max_size=3).map(tuple),
)


@settings(max_examples=200, deadline=None)
@given(JOBS)
def test_the_command_line_of_a_job_asks_for_the_same_job(job: Job) -> None:
    with mock.patch("jobgen.commands.generate", return_value=0) as generate:
        assert main(command_line(job)[1:], "jobgen", standalone_mode=False) == 0
    doing = {"output": None, "submit": None, "wait": None, "mkdir": None}
    generate.assert_called_once_with(job, **doing)


def test_every_option_of_the_command_line_is_tried_above() -> None:
    """An option that is added has to be added to JOBS: those of one kind stand for the rest."""
    kinds = {(row.many, len(row.flags)) for _, row in options("sbatch")}
    tried = {"profile", "nodes", "environment", "sets"}
    assert {(row.many, len(row.flags)) for name, row in options("sbatch") if name in tried} == kinds


def test_python_s_own_unbuffered_mode_changes_no_byte(tmp_path: Path) -> None:
    words = ("sbatch", "--profile", "mi210")
    both = [jobgen(*words, cwd=tmp_path, env={"PYTHONUNBUFFERED": on}).stdout for on in ("", "1")]
    assert both[0] == both[1] != b""
