"""Two parts of jobgen that agree with each other."""

from __future__ import annotations

import re
from pathlib import Path
from unittest import mock

import click
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobgen.cli.app import main, run_words
from jobgen.cli.commands.job_commands import output_options
from jobgen.cli.commands.profile_commands import _profile_lines
from jobgen.errors import JobgenError
from jobgen.generator import find_profiles
from jobgen.planner.assembly import command_words
from jobgen.planning.job_options import Job, job_options
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.yaml_tree import parse
from jobgen.schedulers import pbs, slurm
from tests.helpers import jobgen, planned

NUMBER = st.integers(0, 200).map(str)
TIMES = st.one_of(
    *(st.tuples(*[NUMBER] * count).map(":".join) for count in (1, 2, 3)),
    *(
        st.tuples(NUMBER, st.tuples(*[NUMBER] * count).map(":".join)).map("-".join)
        for count in (1, 2, 3)
    ),
)


@settings(max_examples=100)
@given(TIMES)
def test_the_walltime_of_the_directive_is_that_of_the_option(text: str) -> None:
    assume(slurm.seconds(text))
    directives = planned(Job("sbatch", "mi210", time=text)).directives
    (walltime,) = re.findall("--time=(.*)", "\n".join(directives))
    assert slurm.seconds(walltime) == slurm.seconds(text)


@pytest.mark.parametrize("name", ["profiles/mi210.yaml", "./profiles/mi210.yaml", "mi210"])
def test_a_profile_that_extends_its_own_name_is_found_by_name_and_by_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()
    Path("profiles/mi210.yaml").write_text("extends: mi210\naccount: mine\n")
    assert find_profiles().load(name).profile.node.gpus == 8


@pytest.mark.parametrize(
    "name",
    ["UID", "PPID", "EXECIGNORE", "SHELLOPTS", "JOBGEN_HEAD", "JOBGEN_X"],
)
def test_a_profile_may_not_set_a_reserved_variable_either(name: str) -> None:
    path = f"network.environment.{name}=1"
    with pytest.raises(JobgenError):
        planned(Job("sbatch", "mi210", set_values=(path,)))


@pytest.mark.parametrize("name", sorted({*slurm.SCHEDULER.variables, *pbs.SCHEDULER.variables}))
def test_no_option_sets_what_the_scheduler_tells_a_rank(name: str) -> None:
    """Otherwise, every job of an array would have the same number."""
    with pytest.raises(JobgenError, match="belongs to the script, torchrun or bash"):
        planned(Job("sbatch", "mi210", environment=(f"{name}=99",)))


def test_a_job_that_cannot_have_its_program_s_name_is_called_job() -> None:
    assert planned(Job("sbatch", "mi210", program=("hetjob.py",))).name == "job"


@pytest.mark.parametrize("word", ["", "-", "--"])
def test_an_empty_word_or_an_option_is_no_program(word: str) -> None:
    with pytest.raises(JobgenError) as error:
        planned(Job("sbatch", "mi210", program=(word, "x")))
    message = f"--: {word!r} is not a program; a script, a command, or -m MODULE [usage]"
    assert str(error.value) == message


def test_more_local_nodes_than_there_are_addresses_are_refused() -> None:
    assert planned(Job("local", "local", nodes="254")).request.nodes == 254
    with pytest.raises(JobgenError):
        planned(Job("local", "local", nodes="255"))


@pytest.mark.parametrize("name", ["IFS", "BASH_ENV", "job", "node"])
def test_a_variable_that_would_change_the_script_is_refused(name: str) -> None:
    with pytest.raises(JobgenError):
        planned(Job("local", "local", environment=(f"{name}=.",)))


SHOWN_PROFILES = ["mi210", "local", "dgx-a100"]


@pytest.mark.parametrize("name", SHOWN_PROFILES)
def test_a_shown_profile_is_read_as_the_same_profile(
    name: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run_words(["profiles", "show", name]) == 0
    (tmp_path / f"{name}.yaml").write_bytes(capfdbinary.readouterr().out)
    reread = find_profiles().load(str(tmp_path / f"{name}.yaml"))
    assert reread.profile == find_profiles().load(name).profile._replace(extends=())


def shown_and_reread(path: str, text: str) -> tuple[object, object]:
    """The profile `local` with a value, and what is read from the text that shows it."""
    resolved = find_profiles().load("local", [("--set", path, text)])
    lines = [line for line, _ in _profile_lines(resolved.profile, "", resolved)]
    problems, tree = ProblemList(), parse("\n".join(lines).encode(), "shown")
    reread = ROOT.read(tree, problems)
    return resolved.profile, problems.found or reread


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8)


@settings(max_examples=100)
@given(TEXT, st.sampled_from(["description", "request.output", "network.environment.X"]))
def test_a_shown_value_is_read_as_the_same_value(text: str, path: str) -> None:
    try:
        shown, reread = shown_and_reread(path, text)
    except JobgenError:  # not all text is YAML; a path with a variable may be refused
        assume(path == "description")
        raise
    assert shown == reread


@pytest.mark.parametrize("text", ["\x80", "\x85", "\x9f"])
def test_a_control_character_that_could_not_be_shown_is_refused(text: str) -> None:
    with pytest.raises(JobgenError):
        shown_and_reread("description", text)


WORD = st.one_of(
    st.sampled_from(["", "-", "--", "-x", "--name", "a b", "=", "é", "$(id)", "\n", "'", "\udcff"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)
JOBS = st.builds(
    # For a class, hypothesis would make up the other fields, too.
    lambda **fields: Job("sbatch", **fields),
    profile=WORD,
    nodes=st.none() | WORD,
    name=st.none() | WORD,
    time=st.none() | WORD,
    environment=st.lists(WORD, max_size=2).map(tuple),
    set_values=st.lists(WORD, max_size=2).map(tuple),
    directives=st.lists(WORD, max_size=2).map(tuple),
    template=st.none() | WORD,
    program=st.lists(WORD, max_size=3).map(tuple),
)


@settings(max_examples=200)
@given(JOBS)
def test_the_command_line_of_a_job_means_the_same_job(job: Job) -> None:
    command = main.get_command(click.Context(main), "sbatch")
    with mock.patch.object(command, "callback", return_value=0) as callback:
        assert run_words(command_words(job)[1:]) == 0
    fields = callback.call_args.kwargs
    output = {name: fields.pop(name) for name in output_options("sbatch")}
    assert Job("sbatch", **fields) == job
    assert output == {"output": None, "submit": None, "wait": None, "mkdir": None, "host": None}


def test_every_kind_of_option_is_among_the_jobs_above() -> None:
    """The options of JOBS stand for all others of their kinds."""
    names = {"profile", "nodes", "environment", "set_values"}
    kinds = {name: (row.repeatable, len(row.flags)) for name, row in job_options("sbatch")}
    assert {kinds[name] for name in names} == set(kinds.values())


def test_python_s_own_unbuffered_mode_changes_no_byte(tmp_path: Path) -> None:
    words = ("sbatch", "--profile", "mi210")
    scripts = [
        jobgen(*words, cwd=tmp_path, env={"PYTHONUNBUFFERED": value}).stdout for value in ("", "1")
    ]
    assert scripts[0] == scripts[1] != b""
