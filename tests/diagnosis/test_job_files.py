"""find_job_files, with commands of the schedulers that give recorded answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jobgen.diagnosis import job_files
from jobgen.diagnosis.job_files import JobFiles, find_job_files, find_job_folder, is_job_id
from jobgen.errors import JobgenError
from jobgen.submission.queues.slurm_accounting import expand_pattern

Add = Callable[[str, str], None]

# Slurm 22.05, `scontrol show job`.
SCONTROL = """\
JobId=12 ArrayJobId=10 ArrayTaskId=3 JobName=a StdOut=/etc/passwd
   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A
   JobState=TIMEOUT Reason=TimeLimit Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:15
   RunTime=00:02:01 TimeLimit=00:02:00 TimeMin=N/A
   StartTime=2026-03-01T10:00:00 EndTime=2026-03-01T10:02:01 Deadline=N/A
   NodeList=gn[03-04]
   BatchHost=gn03
   WorkDir={folder}
   StdErr={folder}/e-%A_%a.%N
   StdIn=/dev/null
   StdOut={folder}/o-12.log
"""
# OpenPBS 23, `qstat -x -f`.
QSTAT = """\
Job Id: 7{index}.pbs-a
    Job_Name = fit
    resources_used.mem = 812kb
    resources_used.walltime = 00:01:09
    job_state = F
    Error_Path = pbs-a:{folder}/err/
    exec_host = cn1/0*4+cn2/0*4
    Join_Path = {join}
    Output_Path = pbs-a:{folder}/{output}
    Resource_List.walltime = 00:01:00
    comment = Job run at Sun Mar 01 at 10:00 on (cn1:ncpus=4)+(cn2:ncpus=4) and
\t failed
    Exit_status = -29

"""
SEPARATOR = "\x1f"


def account(**fields: str) -> str:
    """A record of sacct of version 24.05 or newer."""
    empty = {
        **dict.fromkeys("State JobID ExitCode DerivedExitCode Reason".split(), ""),
        **dict.fromkeys("End Start Timelimit NodeList MaxRSS MaxRSSNode".split(), ""),
        **dict.fromkeys("JobIDRaw JobName User WorkDir SubmitLine StdOut StdErr".split(), ""),
    }
    return SEPARATOR.join({**empty, **fields}.values())


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Add:
    """Adds a command to an otherwise empty PATH; it writes its words to NAME.words."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add_command(name: str, text: str) -> None:
        lines = f'#!/bin/bash\nprintf "%s " "$@" >> "$0.words"; echo >> "$0.words"\n{text}\n'
        (folder / name).write_text(lines)
        (folder / name).chmod(0o755)

    return add_command


def answer(text: str) -> str:
    """Bash that prints a text."""
    body = text.replace("'", "'\\''")
    return f"printf '%s\\n' '{body}'"


def refusal(job: str) -> str:
    """What find_job_files says when it finds nothing."""
    with pytest.raises(JobgenError) as caught:
        find_job_files(job)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in "12 12_3 12+1 12;big 7.pbs-a 7[].pbs-a 7[3].pbs-a 7[3]".split()),
        *((text, False) for text in "x.out 12.log/x -12 12_ 7.3 host-memory ٣ 12.0".split()),
    ],
)
def test_what_looks_like_a_job_s_id(text: str, expected: bool) -> None:
    assert is_job_id(text) == expected


def test_scontrol_knows_the_files_and_the_end(add: Add, tmp_path: Path) -> None:
    add("scontrol", answer(SCONTROL.format(folder=tmp_path)))
    (tmp_path / "o-12.log").touch()
    assert find_job_files("10_3") == JobFiles(
        (str(tmp_path / "o-12.log"),),
        (
            "scontrol: JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15"
            " EndTime=2026-03-01T10:02:01 StartTime=2026-03-01T10:00:00 TimeLimit=00:02:00"
            " NodeList=gn[03-04] JobId=12 ArrayTask=10_3",
        ),
        (f"{tmp_path}/e-10_3.gn03",),
        (str(tmp_path),),
    )
    assert (tmp_path / "bin/scontrol.words").read_text() == "show job 10_3 \n"


