"""Slurm's own reading of walltimes and directives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen.errors import JobgenError
from jobgen.job import Job
from jobgen.plan import Plan
from jobgen.schedulers import slurm
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
        ("1h", None),
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
    assert as_sbatch_reads(f"#SBATCH --comment={slurm.quoted(value)}") == [f"--comment={value}"]


def planned(**said: object) -> Plan:
    return helpers.planned(Job("sbatch", profile="mi210", **said))  # type: ignore[arg-type]


def test_directives_in_their_order() -> None:
    said = {"nodes": "3", "time": "2-12", "account": "physics", "directives": ("--comment=gpu",)}
    assert planned(**said).directives == (
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
    lines = planned(gpus_per_node="4", launcher="srun", sets=sets).directives
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
    said = {"after": ("1", "429496_72950:any", "4:notok"), "mail": "a@b.c", "mail_on": "begin"}
    lines = planned(**said).directives
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
    assert str(error.value) == f"{option}: {most + 1} bytes; Slurm takes {most} [limit]"


@pytest.mark.parametrize("word", ["--export=NONE", "--wait-all-nodes=1"])
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
    job = Job("sbatch", "mi210", name="job", sets=(f"request.output={output}",))
    found = helpers.planned(job)
    assert slurm.output_folder(found) == folder


@pytest.mark.parametrize("output", ["o%%a", "o\\%j", "o%A", "o"])
def test_jobs_of_an_array_have_outputs_of_their_own(output: str) -> None:
    job = Job("sbatch", "mi210", array="0-1", sets=(f"request.output={output}",))
    none = job._replace(sets=("request.output=null",))
    words = [f"--{option}={output}" for option in ("output", "out", "error", "err")]
    for wrong in (job, *(none._replace(directives=(word,)) for word in words)):
        with pytest.raises(JobgenError, match="all jobs of the array would write"):
            helpers.planned(wrong)
    for own in ("o%a", "o%j", "o%J", "o%3a", "/dev/null"):
        assert helpers.planned(job._replace(sets=(f"request.output={own}",)))
        assert helpers.planned(none._replace(directives=(f"--output={own}", f"--err={own}")))
    assert helpers.planned(none._replace(array=None, directives=(f"--error={output}",)))
