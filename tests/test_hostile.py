"""Hostile values: a script is refused, or differs from a harmless job's in that value alone."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobgen import shell
from jobgen.errors import JobgenError
from jobgen.job import Job, command_line
from tests.helpers import jobgen, script
from tests.test_slurm import as_sbatch_reads

PIECES = [
    *("'", '"', "\\", "$(touch pwned)", "`touch pwned`", "$HOME", "${x}", "!", "~", "~/", "*", "?"),
    *("[a]", "{a,b}", "#", "#SBATCH --nodes=9", "\n", "\r", "\t", " ", "  ", ";", "&&", "|", "<"),
    *(">", "(", ")", "-", "--", "--wrap=x", "=", "%", "%j", ",", ":", "/", "../", "\x00", "\x07"),
    *("\x1b[1m", "\x7f", "\x85", "\xa0", "\xad", "é", "“", "’", "\u200b", "\u2028", "\u202e", "😀"),
    *("PYTHON", "EOF", "hetjob", "{{ plan.name }}", "{% raw %}", "\\n", "\\x41", "a", "B", "0"),
]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)
NO_CONTAINER = ("software.container=null",)


def sets(path: str) -> Callable[[str], Job]:
    return lambda value: job(sets=(f"{path}={value}",))


def job(**said: object) -> Job:
    base: dict[str, object] = {"profile": "mi210", "name": "n", "program": ("x.py",)}
    return Job("sbatch", **{**base, **said})  # type: ignore[arg-type]


# Where a value goes, how it is said, and what the script calls it there.
DIRECTIVES: dict[str, Callable[[str], Job]] = {
    "name": lambda value: job(name=value),
    "partition": lambda value: job(partition=value),
    "account": lambda value: job(account=value),
    "output": sets("request.output"),
    "directive": lambda value: job(directives=(f"--comment={value}",)),
}
WORDS: dict[str, tuple[Callable[[str], Job], Callable[[str], str]]] = {
    "environment": (lambda value: job(environment=(f"X={value}",)), shell.quote),
    "argument": (lambda value: job(program=("x.py", value, "-y")), shell.quote),
    "trainer's argument": (
        lambda value: job(program=("-", value), trainer="elastic_ddp"),
        shell.quote,
    ),
    "srun's argument": (lambda value: job(program=("x.py", value), launcher="srun"), shell.quote),
    "script": (lambda v: job(program=(f"{v}.py",)), lambda v: shell.quote(f"{v}.py")),
    "module": (lambda value: job(program=("-m", value)), shell.quote),
    "command": (lambda v: job(program=(f"./{v}",)), lambda v: shell.quote(f"./{v}")),
    "image": (sets("software.container.image"), shell.quote),
    "fabric": (sets("network.environment.X"), shell.quote),
    "venv": (lambda v: job(sets=(*NO_CONTAINER, f"software.venv={v}")), shell.path),
    "conda": (lambda v: job(sets=(*NO_CONTAINER, f"software.conda={v}")), shell.path),
}
BENIGN = "benign4711"


def lines(text: str) -> tuple[str, list[str], list[str]]:
    """A script's header, directives and other lines but its checksum."""
    every = [line for line in text.split("\n") if not line.startswith("# sha256 of the other")]
    header = every.pop(next(n for n, line in enumerate(every) if line.startswith("#   jobgen ")))
    asked = [line for line in every if line.startswith("#SBATCH")]
    return header, asked, [line for line in every if not line.startswith("#SBATCH")]


@functools.cache
def harmless_lines(field: str) -> tuple[str, list[str], list[str]]:
    make = DIRECTIVES[field] if field in DIRECTIVES else WORDS[field][0]
    return lines(script(make(BENIGN)))


def said_in_header(said: Job) -> str:
    return "#   " + " ".join(map(shell.quote, command_line(said)))


@pytest.mark.parametrize("field", DIRECTIVES)
@settings(max_examples=20, deadline=None)
@given(HOSTILE)
@example("a \"b\" 'c' \\ # $(id) ~ é“")
def test_a_directive_carries_its_value_and_nothing_else(field: str, value: str) -> None:
    harmless = harmless_lines(field)
    try:
        header, asked, rest = lines(script(DIRECTIVES[field](value)))
    except JobgenError:
        return
    expected = [
        word.replace(BENIGN, value) for line in harmless[1] for word in as_sbatch_reads(line)
    ]
    assert [word for line in asked for word in as_sbatch_reads(line)] == expected
    assert header == said_in_header(DIRECTIVES[field](value))
    assert rest == harmless[2]


