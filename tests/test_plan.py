"""Defaults, arithmetic and refusals of the plan."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tokenize import COMMENT, tokenize
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import jobgen
from jobgen.bounds import JOB_TEXT_BYTES
from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.planning.program import escape_macros
from tests import helpers
from tests.golden_cases import CASES


def planned(command: str = "sbatch", profile: str = "mi210", **fields: object) -> Plan:
    return helpers.planned(Job(command, profile=profile, **fields))  # type: ignore[arg-type]


def refusal(command: str = "sbatch", profile: str = "mi210", **fields: object) -> str:
    with pytest.raises(JobgenError) as error:
        planned(command, profile, **fields)
    assert error.value.exit_code == 2
    return str(error.value)


def values(found: Plan) -> dict[str, str]:
    return {setting.name: setting.value for setting in found.software.environment}


def test_defaults_of_mi210() -> None:
    found = planned()
    assert (found.request.nodes, found.launch.processes_per_node, found.network.port) == (
        2,
        8,
        29400,
    )
    assert (found.request.cpus_per_task, found.launch.rendezvous, found.name) == (
        128,
        "c10d",
        "elastic_ddp",
    )
    assert found.profile == "mi210"
    assert found.description == "8 AMD MI210 a node, InfiniBand, Slurm, PyTorch in podman"
    assert values(found)["OMP_NUM_THREADS"] == "16"
    assert found.software.container is not None
    assert found.software.container.devices == ("/dev/kfd", "/dev/dri")
    assert found.software.container.groups == ("keep-groups",)
    assert not found.software.container.privileged


@pytest.mark.parametrize(
    ("command", "profile", "starter", "others"),
    [
        ("qsub", "eap", "pbs_tmrsh", "mpiexec-openmpi (or mpiexec-mpich, mpiexec-pals)"),
        ("qsub", "eap", "ssh", "mpiexec-openmpi (or mpiexec-mpich, mpiexec-pals)"),
        ("sbatch", "dgx-a100", "ssh", "srun (or mpirun)"),
    ],
)
def test_one_lead_starts_512_nodes(command: str, profile: str, starter: str, others: str) -> None:
    own = (f"launch.starter={starter}", "request.exclusive=true", "limits.nodes=null")

    def fields(nodes: int, *more: str) -> dict[str, object]:
        return {"nodes": str(nodes), "set_values": (*own, *more)}

    assert planned(command, profile, **fields(512)).request.nodes == 512
    text = refusal(command, profile, **fields(513))
    assert text == (
        f"-N: {starter} is started once for each node, and one lead starts at most 512;"
        f" --set launch.starter={others}, or --plain [limit]"
    )
    assert planned(command, profile, plain="true", **fields(513)).request.nodes == 513
    with_mpi = fields(513, f"launch.starter={others.split()[0]}")
    assert planned(command, profile, **with_mpi).request.nodes == 513


def test_the_lead_starts_the_spares_too() -> None:
    own = ("request.exclusive=true", "limits.nodes=null")
    assert planned("qsub", "eap", nodes="510+2", set_values=own).request.spares == 2
    assert refusal("qsub", "eap", nodes="510+3", set_values=own).endswith("[limit]")


@pytest.mark.parametrize(
    ("command", "profile", "starter"),
    [("sbatch", "mi210", "srun"), ("qsub", "eap", "pbs_tmrsh"), ("local", "local", "")],
)
def test_the_starter_of_a_job_is_its_scheduler_s_first(
    command: str, profile: str, starter: str
) -> None:
    assert planned(command, profile).launch.starter == starter


@pytest.mark.parametrize(
    ("command", "profile", "name", "most"),
    [("qsub", "eap", "pbs", 8), ("sbatch", "mi210", "slurm", 28)],
)
def test_the_grace_of_ranks_ends_before_the_scheduler_s(
    command: str, profile: str, name: str, most: int
) -> None:
    assert planned(command, profile, set_values=(f"launch.stop_grace={most}",)).launch.stop_grace
    text = refusal(command, profile, set_values=(f"launch.stop_grace={most + 1}",))
    assert f"ranks have {most + 1} s after TERM, and {name} kills after {most + 2}: " in text
    assert f"; --set launch.stop_grace={most}, or the site's launch.kill_delay (" in text
    longer = (f"launch.stop_grace={most + 1}", f"launch.kill_delay={most + 3}")
    assert planned(command, profile, set_values=longer).launch.stop_grace == most + 1
    shorter = refusal(command, profile, set_values=("launch.kill_delay=6",))
    assert "ranks have 5 s after TERM" in shorter
    values = (f"launch.stop_grace={most + 1}",)
    assert planned(command, profile, plain="true", set_values=values)


def test_a_share_of_a_node() -> None:
    found = planned(profile="dgx-a100")
    assert (found.request.gpus_per_node, found.request.cpus_per_task, found.network.port) == (
        2,
        32,
        None,
    )
    assert values(found)["OMP_NUM_THREADS"] == "16"
    whole = planned(profile="dgx-a100", set_values=("request.exclusive=true",))
    assert (whole.request.cpus_per_task, whole.network.port) == (128, 29400)


def test_ranks_without_gpus_get_a_core_each_on_a_shared_node() -> None:
    found = planned(
        profile="dgx-a100", gpus_per_node="0", set_values=("launch.processes_per_node=4",)
    )
    assert (found.request.cpus_per_task, values(found)["OMP_NUM_THREADS"]) == (4, "1")
    without = ("node.gpus=null", "node.gpu=none", "launch.processes_per_node=4")
    assert (
        planned(profile="dgx-a100", gpus_per_node="0", set_values=without).request.cpus_per_task
        == 4
    )
    assert planned(profile="dgx-a100", gpus_per_node="0").request.cpus_per_task == 1
    unknown = ("node.cpus=null", "launch.processes_per_node=4")
    assert (
        planned(profile="dgx-a100", gpus_per_node="0", set_values=unknown).request.cpus_per_task
        == 4
    )


@pytest.mark.parametrize(
    ("key", "launcher", "cores_of_task", "threads"),
    [
        ("cpus_per_gpu=18", "torchrun", 36, "18"),
        ("cpus_per_gpu=18", "srun", 18, "18"),
        ("cpus_per_gpu=18", "node", 36, "18"),
        ("cpus_per_node=20", "torchrun", 20, "10"),
        ("cpus_per_node=20", "srun", 10, "10"),
        ("cpus_per_task=16", "torchrun", 16, "8"),
        ("cpus_per_task=16", "srun", 16, "16"),
    ],
)
@pytest.mark.parametrize("cpus", ["null", "128"])
@pytest.mark.parametrize("exclusive", ["false", "true"])
def test_cores_as_a_site_counts_them(
    key: str, launcher: str, cores_of_task: int, threads: str, cpus: str, exclusive: str
) -> None:
    """Two GPUs and two ranks on a node, whose own cores nobody has to know, or make up."""
    set_values = (f"request.{key}", f"node.cpus={cpus}", f"request.exclusive={exclusive}")
    fields = {"profile": "dgx-a100", "launcher": launcher, "program": ("train.py",)}
    found = planned(**fields, set_values=set_values)  # type: ignore[arg-type]
    assert f"#SBATCH --cpus-per-task={cores_of_task}" in found.directives
    assert values(found)["OMP_NUM_THREADS"] == threads


@pytest.mark.parametrize("key", ["cpus_per_gpu=18", "cpus_per_node=36"])
@pytest.mark.parametrize(("launcher", "tasks"), [("torchrun", 1), ("mpiexec", 2)])
def test_cores_of_a_chunk(key: str, launcher: str, tasks: int) -> None:
    set_values = (f"request.{key}", "launch.starter=mpiexec-pals", "node.cpus=null")
    found = planned("qsub", "eap", launcher=launcher, gpus_per_node="2", set_values=set_values)
    chunk = f"#PBS -l select=2:ncpus=36:mpiprocs={tasks}:ngpus=2:sales_op=blanca"
    assert chunk in found.directives
    assert values(found)["OMP_NUM_THREADS"] == "18"


def test_by_hand_a_task_is_still_the_profile_s() -> None:
    set_values = ("request.cpus_per_task=16", "launch.launcher=srun")
    found = planned("byhand", "dgx-a100", set_values=set_values, hosts="a")
    assert values(found)["OMP_NUM_THREADS"] == "16"


def test_cores_for_each_gpu_of_a_job_without_gpus() -> None:
    """It has what any other job without GPUs has: one for each rank."""
    set_values = ("request.cpus_per_gpu=18", "launch.processes_per_node=4")
    found = planned(profile="dgx-a100", gpus_per_node="0", set_values=set_values)
    assert found.request.cpus_per_task == 4


def test_threads_where_the_cores_are_unknown() -> None:
    """One rank may take them all, several would each."""
    found = planned(set_values=("node.cpus=null",), gpus_per_node="2")
    assert values(found)["OMP_NUM_THREADS"] == "1"
    found = planned(set_values=("node.cpus=null",), gpus_per_node="1")
    assert "OMP_NUM_THREADS" not in values(found)


def test_who_may_take_whose_gpus_on_a_shared_node() -> None:
    assert "use each other's GPUs" in refusal(gpus_per_node="1", shared="false")
    assert planned(gpus_per_node="0", shared="false").request.exclusive is False
    assert (
        planned(
            gpus_per_node="1", shared="false", set_values=("node.gpu=none",)
        ).request.gpus_per_node
        == 1
    )


def test_ranks_without_gpus_share_nodes_by_any_starter() -> None:
    sets = ("launch.starter=ssh", "request.exclusive=false")
    job = Job("sbatch", "dgx-a100", gpus_per_node="1", set_values=sets)
    with pytest.raises(JobgenError, match="by ssh, jobs would use each other's"):
        helpers.planned(job)
    assert helpers.planned(job._replace(set_values=(*sets, "node.gpu=none")))


def test_ranks_near_their_gpus() -> None:
    job = Job("sbatch", profile="mi210", set_values=("launch.numa_binding=node",))
    assert "--numa-binding=node" in helpers.script(job)


def test_as_much_as_there_is() -> None:
    sets = ("request.memory=1T", "node.memory=1024G")
    assert planned(set_values=sets).request.memory == "1T"
    assert planned(time="1:00:00", set_values=("limits.time=60",)).request.time == 3600


def test_limits_of_the_job_s_partition() -> None:
    """They replace those of the cluster; of several partitions, one has to allow the job."""
    sets = (
        "limits={nodes: 8, time: '48:00:00', partitions: {small: {nodes: 2, time: 3-0}, any: {}}}",
        "request.spares=0",
    )
    for partition, nodes, time in (
        ("standard", "8", "48:00:00"),
        ("small", "2", "72:00:00"),
        ("any", "99", "99-0"),
        ("small,standard", "8", "3-0"),
    ):
        assert planned(partition=partition, nodes=nodes, time=time, set_values=sets)
    for partition, nodes, time, key in (
        ("standard", "9", "1", "limits.nodes"),
        ("standard", "1", "72:00:00", "limits.time"),
        ("small", "4", "1", "limits.partitions.small.nodes"),
        ("small", "1+2", "1", "limits.partitions.small.nodes"),
        ("small", "1", "73:00:00", "limits.partitions.small.time"),
        ("small,standard", "9", "1", "limits.partitions.small.nodes"),
    ):
        with pytest.raises(JobgenError, match=f"{key} is set at"):
            planned(partition=partition, nodes=nodes, time=time, set_values=sets)


def test_a_limit_of_time_that_depends_on_the_nodes() -> None:
    """On Frontier, small jobs are shorter than large ones; nodes in reserve count."""
    sets = (
        "limits.partitions={batch: {time: 12h, time_by_nodes: {183: 6h, 91: 2h}}, long: {}}",
        "request.spares=0",
    )
    for nodes, hours in (("91", 2), ("90+1", 2), ("92", 6), ("183", 6), ("184", 12)):
        assert planned(partition="batch", nodes=nodes, time=f"{hours}h", set_values=sets)
        with pytest.raises(JobgenError) as refused:
            planned(partition="batch", nodes=nodes, time=f"{hours}:00:01", set_values=sets)
        of_nodes = {2: "2h for up to 91 nodes;", 6: "6h for up to 183 nodes;", 12: "12h;"}[hours]
        assert f"has at most {of_nodes}" in str(refused.value)
        assert "-p long allows it" in str(refused.value)


def test_limits_of_a_qos_count_instead_of_those_of_its_partition() -> None:
    sets = (
        "limits.partitions={gpu: {nodes: 64, time: 2h}}",
        "limits.qos={debug: {nodes: 4}, long: {time: 4d, nodes: 16}}",
        "request.spares=0",
    )
    for qos, nodes, time in (("debug", "4", "2h"), ("long", "16", "96h"), ("other", "64", "2h")):
        own = (*sets, f"request.qos={qos}")
        assert planned(partition="gpu", nodes=nodes, time=time, set_values=own)
    for qos, nodes, time, hint in (
        (
            "debug",
            "5",
            "2h",
            "limits.qos.debug.nodes is set at --set limits.qos; --qos long allows it",
        ),
        (
            "debug",
            "4",
            "3h",
            "limits.partitions.gpu.time is set at --set limits.partitions; --qos long allows it",
        ),
        ("long", "17", "2h", "limits.qos.long.nodes is set at --set limits.qos [limit]"),
    ):
        with pytest.raises(JobgenError) as refused:
            planned(
                partition="gpu", nodes=nodes, time=time, set_values=(*sets, f"request.qos={qos}")
            )
        assert hint in str(refused.value)


def test_one_node_needs_no_rendezvous() -> None:
    found = planned(nodes="1", rendezvous="static")
    assert found.launch.rendezvous == "standalone"
    assert "NCCL_NET" not in values(found)
    assert values(found)["GLOO_SOCKET_IFNAME"] == "lo"
    assert planned(nodes="1", rendezvous="static", max_restarts="1").launch.max_restarts == 1


def test_no_gpus_keeps_the_request_and_the_ranks() -> None:
    found = planned(nodes="3", set_values=("software.container=null", "node.gpu=none"))
    assert (found.request.nodes, found.launch.processes_per_node) == (3, 8)
    assert found.checked_gpus == 0
    assert "#SBATCH --gres=gpu:8" in found.directives
    assert found.hides_gpus


def test_the_user_s_variable_wins_and_stands_last() -> None:
    found = planned(
        environment=("OMP_NUM_THREADS=3", "A=b=c"), set_values=("network.interface=hsn0",)
    )
    assert [s.name for s in found.software.environment][-2:] == ["OMP_NUM_THREADS", "A"]
    assert values(found)["OMP_NUM_THREADS"] == "3"
    assert values(found)["A"] == "b=c"
    assert values(found)["NCCL_SOCKET_IFNAME"] == "=hsn0"
    assert [
        s.name for s in planned(environment=("GLOO_SOCKET_IFNAME=x",)).network.socket_variables
    ] == ["NCCL_SOCKET_IFNAME"]


def test_everything_said_reaches_the_container() -> None:
    found = planned(environment=("A=b",))
    names = {
        setting.name for setting in (*found.software.environment, *found.network.socket_variables)
    }
    assert names | {"SLURM_JOB_ID", "ROCR_VISIBLE_DEVICES"} <= set(found.software.passed)


@pytest.mark.parametrize(
    ("program", "kind", "name", "arguments", "job"),
    [
        (("train.py", "-x"), "script", "train.py", ("-x",), "train"),
        (("dir/run.sh",), "command", "dir/run.sh", (), "run.sh"),
        (("-m", "a.b", "-m"), "module", "a.b", ("-m",), "a.b"),
        (("python3", "x.py"), "command", "python3", ("x.py",), "python3"),
        (("./A=b", "x"), "command", "./A=b", ("x",), "A=b"),
        (("a/runX/",), "command", "a/runX/", (), "runX"),
        (("\n",), "command", "\n", (), "job"),
    ],
)
def test_programs(
    program: tuple[str, ...], kind: str, name: str, arguments: tuple[str, ...], job: str
) -> None:
    found = planned(program=program)
    program_of_plan = found.program
    assert (program_of_plan.kind, program_of_plan.name) == (kind, name)
    assert (program_of_plan.arguments, found.name) == (arguments, job)


def test_planning_is_pure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = planned(program=("train.py", "é"))
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    assert planned(program=("train.py", "é")) == before


@pytest.mark.parametrize("key", ["commands", "after_modules", "once_per_node"])
def test_all_shell_of_a_profile_counts(key: str) -> None:
    lines = ",".join(["x" * 4000] * (JOB_TEXT_BYTES // 4000 + 1))
    text = refusal(program=("a",), set_values=(f"software.{key}=[{lines}]",))
    assert text.startswith(f"--set software.{key}: modules, commands, mounts and options have ")


@pytest.mark.parametrize("place", ["--", "-e", "--set software.commands"])
def test_how_much_text_a_node_can_be_given(place: str) -> None:
    """All words, variables and commands of a job are in one variable of a node's shell."""

    def job(size: int) -> dict[str, tuple[str, ...]]:
        """A job with so many characters at the place."""
        pieces = [size % 4000 or 4000] + [4000] * ((size - 1) // 4000)  # the most of one command
        commands = ",".join("x" * piece for piece in pieces)
        jobs: dict[str, dict[str, tuple[str, ...]]] = {
            "--": {"program": ("a", "x" * size)},
            "-e": {"program": ("a",), "environment": (f"A={'x' * size}",)},
            "--set": {"program": ("a",), "set_values": (f"software.commands=[{commands}]",)},
        }
        return jobs[place.split()[0]]

    found = re.match(r"(.+?): .* of (\d+); (.*)", refusal(**job(JOB_TEXT_BYTES)))
    assert found
    assert found[1] == place
    assert found[3] == f"at most {JOB_TEXT_BYTES} in all: put the rest into a file [limit]"
    most = JOB_TEXT_BYTES - (int(found[2]) - JOB_TEXT_BYTES)
    assert planned(**job(most))
    assert f" of {JOB_TEXT_BYTES + 1}; " in refusal(**job(most + 1))


def test_a_nul_character_is_refused() -> None:
    cure = "contains a NUL character; remove it [value]"
    assert refusal(program=("a\0b",)) == f"--: an argument {cure}"
    assert refusal(environment=("A=\0",)) == f"-e: the value of A {cure}"


def test_a_word_that_torchrun_would_change() -> None:
    """string.Template with `local_rank` alone: each other $ stays; tests/test_local.py asks it."""
    for word in ("$local_rank", "${local_rank}", "a$$b"):
        assert escape_macros(word) == word.replace("$", "$$")
    for word in ("$LOCAL_RANK", "$HOME", "a$", "local_rank"):
        assert escape_macros(word) == word


@pytest.mark.parametrize("engine", ["apptainer", "singularity"])
@pytest.mark.parametrize("name", ["APPEND_PATH", "{}_APPNAME", "{}_SHELL", "HOME", "PREPEND_PATH"])
def test_what_apptainer_gives_to_no_program(name: str, engine: str) -> None:
    """Its internal/pkg/util/env/clean.go; in the other engines, and by hand, they arrive."""
    name = name.format(engine.upper())
    sets = (f"software.container.engine={engine}",)
    message = refusal(set_values=sets, environment=(f"{name}=x",))
    assert message.startswith(f"-e: {engine} does not pass {name} on as it is; ")
    assert planned(environment=(f"{name}=x",))
    assert planned("byhand", set_values=sets, hosts="a", environment=(f"{name}=x",))


def test_text_that_no_container_can_be_given() -> None:
    text = "'\\udcff' is not UTF-8 text"
    hint = "containers get only UTF-8: put it into a file [value]"
    assert refusal(program=("a", "\udcff")) == f"--: {text}; {hint}"
    assert refusal(environment=("A=\udcff",)) == f"-e: {text}; {hint}"


@pytest.mark.parametrize(
    ("time", "signal", "wanted"),
    [(None, None, 120), ("4", None, 120), ("2", None, 60), ("0:0:61", None, 30), ("2", "30", 30)],
)
def test_a_job_that_requeues_is_warned(time: str | None, signal: str | None, wanted: int) -> None:
    found = planned(requeue="true", time=time, signal=signal).launch.signal
    assert (found, type(found)) == (wanted, int)
    assert planned(time=time).launch.signal is None


def test_without_a_walltime_the_longest_warning() -> None:
    assert planned(requeue="true", set_values=("request.time=null",)).launch.signal == 120


@pytest.mark.parametrize(
    ("engine", "gpu", "option"),
    [("singularity", "amd", "--rocm=false"), ("docker", "nvidia", "--gpus=2")],
)
def test_an_option_of_the_profile_replaces_the_one_for_its_gpus(
    engine: str, gpu: str, option: str
) -> None:
    container = f"{{engine: {engine}, image: i, options: ['{option}']}}"
    base = ("software.container=null", f"node.gpu={gpu}", f"software.container={container}")
    found = planned(set_values=base).software.container
    assert found is not None
    assert found.options == (option,)


def test_the_runscript_of_an_image_starts_the_command_where_the_site_does_so() -> None:
    container = "software.container={engine: singularity, image: i.sif, runscript: %s}"
    for value, word in (("true", "run"), ("false", "exec")):
        job = Job(
            "sbatch", profile="mi210", set_values=("software.container=null", container % value)
        )
        assert f"  exec singularity {word} --cleanenv" in helpers.script(job)
    with pytest.raises(JobgenError, match="podman has no `run` beside `exec`; apptainer or sing"):
        planned(set_values=("software.container.runscript=true",))


@pytest.mark.parametrize(
    ("engine", "gpu", "given"),
    [
        ("podman", "amd", {"devices": ("/dev/kfd", "/dev/dri"), "groups": ("keep-groups",)}),
        ("podman", "nvidia", {"devices": ("nvidia.com/gpu=all",)}),
        ("docker", "amd", {"devices": ("/dev/kfd", "/dev/dri")}),
        ("docker", "nvidia", {"options": ("--gpus=all", "-x")}),
        ("apptainer", "amd", {"options": ("--rocm", "-x")}),
        ("apptainer", "nvidia", {"options": ("--nv", "-x")}),
        ("singularity", "amd", {"options": ("--rocm", "-x")}),
        ("singularity", "nvidia", {"options": ("--nv", "-x")}),
        ("shifter", "nvidia", {}),
        ("pyxis", "amd", {"mounts": ("/a:/b", "/dev/kfd:/dev/kfd", "/dev/dri:/dev/dri")}),
        ("pyxis", "nvidia", {}),
        ("podman", "none", {}),
    ],
)
def test_what_an_engine_is_given_for_its_gpus(
    engine: str, gpu: str, given: dict[str, tuple[str, ...]]
) -> None:
    container = f"{{engine: {engine}, image: i, mounts: ['/a:/b'], options: [-x]}}"
    base = ("software.container=null", f"node.gpu={gpu}", f"software.container={container}")
    found = planned(set_values=base).software.container
    assert found is not None
    expected = {"devices": (), "groups": (), "mounts": ("/a:/b",), "options": ("-x",), **given}
    assert {name: getattr(found, name) for name in expected} == expected
    none = planned(set_values=(*base, "request.gpus_per_node=0")).software.container
    assert none is not None
    assert (none.devices, none.groups, none.options) == ((), (), ("-x",))
    more = ("software.container.devices=[/dev/x]", "software.container.groups=[video]")
    if engine in ("podman", "docker"):
        own = planned(set_values=(*base, *more)).software.container
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
        ("singularity", "a/b:1", "docker://a/b:1"),
        ("singularity", "$S/a.sif", "$S/a.sif"),
        ("shifter", "nersc/a:1", "docker:nersc/a:1"),
        ("shifter", "docker:nersc/a:1", "docker:nersc/a:1"),
        ("shifter", "id:0123", "id:0123"),
        ("shifter", "here:5000/a", "docker:here:5000/a"),
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
    found = planned(
        set_values=(f"software.container={{engine: {engine}, image: '{image}'}}",)
    ).software.container
    assert found is not None
    assert found.image == name


@pytest.mark.parametrize(
    ("mount", "given"),
    [
        ("/a b", "/a b:/a b"),
        ("$SCRATCH", "$SCRATCH:$SCRATCH"),
        ("~/x", "$HOME/x:$HOME/x"),
        ("$D:$D", "$D:$D"),
        ("/a$$b", "/a$$b:/a$$b"),
        ("~/x:/y:ro", "~/x:/y:ro"),
    ],
)
def test_one_path_is_mounted_at_the_same_path(mount: str, given: str) -> None:
    found = planned(set_values=(f"software.container.mounts=['{mount}']",)).software.container
    assert found is not None
    assert found.mounts == (given,)


@pytest.mark.parametrize("engine", ["shifter", "ce"])
def test_the_site_or_the_environment_mounts_the_workspace(engine: str) -> None:
    commit = "0123456789" * 4
    workspace = f"workspace={{url: https://e.org/a, commit: '{commit}', folder: /f}}"
    name = "environment: e, image: null" if engine == "ce" else "image: i"
    container = f"software.container={{engine: {engine}, {name}, mounts: []}}"
    found = planned(set_values=(workspace, container), program=("train.py",))
    assert found.software.container is not None
    assert found.software.container.mounts == ()
    assert "PYTHONPATH" in found.software.passed
    assert "SLURM_JOB_ID" not in found.software.passed  # they pass on all that is exported


@pytest.mark.parametrize(
    ("engine", "named"), [("shifter", False), ("ce", False), ("pyxis", True), ("podman", True)]
)
def test_a_secret_stands_in_no_command_line(engine: str, named: bool) -> None:
    """shifter and ce get values as arguments; what was exported before arrives without them."""
    image = "environment=torch" if engine == "ce" else "image=i:1"
    sets = ("software.container=null", f"software.container={{engine: {engine}}}")
    sets = (*sets, f"software.container.{image}")
    found = planned(set_values=sets, environment=("HF_TOKEN", "X=1"))
    assert ("HF_TOKEN" in found.software.passed, "X" in found.software.passed) == (named, True)


def test_a_container_has_the_workspace_and_the_script_s_variables() -> None:
    commit = "0123456789" * 4
    workspace = f"workspace={{url: https://e.org/a, commit: '{commit}', folder: /f}}"
    found = planned(set_values=(workspace,), program=("train.py",))
    assert found.software.container is not None
    assert found.software.container.mounts[-1] == "$workspace:$workspace"
    assert "PYTHONPATH" in found.software.passed
    assert (
        planned(set_values=(workspace,)).software.workspace is None
    )  # the trainer comes with the script
    by_hand = planned("byhand", set_values=(workspace,), program=("train.py",), hosts="a,b")
    assert by_hand.software.workspace is None  # a node's shell is where its user has put it


@pytest.mark.parametrize("word", ["oom_kill_step", "licenses", "threads_per_core"])
def test_an_option_is_one_place(word: str) -> None:
    """Its row, the key of the profile, and the directive: all else is made of them.

    Rooms that read what others wrote know the words of schedulers by themselves.
    """
    package, readers = Path(jobgen.__file__).parent, {"lint", "diagnosis", "detection"}
    named = set()
    for file in package.rglob("*.py"):
        with file.open("rb") as stream:
            words = [each.string for each in tokenize(stream.readline) if each.type != COMMENT]
        if not readers & set(file.parts) and re.search(rf"\b{word}\b", " ".join(words)):
            named.add(str(file.relative_to(package)))
    assert len(named) <= 3, named


def is_of(value: object, hint: Any) -> bool:
    """Whether a value is of a type: a class, one of several, or a tuple or a map of any items."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return type(value) in [get_origin(kind) or kind for kind in kinds]


@pytest.mark.parametrize("case", CASES)
def test_the_values_of_a_plan_are_of_their_types(case: str) -> None:
    """No checker of types sees what a record that extends a profile's is made of."""
    plan = helpers.planned(CASES[case])
    for record in (plan, plan.request, plan.software, plan.network, plan.launch, plan.node):
        hints = get_type_hints(type(record))
        wrong = {
            name: value
            for name, value in zip(record._fields, record, strict=True)
            if not is_of(value, hints[name])
        }
        assert wrong == {}


DUMPS = 'export TORCH_{FR_DUMP,NCCL_DEBUG_INFO}_TEMP_FILE="$logs/$host/nccl-rank-"'


@pytest.mark.parametrize(
    ("values_of_profile", "fields", "expected"),
    [
        ((), {}, True),
        ((), {"environment": ("TORCH_FR_DUMP_TEMP_FILE=/scratch/dump",)}, False),
        ((), {"environment": ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE",)}, False),
        (("software.once_per_node=[. fr.sh; export TORCH_FR_DUMP_TEMP_FILE]",), {}, False),
        (("node.gpu=none",), {}, False),
        (("node.gpu=intel",), {}, False),
        (("launch.plain=true",), {}, False),
        ((), {"nodes": "1", "gpus_per_node": "1"}, False),
        ((), {"nodes": "1", "gpus_per_node": "2"}, True),
    ],
)
def test_ranks_with_nccl_write_their_dumps_into_the_job_s_folder(
    values_of_profile: tuple[str, ...], fields: dict[str, Any], expected: bool
) -> None:
    """Not where the user or the profile names a file; a container is given the variables."""
    job = Job("sbatch", profile="mi210", set_values=values_of_profile, **fields)
    is_passed = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE" in fields.get("environment", ())
    assert (DUMPS in helpers.script(job)) == expected
    passed = helpers.planned(job).software.passed
    assert ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE" in passed) == (expected or is_passed)


@pytest.mark.parametrize(
    ("profile", "fields", "asks", "address"),
    [
        ("mi210", {"stall": "20"}, "ras_port=28028 ", ""),
        ("dgx-a100", {"stall": "20"}, "ras_port=$((30000 + SLURM_JOB_ID % 20000))", "$ras_port"),
        ("mi210", {}, "", ""),
        ("mi210", {"stall": "20", "environment": ("NCCL_RAS_ENABLE=0",)}, "", ""),
        ("mi210", {"stall": "20", "set_values": ("node.gpu=none",)}, "", ""),
    ],
)
def test_nccl_is_asked_at_a_port_of_the_job(
    profile: str, fields: dict[str, Any], asks: str, address: str
) -> None:
    """On a node that jobs share, 28028 may be another job's."""
    text = helpers.script(Job("sbatch", profile=profile, nodes="2", **fields))
    assert ("ask_nccl() {" in text, "ras_port=" in text) == (bool(asks), bool(asks))
    assert asks in text
    assert ("export NCCL_RAS_ADDR=localhost:$ras_port" in text) == bool(address)


@pytest.mark.parametrize(
    ("delay", "launcher", "expected"),
    [
        ("120", "torchrun", "120"),
        ("31", "node", "31"),
        ("30", "torchrun", None),
        ("120", "srun", None),
    ],
)
def test_torchrun_kills_no_rank_before_the_scheduler_does(
    delay: str, launcher: str, expected: str | None
) -> None:
    """Of its own, it does so 30 s after TERM; a variable, since an old torch knows no option."""
    sets = (f"launch.kill_delay={delay}", f"launch.launcher={launcher}")
    found = values(planned(set_values=sets, program=("train.py",)))
    assert found.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT") == expected
    own = planned(
        set_values=sets, program=("train.py",), environment=("TORCH_ELASTIC_SHUTDOWN_TIMEOUT=40",)
    )
    assert values(own)["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "40"


@pytest.mark.parametrize(
    ("command", "profile", "fields", "expected"),
    [
        ("qsub", "eap", {}, True),
        ("qsub", "eap", {"nodes": "1"}, False),  # without the variables of the fabric
        ("qsub", "eap", {"set_values": ("node.gpu=none",)}, False),
        ("qsub", "eap", {"set_values": ("network.environment.NCCL_NET=null",)}, False),
        ("sbatch", "dgx-a100", {"nodes": "2"}, False),
        (
            "sbatch",
            "dgx-a100",
            {"nodes": "2", "set_values": ("software.aws_ofi_nccl_root=/o",)},
            True,
        ),
        ("sbatch", "mi210", {"set_values": ("network.environment.NCCL_NET=Libfabric",)}, False),
    ],
)
def test_the_roll_call_has_the_version_of_the_plug_in_for_libfabric(
    command: str, profile: str, fields: dict[str, Any], expected: bool
) -> None:
    """Where the profile uses it, and its file is not in an image."""
    text = helpers.script(Job(command, profile, **{"nodes": "2", **fields}))
    assert ("find_plugin() {" in text, "|| find_plugin" in text) == (expected, expected)