def test_sacct_adds_its_steps(add: Add, tmp_path: Path) -> None:
    add("scontrol", answer(SCONTROL.format(folder=tmp_path)))
    rows = [
        account(State="TIMEOUT", JobID="12", ExitCode="0:0", NodeList="gn[03-04]", MaxRSS=""),
        account(State="CANCELLED by 1000", JobID="12.batch", ExitCode="0:15", NodeList="gn03"),
        account(State="COMPLETED", JobID="12.extern", ExitCode="0:0"),
        account(State="OUT_OF_MEMORY", JobID="12.0", ExitCode="0:125", MaxRSS="9K", Reason="None"),
    ]
    add("sacct", answer("\n".join(rows)))
    assert find_job_files("12").facts[1:] == (
        "sacct: State=TIMEOUT JobID=12 ExitCode=0:0 NodeList=gn[03-04]",
        "sacct: State=CANCELLED by 1000 JobID=12.batch ExitCode=0:15 NodeList=gn03",
        "sacct: State=OUT_OF_MEMORY JobID=12.0 ExitCode=0:125 MaxRSS=9K",
    )


FORGOTTEN = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"


def test_sacct_knows_the_files_of_a_job_that_slurm_has_forgotten(add: Add, tmp_path: Path) -> None:
    add("scontrol", FORGOTTEN)
    row = account(
        State="NODE_FAIL",
        JobID="10_3",
        JobIDRaw="12",
        JobName="a b",
        User="ada",
        WorkDir=str(tmp_path),
        NodeList="gn[03-04]",
        StdOut="%x-%4A_%a-%j.out",
        StdErr=str(tmp_path / "%N.%u.err"),
        Start="Unknown",
    )
    add("sacct", answer(row))
    for name in ("a b-0010_3-12.out", "gn03.ada.err"):
        (tmp_path / name).touch()
    assert find_job_files("10_3;big") == JobFiles(
        (str(tmp_path / "a b-0010_3-12.out"), str(tmp_path / "gn03.ada.err")),
        ("sacct: State=NODE_FAIL JobID=10_3 NodeList=gn[03-04]",),
    )
    assert (tmp_path / "bin/sacct.words").read_text().startswith("-M big -j 10_3 --parsable2 ")
    assert (tmp_path / "bin/scontrol.words").read_text() == "-M big show job 10_3 \n"


@pytest.mark.parametrize(
    ("submit_line", "script", "expected"),
    [
        ("sbatch run.sh", "", ["slurm-12.out"]),
        ("sbatch -o logs/%j.o -e x.err run.sh", "", ["logs/12.o", "x.err"]),
        ("sbatch --output=a.out run.sh", "#SBATCH -o b.out", ["a.out"]),
        (
            "sbatch run.sh",
            '#!/bin/bash\n#SBATCH --output "c %j.out" # c\n#SBATCH -eE',
            ["c 12.out", "E"],
        ),
        ("sbatch it's", "", ["slurm-12.out"]),
    ],
)
def test_an_older_sacct_knows_how_it_was_submitted(
    add: Add, tmp_path: Path, submit_line: str, script: str, expected: list[str]
) -> None:
    row = account(State="FAILED", JobID="12", JobIDRaw="12", WorkDir=str(tmp_path))
    fields = [*row.split(SEPARATOR)[:-3], submit_line]
    refuses = "echo 'sacct: fatal: Invalid field requested: \"StdOut\"' >&2; exit 1"
    add(
        "sacct",
        f'case "$*" in *--batch-script*) {answer(script)} ;; *StdOut*) {refuses} ;;'
        f" *) {answer(SEPARATOR.join(fields))} ;; esac",
    )
    assert list(find_job_files("12").missing) == [str(tmp_path / name) for name in expected]


def test_an_array_has_the_files_of_all_its_jobs(add: Add, tmp_path: Path) -> None:
    rows = [
        account(State="COMPLETED", JobID=f"10_{i}", JobIDRaw=f"1{i}", WorkDir=str(tmp_path))
        for i in (1, 2)
    ]
    add("sacct", answer("\n".join(rows)))
    assert [Path(path).name for path in find_job_files("10").missing] == [
        "slurm-10_1.out",
        "slurm-10_2.out",
    ]


