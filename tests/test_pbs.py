"""PBS's own reading of walltimes and directives, and what it is asked for."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen.errors import JobgenError
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Directive, Plan
from jobgen.schedulers import pbs
from tests.helpers import interactive_line, planned, script
from tests.hostile import HOSTILE

MINUTE, HOUR, DAY = 60, 3600, 86400
BENIGN = "benign4711"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90:30", 90 * MINUTE + 30),
        ("1:30:00", HOUR + 30 * MINUTE),
        ("60:00:00", 60 * HOUR),
        ("00:00:90", 90),
        ("2-12:00:01", 2 * DAY + 12 * HOUR + 1),
        ("0", 0),
        ("2-12", None),
        ("90m", 90 * MINUTE),
        ("1d12h", DAY + 12 * HOUR),
        ("1:2:3:4", None),
        ("1.5", None),
        ("", None),
        ("abc", None),
        (" 90", None),
        ("٣", None),
        ("1".zfill(20), 1),
        ("1".zfill(21), None),
    ],
)
def test_walltimes(text: str, seconds: int | None) -> None:
    assert pbs.seconds(text) == seconds


def as_qsub_reads(line: str) -> list[str]:
    """The words of a directive, by the rules of qsub's own reader (qsub.c, `make_argv`)."""
    assert line.startswith("#PBS")
    words: list[str] = []
    word, has_text = "", False
    rest = iter(line[len("#PBS") :] + "\n")
    for character in rest:
        if character in "\"'":
            has_text = True
            for inner in rest:
                if inner == character:
                    break
                word += inner
            else:
                raise AssertionError(f"unmatched {character}")
        elif character == "\\":
            word, has_text = word + next(rest), True
        elif character in " \t\n\v\f\r":
            if has_text:
                words.append(word)
            word, has_text = "", False
        else:
            word, has_text = word + character, True
    return words


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1) | st.text("'\"\\# $x-"))
def test_qsub_reads_the_value_back(value: str) -> None:
    expected = ["-A", value] if value else ["-A"]
    assert as_qsub_reads(f"#PBS -A {pbs.quoted(value)}") == expected


def directives(**fields: object) -> list[str]:
    return list(planned(Job("qsub", profile="eap", **fields)).directives)  # type: ignore[arg-type]


def test_directives_in_their_order() -> None:
    assert directives() == [
        "#PBS -N elastic_ddp",
        "#PBS -q blanca",
        "#PBS -l select=2:ncpus=288:mpiprocs=1:ngpus=4:sales_op=blanca",
        "#PBS -l place=scatter",
        "#PBS -l walltime=03:00:00",
        "#PBS -j oe",
        "#PBS -k doe",
    ]


def with_directive(plan: Plan, text: str) -> Plan:
    return plan._replace(request=plan.request._replace(directives=(Directive(f"-P {text}", ""),)))


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("#PBS -P {}\n", with_directive),
        ("#   jobgen {}\n", lambda plan, text: plan._replace(command=("jobgen", text))),
    ],
    ids=["-P", "the command"],
)
def test_how_long_a_line_may_be(
    line: str, change: Callable[[Plan, str], Plan], request: pytest.FixtureRequest
) -> None:
    plan = planned(Job("qsub", profile="eap"))
    text = "x" * (pbs.LONGEST_LINE - len(line.format("")))
    assert pbs.directives(change(plan, text))
    with pytest.raises(JobgenError) as error:
        pbs.directives(change(plan, text + "x"))
    place = request.node.callspec.id
    assert str(error.value) == (
        f"{place}: it makes a line of {pbs.LONGEST_LINE + 1} bytes; "
        f"PBS reads {pbs.LONGEST_LINE}: put the rest into a file [limit]"
    )


def test_the_tutorial_s_other_jobs() -> None:
    """One GPU, and two of one node: their share of its cores, and no place to keep them apart."""
    for gpus, cores in (("1", 72), ("2", 144)):
        lines = directives(nodes="1", gpus_per_node=gpus)
        chunk = f"ncpus={cores}:mpiprocs=1:ngpus={gpus}:sales_op=blanca"
        assert f"#PBS -l select=1:{chunk}" in lines
        assert not [line for line in lines if "place" in line]
        text = script(Job("qsub", profile="eap", nodes="1", gpus_per_node=gpus))
        assert f" --nproc-per-node={gpus} --standalone " in text
        assert "export OMP_NUM_THREADS=72 " in text
        assert "NCCL_NET" not in text


