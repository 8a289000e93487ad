"""Defaults, arithmetic and refusals of the plan."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobgen import names
from jobgen.bundled import bundled
from jobgen.errors import JobgenError
from jobgen.job import Job
from jobgen.plan import Plan
from jobgen.program import LONGEST_WORDS
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


def test_one_node_needs_no_rendezvous() -> None:
    found = planned(nodes="1", rendezvous="static")
    assert (found.rendezvous, found.waits) == ("standalone", False)
    assert "NCCL_NET" not in values(found)
    assert values(found)["GLOO_SOCKET_IFNAME"] == "lo"


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
        (("\n",), "command", "\n", (), "job"),
    ],
)
def test_programs(
    program: tuple[str, ...], kind: str, name: str, arguments: tuple[str, ...], job: str
) -> None:
    found = planned(program=program)
    what = found.program
    assert (what.kind, what.name, what.arguments, found.name) == (kind, name, arguments, job)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"nodes": "0"}, "-N: 0 is out of range; a whole number at least 1 [range]"),
        ({"nodes": "x"}, "-N: expected a whole number, got the text `x` [type]"),
        (
            {"nodes": "5", "sets": ("limits.nodes=4",)},
            "-N: 5 nodes asked for, profile mi210 has at most 4;"
            " limits.nodes is said at --set limits.nodes [limit]",
        ),
        (
            {"gpus_per_node": "9"},
            "-G: 9 GPUs a node asked for, profile mi210 has at most 8;"
            " node.gpus is said at {profiles}/mi210.yaml:13:9 [limit]",
        ),
        (
            {"time": "2-0", "sets": ("limits.time=24:00:00",)},
            "-t: a walltime of 2-0 asked for, profile mi210 has at most 24:00:00;"
            " limits.time is said at --set limits.time [limit]",
        ),
        (
            {"time": "0:00"},
            "-t: a walltime of 0, which would be no limit at all;"
            " write minutes (90), H:MM:SS (1:30:00) or D-HH:MM:SS (2-12:00:00) [walltime]",
        ),
        (
            {"time": "1:2:3:4"},
            "-t: slurm cannot read the walltime '1:2:3:4';"
            " write minutes (90), H:MM:SS (1:30:00) or D-HH:MM:SS (2-12:00:00) [walltime]",
        ),
        (
            {"time": "soon"},
            "-t: expected a walltime, got the text `soon`;"
            " write it as 90, 1:30:00 or 2-12:00:00 [type]",
        ),
        (
            {"sets": ("request.memory=2T", "node.memory=512G")},
            "--set request.memory: 2T of memory asked for, a node has 512G;"
            " node.memory is said at --set node.memory; `all` asks for all of it [limit]",
        ),
        (
            {"sets": ("nodes",)},
            "--set: 'nodes' is not PATH=VALUE; such as network.interface=hsn0 [usage]",
        ),
        ({"environment": ("A",)}, "-e: 'A' is not NAME=VALUE; such as NCCL_DEBUG=INFO [usage]"),
        (
            {"environment": ("UID=1",)},
            "-e: UID is the script's or bash's own; choose another name [value]",
        ),
        (
            {"environment": ("JOBGEN_X=1",)},
            "-e: JOBGEN_X is the script's or bash's own; choose another name [value]",
        ),
        (
            {"environment": ("a b=1",)},
            "-e: 'a b' is no variable's name; a variable's name: letters, digits and _ [value]",
        ),
        (
            {"max_restarts": "1", "rendezvous": "static"},
            "--max-restarts: with the static rendezvous, ranks of several nodes do not come back;"
            " use the rendezvous c10d [conflict]",
        ),
        (
            {"max_restarts": "1", "launcher": "srun"},
            "--max-restarts: srun cannot restart ranks; use the launcher torchrun [conflict]",
        ),
        (
            {"signal": "3600", "time": "1:00:00"},
            "--signal: a signal 3600 s before the end of a walltime of 3600 s;"
            " a smaller number [conflict]",
        ),
        (
            {"nodes": "4:2"},
            "-N: as few as 4 of 2 nodes; -N MIN:MAX, the smaller first [conflict]",
        ),
        (
            {"nodes": "2:4", "launcher": "srun"},
            "-N: 2 to 4 nodes, which only torchrun with c10d can do, and not on PBS;"
            " say one number of nodes [conflict]",
        ),
        (
            {"nodes": "2:x"},
            "-N: expected a whole number, got the text `x` [type]",
        ),
        (
            {"sets": ("trainer=nope",)},
            "--set trainer: no trainer `nope`; one of: {TRAINERS} [no-trainer]",
        ),
        ({"trainer": "nope"}, "--trainer: no trainer `nope`; one of: {TRAINERS} [no-trainer]"),
        (
            {"trainer": "elastic_ddp", "program": ("x.py",)},
            "--trainer: a trainer, and the program 'x.py';"
            " with --trainer, only arguments for it follow `--` [conflict]",
        ),
        ({"program": ("-x",)}, "--: '-x' is no program; a script, a command, or -m MODULE [usage]"),
        ({"program": ("-m",)}, "--: -m without a module; -m PACKAGE.MODULE [usage]"),
        ({"program": ("a\0b",)}, "--: a NUL character; no program can be given one [value]"),
        (
            {"program": ("a", "x" * LONGEST_WORDS)},
            f"--: the program and its arguments have {LONGEST_WORDS + 3} bytes;"
            f" at most {LONGEST_WORDS}: put the rest into a file [limit]",
        ),
    ],
)
def test_refusals_name_the_option_and_the_limit(
    said: dict[str, object], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refusal(**said) == text.replace("{profiles}", str(bundled("profiles"))).replace(
        "{TRAINERS}", ", ".join(names.trainers())
    )


def test_a_profile_for_another_command() -> None:
    assert refusal("local", "mi210").endswith("; use `jobgen sbatch` [scheduler]")
    assert refusal("sbatch", "fabrics/infiniband") == (
        "--profile: profile fabrics/infiniband names no scheduler: it is a base for others;"
        " choose one that `jobgen profiles list` shows [no-scheduler]"
    )
    assert refusal("local", "local", sets=("launch.launcher=srun",)) == (
        "--set launch.launcher: local has no launcher srun; use torchrun [conflict]"
    )
    assert refusal("local", "local", sets=("node.gpu=nvidia", "node.gpus=2")) == (
        "-N: 2 nodes on one machine would all use the same GPUs;"
        " -N 1, with as many ranks as there are GPUs [conflict]"
    )


def test_planning_is_pure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = planned(program=("train.py", "é"))
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    assert planned(program=("train.py", "é")) == before


def test_a_program_that_env_would_take_for_a_variable_is_refused() -> None:
    assert refusal(launcher="srun", program=("A=b", "x")) == (
        "--: the program 'A=b' has a = in its name;"
        " give it another name, or use the launcher torchrun [value]"
    )
    assert planned(program=("A=b",)).program.name == "A=b"


def test_all_variables_together_are_handed_over_in_one() -> None:
    """Linux takes 128 KiB for one, and the function that sets them is one."""
    half = "x" * (LONGEST_WORDS // 2)
    assert refusal(environment=(f"A={half}", f"B={half}")).startswith("-e: all variables together")


def test_refusals_of_what_pbs_lacks() -> None:
    hint = "say one number of nodes [conflict]"
    text = "-N: 2 to 4 nodes, which only torchrun with c10d can do, and not on PBS; "
    assert refusal("qsub", "eap", nodes="2:4") == text + hint
    said = refusal("qsub", "eap", signal="60", sets=("request.time=null",))
    text = (
        "--signal: pbs warns nobody, and the script knows no walltime; say one: -t TIME [conflict]"
    )
    assert said == text


@pytest.mark.parametrize(
    ("time", "signal", "wanted"),
    [(None, None, 120), ("1:00:00", None, 120), ("2", None, 60), ("2", "30", 30)],
)
def test_a_job_that_requeues_is_warned(time: str | None, signal: str | None, wanted: int) -> None:
    assert planned(requeue="true", time=time, signal=signal).signal == wanted
    assert planned(time=time).signal is None