@pytest.mark.parametrize(
    ("join", "index", "output", "expected"),
    [
        ("oe", "", "fit.o7", ["fit.o7"]),
        ("n", "", "out/", ["out/7.pbs-a.OU", "err/7.pbs-a.ER"]),
        ("eo", "", "fit.o7", ["err/7.pbs-a.ER"]),
        ("oe", "[3]", "fit.o7.^array_index^", ["fit.o7.3"]),
    ],
)
def test_qstat_knows_the_files_and_the_end(
    add: Add, tmp_path: Path, join: str, index: str, output: str, expected: list[str]
) -> None:
    text = QSTAT.format(folder=tmp_path, join=join, index=index, output=output)
    add(
        "qstat",
        '[[ $1 == -x ]] || { echo "qstat: 7.pbs-a Job has finished" >&2; exit 35; }\n'
        + answer(text),
    )
    found = find_job_files(f"7{index}.pbs-a")
    assert list(found.missing) == [str(tmp_path / name) for name in expected]
    assert found.facts == (
        "qstat: Exit_status=-29 job_state=F comment=Job run at Sun Mar 01 at 10:00 on"
        " (cn1:ncpus=4)+(cn2:ncpus=4) and failed exec_host=cn1/0*4+cn2/0*4"
        " Resource_List.walltime=00:01:00 resources_used.walltime=00:01:09 resources_used.mem=812kb"
        f" Job_Id=7{index}.pbs-a",
    )


def test_an_array_of_pbs_has_the_files_of_its_jobs_that_are_here(add: Add, tmp_path: Path) -> None:
    for name in ("fit.o7.1", "fit.o7.2", "fit.o7.x"):
        (tmp_path / name).touch()
    text = QSTAT.format(folder=tmp_path, join="oe", index="[]", output="fit.o7.^array_index^")
    add("qstat", answer(text))
    names = [Path(path).name for path in find_job_files("7[].pbs-a").paths]
    assert names == ["fit.o7.1", "fit.o7.2"]


def test_torque_spells_the_exit_status_small(add: Add, tmp_path: Path) -> None:
    text = QSTAT.format(folder=tmp_path, join="oe", index="", output="fit.o7")
    add("qstat", answer(text.replace("Exit_status = -29", "exit_status = -11")))
    assert find_job_files("7").facts[0].startswith("qstat: exit_status=-11 job_state=F ")


def test_a_job_that_nobody_knows_is_an_error(add: Add) -> None:
    add("scontrol", FORGOTTEN)
    add("sacct", "true")
    add("qstat", "echo 'qstat: Unknown Job Id 12' >&2; exit 153")
    assert refusal("12") == (
        "12: no scheduler knows this job: slurm_load_jobs error: Invalid job id specified; sacct"
        " does not know it; qstat: Unknown Job Id 12; name the files of its output instead [job]"
    )
    assert "slurm" not in refusal("12.pbs-a")


@pytest.mark.usefixtures("add")
def test_without_a_scheduler_it_is_an_error() -> None:
    assert refusal("12") == (
        "12: no scheduler knows this job: there is no scontrol on PATH; there is no sacct on PATH;"
        " there is no qstat on PATH; name the files of its output instead [job]"
    )


def test_a_command_that_hangs_is_ended(add: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_files, "QUERY_SECONDS", 0.1)
    add("qstat", "exec /bin/sleep 60")
    assert "timed out" in refusal("12.pbs-a")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("%j", "/w/12"),
        ("/x/%J-%s-%t-%n", "/x/12-batch-0-0"),
        ("%%j %q", "/w/%j %q"),
        ("%b", "/w/3"),
        (r"\%j", "/w/%j"),
    ],
)
def test_sbatch_s_patterns(pattern: str, expected: str) -> None:
    values = {"j": "12", "A": "10", "a": "13", "u": "ada", "x": "n", "N": "gn03"}
    assert expand_pattern(pattern, values, "/w") == expected


@pytest.mark.parametrize("job", ["12[2]", "12[2].server", "12[]", "12[].server", "12"])
def test_the_folder_of_a_job_of_a_pbs_array_is_found_by_its_record(
    tmp_path: Path, job: str
) -> None:
    """The name of a folder has no brackets, and the record's job the server's name."""
    folder = tmp_path / "12_2_.server"
    folder.mkdir()
    (folder / "status").write_text("1 after 9 s\n")
    record = {"job": "12[2].server", "script": "", "logs": folder.name}
    (tmp_path / f"{folder.name}.json").write_text(json.dumps(record))
    assert find_job_folder(job, [str(tmp_path)]) == str(folder)
    assert find_job_folder("12[1].server", [str(tmp_path)]) == ""
