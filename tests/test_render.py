"""Templates: values are quoted, a template's own text is not; and every kind of script is bash."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from tests import helpers


def script(**fields: object) -> str:
    job = Job(**{"command": "sbatch", "profile": "mi210", **fields})  # type: ignore[arg-type]
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
    assert added[2].startswith("# made of jobgen ")
    assert added[3:] == ["echo \"\\$(id)\" 'a b'"]
    assert any(line.startswith("  export PYTHONUNBUFFERED=1") for line in ours)


def test_a_project_s_template_may_take_the_name_of_a_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("templates").mkdir()
    text = '{% extends "bundled/sbatch.sh.j2" %}\n{% block machinery %}\nexit 3\n{% endblock %}\n'
    Path("templates/sbatch.sh.j2").write_text(text)
    assert script().endswith("\nexit 3\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\n{{ plan.nope }}",
            ":2:1: 'jobgen.planning.plan.Plan object' has no attribute 'nope' [template]",
        ),
        ("{{ nope }}", ":1:1: 'nope' is undefined [template]"),
        ("{{ none }}", "NoneType is printed, not text or a number [template]"),
        ("{{ true }}", "bool is printed, not text or a number [template]"),
        ("{{ plan.software.environment }}", "tuple is printed, not text or a number [template]"),
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
        ("{{ [1, 2] | random }}", ":1:1: No filter named 'random'. [template]"),
        ("{{ lipsum() }}", "'lipsum' is undefined [template]"),
    ],
)
def test_a_message_for_a_wrong_template(template: Path, text: str, message: str) -> None:
    template.write_text(text)
    with pytest.raises(JobgenError) as error:
        script(template=str(template))
    assert str(error.value).startswith(str(template))
    assert str(error.value).endswith(message)


def test_a_template_names_no_file(template: Path, tmp_path: Path) -> None:
    """A stranger's template could otherwise show any file of the user whose name ends so."""
    file = tmp_path / "own.sh"
    file.write_text("secret")
    template.write_text(f"{{{{ machinery('{file.with_suffix('')}') }}}}")
    with pytest.raises(JobgenError, match="takes 0 positional arguments") as error:
        script(template=str(template))
    assert "secret" not in str(error.value)


def test_a_template_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(JobgenError) as error:
        script(template=str(tmp_path / "nope.j2"))
    assert (
        str(error.value)
        == f"{tmp_path}/nope.j2: cannot be read: No such file or directory [template]"
    )


def test_no_value_is_printed_inside_quotes() -> None:
    """In the bundled templates: a quoted value in quotes would be quoted twice, and wrongly."""
    from jobgen.paths import bundled

    for file in bundled("templates").rglob("*.j2"):
        for line in file.read_text().splitlines():
            before = line.split("{{")[:-1]
            for number in range(len(before)):
                printed = line.split("{{")[number + 1].split("}}")[0]
                opened = "{{".join(before[: number + 1])
                inside = sum(c == '"' for c in opened.replace('\\"', "")) % 2
                assert not inside or "| raw" in printed, line