@pytest.mark.parametrize(
    ("sets", "line"),
    [
        ("request.gpu_option=none", "-l select=2:ncpus=288:mpiprocs=1:sales_op=blanca"),
        ("request.gpu_option=null", "-l select=2:ncpus=288:mpiprocs=1:sales_op=blanca"),
        ("node.cpus=null", "-l select=2:mpiprocs=1:ngpus=4:sales_op=blanca"),
        (
            "request.chunk.mpiprocs=4",
            "-l select=2:ncpus=288:mpiprocs=4:ngpus=4:sales_op=blanca",
        ),
        (
            "request.chunk.MPIPROCS=4",
            "-l select=2:ncpus=288:mpiprocs=4:ngpus=4:sales_op=blanca",
        ),
        (
            "request.memory=440G",
            "-l select=2:ncpus=288:mpiprocs=1:ngpus=4:mem=440gb:sales_op=blanca",
        ),
        (
            "request.chunk={ompthreads: 4}",
            "-l select=2:ncpus=288:mpiprocs=1:ngpus=4:sales_op=blanca:ompthreads=4",
        ),
        ("request.exclusive=true", "-l place=scatter:excl"),
        ("request.place=scatter:shared", "-l place=scatter:shared"),
        ("request.output=out/a b", '-o "out/a b"'),
        ("request.time=90", "-l walltime=00:01:30"),
        ("request.time=2-12:00:00", "-l walltime=60:00:00"),
    ],
)  # fmt: skip
def test_what_a_profile_can_ask_for(sets: str, line: str) -> None:
    assert f"#PBS {line}" in directives(set_values=(sets,))


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("null", "-A ab12"),
        ("A", "-A ab12"),
        ("P", "-P ab12"),
        ("group_list", "-W group_list=ab12"),
    ],
)
def test_the_option_of_the_account(option: str, line: str) -> None:
    job = Job("qsub", "eap", account="ab12", set_values=(f"request.account_option={option}",))
    assert planned(job).directives[2] == f"#PBS {line}"
    assert f" {line} -l select=" in interactive_line(job._replace(command="interactive"))


def test_a_project_or_a_group_beside_the_account() -> None:
    for own in ("-P ocean", "-W group_list=ocean"):
        assert directives(account="ab12", directives=(own,))[-1] == f"#PBS {own}"
    sets = ("request.account_option=group_list",)
    own = "-W group_list=ocean"
    assert directives(directives=(own,), set_values=sets)[-1] == f"#PBS {own}"


# As Gadi has it: 48 cores and 4 GPUs a node.
GADI = ("resource_option=ncpus", "memory=190G", "chunk={jobfs: 100GB}")
TORQUE = ("resource_option=nodes", "gpu_option=gpus", "memory=64G", "constraint=big:gtx=1")


@pytest.mark.parametrize(
    ("keys", "fields", "resources"),
    [
        (GADI, {"nodes": "2"}, "ncpus=96 ngpus=8 mem=380gb jobfs=100GB"),
        (GADI, {"nodes": "2+1"}, "ncpus=144 ngpus=12 mem=570gb jobfs=100GB"),
        (GADI, {"nodes": "1", "gpus_per_node": "1"}, "ncpus=12 ngpus=1 mem=190gb jobfs=100GB"),
        (GADI, {"nodes": "2", "gpus_per_node": "1", "exclusive": "true"},
         "ncpus=96 ngpus=2 mem=380gb jobfs=100GB"),
        ((*GADI[:1], "gpu_option=none", "chunk=null"), {"nodes": "2"}, "ncpus=96"),
        (TORQUE, {"nodes": "2"}, "nodes=2:ppn=48:gpus=4:big mem=128gb gtx=1 sales_op=blanca"),
        (TORQUE, {"nodes": "1", "gpus_per_node": "2"},
         "nodes=1:ppn=24:gpus=2:big mem=64gb gtx=1 sales_op=blanca"),
        (("resource_option=ncpus", "cpus_per_node=12"),
         {"nodes": "1", "gpus_per_node": "1", "set_values": ("node.cpus=null",)},
         "ncpus=12 ngpus=1"),
        ((*TORQUE[:2], "chunk=null"), {"nodes": "2", "set_values": ("node.cpus=null",)},
         "nodes=2:gpus=4"),
    ],
)  # fmt: skip
def test_without_select(keys: tuple[str, ...], fields: dict[str, object], resources: str) -> None:
    values = ("node.cpus=48", "node.memory=384G", "request.chunk.sales_op=null")
    values = values[: 2 + ("blanca" not in resources)]
    values += tuple(f"request.{key}" for key in keys) + tuple(fields.pop("set_values", ()))  # type: ignore[call-overload]
    job = Job("qsub", profile="eap", set_values=values, **fields)  # type: ignore[arg-type]
    lines = planned(job).directives
    assert sorted(
        f"#PBS -l {each}" for each in (*resources.split(), "walltime=03:00:00")
    ) == sorted(line for line in lines if line.startswith("#PBS -l "))
    assert script(job).startswith("#!/bin/bash")
    line = interactive_line(job._replace(command="interactive"))
    assert all(f" -l {each} " in line for each in resources.split())


