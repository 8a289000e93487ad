"""Templates: values are quoted, a template's own text is not, and what goes wrong is said."""

from __future__ import annotations

import errno
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.job import Job
from jobgen.render import Templates
from tests import helpers


def script(**said: object) -> str:
    job = Job(**{"command": "sbatch", "profile": "mi210", **said})  # type: ignore[arg-type]
    return helpers.script(job)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    return tmp_path / "ours.sh.j2"


def test_a_template_replaces_a_block_and_keeps_the_rest(template: Path) -> None:
    block = '{{ super() }}\necho {{ plan.name }} {{ "a b" }}\n'
    text = f'{{% extends "sbatch.sh.j2" %}}{{% block environment %}}{block}{{% endblock %}}'
    template.write_text(text)
    ours, plain = (
        script(template=str(template), name="$(id)").splitlines(),
        script(name="$(id)").splitlines(),
    )
    added = [line for line in ours if line not in plain]
    assert added[0].endswith(f" --template {template}")
    assert added[1].startswith("# sha256 of the other lines: ")
    assert added[2:] == ["echo \"\\$(id)\" 'a b'"]
    assert "  export PYTHONUNBUFFERED=1" in ours


def test_a_template_that_fails_costs_no_process_for_each_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when someone edits it, and 10,000 scripts are made by it."""
    (tmp_path / "t.j2").write_text("{{ plan.nope }}")
    forks, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or fork())  # type: ignore[func-returns-value]
    templates = Templates(tmp_path, confined=True)
    for _ in range(3):
        with pytest.raises(JobgenError, match="has no attribute 'nope'"):
            templates.render(helpers.planned(Job("local", "local")), "t.j2")
    (tmp_path / "other.j2").write_text("{{ plan.name }}")
    assert "elastic_ddp" in templates.render(helpers.planned(Job("local", "local")), "other.j2")
    assert len(forks) == 1


def test_a_machine_without_room_for_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    (tmp_path / "t.j2").write_text("")
    monkeypatch.setattr(os, "fork", none)
    with pytest.raises(JobgenError) as error:
        Templates(tmp_path).render(helpers.planned(Job("local", "local")), "t.j2")
    text = "there is no process for it: Resource temporarily unavailable"
    assert str(error.value) == f"t.j2: {text}; a simpler template [template]"


def test_a_project_s_template_may_take_the_name_of_a_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("templates").mkdir()
    text = '{% extends "bundled/sbatch.sh.j2" %}\n{% block launch %}\nexit 3\n{% endblock %}\n'
    Path("templates/sbatch.sh.j2").write_text(text)
    assert script().endswith("\nexit 3\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n{{ plan.nope }}", ":2:1: 'jobgen.plan.Plan object' has no attribute 'nope' [template]"),
        ("{{ nope }}", ":1:1: 'nope' is undefined [template]"),
        ("{{ none }}", "NoneType is printed, not text or a number [template]"),
        ("{{ true }}", "bool is printed, not text or a number [template]"),
        ("{{ plan.environment }}", "tuple is printed, not text or a number [template]"),
        ("\n\n{% if %}", ":3:1: Expected an expression, got 'end of statement block' [template]"),
        (
            '{% extends "nope.j2" %}',
            "it needs the template `nope.j2`, and there is none [template]",
        ),
        (
            "{{ plan.__class__.__mro__ }}",
            "access to attribute '__class__' of 'Plan' object is unsafe. [template]",
        ),
        ("{{ 1 / 0 }}", "division by zero [template]"),
    ],
)
def test_what_is_wrong_in_a_template_is_said(template: Path, text: str, said: str) -> None:
    template.write_text(text)
    with pytest.raises(JobgenError) as error:
        script(template=str(template))
    assert str(error.value).startswith(str(template))
    assert str(error.value).endswith(said)


def test_a_template_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JobgenError) as error:
        script(template=str(tmp_path / "nope.j2"))
    assert (
        str(error.value)
        == f"{tmp_path}/nope.j2: cannot be read: No such file or directory [template]"
    )


def test_no_value_is_printed_inside_quotes() -> None:
    """In the bundled templates: a quoted value in quotes would be quoted twice, and wrongly."""
    from jobgen.bundled import bundled

    for file in bundled("templates").glob("*.j2"):
        for line in file.read_text().splitlines():
            before = line.split("{{")[:-1]
            for number in range(len(before)):
                printed = line.split("{{")[number + 1].split("}}")[0]
                opened = "{{".join(before[: number + 1])
                inside = sum(c == '"' for c in opened.replace('\\"', "")) % 2
                numbers = (
                    "plan.join_timeout",
                    "rank",
                    "plan.nodes",
                    "plan.min_nodes",
                    "plan.signal",
                )
                assert not inside or "| raw" in printed or printed.strip() in numbers, line


MATRIX = [
    ("-N1", {"nodes": "1"}),
    ("-N3", {"nodes": "3"}),
    ("static", {"rendezvous": "static"}),
    ("srun", {"launcher": "srun"}),
    ("srun-1", {"launcher": "srun", "nodes": "1"}),
    ("restarts", {"max_restarts": "2"}),
]
SETS = {
    "bare": ("software.container=null", "node.gpu=none", "node.arch=null", "node.cpus=null"),
    "container": (
        "software.container.privileged=true",
        "software.container.options=[--foo, 'a b']",
    ),
    "nvidia": ("node.gpu=nvidia", "network.interface=[hsn0, hsn1]", "network.port=null"),
    "modules": ("software.container=null", "software.modules=[a, b/1]", "software.venv=~/v"),
    "conda": (
        "software.container=null",
        "software.conda=$HOME/env",
        "software.commands=[ulimit -l 1]",
        "launch.cpu_bind=map_cpu:0,1",
        "network.environment.MINE={value: a, why: shellcheck disable=SC2086 was said}",
    ),
}
PROGRAMS: list[tuple[str, ...]] = [
    (),
    ("train.py", "a b"),
    ("-m", "a.b", "--", "x"),
    ("./run", "--"),
]
PBS = {"command": "qsub", "profile": "eap"}
STARTERS = [
    *(("pbs_tmrsh", nodes) for nodes in ("1", "3")),
    *(
        (name, "2")
        for name in ("pbsdsh", "ssh", "mpiexec-openmpi", "mpiexec-mpich", "mpiexec-pals")
    ),
]
PBS_SETS = {
    "bare": ("software.modules=[]", "node.gpu=none", "node.arch=null", "request.output=a b/c d"),
    "roots": (
        "software.nccl_root=$HOME/n",
        "software.aws_ofi_nccl_root=/o",
        "network.interface=null",
    ),
    "container": (
        *("software.modules=[]", "software.venv=null", "software.container.image=i"),
        *("request.live_output=false", "request.output=a b/c d"),
    ),
}
SCRIPTS = [
    *(
        pytest.param({**said, "sets": sets, "program": program}, id=f"{name}-{key}-{len(program)}")
        for (name, said), (key, sets), program in itertools.product(MATRIX, SETS.items(), PROGRAMS)
    ),
    *(
        pytest.param(
            {**PBS, "nodes": nodes, "sets": (f"launch.starter={name}", *sets), "program": program},
            id=f"{name}-{nodes}-{key}-{len(program)}",
        )
        for (name, nodes), (key, sets), program in itertools.product(
            STARTERS, PBS_SETS.items(), PROGRAMS[:2]
        )
    ),
]


@pytest.mark.parametrize("said", SCRIPTS)
def test_every_kind_of_script_is_bash(said: dict[str, object]) -> None:
    text = script(**said)
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert not any(line != line.rstrip() for line in text.splitlines())
    shell = re.sub(r"<<'PYTHON'.*?^PYTHON$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "\n\n\n" not in shell


def test_every_kind_of_script_is_clean(tmp_path: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    # How a program's words are quoted is one and the same: one of two programs for each kind.
    some = [said for said in SCRIPTS if said.values[0]["program"] in PROGRAMS[:2]]  # type: ignore[index]
    for number, said in enumerate([*some[::4], *some[3::4]]):
        (tmp_path / f"{number}.sh").write_text(script(**said.values[0]))  # type: ignore[arg-type]
    files = sorted(map(str, tmp_path.glob("*.sh")))
    done = subprocess.run(
        ["shellcheck", "--norc", *files], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
