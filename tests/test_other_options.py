"""Options of sbatch, qsub and torchrun: each message names words of jobgen that work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import click
import pytest

from jobgen.cli.app import main, run_words
from jobgen.cli.commands import job_commands
from jobgen.cli.mistakes.other_options import own_words
from jobgen.errors import JobgenError
from jobgen.generator import Generator
from jobgen.lint.options import known_options
from jobgen.other_words.search import words
from jobgen.planning.job_options import FIELD_OF_FLAG
from jobgen.planning.option_row import REQUEST
from jobgen.quoting import split_words

SCHEDULERS = {
    "sbatch": "slurm",
    "qsub": "pbs",
    "interactive": "slurm",
    "local": "local",
    "byhand": "slurm",
}
COMMANDS = {name: main.get_command(click.Context(main), name) or main for name in SCHEDULERS}
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
    "P": "P",
    "PORT": "29500",
    "PROFILE": "a.yaml",
    "PROGRAM": "train.py",
    "SECONDS": "60",
    "SIZE": "8G",
    "FILE": "a.out",
    "MAX": "2",
    "MINUTES": "5",
    "MIN": "1",
    "SPARES": "1",
    "TIME": "0:30:00",
    "TRAINER": "regression",
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
        ("sbatch --gpus 4", "'--gpus'; write -G 4, the GPUs on each node."),
        ("sbatch --mem=4G", "'--mem'; write --set request.memory=4G."),
        ("sbatch --begin now", "'--begin'; write --directive=--begin=now."),
        ("sbatch --hold", "'--hold'; write --directive=--hold."),
        ("sbatch --walltime 5:00:00", "'--walltime'; write -t 5:00:00."),
        ("sbatch --walltime 5", "'--walltime'; write -t TIME."),
        ("sbatch -dsingleton", "'-d'; write --directive=--dependency=singleton."),
        ("sbatch --parsable", "'--parsable'; use it on sbatch's own command line."),
        ("qsub -l select=2,walltime=1:0:0", "'-l'; write -N 2 -t 1:0:0."),
        ("qsub -l", "'-l'; write -N N -G N -t TIME, or --directive='-l NAME=VALUE'."),
        ("qsub --gres gpu:4", "'--gres'; write -G 4."),
        ("qsub -I", "'-I'; use jobgen interactive."),
        ("interactive --mem 4G", "'--mem'; write --set request.memory=4G."),
        ("local --nnodes=2", "'--nnodes'; write -N 2."),
    ],
)
def test_message_says_what_to_write(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(line.split()) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"Error: No such option {message}" in output.err.splitlines()  # more may follow


def test_options_that_people_know_have_an_answer() -> None:
    for flag in OPTIONS_OF_SBATCH:
        assert own_words(COMMANDS["sbatch"], flag), flag
    for letter in "ajklmMPpruWVISX":
        assert own_words(COMMANDS["qsub"], f"-{letter}"), letter


@pytest.mark.slow
@pytest.mark.parametrize("command", SCHEDULERS)
def test_what_a_message_says_works(command: str, tmp_path: Path) -> None:
    """The options exist, the keys exist, and nobody refuses their values."""
    (tmp_path / "a.yaml").write_text(
        PROFILE.format(SCHEDULERS[command], "none" if command == "local" else "nvidia")
    )
    generator = Generator(tmp_path)
    tried = 0
    flags = {flag for parameter in COMMANDS[command].params for flag in parameter.opts}
    for flag in sorted(_known_flags(command) - flags):
        found = own_words(COMMANDS[command], flag)
        assert not found.startswith("did you mean"), (flag, found)
        if not found.startswith("write ") or found == "write --directive=OPTION":
            continue
        for text in re.split(", or ", found.removeprefix("write ")):
            text = text.removesuffix(" for a partition").removesuffix(" on nodes without GPUs")
            note = r", (since|such|without|which|the|with|and|what|for|all) [^'\"]*$"
            line = _with_values(re.sub(note, "", text))
            with mock.patch.object(job_commands, "run_job", return_value=0) as run_job:
                assert run_words([command, "--profile", "a.yaml", *split_words(line)]) == 0
            job = run_job.call_args.args[0]
            job = job._replace(hosts="a,b") if command == "byhand" else job
            with _needs_more():
                assert generator.plan(job), (flag, line)
            tried += 1
    assert tried > (150 if command in REQUEST else 60)


_MORE = ("[conflict]", "[range]", "[limit]", "[scheduler]")


@contextmanager
def _needs_more() -> Iterator[None]:
    """What goes with another key, or another number than the one that stands for N, is refused."""
    try:
        yield
    except JobgenError as error:
        if not any(code in str(error) for code in _MORE):
            raise


def _known_flags(command: str) -> set[str]:
    """All words of other tools, as options, and those of the command's scheduler."""
    names = {
        word
        for table in ("keys", "options")
        for text in words()[table].values()
        for word in text.split()
    }
    flags = {f"--{name}" for name in names if len(name) > 1} | set(FIELD_OF_FLAG)
    if command == "qsub":
        flags |= {f"-{letter}" for letter in "ajklmMPpruWVIX"}
    if command in ("sbatch", "interactive"):
        flags |= {f"--{name}" for name in known_options("sbatch").newest}
    return flags


def _with_values(text: str) -> str:
    """The text with a value for each word in capitals; -X is an option."""
    return re.sub(r"(?<![-\w])[A-Z]+(-LAST)?\b", lambda found: VALUES.get(found[0], "a"), text)


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ("2", "write -N 1 -G 2"),
        ("6", "write -G N, or --set launch.processes_per_node=N on nodes without GPUs"),
        ("8", "write -N 2 -G 4"),
    ],
)
def test_ranks_for_a_profile_of_one_node(ranks: str, words: str, tmp_path: Path) -> None:
    profile = tmp_path / "a.yaml"
    profile.write_text("scheduler: slurm\nnode: {gpus: 4, gpu: nvidia}\nrequest: {nodes: 1}\n")
    args = ("--profile", str(profile), "-n", ranks)
    assert own_words(COMMANDS["sbatch"], "-n", ranks, args) == words


def test_near_names_are_still_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["sbatch", "--nodez", "3"]) == 2
    assert "'--nodes'" in capsys.readouterr().err
