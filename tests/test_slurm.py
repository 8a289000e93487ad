"""Slurm's own reading of walltimes and directives."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.schedulers import slurm
from jobgen.schedulers.slurm_directives import quoted
from tests import helpers

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90 * MINUTE),
        ("90:30", 90 * MINUTE + 30),
        ("1:30:00", HOUR + 30 * MINUTE),
        ("2-12", 2 * DAY + 12 * HOUR),
        ("2-12:30", 2 * DAY + 12 * HOUR + 30 * MINUTE),
        ("2-12:00:01", 2 * DAY + 12 * HOUR + 1),
        ("0", 0),
        ("", None),
        ("-5", None),
        ("abc", None),
        ("1:2:3:4", None),
        ("1-2:3:4:5", None),
        ("1h", HOUR),
        ("1h30", None),
        ("1d12h", DAY + 12 * HOUR),
        ("24855d", 24855 * DAY),
        ("24856d", None),
        ("1.5", None),
        (" 90", None),
        ("٣", None),
        ("1".zfill(20), 60),
        ("1".zfill(21), None),
        ("24855-0", 24855 * DAY),
        ("24855-00:00:01", None),
        ("35791200:01", None),
    ],
)
def test_walltimes(text: str, seconds: int | None) -> None:
    assert slurm.seconds(text) == seconds


def as_sbatch_reads(line: str) -> list[str]:
    """The words of a directive, by the rules of sbatch's own reader (src/sbatch/opt.c)."""
    assert line.startswith("#SBATCH")
    words, word, quote, escaped = [], "", "", False
    for character in line[len("#SBATCH") :] + " ":
        if escaped:
            word, escaped = word + character, False
        elif character == "\\":
            escaped = True
        elif quote:
            word, quote = (word, "") if character == quote else (word + character, quote)
        elif character in "\"'":
            quote = character
        elif character == "#":
            break
        elif character in " \t\n\v\f\r":
            words, word = [*words, word] if word else words, ""
        else:
            word += character
    return words


LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"])) | st.text("'\"\\# $`%x-")


@given(LINE)
def test_sbatch_reads_the_value_back(value: str) -> None:
    assert as_sbatch_reads(f"#SBATCH --comment={quoted(value)}") == [f"--comment={value}"]


def planned(**fields: object) -> Plan:
    return helpers.planned(Job("sbatch", profile="mi210", **fields))  # type: ignore[arg-type]


def test_directives_in_their_order() -> None:
    fields = {"nodes": "3", "time": "2-12", "account": "physics", "directives": ("--comment=gpu",)}
    assert planned(**fields).directives == (
        "#SBATCH --job-name=elastic_ddp",
        "#SBATCH --partition=1CN128C8G2H_2IB_MI210_SLES15",
        "#SBATCH --account=physics",
        "#SBATCH --nodes=3",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --cpus-per-task=128",
        "#SBATCH --gres=gpu:8",
        "#SBATCH --exclusive",
        "#SBATCH --mem=0",
        "#SBATCH --time=2-12:00:00",
        "#SBATCH --output=%x-%j.out",
        "#SBATCH --comment=gpu",
    )


def test_other_spellings_of_the_request() -> None:
    sets = ("request.gpu_option=gpus-per-node", "request.memory=440G", "request.exclusive=false")
    sets += ("software.container=null",)  # podman would show all jobs' GPUs
    lines = planned(gpus_per_node="4", launcher="srun", set_values=sets).directives
    assert lines[3:8] == (
        "#SBATCH --ntasks-per-node=4",
        "#SBATCH --cpus-per-task=16",
        "#SBATCH --gpus-per-node=4",
        "#SBATCH --mem=440G",
        "#SBATCH --output=%x-%j.out",
    )


@pytest.mark.parametrize("array", ["0-9", "0-9%2", "1-10:3", "3", "3-3", "1,4,7-9%1"])
def test_arrays(array: str) -> None:
    assert f"#SBATCH --array={array}" in planned(array=array).directives