@pytest.mark.parametrize("field", WORDS)
@settings(max_examples=20, deadline=None)
@given(st.one_of(HOSTILE, HOSTILE.map(lambda text: text + "\udcff")))
@example("a \"b\" 'c' \\ # $(id) ~ é“\n")
def test_a_word_carries_its_value_and_nothing_else(field: str, value: str) -> None:
    make, spelt = WORDS[field]
    harmless = harmless_lines(field)
    assert any(spelt(BENIGN) in line for line in harmless[2])
    try:
        header, asked, rest = lines(script(make(value)))
    except JobgenError:
        return
    assert rest == [line.replace(spelt(BENIGN), spelt(value)) for line in harmless[2]]
    assert asked == harmless[1]
    assert header == said_in_header(make(value))


REFUSED = {"name": "a\nb", "partition": "a b", "account": "-a", "output": "\x1b", "directive": "\n"}


@pytest.mark.parametrize("field", DIRECTIVES)
def test_the_hostile_tests_refuse_some_and_pass_some(field: str) -> None:
    with pytest.raises(JobgenError):
        script(DIRECTIVES[field](REFUSED[field]))
    assert script(DIRECTIVES[field]("a'b\"#$(id)"))


@pytest.mark.parametrize(
    "words",
    [
        (b"-J", b"a\xff"),
        (b"-A", b"a\xff"),
        (b"-p", b"a\xff"),
        (b"--directive=--comment=a\xff",),
        (b"--set", b"request.output=a\xff"),
    ],
)
def test_a_directive_that_is_not_utf_8_is_refused(words: tuple[bytes, ...]) -> None:
    done = jobgen("sbatch", "--profile", "mi210", *words)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


def test_a_program_s_name_that_is_not_utf_8_does_not_name_the_job() -> None:
    done = jobgen("sbatch", "--profile", "mi210", "--", b"a\xff.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"#SBATCH --job-name=job\n" in done.stdout


PYTHON = """#!/bin/bash
if [[ $1 == -c ]]; then echo "torch 2"; exit; fi
printf '%s\\0' "$@" > arguments
printf '%s\\0' "$VALUE" > environment
"""
ALL = [
    *(piece for piece in PIECES if "\0" not in piece),
    *("", "--", "-m", "-h", "-", "a\n\n", "\n", " ", "\udcff\udc80", "é”'!", "\\", "'\\''", "=a"),
]


@pytest.mark.parametrize(
    "program", [("x y.py",), ("-m", "a b"), ("./$(touch pwned)",), ("--first",)], ids=str
)
def test_arguments_and_variables_reach_the_program_as_they_are(
    program: tuple[str, ...], tmp_path: Path
) -> None:
    """The script runs, with a python3 that notes what it is given."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(PYTHON)
    python.chmod(0o755)
    trainer = "elastic_ddp" if program[0] == "--first" else None
    value = "".join(ALL)
    said = Job(
        *("local", "local", "1"),
        environment=(f"VALUE={value}",),
        program=(*program, *ALL),
        trainer=trainer,
    )
    done = subprocess.run(
        ["bash", "-c", 'bash <(cat) "$@"'],
        input=script(said).encode("utf-8"),
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stdout

    def octets(words: list[str]) -> bytes:
        return b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)

    assert (tmp_path / "environment").read_bytes() == octets([value])
    words = (tmp_path / "arguments").read_bytes().split(b"\0")[:-1]
    options = [b"-m", b"torch.distributed.run", b"--nnodes=1", b"--nproc-per-node=2"]
    assert words[:6] == [*options, b"--standalone", b"--local-addr=127.0.0.1"]
    words.remove(b"--")  # torchrun takes the first for itself
    own = octets(list(said.program)).split(b"\0")[:-1]
    assert words[-len(own) :] == own
    # The trainer's file, or --no-python.
    assert len(words) - 6 - len(own) == (program[0] in ("--first", "./$(touch pwned)"))
    assert not (tmp_path / "pwned").exists()