CLUSTERS: dict[str, list[dict[str, object]]] = {
    "slurm": [
        {"command": "sbatch", "profile": "mi210", "nodes": nodes, "launcher": launcher}
        for nodes in ("1", "3")
        for launcher in ("torchrun", "srun")
    ]
    + [
        {"command": "sbatch", "profile": "mi210", "nodes": nodes, "starter": starter}
        for nodes in ("1", "3")
        for starter in ("ssh", "mpirun")
    ],
    "pbs": [
        {"command": "qsub", "profile": "eap", "nodes": nodes, "starter": starter}
        for nodes, starter in (
            *(("1", "pbs_tmrsh"), ("3", "pbs_tmrsh"), ("2", "pbsdsh"), ("2", "ssh")),
            *(("2", f"mpiexec-{mpi}") for mpi in ("openmpi", "mpich", "pals")),
        )
    ]
    + [
        {"command": "qsub", "profile": "eap", "nodes": nodes, "starter": f"mpiexec-{mpi}"}
        | {"launcher": "mpiexec"}
        for nodes in ("1", "2")
        for mpi in ("openmpi", "mpich", "pals")
    ],
    "local": [{"command": "local", "profile": "local", "nodes": nodes} for nodes in ("1", "2")],
}
FEATURES: dict[str, list[dict[str, object]]] = {
    "slurm": [
        {},
        {"plain": "true"},
        {"rendezvous": "static"},
        {"max_restarts": "2"},
        {"signal": "60"},
        {"requeue": "true", "max_restarts": "2"},
        {"nodes": "2:4", "requeue": "true"},
        {"nodes": "2:4", "max_restarts": "2"},
    ],
    "pbs": [
        {},
        {"plain": "true"},
        {"rendezvous": "static"},
        {"max_restarts": "2"},
        {"signal": "60"},
        {"signal": "60", "max_restarts": "2", "requeue": "true"},
    ],
    "local": [{}, {"rendezvous": "static"}, {"nodes": "2:3"}, {"max_restarts": "1"}],
}
WORKSPACE = (
    "workspace.url=https://example.org/a",
    f"workspace.commit={'0123456789' * 4}",
    "workspace.folder=~/w",
)
SOFTWARE: dict[str, tuple[str, ...]] = {
    "bare": ("software.container=null", "software.modules=[]", "node.gpu=none", "node.arch=null"),
    "podman": (
        *("software.modules=[]", "software.venv=null", "software.conda=null"),
        "software.container={engine: podman, image: i, privileged: true, options: [--foo, 'a b']}",
    ),
    "docker": ("software.container={engine: docker, image: i}", "software.modules=[]"),
    "apptainer": ("software.container={engine: apptainer, image: i.sif}", "software.modules=[]"),
    "singularity": (
        "software.container={engine: singularity, image: a/b, mounts: [/x, '$D:$D']}",
        "software.modules=[]",
    ),
    "shifter": (
        "software.container={engine: shifter, image: a/b, mounts: ['~/x'], options: [--module=a]}",
        "software.modules=[]",
    ),
    "ce": (
        "software.container={engine: ce, environment: ~/x.toml, image: null, mounts: []}",
        "software.modules=[]",
    ),
    "pyxis": ("software.container={engine: pyxis, image: 'a/b:1'}", "software.modules=[]"),
    "venv": (
        *("software.container=null", "software.modules=[a, b/1]", "software.venv=~/v"),
        "network.environment.MINE={value: a, why: shellcheck disable=SC2086 in a reason}",
    ),
    "conda": (
        *("software.container=null", "software.conda=$HOME/env", "software.venv=null"),
        *("software.commands=[ulimit -l 1]", "network.interface=[hsn0, hsn1]"),
        *("software.nccl_root=$HOME/n", "software.aws_ofi_nccl_root=/o", "request.output=a b/c d"),
    ),
    "workspace": ("software.container=null", "network.interface=null", *WORKSPACE),
}
PROGRAMS: list[tuple[str, ...]] = [
    ("train.py", "a b"),
    (),
    ("-m", "a.b", "--", "x"),
    ("./run", "--"),
]


def kinds() -> Iterator[tuple[str, str]]:
    """The name and the text of each kind of script that jobgen makes of these."""
    for scheduler, clusters in CLUSTERS.items():
        features = FEATURES[scheduler]
        for cluster, feature, software, words in (
            *itertools.product(clusters, features, ("bare", "podman", "pyxis", "ce"), PROGRAMS[:1]),
            *itertools.product(clusters[:2], features[:2], SOFTWARE, PROGRAMS[:2]),
            *itertools.product(clusters[:2], features[:1], ("bare",), PROGRAMS),
        ):
            fields = {**cluster, **feature, "program": words}
            starter = fields.pop("starter", None)
            set_starter = (f"launch.starter={starter}",) if starter else ()
            fields["set_values"] = (*SOFTWARE[software], *set_starter)
            values = (*cluster.values(), *feature.values(), software, *words)
            with contextlib.suppress(JobgenError):  # values that do not go together
                yield " ".join(map(str, values)), script(**fields)


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    return dict(kinds())


@pytest.mark.slow
def test_every_kind_of_script_is_bash(scripts: dict[str, str]) -> None:
    assert len(scripts) > 200
    for name, text in scripts.items():
        done = subprocess.run(
            ["bash", "-n"], input=text, text=True, capture_output=True, check=True
        )
        assert done.stderr == "", name
        assert not any(line != line.rstrip() for line in text.splitlines()), name
        code = re.sub(r"<< 'PYTHON'.*?^PYTHON$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert "\n\n\n" not in code, name
        assert code.endswith("\n"), name


@pytest.mark.parametrize(("command", "profile"), [("sbatch", "mi210"), ("qsub", "eap")])
def test_a_script_outside_a_job_says_how_to_submit_it(command: str, profile: str) -> None:
    text = script(command=command, profile=profile, program=("true",))
    outside = {"PATH": os.environ["PATH"]}
    done = subprocess.run(["bash"], input=text, text=True, capture_output=True, env=outside)
    assert done.returncode
    assert done.stderr.endswith(f": submit with {command}\n")


@pytest.mark.slow
@pytest.mark.thorough
def test_every_kind_of_script_is_clean(scripts: dict[str, str], tmp_path: Path) -> None:
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("shellcheck is not installed")
    # The trainer is Python, and takes shellcheck long.
    texts = {re.sub(r"(?ms)(?<=<< 'PYTHON'\n).*?^(?=PYTHON$)", "", t) for t in scripts.values()}
    files = [tmp_path / f"{number}.sh" for number in range(len(texts))]
    for file, text in zip(files, sorted(texts), strict=True):
        file.write_text(text)
    command = [shellcheck, "--norc", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ""
