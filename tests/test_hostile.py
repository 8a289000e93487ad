"""Hostile values at every input: a job is refused, or differs from a harmless one in that value."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen import interactive, shell
from jobgen.errors import JobgenError
from jobgen.job import Job, command_line
from jobgen.maker import Maker
from jobgen.paths import native
from jobgen.plan import Plan
from jobgen.profile import reserved
from jobgen.program import verbatim
from jobgen.schedulers import pbs, slurm
from tests.helpers import jobgen, script
from tests.hostile import ARGUMENTS, BENIGN, COMMANDS, CORPUS, HOSTILE, UTF_8, Input, inputs, site
from tests.test_pbs import as_qsub_reads
from tests.test_slurm import as_sbatch_reads

INPUTS = list(inputs())
NO_NUMBERS = [value for value in CORPUS if len(value) < 5]  # where BENIGN is none, a few will do
SHELL = "software.commands"  # the one place for shell: what it says is meant to be in the script


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Maker]:
    """In a folder of bare profiles, where it also is to make its files."""
    folder = site(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        yield Maker(folder)
    assert not list(folder.rglob("pwned"))


def made(maker: Maker, job: Job) -> list[str]:
    """The lines that come of a job, but for the checksum."""
    planned = maker.plan(job)
    if job.command == "interactive":
        return interactive.line(planned).split("\n")
    lines = maker.render(planned, job.template).split("\n")
    return [line for line in lines if not line.startswith("# sha256 of the other")]


@functools.cache
def harmless(maker: Maker, place: Input) -> list[str] | None:
    """The lines with a harmless value; None where none is taken, since a value is a number, say."""
    with named(maker, place, BENIGN):
        try:
            return made(maker, place.job(BENIGN))
        except JobgenError:
            return None


class named:
    """While a file is there that is called as the value says, where the value is a file's name."""

    def __init__(self, maker: Maker, place: Input, value: str) -> None:
        self.maker = maker
        is_file = place.option in ("profile", "template") and "\0" not in value and len(value) < 99
        name = place.frame.replace("{}", value)
        self.path = maker.within / native(name) if is_file else None
        if name in ("", ".", "..") or name.startswith("/"):
            self.path = None
        source = {"sbatch": "slurm", "qsub": "pbs", "local": "local"}.get(place.command, "slurm")
        extends = {"byhand": "byhand"}.get(place.command, place.command)
        self.text = f'{{% extends "bundled/{extends}.sh.j2" %}}'
        if place.option == "profile":
            self.text = f"scheduler: {source}\n"

    def __enter__(self) -> None:
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(self.text)
            # Another command's file of that name has been read before.
            self.maker.__init__(self.maker.within)  # type: ignore[misc]

    def __exit__(self, *_: object) -> None:
        if self.path:
            self.path.unlink()


def pieces(run: str) -> Iterator[tuple[str, str, str]]:
    """Every part of a word that has BENIGN in it, with what is before and after."""
    start = run.index(BENIGN)
    for first in range(start + 1):
        for last in range(len(run), start + len(BENIGN) - 1, -1):
            yield run[:first], run[first:last], run[last:]


SPELT: tuple[Callable[[str], str], ...] = (
    shell.quote, shell.path, lambda text: shell.indexed(text, "I"), slurm.quoted, pbs.quoted,
    lambda text: shell.quote(verbatim(text)),
)  # fmt: skip


def carries(line: str, benign: str, value: str) -> bool:
    """Whether a line is the benign one with the value, rightly quoted, in the place of BENIGN."""
    before, _, rest = benign.partition(BENIGN)
    start = before.rfind(" ") + 1
    end = len(benign) - len(rest) + (rest + " ").index(" ")
    for first, part, last in pieces(benign[start:end]):
        whole = part.replace(BENIGN, value)
        for spell in SPELT:
            if line == benign[:start] + first + spell(whole) + last + benign[end:]:
                return True
    # Apptainer's spelling of an image that is none of its own files.
    return "docker://" in benign and carries(line, benign.replace("docker://", ""), value)