def test_what_a_job_waits_for_and_who_hears_of_it() -> None:
    fields = {"after": ("1", "429496_72950:any", "4:notok"), "mail": "a@b.c", "mail_on": "begin"}
    lines = planned(**fields).directives
    assert "#SBATCH --dependency=afterok:1,afterany:429496_72950,afternotok:4" in lines
    assert {"#SBATCH --mail-user=a@b.c", "#SBATCH --mail-type=BEGIN"} <= set(lines)
    assert "#SBATCH --kill-on-invalid-dep=yes" in lines
    assert "#SBATCH --mail-type=END,FAIL" in planned(mail="a@b.c").directives


@pytest.mark.parametrize(("option", "most"), [("--comment", 1024), ("--begin", 1 << 16)])
def test_how_long_a_directive_may_be(option: str, most: int) -> None:
    value = "é" * (most // 2)  # bytes count
    assert planned(directives=(f"{option}={value}",))
    with pytest.raises(JobgenError) as error:
        planned(directives=(f"{option}={value}x",))
    expected = f"--directive: {option} has {most + 1} bytes; Slurm takes {most} [limit]"
    assert str(error.value) == expected


def test_the_options_of_a_plan_may_be_as_long() -> None:
    assert planned(account="x" * 1024)
    with pytest.raises(JobgenError, match=r"^--account: --account has 1025 bytes"):
        planned(account="x" * 1025)


@pytest.mark.parametrize("word", ["--export=NONE", "--wait-all-nodes=1", "--gpu_cmode=shared"])
def test_options_whose_names_only_begin_as_those_that_are_refused(word: str) -> None:
    assert f"#SBATCH {word}" in planned(directives=(word,)).directives


def test_shared_nodes() -> None:
    """Not all of the memory of a node that others use, too."""
    lines = planned(shared="false").directives
    assert not {"#SBATCH --exclusive", "#SBATCH --mem=0"} & set(lines)
    assert {"#SBATCH --exclusive", "#SBATCH --mem=0"} < set(planned().directives)


OUTPUTS = {"a%%b/o": "a%b", "a%%x/o": "a%x", "b%%%x/o": "b%job", "d\\%x/o": "d%x", "%x/o": "job"}


@pytest.mark.parametrize(("output", "folder"), OUTPUTS.items())
def test_the_output_s_folder(output: str, folder: str) -> None:
    """As the real Slurm makes of it: tests/cluster/test_values.py."""
    job = Job("sbatch", "mi210", name="job", set_values=(f"request.output={output}",))
    found = helpers.planned(job)
    assert slurm.output_folder(found) == folder


@pytest.mark.parametrize("output", ["o%%a", "o\\%j", "o%A", "o"])
def test_jobs_of_an_array_have_outputs_of_their_own(output: str) -> None:
    job = Job("sbatch", "mi210", array="0-1", set_values=(f"request.output={output}",))
    none = job._replace(set_values=("request.output=null",))
    words = [f"--{option}={output}" for option in ("output", "out", "error", "err")]
    for wrong in (job, *(none._replace(directives=(word,)) for word in words)):
        with pytest.raises(JobgenError, match="all jobs of the array would write"):
            helpers.planned(wrong)
    for own in ("o%a", "o%j", "o%J", "o%3a", "/dev/null"):
        assert helpers.planned(job._replace(set_values=(f"request.output={own}",)))
        assert helpers.planned(none._replace(directives=(f"--output={own}", f"--err={own}")))
    assert helpers.planned(none._replace(array=None, directives=(f"--error={output}",)))


def lines_of(*values: str, **fields: object) -> tuple[str, ...]:
    return planned(set_values=values, **fields).directives


@pytest.mark.parametrize(
    ("gpu_option", "expected"),
    [
        ("gres", ["--gres=gpu:mi210:8"]),
        ("gpus-per-node", ["--gpus-per-node=mi210:8"]),
        ("gpus-per-task", ["--gpus-per-task=mi210:8"]),
        ("gpus", ["--gpus=mi210:16", "--gpus-per-node=mi210:8"]),
        ("none", []),
    ],
)
def test_gpus_are_requested_as_the_site_wants(gpu_option: str, expected: list[str]) -> None:
    values = (f"request.gpu_option={gpu_option}", "node.gpu_type=mi210")
    found = [line for line in lines_of(*values, nodes="2") if "gpu:" in line or "gpus" in line]
    assert found == [f"#SBATCH {option}" for option in expected]
    assert not [line for line in lines_of(*values, gpus_per_node="0") if "gpu" in line]


def test_the_gpus_of_a_whole_job() -> None:
    """Those of spare nodes, too; on one node, the number on each node says nothing more."""
    assert "#SBATCH --gpus=24" in lines_of("request.gpu_option=gpus", nodes="2+1")
    lines = lines_of("request.gpu_option=gpus", nodes="1")
    assert [line for line in lines if "gpus" in line] == ["#SBATCH --gpus=8"]


@pytest.mark.parametrize(
    ("gpu_option", "launcher", "expected"),
    [
        ("gpus-per-task", "torchrun", ()),
        ("gpus-per-task", "srun", ("--gpus-per-node=mi210:8",)),
        ("gpus", "torchrun", ("--gpus-per-node=mi210:8",)),
        ("gpus-per-node", "srun", ()),
    ],
)
def test_each_step_sees_all_gpus_of_its_node(
    gpu_option: str, launcher: str, expected: tuple[str, ...]
) -> None:
    values = (f"request.gpu_option={gpu_option}", "node.gpu_type=mi210")
    assert planned(launcher=launcher, set_values=values).launch.step_options == expected


def test_what_goes_with_a_starter_other_than_srun() -> None:
    """All GPUs of a shared node; and as few nodes as are requested."""
    job = Job("sbatch", "dgx-a100", nodes="2", set_values=("launch.starter=ssh",))
    assert helpers.planned(job._replace(gpus_per_node="8"))
    least = (*job.set_values, "request.min_nodes=2")
    assert helpers.planned(job._replace(exclusive="true", set_values=least))


def test_tasks_share_the_gpus_of_a_node() -> None:
    values = ("request.gpu_option=gpus-per-task", "launch.processes_per_node=4")
    assert "#SBATCH --gpus-per-task=2" in lines_of(*values, launcher="srun")


def test_what_sites_request() -> None:
    values = (
        "request.memory=null",
        "request.memory_per_cpu=2G",
        "request.threads_per_core=1",
        "request.licenses=a:2,b",
        "request.exclude=gpu[07,12]",
        "request.chdir=/scratch/me",
        "request.error=%x.err",
        "request.directives=[--wait-all-nodes=1, -S 8, -H]",
    )
    lines = lines_of(*values, directives=("--wait-all-nodes=0",))
    assert set(lines) >= {
        "#SBATCH --mem-per-cpu=2G",
        "#SBATCH --threads-per-core=1",
        "#SBATCH --licenses=a:2,b",
        "#SBATCH --exclude=gpu[07,12]",
        "#SBATCH --chdir=/scratch/me",
        "#SBATCH --error=%x.err",
    }
    # The user's own come last: sbatch takes the last value.
    assert lines[-4:] == tuple(
        f"#SBATCH --{word}"
        for word in ("wait-all-nodes=1", "core-spec=8", "hold", "wait-all-nodes=0")
    )


def test_what_is_new_in_slurm_is_requested_unless_the_profile_s_version_lacks_it() -> None:
    values = ("request.segment=8", "launch.expedite=true", "launch.oom_kill_step=true")
    for version in ("null", "25.11", "26.05.1"):
        plan = planned(nodes="16", requeue="true", set_values=(*values, f"slurm_version={version}"))
        assert {"#SBATCH --segment=8", "#SBATCH --requeue=expedite"} < set(plan.directives)
        assert plan.launch.rank_options[-1] == "--oom-kill-step=1"
    lacking = (
        ("24.05", "launch.oom_kill_step=true", "--oom-kill-step"),
        ("23.11.10", "request.segment=8", "--segment"),
        ("22.05", "request.directives=[--stepmgr]", "--stepmgr"),
        ("25.05", "launch.srun_options=[--async]", "--async"),
    )
    for version, value, option in lacking:
        message = f"^--set {value.partition('=')[0]}: {option} is new in Slurm"
        with pytest.raises(JobgenError, match=message):
            planned(set_values=(value, f"slurm_version={version}"))
    with pytest.raises(JobgenError, match="--requeue=expedite is new"):
        planned(requeue="true", set_values=("launch.expedite=true", "slurm_version=25.05"))


def test_the_nodes_of_a_job_fill_segments() -> None:
    """Or are within one; sbatch of 26.05 refuses others, an older Slurm never starts them."""
    for nodes in ("2", "8", "24", "16+8", "8:16"):
        planned(nodes=nodes, set_values=("request.segment=8", "limits.nodes=null"))
    for nodes, wrong in (("12", 12), ("16+2", 18), ("12:16", 12)):
        with pytest.raises(JobgenError, match=f"{wrong} nodes are not a multiple of the 8"):
            planned(nodes=nodes, set_values=("request.segment=8", "limits.nodes=null"))


def test_salloc_gets_what_it_has() -> None:
    values = ("request.directives=[--wait-all-nodes=1, --umask=22]", "request.error=e")
    words = planned(set_values=values)._replace(command=())
    line = slurm.interactive(words)
    assert "--wait-all-nodes=1" in line
    assert not [word for word in line if word.startswith(("--umask", "--error", "--output"))]


def test_options_of_srun_go_to_their_steps() -> None:
    options = ("--mpi=pmix", "--gpu-bind=closest", "-c7", "--environment=$HOME/e.toml", "--label")
    plan = planned(set_values=(f"launch.srun_options=[{', '.join(options)}]",))
    assert plan.launch.step_options == ("--mpi=pmix", "--environment=$HOME/e.toml")
    assert plan.launch.rank_options == ("--gpu-bind=closest", "-c7", "--label")


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_the_check_of_a_node_is_bound_as_its_torchrun(launcher: str) -> None:
    """It counts the cores that the ranks will share; srun's ranks are bound one by one."""
    values = ("launch.cpu_bind=cores", "node.gpu=none", "software.container=null")
    text = helpers.script(Job("sbatch", "mi210", launcher=launcher, set_values=values))
    for name, is_bound in (("each_node", launcher == "torchrun"), ("start_ranks", True)):
        [array] = re.findall(rf"^{name}=\(.*?\)$", text, re.MULTILINE | re.DOTALL)
        whole = array.replace('"${each_node[@]}"', "--cpu-bind=cores" * (launcher == "torchrun"))
        assert whole.count("--cpu-bind=cores") == is_bound, text


@pytest.mark.parametrize("nodes", ["1", "2"])
@pytest.mark.parametrize("cpus", ["null", "128"])
@pytest.mark.parametrize("starter", ["srun", "mpirun"])
def test_a_step_has_the_cores_of_its_job(nodes: str, cpus: str, starter: str) -> None:
    """srun 22.05 and newer does not read SLURM_CPUS_PER_TASK, which `sbatch -c` sets, too."""
    values = (f"node.cpus={cpus}", f"launch.starter={starter}", "request.exclusive=true")
    text = helpers.script(Job("sbatch", "dgx-a100", nodes=nodes, set_values=values))
    is_option = "srun --nodes=1 --ntasks=1 --cpus-per-task=128 " in text
    assert is_option == (nodes == "1" and cpus == "128" and starter == "srun")
    exports = re.findall(r"^.*export SRUN_CPUS_PER_TASK=\$\{?SLURM_CPUS_PER_TASK\b.*", text, re.M)
    assert len(exports) == (not is_option)
    assert all(("[[ ! " in line) == (cpus == "null") for line in exports)
