"""The API: the bytes and the refusals of the command line, and nothing read but the arguments."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import jobgen
from jobgen.api.calls import ARGUMENTS, with_arguments
from jobgen.cli.app import run_words
from jobgen.cli.mistakes.job_checks import check_habits
from jobgen.errors import JobgenError
from jobgen.generator import find_profiles
from jobgen.paths import bundled
from jobgen.planning.job_options import OPTIONS, Job, job_options
from jobgen.planning.option_row import Option
from jobgen.planning.parser import parse_command
from jobgen.profiles.model import ROOT
from jobgen.profiles.search import profile_files
from jobgen.profiles.yaml_tree import parse, plain_value
from jobgen.schedulers import COMMANDS
from tests.helpers import jobgen as program
from tests.hostile import HOSTILE
from tests.test_schema import data_like

GOLDEN = Path(__file__).parent / "api-signatures.txt"
STUB = Path(__file__).parent.parent / "jobgen/__init__.pyi"
STUB_HEAD = """\
# Made from the rows of the options by `make golden`: the types of `jobgen`, for a checker of types.

from collections.abc import Mapping, Sequence

from jobgen.api.calls import PathName, Profile, Values, Word, Words
from jobgen.api.job import End, SubmittedJob, Verdict
from jobgen.errors import JobgenError, Problem
from jobgen.planning.plan import Plan

__version__: str
"""
CALLS = ("script", "plan", "advice", "submit")
OF_CALLS = {"command", "folder", "environ"}  # options that are no fields of a command line


@cache
def with_scheduler() -> dict[str, str]:
    """The bundled profiles that make scripts, each with its command."""
    found = {}
    for name in profile_files(Path(os.devnull), environ={}):
        is_retired = find_profiles().load(name).profile.state == "retired"
        if not name.startswith("fabrics/") and not is_retired:
            found[name] = jobgen.plan(name, ["true"], nodes=1).command[1]
    return found


def of_command_line(words: list[str]) -> bytes | str:
    """What `jobgen WORDS` writes to stdout, or its refusal, which names arguments."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stream)
        try:
            assert run_words(words) == 0
        except JobgenError as error:
            return str(JobgenError(with_arguments(error.problems)))
        assert isinstance(stream.buffer, io.BytesIO)
        return stream.buffer.getvalue()


def of_api(function: Callable[..., str], *arguments: Any, **options: Any) -> bytes | str:
    try:
        return function(*arguments, **options).encode()
    except JobgenError as error:
        return str(error)


def test_import_alone_imports_nothing() -> None:
    """Start-up time is a feature, also of a program that imports jobgen and never calls it."""
    code = "import jobgen, sys; print(*sorted(n for n in sys.modules if n.startswith('jobgen')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "jobgen\n"
    assert set(jobgen.__all__) <= set(dir(jobgen))
    with pytest.raises(AttributeError, match="no attribute 'scripts_'"):
        jobgen.scripts_  # type: ignore[attr-defined]  # noqa: B018


def test_the_signatures_have_not_changed(update: bool) -> None:
    """A program of a user depends on them: docs/stability.md says how they may change."""
    text = ""
    for name in CALLS:
        signature = inspect.signature(getattr(jobgen, name))
        lines = [f"    {each}," for each in signature.parameters.values()]
        text += "\n".join([f"jobgen.{name}(", *lines, f") -> {signature.return_annotation}\n"])
    text = text.replace("'", "")
    for cls in (jobgen.Problem, jobgen.Plan, jobgen.End):
        text += f"{cls.__name__}: {' '.join(cls._fields)}\n"
    methods = inspect.getmembers(jobgen.SubmittedJob, inspect.isfunction)
    for name, method in methods:
        if not name.startswith("_"):
            text += f"SubmittedJob.{name}{inspect.signature(method)}\n".replace("'", "")
    text += f"names: {' '.join(jobgen.__all__)}\n"
    if update:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_checker_of_types_reads_the_same_signatures(update: bool) -> None:
    names = "".join(f"    {json.dumps(name)},\n" for name in jobgen.__all__)
    text = f"{STUB_HEAD}__all__ = [\n{names}]\n\n"
    for name in CALLS:
        signature = inspect.signature(getattr(jobgen, name))
        lines = [f"    {each}," for each in signature.parameters.values()]
        lines.insert(2, "    *,")
        lines = [f"def {name}(", *lines, f") -> {signature.return_annotation}: ...\n"]
        text += "\n".join(lines).replace("'", "")
    if update:
        STUB.write_text(text, encoding="utf-8")
    assert text == STUB.read_text(encoding="utf-8")