def unnamed(planned: Plan, lines: list[str]) -> list[str]:
    """Lines without what a program's name and words make of others, each as it has to be."""
    own, name = shell.quote(planned.name), planned.name
    for told, plain in (
        (f"#SBATCH --job-name={slurm.quoted(name)}", "#SBATCH --job-name=N"),
        (f"#PBS -N {pbs.quoted(name)}", "#PBS -N N"),
        (f"--rdzv-id={own} ", "--rdzv-id=N "),
    ):
        lines = [line.replace(told, plain, 1) for line in lines]
    program = shell.quote(planned.program.name)
    return [
        line if line.startswith("#") else line.replace(f" -- {program}", f" {program}", 1)
        for line in lines
    ]


def check(maker: Maker, place: Input, value: str) -> bool:
    """Whether the value is taken; it must come as it is, and nothing else may change."""
    with named(maker, place, value):
        try:
            lines = made(maker, place.job(value))
        except JobgenError as error:
            told = str(error).split("\n")
            assert all(line.isprintable() and 0 < len(line) < 2000 for line in told), told
            return False
    benign = harmless(maker, place)
    if benign is None:  # a number, say, or YAML's word for nothing
        assert re.fullmatch(r"[\w.:-]*|~", value.strip(), re.ASCII), (
            f"{place.name} needs a line in FRAMES"
        )
        return True
    if (place.frame == "{}=x" or place.path.endswith("{}")) and "=" in value:  # the name ends there
        return check(maker, place, value.partition("=")[0])
    if place.option == "hosts":  # a list that is read
        assert all(re.fullmatch(r"[\w.-]+", host) for host in maker.plan(place.job(value)).hosts)
        return True
    if (place.path or place.option == "sets") and not place.listed and value in ("", "null"):
        return True  # nothing is said
    if place.path.endswith(".why"):  # has lines of its own in the comment
        assert all(line.lstrip().startswith("#") for line in set(lines) - set(benign)), place
        return True
    if place.words:
        lines = unnamed(maker.plan(place.job(value)), lines)
        benign = unnamed(maker.plan(place.job(BENIGN)), benign)
    assert len(lines) == len(benign), place
    for line, expected in zip(lines, benign, strict=True):
        if line.startswith("#   jobgen "):
            words = command_line(place.job(value))
            assert line == "#   " + " ".join(map(shell.quote, words)), place
        elif expected.startswith("mkdir -p -- "):  # of the output's folder
            folder = place.frame.replace("{}", value).rpartition("/")[0]
            assert line.startswith(f"mkdir -p -- {shell.quote(folder)} "), place
        elif BENIGN not in expected:
            assert line == expected, (place, value)
        elif place.path == SHELL:
            assert line.strip() == expected.replace(BENIGN, value).strip(), place
        else:
            assert carries(line, expected, value), (place, value, line, expected)
            for start, reader in (("#SBATCH", as_sbatch_reads), ("#PBS", as_qsub_reads)):
                if line.startswith(start):
                    told = [word.replace(BENIGN, value) for word in reader(expected)]
                    assert reader(line) == told, place
    return True


@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_is_refused_or_comes_alone(maker: Maker, command: str) -> None:
    """Every input, every value of the corpus: none of it is for a shell or a scheduler to read."""
    for place in (place for place in INPUTS if place.command == command):
        for value in CORPUS if harmless(maker, place) else NO_NUMBERS:
            check(maker, place, value)


