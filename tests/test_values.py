"""Values of the node: `$NAME` is its variable, nothing else is replaced, and no command runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobgen import quoting
from jobgen.bounds import JOB_TEXT_BYTES
from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.profiles.kinds import FREE, NODE, REFUSED, SHELL, Text
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import ListOf, MapOf, keys_of
from tests.helpers import planned, script
from tests.test_quoting import bytes_of

NODE_ENVIRONMENT = {"HOME": "/home/me", "SITE": "a b$(touch pwned)'\"\\*", "EMPTY": ""}
PIECES = [
    *("$SITE", "${SITE}", "$HOME", "${EMPTY}", "$$", "$", "$$$", "~/", "~", "{", "}", "SITE", "A"),
    *(
        "$(touch pwned)",
        "`touch pwned`",
        "${SITE:-x}",
        "${SITE",
        "$1",
        "$?",
        "$((1))",
        "$!",
        "$'a'",
    ),
    *("'", '"', "\\", "\n", "\t", " ", "*", "!", ";", "#", "%a", "=", ":", "é", "“", "\udcff", ""),
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


def on_the_node(text: str, variables: dict[str, str]) -> str:
    """The rule again, letter by letter."""
    if text == "~" or text.startswith("~/"):
        text = "${HOME}" + text[1:]
    value, at = "", 0
    while at < len(text):
        found = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))").match(
            text, at
        )
        if not found:
            value, at = value + text[at], at + 1
            continue
        name = found[1] or found[2]
        value, at = value + (variables[name] if name else "$"), found.end()
    return value


def software(job: Job, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs `software` of a job's script as a node does, and prints its environment."""
    upper, _, _ = script(job).partition("\n# ==== machinery")
    return subprocess.run(
        ["bash"],
        input=f"{upper}\nsoftware\nexec env -0\n".encode("utf-8", "surrogateescape"),
        cwd=folder,
        env={"PATH": os.environ["PATH"], **NODE_ENVIRONMENT, **environment},
        capture_output=True,
        check=False,
    )


def shown(done: subprocess.CompletedProcess[bytes]) -> dict[str, bytes]:
    assert (done.returncode, done.stderr) == (0, b"")
    pairs = (line.partition(b"=") for line in done.stdout.split(b"\0") if line)
    return {name.decode(): value for name, _, value in pairs}


