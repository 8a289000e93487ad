"""Options of sbatch, qsub and torchrun: each message names words of jobgen that work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobgen.cli.app import run_words
from jobgen.cli.jobs.other_options import _answers, own_words
from jobgen.cli.output_options import output_options
from jobgen.generator import Generator
from jobgen.planning.command_line import read_words, rows_by_flag
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import REQUEST
from jobgen.quoting import split_words

SCHEDULERS = {
    "sbatch": "slurm",
    "qsub": "pbs",
    "interactive": "slurm",
    "local": "local",
    "byhand": "slurm",
}
PROFILE = """\
scheduler: {}
node: {{gpus: 4, gpu: {}, cpus: 64}}
request: {{exclusive: true}}
"""
# A value for each word in capitals.
VALUES = {
    "ADDRESS": "me@example.org",
    "ATTRIBUTE": "umask",
    "EXPRESSION": "a=b",
    "FIRST-LAST": "0-3",
    "FOLDER": "/scratch",
    "ID": "4711",
    "IMAGE": "torch.sif",
    "N": "2",
    "PORT": "29500",
    "PROGRAM": "train.py",
    "SECONDS": "60",
    "SIZE": "8G",
    "TIME": "0:30:00",
}
OPTIONS_OF_SBATCH = """
    --gpus --gpus-per-task --gres --mem --mem-per-cpu --mem-per-gpu --ntasks --ntasks-per-node
    --cpus-per-task --error --exclude --nodelist --job-name --chdir --dependency --export --hint
    --licenses --mail-type --mail-user --begin --comment --nice --wrap --parsable --test-only
    -a -c -D -d -L -n -q -w -x
""".split()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sbatch --gpus 4", "No such option '--gpus'; write -G N, the GPUs on each node."),
        ("sbatch --mem=4G", "No such option '--mem'; write --set request.memory=SIZE."),
        ("sbatch --begin now", "No such option '--begin'; write --directive=--begin=VALUE."),
        ("sbatch --hold", "No such option '--hold'; write --directive=--hold."),
        ("sbatch --walltime 5", "No such option '--walltime'; write -t TIME."),
        ("sbatch -dsingleton", "No such option '-d'; write --after ID."),
        ("sbatch --parsable", "No such option '--parsable'; use it on sbatch's own command line."),
        (
            "sbatch --nproc_per_node 4",
            "No such option '--nproc_per_node'; write --set launch.processes_per_node=N,"
            " the ranks on each node.",
        ),
        (
            "qsub -l select=2",
            "No such option '-l'; write -N N -G N -t TIME, or --directive='-l NAME=VALUE'.",
        ),
        ("qsub --walltime=5", "No such option '--walltime'; write -t TIME."),
        ("qsub --gres gpu:4", "No such option '--gres'; write -G N, the GPUs on each node."),
        ("qsub -I", "No such option '-I'; use jobgen interactive."),
        ("interactive --mem 4G", "No such option '--mem'; write --set request.memory=SIZE."),
        ("local --nnodes=2", "No such option '--nnodes'; write -N N."),
    ],
)
def test_message_says_what_to_write(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(line.split()) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.splitlines()[-1]) == ("", f"Error: {message}")


def test_options_that_people_know_have_an_answer() -> None:
    for flag in OPTIONS_OF_SBATCH:
        assert own_words("sbatch", flag), flag
    for letter in "ajklmMPpruWVISX":
        assert own_words("qsub", f"-{letter}"), letter


@pytest.mark.parametrize("command", SCHEDULERS)
def test_what_a_message_says_works(command: str, tmp_path: Path) -> None:
    """The options exist, the keys exist, and nobody refuses their values."""
    (tmp_path / "a.yaml").write_text(
        PROFILE.format(SCHEDULERS[command], "none" if command == "local" else "nvidia")
    )
    generator = Generator(tmp_path)
    tried = 0
    rows = rows_by_flag((*job_options(command), *output_options(command).items()))
    output = output_options(command)
    for name in _answers(command):
        flag = f"-{name}" if len(name) == 1 else f"--{name}"
        words = own_words(command, flag)
        if flag in rows or not words.startswith("write "):
            continue
        for text in re.split(", or ", words.removeprefix("write ")):
            line = _with_values(text.split(", ")[0])
            fields = read_words(command, split_words(f"--profile a.yaml {line}"), rows)
            job = Job(command, **{key: fields[key] for key in fields if key not in output})
            hosts = ("a", "b") if command == "byhand" else ()
            assert generator.plan(job, hosts), (flag, line)
            tried += 1
    assert tried > (50 if command in REQUEST else 3)


def _with_values(text: str) -> str:
    """The text with a value for each word in capitals; -X is an option."""
    return re.sub(r"(?<![-\w])[A-Z]+(-LAST)?\b", lambda found: VALUES.get(found[0], "a"), text)


def test_near_names_are_still_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["sbatch", "--nodez", "3"]) == 2
    assert "'--nodes'" in capsys.readouterr().err