def test_each_option_of_a_job_is_an_argument() -> None:
    assert set(ARGUMENTS) == (set(Job._fields) - {"profile", "program"}) | OF_CALLS


def values_of(name: str, row: Option, command: str) -> st.SearchStrategy[Any]:
    """Values of Python for an option, right or wrong."""
    if not row.metavar:
        return st.booleans()
    example = row.example if isinstance(row.example, str) else row.example.get(command, "")
    text = st.sampled_from([example or "1", "2", "all"]) | HOSTILE
    if row.repeatable:
        maps: st.SearchStrategy[Any] = st.nothing()
        if name == "environment":
            maps = st.dictionaries(st.sampled_from(["A", "NCCL_NET"]), text | st.none(), max_size=2)
        if name == "set_values":
            yaml = st.booleans() | st.none() | st.integers(0, 9)
            keys = st.sampled_from(["request.exclusive", "network.port", "launch.stall"])
            maps = st.dictionaries(keys, yaml, max_size=2)
        return text | st.lists(text, max_size=2) | maps
    return text | st.integers(0, 5) if "int" in str(ARGUMENTS[name]) else text


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, list[str], dict[str, Any]]:
    profile, command = draw(st.sampled_from(sorted(with_scheduler().items())))
    if draw(st.integers(0, 9)) == 0:
        command = "byhand"
    rows = dict(job_options(command))
    names = draw(st.lists(st.sampled_from(sorted(rows)), max_size=4, unique=True))
    options = {
        name: draw(values_of(name, rows[name], command))
        for name in names
        if name not in ("profile", "hosts", "template")
    }
    if command == "byhand":
        options["hosts"] = draw(st.sampled_from(["a,b", "n[1-3]", ["x", "y"]]))
    arguments = draw(st.lists(HOSTILE, max_size=2))
    words = draw(st.sampled_from([[], ["train.py", *arguments], ["-m", "pkg.mod"], ["./run"]]))
    return command, profile, words, options


def words_of(command: str, profile: str, words: list[str], options: Mapping[str, Any]) -> list[str]:
    """The command line for the same request, written from the documentation of both."""
    line, changes, flags = [command, f"--profile={profile}"], list[str](), list[str]()
    for name, value in options.items():
        row = OPTIONS[name]
        if not row.metavar:
            inverse = name == "shared"
            if value:
                flags.append(row.flags[0])
            else:
                changes.append(f"{row.path}={'true' if value != inverse else 'false'}")
        elif name == "set_values":
            items = value.items() if isinstance(value, dict) else ()
            own = [value] if isinstance(value, str) else [] if items else value
            shown = [
                f"{key}={item if isinstance(item, str) else json.dumps(item)}"
                for key, item in items
            ]
            changes = [*own, *shown, *changes]
        elif name == "environment" and isinstance(value, dict):
            flags += [f"--env={key}" + ("" if v is None else f"={v}") for key, v in value.items()]
        elif row.repeatable:
            flags += [
                f"{row.flags[-1]}={each}" for each in ([value] if isinstance(value, str) else value)
            ]
        else:
            text = ",".join(value) if isinstance(value, list) else str(value)
            flags.append(f"{row.flags[-1]}={text}")
    return [
        *line,
        *(f"--set={each}" for each in changes),
        *flags,
        *(["--", *words] if words else []),
    ]


def is_of_another_command(line: list[str]) -> bool:
    """Whether a value is right for an option of sbatch or qsub: only the command line says so."""
    try:
        job = parse_command(line)
    except JobgenError:
        return False
    try:
        check_habits(job, None)
    except JobgenError:
        return True
    return False


