"""`jobgen profiles explain` and `list`: from the model, and from the files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from jobgen.cli.app import run_words
from jobgen.errors import JobgenError
from jobgen.profiles import search
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import keys_of
from jobgen.profiles.schema.document import example
from jobgen.profiles.yaml_tree import as_yaml, parse

KEYS = {key.path: key for key in keys_of(ROOT.cls)}


@pytest.mark.parametrize("path", KEYS)
def test_every_key_has_a_page_with_an_example_that_is_right(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["profiles", "explain", path]) == 0
    page = capsys.readouterr().out
    text = as_yaml(path, example(KEYS[path]))
    assert f"Example:  {text}\n" in page
    assert page.startswith(f"{path}\n\n")
    assert "\nValue:    " in page
    assert "\nDefault:  " in page
    problems = ProblemList()
    ROOT.read(parse(text.encode(), "example"), problems)
    assert problems.found == []
    assert all(len(line) <= 100 for line in page.splitlines())


def test_a_page_has_what_the_row_has(capsys: pytest.CaptureFixture[str]) -> None:
    run_words(["profiles", "explain", "launch.join_timeout"])
    assert (
        capsys.readouterr().out
        == """\
launch.join_timeout

Seconds that the nodes wait for one another before the job fails.

Value:    5 to 86400, or a time such as 10m
Default:  600
Example:  launch: {join_timeout: 5}
Option:   --set launch.join_timeout=VALUE
"""
    )
    run_words(["profiles", "explain", "software.venv"])
    assert "$NAME in it is the node's variable" in capsys.readouterr().out
    run_words(["profiles", "explain", "network.environment.HF_HOME"])
    assert "Option:   --set network.environment.NAME=VALUE\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "first", "paths"),
    [
        ("", "description ", set(KEYS)),
        ("request", "request: What a job asks the scheduler for.\n", {"request.nodes"}),
        ("software.container", "software.container: A container", {"software.container.image"}),
        ("workspace", "workspace: The git", {"workspace.url"}),
    ],
)
def test_a_group_lists_its_keys(
    path: str, first: str, paths: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["profiles", "explain", path]) == 0
    page = capsys.readouterr().out
    assert page.startswith(first)
    listed = {line.split()[0] for line in page.splitlines() if line}
    assert paths <= listed
    assert listed - {first.split()[0]} <= {key for key in KEYS if key.startswith(path)}


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("partitio", "did you mean `partition`?"),
        ("memory", "did you mean `request.memory` or `node.memory`?"),
        ("request.memroy", "did you mean `request.memory`?"),
        ("softwar", "did you mean `software`?"),
        ("zzz", "one of: account, contact, description, ends, extends, hosts"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(path: str, hint: str) -> None:
    with pytest.raises(JobgenError) as error:
        run_words(["profiles", "explain", path])
    assert f"explain: no key `{path}`; {hint}" in str(error.value)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of bundled profiles with sites, and a working folder with one of the user's own."""
    folder = tmp_path / "bundled"
    for name in ("tutorial", "sites/frontier", "sites/lumi-g", "fabrics/fast", "fabrics/slow"):
        file = folder / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        scheduler = "" if name.startswith("fabrics") else "scheduler: slurm\n"
        file.write_text(f"description: the {name}\n{scheduler}")
    monkeypatch.setattr(search, "bundled", lambda kind: folder)
    here = tmp_path / "here"
    (here / "profiles").mkdir(parents=True)
    (here / "profiles/mine.yaml").write_text("scheduler: pbs\ndescription: my own\n")
    (here / "profiles/base.yaml").write_text("description: not shown\n")
    monkeypatch.chdir(here)
    return folder


def test_profiles_are_listed_under_headings(
    library: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "theirs.yaml").write_text("scheduler: slurm\ndescription: our group's\n")
    (other / "tutorial.yaml").write_text("scheduler: slurm\ndescription: in its place\n")
    monkeypatch.setenv("JOBGEN_PROFILES", str(other))
    assert run_words(["profiles", "list"]) == 0
    assert (
        capsys.readouterr().out
        == """\
Your own:
  mine            pbs    my own
  theirs          slurm  our group's
  tutorial        slurm  in its place

Public sites, from their documents:
  sites/frontier  slurm  the sites/frontier
  sites/lumi-g    slurm  the sites/lumi-g

Bases, to extend:
  fabrics/fast           the fabrics/fast
  fabrics/slow           the fabrics/slow
"""
    )


def test_sites_are_found_by_their_names_and_completed(library: Path) -> None:
    from jobgen.cli.completion import values
    from jobgen.generator import find_profiles

    assert find_profiles().load("sites/frontier").profile.scheduler == "slurm"
    offers = [item.value for item in values("PROFILE", "")]
    assert set(offers) == {"mine", "base", "tutorial", "sites/frontier", "sites/lumi-g"}
    assert [item.value for item in values("PROFILE", "sites/f")] == ["sites/frontier"]
    keys = [item.value for item in values("[KEY]", "request.mem")]
    assert keys == ["request.memory", "request.memory_per_cpu", "request.memory_per_gpu"]
    assert "request" in [item.value for item in values("[KEY]", "req")]


def test_forty_profiles_are_listed_at_once(library: Path) -> None:
    """Processor time: other programs may be running."""
    text = (Path(search.__file__).parents[2] / "profiles/fabrics/slingshot.yaml").read_text()
    for number in range(40):
        (library / f"sites/s{number}.yaml").write_text(f"scheduler: slurm\n{text}")
    begin = time.process_time()
    assert run_words(["profiles", "list"]) == 0
    assert time.process_time() - begin < 2  # 0.1 s here