def test_variables_for_pbs_itself() -> None:
    """qsub reads the last -v alone: they are one list, with those of who submits."""
    own = ("-v RTYPE=rt_HF", '-v A="b,c d",E=')
    lines = directives(directives=own, environment=("HF_TOKEN",))
    (line,) = [line for line in lines if line.startswith("#PBS -v")]
    assert as_qsub_reads(line) == ["-v", 'HF_TOKEN,RTYPE=rt_HF,A="b,c d",E=']
    job = Job("interactive", profile="eap", directives=own)
    assert shlex.split(interactive_line(job))[-2:] == ["-v", 'RTYPE=rt_HF,A="b,c d",E=']
    assert directives(directives=("-v A=b", "-h"))[-2:] == ["#PBS -v A=b", "#PBS -h"]
    text = script(Job("qsub", profile="eap", directives=own))
    assert "RTYPE" not in text.partition("# ---- the job")[2]


@pytest.mark.parametrize(
    "text",
    ["A", "A,B=", "A=b,C", "A=b c", "A=b'", 'A="b', "A=\\,c", "1=2", "=2", "é=b", "A=,,B=", "A=b,"],
)
def test_no_variables_for_pbs(text: str) -> None:
    assert "-v takes no" in refusal(directives=(f"-v {text}",))


@pytest.mark.parametrize("kept", ["o", "e", "oe", "eo", "n"])
def test_what_output_pbs_keeps(kept: str) -> None:
    sets = ("request.live_output=false",)
    lines = directives(directives=(f"-k {kept}",), set_values=sets)
    assert [line for line in lines if line.startswith("#PBS -k")] == [f"#PBS -k {kept}"]


def test_no_output_on_the_node_goes_with_a_file_of_the_output() -> None:
    sets = ("request.live_output=false", "request.output=x")
    assert "#PBS -k n" in directives(directives=("-k n",), set_values=sets)


def test_all_of_a_node_s_memory() -> None:
    lines = directives(set_values=("request.memory=all", "node.memory=850G"))
    assert "mem=850gb" in "".join(lines)


def refusal(**fields: object) -> str:
    with pytest.raises(JobgenError) as caught:
        directives(**fields)
    return str(caught.value)


@pytest.mark.parametrize("array", ["0-9", "0-9%2", "1-10:3", "3-4%1"])
def test_arrays_as_pbs_takes_them(array: str) -> None:
    assert f"#PBS -J {array}" in directives(array=array)
    for output in ("out/", "out/^array_index^.log", "/dev/null"):
        sets = (f"request.output={output}",)
        assert f"#PBS -o {output}" in directives(array=array, set_values=sets)


@pytest.mark.parametrize(
    "array", ["0-0", "5", "3-1", "0-9%0", "0-9:0", "a-b", "0-9%", "-1-3", "٣-٤"]
)
def test_arrays_that_pbs_refuses(array: str) -> None:
    assert "PBS takes no array" in refusal(array=array)