@pytest.mark.slow
@settings(max_examples=150)
@given(requests())
def test_a_call_gives_the_bytes_or_the_refusal_of_the_command_line(
    request_: tuple[str, str, list[str], dict[str, Any]],
) -> None:
    command, profile, words, options = request_
    line = words_of(command, profile, words, options)
    assume(not is_of_another_command(line))
    expected = of_command_line(line)
    assert of_api(jobgen.script, profile, words, **options) == expected


@pytest.mark.parametrize("name", sorted({"dgx-a100", "eap", "local", "sites/lumi-g", "mi210"}))
def test_a_mapping_is_a_file_of_the_name_profile_yaml(name: str, tmp_path: Path) -> None:
    data = plain_value(parse((bundled("profiles") / f"{name}.yaml").read_bytes(), name))
    (tmp_path / "profile.yaml").write_text(json.dumps(data), encoding="utf-8")
    command = COMMANDS[data["scheduler"]]
    done = program(command, "--profile", "profile.yaml", "--", "train.py", cwd=tmp_path)
    assert jobgen.script(data, ["train.py"]).encode() == done.stdout
    assert f"jobgen {command} --profile profile.yaml -- train.py".encode() in done.stdout


@pytest.mark.slow
@settings(max_examples=150)
@given(data_like(ROOT).filter(lambda data: isinstance(data, dict)))
def test_any_mapping_has_the_script_or_the_mistakes_of_the_same_file(data: Any) -> None:
    """The places differ: a path instead of a line and a column."""
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(data, ensure_ascii=False)
        Path(folder, "profile.yaml").write_text(text, encoding="utf-8")
        results: list[str | set[tuple[str, str]]] = []
        for profile in ("profile.yaml", data):
            try:
                results.append(jobgen.script(profile, folder=folder))
            except JobgenError as error:
                texts = [re.sub(r" \(.*\)$", "", each.text) for each in error.problems]
                results.append(set(zip(texts, (e.code for e in error.problems), strict=True)))
    assert results[0] == results[1]


def test_a_mapping_may_extend_a_file_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/base.yaml").write_text("scheduler: slurm\npartition: gpu\n")
    (tmp_path / "near.yaml").write_text("account: physics\n")
    data = {"extends": ["base", "near.yaml"], "request": {"nodes": 2}}
    plan = jobgen.plan(data, folder=tmp_path)
    assert (plan.request.partition, plan.request.account, plan.request.nodes) == (
        "gpu",
        "physics",
        2,
    )
    with pytest.raises(JobgenError, match="profile: extends: no profile `base`"):
        jobgen.plan({"extends": "base", "scheduler": "slurm"})