@settings(max_examples=60)
@given(texts=st.lists(TEXT, min_size=1, max_size=12))
@example(texts=["$SITE${SITE}$$SITE", "~", "~/x", "x~/", "$(touch pwned)`touch pwned`", "$A1$"])
def test_only_the_node_s_variables_are_replaced(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In -e and in network.environment; a value may use one that is set before it."""
    folder = tmp_path_factory.mktemp("node")
    variables = {**NODE_ENVIRONMENT, "A": "first", **{f"A{n}": "" for n in range(9)}, "SITEA": "s"}
    variables |= {"ASITE": "t", "SITESITE": "u", "AA": "v", "HOMEA": "w", "HOMESITE": "x"}
    texts = [text for text in texts if names(text) <= set(variables)]
    expected = {}
    for number, text in enumerate(texts):
        variables[f"V{number}"] = expected[f"V{number}"] = on_the_node(text, variables)
    words = tuple(f"V{number}={text}" for number, text in enumerate(texts))
    job = Job("local", "local", nodes="1", environment=words, program=("x.py",))
    jobs = [job]
    if not re.search("[\n\t\udcff]", "".join(texts)):  # which a profile refuses
        values = enumerate(json.dumps({"value": text}, ensure_ascii=False) for text in texts)
        sets = tuple(f"network.environment.V{number}={value}" for number, value in values)
        jobs.append(job._replace(environment=(), set_values=sets))
    outside = {name: value for name, value in variables.items() if name not in expected}
    for each in jobs:
        done = shown(software(each, folder, **outside))
        assert {name: done[name] for name in expected} == {
            name: bytes_of(value) for name, value in expected.items()
        }
    assert not list(folder.iterdir())


def names(text: str) -> set[str]:
    """The names that the rule finds in a text."""
    found = re.findall(r"\$(?:\$|\{(\w+)\}|([A-Za-z_]\w*))", text, re.ASCII)
    return {one or other for one, other in found if one or other}


@settings(max_examples=200)
@given(st.lists(TEXT, min_size=1, max_size=5))
@example(["x$", "${V0}HOME", "${V1}{A}"])
def test_values_set_in_one_step_are_those_set_one_after_another(texts: list[str]) -> None:
    """By hand, `env` sets all at once: what bash makes of the expanded values is the same."""
    texts = [f"{text}$V{n - 1}" if n else text for n, text in enumerate(texts)]
    variables: dict[str, str] = {name: f"<{name}>" for text in texts for name in names(text)}
    variables |= {"HOME": "/h"}
    earlier: dict[str, str] = {}
    outside = dict(variables)
    for number, text in enumerate(texts):
        variables[f"V{number}"] = on_the_node(text, variables)
        earlier[f"V{number}"] = quoting.expand(text, earlier)
        if re.match("~(/|$)", earlier[f"V{number}"]):
            return  # refused: test_by_hand_a_tilde_that_is_no_home_is_refused
        assert on_the_node(earlier[f"V{number}"], outside) == variables[f"V{number}"]


def test_a_value_uses_what_the_software_exported(tmp_path: Path) -> None:
    commands = json.dumps(["export SITE_LIB=/opt/site/lib"])
    sets = (f"software.commands={commands}", "network.environment.LIBS=$SITE_LIB:$HOME")
    job = Job("local", "local", nodes="1", set_values=sets, program=("x.py",))
    assert shown(software(job, tmp_path))["LIBS"] == b"/opt/site/lib:/home/me"


def test_a_variable_that_is_not_set_ends_the_job_with_its_name(tmp_path: Path) -> None:
    job = Job("local", "local", nodes="1", environment=("DATA=$NO_SUCH/x",), program=("x.py",))
    line = next(n for n, text in enumerate(script(job).split("\n"), 1) if "export DATA" in text)
    file = tmp_path / "job.sh"
    file.write_text(script(job))
    (tmp_path / "x.py").touch()
    done = subprocess.run(["bash", str(file)], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1
    assert f"job.sh: line {line}: NO_SUCH: unbound variable" in done.stderr.decode()


NOTES = f"""#!{sys.executable}
import os, sys
if sys.argv[1] != "-c":
    open("shown", "wb").write(b"\\0".join(map(b"=".join, os.environb.items())))
"""
PASTED = {"bash": ("bash", "--norc", "--noprofile", "-i"), "zsh": ("zsh", "-f", "-i")}


@pytest.mark.parametrize("shell", PASTED)
def test_by_hand_a_value_is_the_same(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    (tmp_path / "torchrun").write_text(NOTES)
    (tmp_path / "torchrun").chmod(0o755)
    values = ("A=$SITE/$$x", "B=${A}y$(touch pwned)`touch pwned`", "C=~/$EMPTY$B", "TOKEN")
    job = Job("byhand", "local", hosts="a", environment=values, program=("x.py",))
    subprocess.run(
        PASTED[shell], input=f"TOKEN=t\n{script(job)}\necho\n".encode(), cwd=tmp_path,
        capture_output=True, check=False, start_new_session=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", **NODE_ENVIRONMENT},
    )  # fmt: skip
    lines = (tmp_path / "shown").read_bytes().split(b"\0")
    found = {name: value for name, _, value in (line.partition(b"=") for line in lines)}
    first = NODE_ENVIRONMENT["SITE"].encode() + b"/$x"
    second = first + b"y$(touch pwned)`touch pwned`"
    assert (found[b"A"], found[b"B"], found[b"TOKEN"]) == (first, second, b"t")
    assert found[b"C"] == b"/home/me/" + second
    assert not (tmp_path / "pwned").exists()


def test_by_hand_a_value_cannot_double_without_end() -> None:
    doubled = ("V0=" + "x" * 100, *(f"V{n}=$V{n - 1}$V{n - 1}" for n in range(1, 30)))
    with pytest.raises(JobgenError) as error:
        script(Job("byhand", "local", hosts="a", environment=doubled, program=("x.py",)))
    assert f"has more than {JOB_TEXT_BYTES} characters" in str(error.value)


def test_by_hand_a_tilde_that_is_no_home_is_refused() -> None:
    words = ("A=", "B=~$A/x")
    with pytest.raises(JobgenError, match="the value of B would begin with your home"):
        script(Job("byhand", "local", hosts="a", environment=words, program=("x.py",)))


ENGINE = """#!/bin/bash
[[ $1 == run || $1 == exec ]] || exit 0
[[ " $* " != *torch.distributed* ]] || { printf '%s\\0' "$@" > engine; env -0 > given; }
"""


@pytest.mark.parametrize("engine", ["podman", "docker", "apptainer"])
def test_an_engine_gets_the_node_s_values(engine: str, tmp_path: Path) -> None:
    """In mounts, options and the image; the container is given the value from outside of it."""
    (tmp_path / "x.py").touch()
    (tmp_path / engine).write_text(ENGINE)
    (tmp_path / engine).chmod(0o755)
    sets = (
        *(f"software.container.engine={engine}", "software.container.image=./$SITE.sif"),
        'software.container.options=["--label=$SITE", "-B", "${HOME}/x.sqsh:/p:image-src=/"]',
        "software.container.mounts=[$HOME/data, $SITE_DIR:/in:ro]",
    )
    job = Job("local", "local", nodes="1", environment=("DATA=$SITE/x", "HF_TOKEN"),
              set_values=sets, program=("x.py",))  # fmt: skip
    done = subprocess.run(
        ["bash"], input=script(job).encode(), cwd=tmp_path, capture_output=True, check=False,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **NODE_ENVIRONMENT,
             "SITE_DIR": "/s", "HF_TOKEN": "hf_0"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    words = (tmp_path / "engine").read_text().split("\0")
    site = NODE_ENVIRONMENT["SITE"]
    assert {f"--label={site}", "-B", "/home/me/x.sqsh:/p:image-src=/", f"./{site}.sif"} < set(words)
    flag = "--bind" if engine == "apptainer" else "--volume"
    assert {f"{flag}=/home/me/data:/home/me/data", f"{flag}=/s:/in:ro"} & set(words)
    given_lines = (tmp_path / "given").read_text().split("\0")
    prefix = "APPTAINERENV_" if engine == "apptainer" else ""
    assert {f"{prefix}DATA={site}/x", f"{prefix}HF_TOKEN=hf_0"} < set(given_lines)
    assert engine == "apptainer" or {"--env=DATA", "--env=HF_TOKEN"} < set(words)
    assert not (tmp_path / "pwned").exists()


def test_every_text_of_a_profile_says_what_a_dollar_means() -> None:
    """The keys with shell and the free texts are few, and named here; all others are one of two."""
    found: dict[str, set[str]] = {}
    for key in keys_of(ROOT.cls):
        kind = key.row.kind
        while isinstance(kind, (ListOf, MapOf)):
            kind = kind.item if isinstance(kind, ListOf) else kind.value
        if isinstance(kind, Text):
            found.setdefault(kind.dollar, set()).add(key.path)
    lines = ("commands", "after_modules", "once_per_node")
    assert found[SHELL] == {f"software.{name}" for name in lines}
    assert found[FREE] == {"description", "hosts"}
    assert {"software.venv", "software.container.mounts", "request.chdir"} < found[NODE]
    assert {"partition", "request.output", "request.directives", "software.modules"} < found[
        REFUSED
    ]
    assert set(found) == {SHELL, FREE, NODE, REFUSED}


REFUSED_PATHS = sorted(
    key.path
    for key in keys_of(ROOT.cls)
    if getattr(getattr(key.row.kind, "item", key.row.kind), "dollar", "") == REFUSED
    and key.path != "extends"
)


@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_no_key_of_a_directive_takes_a_variable(path: str) -> None:
    kind = next(key.row.kind for key in keys_of(ROOT.cls) if key.path == path)
    for value in ("$SCRATCH", "a${SCRATCH}b"):
        text = json.dumps([value]) if isinstance(kind, ListOf) else value
        with pytest.raises(JobgenError, match=r"\[(variable|value)\]"):
            planned(Job("sbatch", "mi210", set_values=(f"{path}={text}",), program=("x.py",)))


# ---- -e NAME ----


def test_a_name_alone_passes_the_value_of_who_submits(tmp_path: Path) -> None:
    job = Job("local", "local", nodes="1", environment=("HF_TOKEN", "B=<$HF_TOKEN>"),
              program=("x.py",))  # fmt: skip
    assert shown(software(job, tmp_path, HF_TOKEN="hf $x"))["B"] == b"<hf $x>"
    done = software(job, tmp_path)
    assert done.returncode != 0
    assert done.stderr.decode().endswith(
        "HF_TOKEN: is not set: export it before the job is submitted\n"
    )


def test_the_last_form_of_a_variable_counts() -> None:
    def variables(*words: str) -> dict[str, str | None]:
        sets = ("network.environment.X=of-profile",)
        plan = planned(Job("sbatch", "mi210", environment=words, set_values=sets))
        return {each.name: each.value for each in plan.software.environment}

    assert variables("X")["X"] is None
    assert variables("X", "X=1")["X"] == "1"
    assert variables("X=1", "X")["X"] is None


def test_pbs_passes_names_without_their_values() -> None:
    plan = planned(Job("qsub", "eap", environment=("A", "B=1", "C"), program=("x.py",)))
    assert "#PBS -v A,C" in plan.directives
    plan = planned(Job("qsub", "eap", environment=("B=1",), program=("x.py",)))
    assert not any(line.startswith("#PBS -v") for line in plan.directives)


@pytest.mark.parametrize("words", ["ALL", "ALL,B=1", "A", "B,A"])
def test_slurm_passes_all_or_those_that_export_names(words: str) -> None:
    directive = f"--directive=--export={words}"
    job = Job("sbatch", "mi210", environment=("A",), directives=(directive.partition("=")[2],))
    assert f"#SBATCH --export={words}" in planned(job).directives


def test_a_container_is_given_names_by_hand_too() -> None:
    job = Job("byhand", "mi210", hosts="a,b", environment=("HF_TOKEN", "B=1"), program=("x.py",))
    assert planned_by_hand(job) == "HF_TOKEN"


def planned_by_hand(job: Job) -> str:
    found = re.search(r"local variables=\((\S+)", script(job))
    assert found
    return found[1]