@settings(max_examples=300, deadline=None)
@given(place=st.sampled_from(INPUTS), value=HOSTILE)
def test_any_value_is_refused_or_comes_alone(maker: Maker, place: Input, value: str) -> None:
    check(maker, place, value)


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
    done = jobgen("sbatch", "--profile", "dgx-a100", "--", b"a\xff.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"#SBATCH --job-name=job\n" in done.stdout


PYTHON = """#!/bin/bash
if [[ $1 == -c ]]; then echo "torch 2"; exit; fi
printf '%s\\0' "$@" > arguments
printf '%s\\0' "$VALUE" > environment
"""


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
    value = "".join(ARGUMENTS)
    said = Job(
        *("local", "local", "1"),
        environment=(f"VALUE={value}",),
        program=(*program, *ARGUMENTS),
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
    own = octets([verbatim(word) for word in said.program]).split(b"\0")[:-1]
    assert words[-len(own) :] == own
    # The trainer's file, or --no-python.
    assert len(words) - 6 - len(own) == (program[0] in ("--first", "./$(touch pwned)"))
    assert not (tmp_path / "pwned").exists()


SPECIAL = """
    BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_COMPAT
    BASH_ENV BASH_EXECUTION_STRING BASH_LINENO BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_XTRACEFD
    COPROC DIRSTACK ENV EPOCHREALTIME EPOCHSECONDS EXECIGNORE FIGNORE FUNCNAME FUNCNEST GLOBIGNORE
    GROUPS HISTCMD HISTFILE HOSTFILE LC_ALL LC_CTYPE LINENO LANG MAIL MAILCHECK MAILPATH MAPFILE
    OLDPWD OPTARG OPTERR OPTIND PIPESTATUS POSIXLY_CORRECT PROMPT_COMMAND PROMPT_DIRTRIM PS0 PS1 PS2
    PS3 PS4 PWD RANDOM READLINE_LINE REPLY SECONDS SHELL SRANDOM TIMEFORMAT TMOUT TMPDIR auto_resume
    histchars
""".split()


# Notes all that is in its environment.
NOTES = f"""#!{sys.executable}
import os, sys
if sys.argv[1] != "-c":
    open("shown", "wb").write(b"\\0".join(map(b"=".join, os.environb.items())))
"""
# The names that a shell has a meaning for, without the arrays' subscripts.
OWN = {
    "bash": "compgen -A variable",
    "zsh": "zmodload zsh/parameter zsh/terminfo zsh/zle zsh/datetime; print -l ${(k)parameters}",
}
PASTED = {"bash": ("bash", "--norc", "--noprofile", "-i"), "zsh": ("zsh", "-f", "-i")}


def names(shell: str) -> list[str]:
    """Variables that jobgen takes, of those that a shell has a meaning for."""
    done = subprocess.run([shell, "-c", OWN[shell]], capture_output=True, text=True, check=True)
    listed = {name for name in done.stdout.split() if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)}
    taken = {*SPECIAL, *listed} - {"PATH", "PYTHONPATH"}
    return sorted(name for name in taken if not reserved(name))


@pytest.mark.parametrize("shell", [None, "bash", "zsh"], ids=str)
def test_no_variable_of_a_shell_s_own_is_evaluated(shell: str | None, tmp_path: Path) -> None:
    """`export RANDOM=…` is arithmetic to bash, which runs commands; others it keeps for itself.

    Those that jobgen takes arrive: in a script, and pasted into a `shell` at a terminal.
    """
    if shell and not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    value = "SHLVL[$(touch pwned)]"
    taken = names(shell or "bash")
    assert {"HOME", "COLUMNS"} < set(taken) if shell else "HOME" in taken
    for name in ("torchrun", "python3"):
        (tmp_path / name).write_text(NOTES)
        (tmp_path / name).chmod(0o755)
    said = Job(
        *("byhand" if shell else "local", "local"),
        nodes=None if shell else "1",
        hosts="a" if shell else None,
        program=("x.py",),
        environment=tuple(f"{name}={value}" for name in taken),
    )
    subprocess.run(
        PASTED.get(shell or "", ("bash", "-s")), input=f"{script(said)}\necho ended\n".encode(),
        cwd=tmp_path, capture_output=True, check=False, start_new_session=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    shown = (tmp_path / "shown").read_bytes().split(b"\0")
    missing = [name for name in taken if f"{name}={value}".encode() not in shown]
    assert " ".join(missing) == ""
    assert not (tmp_path / "pwned").exists()


# Notes its words and what it is given, and starts what follows the image.
ENGINE = """#!{python}
import os, sys
if sys.argv[1] not in ("run", "exec"):
    sys.exit()
given = dict(PATH=os.environ["PATH"])
for word in sys.argv:
    if word.startswith("--env="):
        name, said, value = word[6:].partition("=")
        if said or name in os.environ:
            given[name] = value if said else os.environ[name]
for name, value in os.environ.items():
    if name.startswith("APPTAINERENV_"):  # evaluated without --no-eval
        given[name[13:]] = value if "--no-eval" in sys.argv else "evaluated"
image = next(n for n, word in enumerate(sys.argv) if word.endswith("image"))
if {{"torch.distributed.run", "torchrun"}} & {{*sys.argv}}:
    open("engine", "w").write("\\0".join(sys.argv[:image + 1]))
os.execvpe(sys.argv[image + 1], sys.argv[image + 1:], given)
"""


@pytest.mark.parametrize(
    ("engine", "shell"),
    [
        *((engine, shell) for engine in ("podman", "docker") for shell in (None, *PASTED)),
        *(("apptainer", shell) for shell in (None, "bash")),
    ],
)
def test_an_engine_gets_every_word_as_it_is(engine: str, shell: str | None, tmp_path: Path) -> None:
    """From a script, and by hand."""
    if shell and not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    folder = "/$$(touch pwned) 'x' \"y\" `id`\\ é!*"
    mounted = folder.replace("$$", "$")
    values = "".join(UTF_8)
    text = "import os, sys\nopen('shown', 'w').write(ascii([sys.argv[1:], os.environ['X']]))\n"
    (tmp_path / "x.py").write_text(text)
    options = json.dumps(["--label=a b$(touch pwned)", "a'b"])
    python = tmp_path / "bin/python3"
    python.parent.mkdir()
    start = '[[ $1 != -c ]] || { echo "torch 2"; exit; }\nwhile [[ $1 != x.py ]]; do shift; done\n'
    python.write_text(f'#!/bin/bash\n{start}exec {sys.executable} "$@"\n')
    (python.parent / "torchrun").write_text(python.read_text())
    (python.parent / engine).write_text(ENGINE.format(python=sys.executable))
    for file in python.parent.iterdir():
        file.chmod(0o755)
    sets = (f"software.container.engine={engine}", "software.container.image=./$$(id)image",
            f"software.container.options={options}",
            f"software.container.mounts={json.dumps([f'{folder}:/in{folder}'])}")  # fmt: skip
    said = Job("byhand" if shell else "local", "local", nodes=None if shell else "1",
               hosts="a" if shell else None, environment=(f"X={values}",), sets=sets,
               program=("x.py", *UTF_8))  # fmt: skip
    done = subprocess.run(
        PASTED[shell] if shell else ("bash", "-c", "bash <(cat)"), input=script(said).encode(),
        cwd=tmp_path, env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        capture_output=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert shell or (done.returncode, done.stderr) == (0, b""), done
    assert (tmp_path / "shown").read_text() == ascii([[verbatim(value) for value in UTF_8], values])
    words = (tmp_path / "engine").read_text().split("\0")
    flag = "--bind" if engine == "apptainer" else "--volume"
    assert f"{flag}={mounted}:/in{mounted}" in words
    assert {"--label=a b$(touch pwned)", "a'b"} < set(words)
    assert not list(tmp_path.rglob("pwned"))


SWALLOWED = {
    "a line of PBS's that old qsubs read in pieces": Job(
        "qsub", "eap", program=("x.py", "#PBS -q other " * 400)
    ),
    "an option of conda's": Job(
        "sbatch", "mi210", sets=("software.container=null", "software.conda=--stack")
    ),
    "two mounts": Job(
        "sbatch",
        "mi210",
        sets=("software.container.engine=apptainer", "software.container.mounts=['/a,/b:/c']"),
    ),
    "bytes that no container gets": Job("sbatch", "mi210", program=("x.py", "\udcff")),
    "a function that no exec takes": Job(
        "sbatch", "dgx-a100", sets=(f"software.modules={json.dumps(['m' * 4000] * 9)}",)
    ),
    "nothing for a number": Job("sbatch", "mi210", nodes="~"),
}


@pytest.mark.parametrize("what", SWALLOWED)
def test_what_would_be_read_otherwise_is_refused(what: str) -> None:
    with pytest.raises(JobgenError):
        script(SWALLOWED[what])
