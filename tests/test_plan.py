"""Defaults, arithmetic and refusals of the plan."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.job import Job
from jobgen.plan import LONGEST_SOFTWARE, Plan
from jobgen.program import LONGEST_WORDS, verbatim
from tests import helpers


def planned(command: str = "sbatch", profile: str = "mi210", **said: object) -> Plan:
    return helpers.planned(Job(command, profile=profile, **said))  # type: ignore[arg-type]


def refusal(command: str = "sbatch", profile: str = "mi210", **said: object) -> str:
    with pytest.raises(JobgenError) as error:
        planned(command, profile, **said)
    assert error.value.exit_code == 2
    return str(error.value)


def values(found: Plan) -> dict[str, str]:
    return {setting.name: setting.value for setting in found.environment}


def test_defaults_of_mi210() -> None:
    found = planned()
    assert (found.nodes, found.processes_per_node, found.ranks, found.port) == (2, 8, 16, 29400)
    assert (found.cpus_per_task, found.rendezvous, found.name) == (128, "c10d", "elastic_ddp")
    assert found.profile == "mi210"
    assert found.description == "8 AMD MI210 a node, InfiniBand, Slurm, PyTorch in podman"
    assert values(found)["OMP_NUM_THREADS"] == "16"
    assert found.container is not None
    assert found.container.devices == ("/dev/kfd", "/dev/dri")
    assert found.container.groups == ("keep-groups",)
    assert not found.container.privileged


def test_a_share_of_a_node() -> None:
    found = planned(profile="dgx-a100")
    assert (found.gpus_per_node, found.cpus_per_task, found.port) == (2, 32, None)
    assert values(found)["OMP_NUM_THREADS"] == "16"
    whole = planned(profile="dgx-a100", sets=("request.exclusive=true",))
    assert (whole.cpus_per_task, whole.port) == (128, 29400)


def test_ranks_without_gpus_get_a_core_each_on_a_shared_node() -> None:
    found = planned(profile="dgx-a100", gpus_per_node="0", sets=("launch.processes_per_node=4",))
    assert (found.cpus_per_task, values(found)["OMP_NUM_THREADS"]) == (4, "1")
    without = ("node.gpus=null", "node.gpu=none", "launch.processes_per_node=4")
    assert planned(profile="dgx-a100", gpus_per_node="0", sets=without).cpus_per_task == 4
    assert planned(profile="dgx-a100", gpus_per_node="0").cpus_per_task == 1
    unknown = ("node.cpus=null", "launch.processes_per_node=4")
    assert planned(profile="dgx-a100", gpus_per_node="0", sets=unknown).cpus_per_task == 4


def test_threads_where_the_cores_are_unknown() -> None:
    """One rank may take them all, several would each."""
    found = planned(sets=("node.cpus=null",), gpus_per_node="2")
    assert values(found)["OMP_NUM_THREADS"] == "1"
    found = planned(sets=("node.cpus=null",), gpus_per_node="1")
    assert "OMP_NUM_THREADS" not in values(found)


def test_who_may_take_whose_gpus_on_a_shared_node() -> None:
    assert "take each other's GPUs" in refusal(gpus_per_node="1", shared="false")
    assert planned(gpus_per_node="0", shared="false").exclusive is False
    assert planned(gpus_per_node="1", shared="false", sets=("node.gpu=none",)).gpus_per_node == 1


def test_ranks_near_their_gpus() -> None:
    job = Job("sbatch", profile="mi210", sets=("launch.numa_binding=node",))
    assert "--numa-binding=node" in helpers.script(job)


def test_as_much_as_there_is() -> None:
    sets = ("request.memory=1T", "node.memory=1024G")
    assert planned(sets=sets).memory == "1T"
    assert planned(time="1:00:00", sets=("limits.time=60",)).time == 3600


def test_one_node_needs_no_rendezvous() -> None:
    found = planned(nodes="1", rendezvous="static")
    assert (found.rendezvous, found.waits) == ("standalone", False)
    assert "NCCL_NET" not in values(found)
    assert values(found)["GLOO_SOCKET_IFNAME"] == "lo"
    assert planned(nodes="1", rendezvous="static", max_restarts="1").max_restarts == 1


def test_no_gpus_keeps_the_request_and_the_ranks() -> None:
    found = planned(nodes="3", sets=("software.container=null", "node.gpu=none"))
    assert (found.ranks, found.checked_gpus) == (24, 0)
    assert "#SBATCH --gres=gpu:8" in found.directives
    assert found.hides_gpus


def test_the_user_s_variable_wins_and_stands_last() -> None:
    found = planned(environment=("OMP_NUM_THREADS=3", "A=b=c"), sets=("network.interface=hsn0",))
    assert [s.name for s in found.environment][-2:] == ["OMP_NUM_THREADS", "A"]
    assert values(found)["OMP_NUM_THREADS"] == "3"
    assert values(found)["A"] == "b=c"
    assert values(found)["NCCL_SOCKET_IFNAME"] == "=hsn0"
    assert [s.name for s in planned(environment=("GLOO_SOCKET_IFNAME=x",)).found_sockets] == [
        "NCCL_SOCKET_IFNAME"
    ]


def test_everything_said_reaches_the_container() -> None:
    found = planned(environment=("A=b",))
    names = {setting.name for setting in (*found.environment, *found.found_sockets)}
    assert names | {"SLURM_JOB_ID", "ROCR_VISIBLE_DEVICES"} <= set(found.passed)


@pytest.mark.parametrize(
    ("program", "kind", "name", "arguments", "job"),
    [
        (("train.py", "-x"), "script", "train.py", ("-x",), "train"),
        (("dir/run.sh",), "command", "dir/run.sh", (), "run.sh"),
        (("-m", "a.b", "-m"), "module", "a.b", ("-m",), "a.b"),
        (("python3", "x.py"), "command", "python3", ("x.py",), "python3"),
        (("A=b", "x"), "command", "A=b", ("x",), "A=b"),
        (("a/runX/",), "command", "a/runX/", (), "runX"),
        (("\n",), "command", "\n", (), "job"),
    ],
)
def test_programs(
    program: tuple[str, ...], kind: str, name: str, arguments: tuple[str, ...], job: str
) -> None:
    found = planned(program=program)
    what = found.program
    assert (what.kind, what.name, what.arguments, found.name) == (kind, name, arguments, job)


def test_planning_is_pure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = planned(program=("train.py", "é"))
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    assert planned(program=("train.py", "é")) == before


def test_what_no_program_can_be_handed() -> None:
    """Linux takes 128 KiB for one variable: in one go all words, and the function that sets -e."""
    last = "x" * (LONGEST_WORDS - 2 * len("a "))
    assert planned(program=("a", last + "x")).program.arguments == (last + "x",)
    text = f"at most {LONGEST_WORDS}: put the rest into a file [limit]"
    what = "--: the program and its arguments have"
    assert refusal(program=("a", last + "xx")) == f"{what} {LONGEST_WORDS + 1} bytes; {text}"
    grown = "%a$$"
    size = len("a ") + len(r'"$SLURM_ARRAY_TASK_ID""\$\$\$\$"') * 9000 + 1
    assert refusal(program=("a", grown * 9000), array="0-1") == f"{what} {size} bytes; {text}"
    assert planned(program=("a", grown * 9000))
    half = "x" * (LONGEST_WORDS // 2)
    what = r"-e: all variables together have (\d+) bytes; "
    found = re.fullmatch(what + re.escape(text), refusal(environment=(f"A={half}", f"B={half}")))
    assert found
    rest = half[int(found[1]) - LONGEST_WORDS :]
    assert planned(environment=(f"A={half}", f"B={rest}"))
    assert f" {LONGEST_WORDS + 1} bytes" in refusal(environment=(f"A={half}", f"B={rest}x"))
    nothing = "no program can be given one [value]"
    assert refusal(program=("a\0b",)) == f"--: a NUL character; {nothing}"
    assert refusal(environment=("A=\0",)) == f"-e: a NUL character in A; {nothing}"


def test_a_word_that_torchrun_would_change() -> None:
    """string.Template with `local_rank` alone: each other $ stays; tests/test_local.py asks it."""
    for word in ("$local_rank", "${local_rank}", "a$$b"):
        assert verbatim(word) == word.replace("$", "$$")
    for word in ("$LOCAL_RANK", "$HOME", "a$", "local_rank"):
        assert verbatim(word) == word


@pytest.mark.parametrize(
    "name", ["APPEND_PATH", "APPTAINER_APPNAME", "APPTAINER_SHELL", "HOME", "PREPEND_PATH"]
)
def test_what_apptainer_gives_to_no_program(name: str) -> None:
    """Its internal/pkg/util/env/clean.go; in the other engines, and by hand, they arrive."""
    sets = ("software.container.engine=apptainer",)
    said = refusal(sets=sets, environment=(f"{name}=x",))
    assert said.startswith(f"-e: apptainer gives {name} to no program as it is; ")
    assert planned(environment=(f"{name}=x",))
    assert planned("byhand", sets=sets, hosts="a", environment=(f"{name}=x",))


def test_how_long_the_set_up_may_be() -> None:
    """The same limit of Linux's: it is in an exported function, too."""
    said = "x" * (LONGEST_SOFTWARE // 4)  # the most for one of them
    mount, option = f"/a:/{said[4:]}", f"-{said[1:]}"
    container = f"{{engine: podman, image: a, mounts: ['{mount}'], options: ['{option}']}}"
    rest = (f"software.commands=[{said}]", f"software.container={container}")
    assert planned(sets=(f"software.modules=[{said}]", *rest))
    text = f"software: modules, commands, mounts and options have {LONGEST_SOFTWARE + 1} bytes"
    hint = f"at most {LONGEST_SOFTWARE}: put them in a file [limit]"
    sets = (f"software.modules=[{said[1:]}, xx]", *rest)
    assert refusal(sets=sets) == f"{text}; {hint}"


def test_what_no_container_can_be_handed() -> None:
    text = "software.container: '\\udcff' is not UTF-8 text"
    hint = "containers get UTF-8 alone: put it into a file [value]"
    assert refusal(program=("a", "\udcff")) == f"{text}; {hint}"


@pytest.mark.parametrize(
    ("time", "signal", "wanted"),
    [(None, None, 120), ("4", None, 120), ("2", None, 60), ("0:0:61", None, 30), ("2", "30", 30)],
)
def test_a_job_that_requeues_is_warned(time: str | None, signal: str | None, wanted: int) -> None:
    found = planned(requeue="true", time=time, signal=signal).signal
    assert (found, type(found)) == (wanted, int)
    assert planned(time=time).signal is None


def test_without_a_walltime_the_longest_warning() -> None:
    assert planned(requeue="true", sets=("request.time=null",)).signal == 120


@pytest.mark.parametrize(
    ("engine", "gpu", "given"),
    [
        ("podman", "amd", {"devices": ("/dev/kfd", "/dev/dri"), "groups": ("keep-groups",)}),
        ("podman", "nvidia", {"devices": ("nvidia.com/gpu=all",)}),
        ("docker", "amd", {"devices": ("/dev/kfd", "/dev/dri")}),
        ("docker", "nvidia", {"options": ("--gpus=all", "-x")}),
        ("apptainer", "amd", {"options": ("--rocm", "-x")}),
        ("apptainer", "nvidia", {"options": ("--nv", "-x")}),
        ("pyxis", "amd", {"mounts": ("/a:/b", "/dev/kfd:/dev/kfd", "/dev/dri:/dev/dri")}),
        ("pyxis", "nvidia", {}),
        ("podman", "none", {}),
    ],
)
def test_what_an_engine_is_given_for_its_gpus(
    engine: str, gpu: str, given: dict[str, tuple[str, ...]]
) -> None:
    said = f"{{engine: {engine}, image: i, mounts: ['/a:/b'], options: [-x]}}"
    base = ("software.container=null", f"node.gpu={gpu}", f"software.container={said}")
    found = planned(sets=base).container
    assert found is not None
    expected = {"devices": (), "groups": (), "mounts": ("/a:/b",), "options": ("-x",), **given}
    assert {name: getattr(found, name) for name in expected} == expected
    none = planned(sets=(*base, "request.gpus_per_node=0")).container
    assert none is not None
    assert (none.devices, none.groups, none.options) == ((), (), ("-x",))
    more = ("software.container.devices=[/dev/x]", "software.container.groups=[video]")
    if engine in ("podman", "docker"):
        own = planned(sets=(*base, *more)).container
        assert own is not None
        assert (own.devices, own.groups) == (("/dev/x",), ("video",))


@pytest.mark.parametrize(
    ("engine", "image", "name"),
    [
        ("podman", "a/b:1", "a/b:1"),
        ("docker", "docker.io/a/b", "docker.io/a/b"),
        ("apptainer", "a/b:1", "docker://a/b:1"),
        ("apptainer", "a.sif", "a.sif"),
        ("apptainer", "/x/a", "/x/a"),
        ("apptainer", "library://a/b", "library://a/b"),
        ("pyxis", "docker.io/a/b:1", "a/b:1"),
        ("pyxis", "nvcr.io/a/b:1", "nvcr.io#a/b:1"),
        ("pyxis", "here:5000/a", "here:5000#a"),
        ("pyxis", "localhost/a", "localhost#a"),
        ("pyxis", "nvcr.io#a/b", "nvcr.io#a/b"),
        ("pyxis", "a/b:1", "a/b:1"),
        ("pyxis", "a:1", "a:1"),
        ("pyxis", "x.y/a.sqsh", "x.y/a.sqsh"),
        *(("pyxis", f"{start}/x.y/a", f"{start}/x.y/a") for start in (".", "/s", "~", "$HOME")),
    ],
)
def test_an_image_in_the_engine_s_spelling(engine: str, image: str, name: str) -> None:
    found = planned(sets=(f"software.container={{engine: {engine}, image: '{image}'}}",)).container
    assert found is not None
    assert found.image == name


def test_a_container_has_the_workspace_and_the_script_s_variables() -> None:
    commit = "0123456789" * 4
    workspace = f"workspace={{url: https://e.org/a, commit: '{commit}', folder: /f}}"
    found = planned(sets=(workspace,), program=("train.py",))
    assert found.container is not None
    assert found.container.mounts[-1] == "$JOBGEN_WORKSPACE:$JOBGEN_WORKSPACE"
    assert {"JOBGEN_WORKSPACE", "PYTHONPATH"} <= set(found.passed)
    assert planned(sets=(workspace,)).workspace is None  # the trainer comes with the script
    by_hand = planned("byhand", sets=(workspace,), program=("train.py",), hosts="a,b")
    assert by_hand.workspace is None  # a node's shell is where its user has put it