MAKES = {
    "name": lambda value: Job("qsub", profile="eap", name=value),
    "account": lambda value: Job("qsub", profile="eap", account=value),
    "queue": lambda value: Job("qsub", profile="eap", queue=value),
    "output": lambda value: Job("qsub", profile="eap", set_values=(f"request.output={value}",)),
    "chunk": lambda value: Job("qsub", profile="eap", set_values=(f"request.chunk.x={value}",)),
    "directive": lambda value: Job("qsub", profile="eap", directives=(f"-M {value}",)),
    "variable": lambda value: Job("qsub", profile="eap", directives=(f"-v X={value}",)),
    "group": lambda value: Job(
        "qsub", profile="eap", account=value, set_values=("request.account_option=group_list",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("field", MAKES)
@settings(max_examples=30, deadline=None)
@given(HOSTILE)
def test_a_directive_carries_its_value_and_nothing_else(field: str, value: str) -> None:
    harmless = script(MAKES[field](BENIGN)).split("\n")
    try:
        lines = script(MAKES[field](value)).split("\n")
    except JobgenError:
        return
    assert len(lines) == len(harmless)
    for line, plain in zip(lines, harmless, strict=True):
        if plain.startswith("#PBS"):
            words = [word.replace(BENIGN, value) for word in as_qsub_reads(plain)]
            assert as_qsub_reads(line) == words
        elif not line.startswith(("#   jobgen", "# sha256 of ", "# made of ")):
            assert line == plain


def options_of(command: str) -> list[str]:
    """The words of a line, each option with its value."""
    return re.split(r" (?=-)", " ".join(shlex.split(command)))


def test_the_sources_interactive_lines() -> None:
    line = interactive_line(Job("interactive", profile="mi210"))
    assert set(options_of(line)) == {
        *("salloc", "--exclusive", "--mem=0", "--gres=gpu:8", "--nodes=2"),
        "--partition=1CN128C8G2H_2IB_MI210_SLES15",
    }
    one = Job("interactive", profile="eap", nodes="1", gpus_per_node="1", time="30:00")
    assert options_of(interactive_line(one)) == [
        *("qsub", "-I", "-q blanca"),
        "-l select=1:ncpus=72:mpiprocs=1:ngpus=1:sales_op=blanca",
        "-l walltime=00:30:00",
    ]


def test_an_interactive_job_on_a_shared_node_asks_for_its_cores() -> None:
    job = Job("interactive", profile="dgx-a100", name="mine", directives=("--x11",))
    assert options_of(interactive_line(job)) == [
        *("salloc", "--job-name=mine", "--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=32"),
        *("--gres=gpu:2", "--x11"),
    ]
    job = Job("interactive", profile="eap", name="mine", directives=("-W umask=22",))
    words = options_of(interactive_line(job))
    assert (words[2], words[-1]) == ("-N mine", "-W umask=22")


def test_an_interactive_job_asks_for_nothing_that_only_a_script_has() -> None:
    sets = ("request.mail=a@b", "request.mail_on=end", "launch.requeue=true", "launch.signal=60")
    for profile in ("mi210", "eap"):
        plain = Job("interactive", profile=profile)
        more = interactive_line(plain._replace(set_values=sets))
        assert more == interactive_line(plain)


@settings(max_examples=40, deadline=None)
@given(HOSTILE)
def test_an_interactive_line_has_its_value_as_one_word(value: str) -> None:
    try:
        line = interactive_line(Job("interactive", profile="eap", account=value))
    except JobgenError:
        return
    assert line.count("\n") == 1
    shown = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True
    )
    words = shown.stdout.decode().split("\0")
    assert words[words.index("-A") + 1] == value


def test_attributes_whose_values_have_commas() -> None:
    word = "-W depend=afterok:1,afterany:2,group_list=a@b,c, umask=22"
    assert f'#PBS -W "{word[3:]}"' in directives(directives=(word,))


def test_nobody_to_ask() -> None:
    with pytest.raises(JobgenError, match="this machine has no scheduler"):
        interactive_line(Job("interactive", profile="local"))


def test_a_second_word_on_requeueing_that_says_the_same() -> None:
    assert {"#PBS -r n", "#PBS -h"} <= set(directives(directives=("-r n", "-h")))
    assert directives(directives=("-r y",), requeue="true").count("#PBS -r y") == 2


def test_what_a_job_waits_for_and_who_hears_of_it() -> None:
    fields = {"after": ("1", "2[].srV:any", "3"), "mail": "a@b.c", "mail_on": "begin,end,fail"}
    lines = directives(**fields, reservation="R5", constraint="hbm=yes:X=1")
    assert "#PBS -W depend=afterok:1:3,afterany:2[].srV" in lines
    assert {"#PBS -M a@b.c", "#PBS -m bea", "#PBS -q R5"} <= set(lines)
    assert lines[2].endswith(":sales_op=blanca:hbm=yes:X=1")
    assert "#PBS -m ea" in directives(mail="a@b.c")
    assert "#PBS -m b" in directives(mail_on="begin")  # PBS then writes to who submits
    sets = ("request.place=scatter",)
    assert "#PBS -l place=scatter:excl" in directives(exclusive="true", set_values=sets)
    whole = ("request.place=scatter:exclhost",)
    assert "#PBS -l place=scatter:exclhost" in directives(exclusive="true", set_values=whole)
    with pytest.raises(JobgenError, match="is false"):
        directives(shared="false", set_values=whole)


def test_a_place_for_whole_nodes_says_that_they_are_exclusive(tmp_path: Path) -> None:
    """All cores of a node are the job's, and `exclusive: true` is not needed beside it."""
    file = tmp_path / "site.yaml"
    node = "scheduler: pbs\nnode: {cpus: 64, gpus: 4, gpu: nvidia}\n"
    file.write_text(f"{node}request: {{gpu_option: ngpus, place: 'scatter:excl'}}\n")
    text = script(Job("qsub", str(file), nodes="2", gpus_per_node="2"))
    assert "select=2:ncpus=64:mpiprocs=1:ngpus=2\n#PBS -l place=scatter:excl\n" in text
    group = file.read_text().replace("scatter:excl", "scatter:group=excl_rack")
    file.write_text(group)
    text = script(Job("qsub", str(file), nodes="2", gpus_per_node="2"))
    assert "select=2:ncpus=32:mpiprocs=1:ngpus=2\n#PBS -l place=scatter:group=excl_rack\n" in text