def test_only_the_arguments_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """No variable, no word of the command line; nothing is printed, and no file is written."""
    for folder in ("listed", "config/jobgen/profiles", "cwd/profiles", "cache"):
        (tmp_path / folder).mkdir(parents=True)
    for folder, partition in (("listed", "l"), ("config/jobgen/profiles", "c")):
        (tmp_path / folder / "mine.yaml").write_text(f"scheduler: slurm\npartition: {partition}\n")
    (tmp_path / "cwd/profiles/mi210.yaml").write_text("scheduler: slurm\npartition: own\n")
    environ = {
        "JOBGEN_PROFILES": str(tmp_path / "listed"),
        "JOBGEN_PROFILE": "mine",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr("sys.argv", ["jobgen", "qsub", "--profile", "eap"])
    before = dict(os.environ)
    with pytest.raises(JobgenError, match="no profile `mine`"):
        jobgen.plan("mine")
    assert "partition=own" in jobgen.script("mi210")
    assert "partition=own" not in jobgen.script("mi210", folder=tmp_path)
    assert jobgen.plan("mine", environ=environ).request.partition == "l"
    del environ["JOBGEN_PROFILES"]
    assert jobgen.plan("mine", environ=environ).request.partition == "c"
    del environ["XDG_CONFIG_HOME"]
    with pytest.raises(JobgenError):
        jobgen.plan("mine", environ=environ)
    (tmp_path / "config").rename(tmp_path / ".config")
    assert jobgen.plan("mine", environ=environ).request.partition == "c"
    (tmp_path / "home.yaml").write_text("scheduler: slurm\npartition: h\n")
    assert jobgen.plan("~/home.yaml", environ=environ).request.partition == "h"
    for without in ({}, {"HOME": ""}, {"HOME": "x"}):
        with pytest.raises(JobgenError, match=r"no file ~/home\.yaml; `~` is HOME"):
            jobgen.plan("~/home.yaml", environ=without)
    assert (dict(os.environ), sys.argv) == (before, ["jobgen", "qsub", "--profile", "eap"])
    assert capfd.readouterr() == ("", "")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_template_of_the_folder_is_used(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/sbatch.sh.j2").write_text("of {{ plan.name }}\n")
    (tmp_path / "own.j2").write_text("own {{ plan.name }}\n")
    for _ in range(2):
        assert jobgen.script("mi210", ["a.py"], folder=tmp_path) == "of a\n"
    (tmp_path / "templates/sbatch.sh.j2").write_text("now {{ plan.name }}\n")
    assert jobgen.script("mi210", ["a.py"], folder=tmp_path) == "now a\n"
    assert jobgen.script("mi210", ["a.py"], folder=tmp_path, template="own.j2") == "own a\n"
    assert capfd.readouterr() == ("", "")


def test_several_threads_may_call_it(tmp_path: Path) -> None:
    """Also with templates of their own."""
    (tmp_path / "templates").mkdir()
    own = "{% extends 'bundled/sbatch.sh.j2' %}"
    (tmp_path / "templates/sbatch.sh.j2").write_text(own)

    def text(number: int) -> str:
        folder = tmp_path if number % 3 == 0 else Path()
        return jobgen.script("mi210", ["a.py"], nodes=number % 5 + 1, folder=folder)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(text, range(15)))
    assert found == [text(number) for number in range(15)]


def test_advice_is_what_the_command_line_warns_of() -> None:
    options = {"nodes": 2, "environment": {"HF_TOKEN": "hf_secret"}}
    found = jobgen.advice("mi210", ["true"], **options)
    done = program("sbatch", "--profile", "mi210", "-N2", "-eHF_TOKEN=hf_secret", "--", "true")
    lines = [f"jobgen: warning: {each}" for each in found]
    assert lines == done.stderr.decode().replace("-e: ", "environment: ").splitlines()
    assert "HF_TOKEN" in found[0].text


def test_a_plan_is_frozen_and_has_the_names_of_the_profile() -> None:
    plan = jobgen.plan("mi210", ["train.py", "--lr", 0.1, Path("data")], nodes=3, gpus_per_node=4)
    assert (plan.request.nodes, plan.request.gpus_per_node, plan.scheduler) == (3, 4, "slurm")
    assert plan.program.arguments == ("--lr", "0.1", "data")
    with pytest.raises(AttributeError):
        plan.name = "x"  # type: ignore[misc]
    assert isinstance(plan, jobgen.Plan)
    hosts = jobgen.plan("mi210", ["train.py"], hosts=["a", "b"])
    assert (hosts.hosts, hosts.command[1]) == (("a", "b"), "byhand")
    assert jobgen.plan("mi210", command="interactive").command[1] == "interactive"


WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "program": (
        ("mi210", "train.py"),
        {},
        "program: expected a list of words, got 'train.py'; such as [\"train.py\"",
    ),
    "word": (("mi210", ["a.py", b"x"]), {}, "program[1]: expected text or a number, got b'x'"),
    "truth": (
        ("mi210", ["a.py", True]),
        {},
        "program[1]: expected text or a number, got True; write it as",
    ),
    "flag": (("mi210",), {"plain": "yes"}, "plain: expected True or False, got 'yes'"),
    "number": (("mi210",), {"nodes": [3]}, "nodes: expected text or a number, got [3]"),
    "truth of a number": (
        ("mi210",),
        {"nodes": True},
        "nodes: expected text or a number, got True; 1",
    ),
    "truth of a name": (
        ("mi210",),
        {"name": True},
        "name: expected text or a number, got True; such",
    ),
    "fraction": (("mi210",), {"nodes": 3.0}, "nodes: expected a whole number, got the number 3.0"),
    "job's name": (("mi210",), {"name": "a/b"}, "name: 'a/b' is not a valid job name"),
    "launcher": (("mi210", ["torchrun"]), {}, "program: torchrun starts ranks itself"),
    "hosts": (("mi210",), {"hosts": 3}, 'hosts: expected a list of words, got 3; such as ["a"'),
    "variable name": (("mi210",), {"environment": {"A B": 1}}, "environment: 'A B' is not a"),
    "set value": (
        ("mi210",),
        {"set_values": {"node.gpus": "x"}},
        "set_values: node.gpus: expected a whole number",
    ),
    "range": (("mi210",), {"nodes": 0}, "nodes: 0 is out of range; a whole number from 1"),
    "variable": (
        ("mi210",),
        {"environment": {"A": []}},
        "environment: A: expected text or a number, got []",
    ),
    "set": (
        ("mi210",),
        {"set_values": {"network.port": {1}}},
        "set_values: network.port: expected a text",
    ),
    "foreign": (
        ("mi210",),
        {"queue": "x"},
        "queue: `jobgen sbatch` has no such option; it is an option of: interactive, qsub",
    ),
    "command": (
        ("mi210",),
        {"command": "run"},
        "command: unknown command 'run'; one of: byhand, interactive,",
    ),
    "no script": (
        ("mi210",),
        {"command": "interactive"},
        "command: 'interactive' makes no script; one of:",
    ),
    "other command": (("mi210",), {"command": "qsub"}, "profile: profile mi210 is for slurm"),
    "profile": ((3,), {}, "profile: expected text or a path, got 3"),
    "no profile": (("mi21",), {}, "profile: no profile `mi21`; did you mean `mi210`?"),
    "no file": ((Path("none.yaml"),), {}, "profile: no file none.yaml"),
    "base": (("fabrics/efa",), {}, "profile: profile fabrics/efa names no scheduler"),
    "key": (
        ({"schedular": "slurm"},),
        {},
        "profile: schedular: unknown key `schedular`; write `scheduler: slurm`",
    ),
    "value": (
        ({"scheduler": "slurm", "node": {"gpus": "x"}},),
        {},
        "profile: node.gpus: expected a whole number",
    ),
    "data": (
        ({"scheduler": {1, 2}},),
        {},
        "profile: it cannot be YAML: {1, 2} is of type set; texts,",
    ),
    "no map": (({"network": []},), {}, "profile: network: expected a map, got a list"),
    "item": (
        ({"scheduler": "slurm", "software": {"modules": ["a", 3]}},),
        {},
        "profile: software.modules[1]: expected",
    ),
    "folder": (("mi210",), {"folder": 3}, "folder: expected text or a path, got 3"),
    "variables": (
        ("mi210",),
        {"environ": ["A"]},
        "environ: expected a mapping of texts, got ['A']",
    ),
    "variable's value": (
        ("mi210",),
        {"environ": {"HOME": 5}},
        "environ: expected a mapping of texts, got 5",
    ),
    "variable's name": (
        ("mi210",),
        {"environment": {"A=B": "x"}},
        "environment: the name 'A=B' has a `=`; NAME alone",
    ),
    "name of a number": (
        ("mi210",),
        {"environment": {1: "x"}},
        "environment: expected names that are text, got 1",
    ),
    "path": (("mi210",), {"set_values": {"node.gpus=4": 2}}, "set_values: the name 'node.gpus=4'"),
    "itself": (
        ({"extends": "profile.yaml"},),
        {},
        "profile: extends: `extends` forms a circle: profile → profile",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_an_error_with_its_place_and_its_cure(case: str) -> None:
    arguments, options, text = WRONG[case]
    with pytest.raises(JobgenError) as caught:
        jobgen.script(*arguments, **options)
    assert str(caught.value).startswith(text), str(caught.value)
    problem = caught.value.problems[0]
    assert all(
        each in str(caught.value) for each in (str(problem.mark), problem.text, problem.hint)
    )


def test_several_mistakes_are_reported_at_once() -> None:
    with pytest.raises(jobgen.JobgenError) as caught:
        jobgen.plan({"scheduler": "slurmm", "nod": 1, "network": {"port": 1}})
    assert [each.code for each in caught.value.problems] == ["range", "unknown-key", "value"]


def test_a_circle_and_a_depth_are_errors() -> None:
    circle: dict[str, Any] = {}
    circle["node"] = circle
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    for data in (circle, {"node": deep}):
        with pytest.raises(JobgenError, match="profile"):
            jobgen.plan(data)


def test_an_option_that_does_not_exist_is_a_type_error() -> None:
    expected = r"script\(\) got an unexpected keyword argument 'node'; write nodes=…"
    with pytest.raises(TypeError, match=expected):
        jobgen.script("mi210", node=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(("name", "right"), [("env", "environment"), ("set", "set_values")])
def test_the_name_of_an_option_leads_to_its_argument(name: str, right: str) -> None:
    options: dict[str, Any] = {name: {}}
    with pytest.raises(TypeError, match=f"did you mean `{right}`"):
        jobgen.script("mi210", **options)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("walltime", "write time=…"),
        ("mem", 'write set_values={"request.memory": …}'),
        ("interface", 'write set_values={"network.interface": …}'),
        ("job_name", "write name=…"),
    ],
)
def test_a_word_of_another_tool_leads_to_the_argument(name: str, right: str) -> None:
    options: dict[str, Any] = {name: 1}
    with pytest.raises(TypeError, match=re.escape(right)):
        jobgen.script("mi210", **options)


GOOD = """
import os
from pathlib import Path

import jobgen

text: str = jobgen.script(profile="mi210", nodes=3, program=["train.py", "--lr", 0.1])
plan: jobgen.Plan = jobgen.plan(
    {"scheduler": "slurm"}, ["a.py"], time="1:00:00", environment={"A": "1"}, folder=Path("x"),
    environ=os.environ, hosts=None, set_values={"network.port": 29500},
)
nodes: int = plan.request.nodes
try:
    jobgen.script(Path("a.yaml"), after=["1", "2"])
except jobgen.JobgenError as error:
    cures: list[str] = [problem.hint for problem in error.problems]
warnings: tuple[jobgen.Problem, ...] = jobgen.advice("mi210")
"""
BAD = {
    'jobgen.script("mi210", node=3)': 'Unexpected keyword argument "node" for "script"',
    'jobgen.script("mi210", plain="yes")': 'incompatible type "str"; expected "bool | None"',
    'jobgen.plan("mi210").nodes': '"Plan" has no attribute "nodes"',
    "jobgen.script(3)": 'incompatible type "int"',
    "jobgen.scrip()": 'Module has no attribute "scrip"',
}


@pytest.mark.slow
def test_a_checker_of_types_understands_it(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    lines = "\n".join(BAD)
    (tmp_path / "bad.py").write_text(f"import jobgen\n{lines}\n")
    cache = f"--cache-dir={Path(__file__).parent.parent / '.mypy_cache/consumer'}"
    words = [sys.executable, "-m", "mypy", "--strict", cache, "--no-error-summary"]
    done = subprocess.run(
        [*words, "good.py", "bad.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    found = [line for line in done.stdout.splitlines() if " error: " in line]
    assert not [line for line in found if line.startswith("good.py")], done.stdout
    for number, text in enumerate(BAD.values(), 2):
        assert any(line.startswith(f"bad.py:{number}: ") and text in line for line in found), found
    assert (Path(jobgen.__file__).parent / "py.typed").is_file()


def outputs(cell: Any) -> str:
    """What a cell shows, as text. An error or an image would be shown otherwise."""
    assert all(each["output_type"] == "stream" for each in cell["outputs"])
    return "".join("".join(each["text"]) for each in cell["outputs"])


@pytest.mark.slow
def test_the_notebook_shows_what_happens(tmp_path: Path, update: bool) -> None:
    """In a real kernel of Jupyter."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    path = Path(__file__).parent.parent / "docs/api.ipynb"
    notebook = nbformat.read(path, as_version=4)
    expected = [outputs(cell) for cell in notebook.cells if cell.cell_type == "code"]
    # With coalesce_streams, the file does not depend on when the kernel sends its lines.
    options = {"timeout": 120, "record_timing": False, "coalesce_streams": True}
    client = nbclient.NotebookClient(
        notebook, **options, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.clear()
    shown = [outputs(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert len(shown) == 4
    assert all(shown)
    if update:
        notebook.metadata.language_info = {"name": "python"}  # not the version of who runs it
        nbformat.write(notebook, path)
        expected = shown
    assert shown == expected
    assert list(tmp_path.iterdir()) == []
