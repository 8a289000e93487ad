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

from jobgen import quoting
from jobgen.bounds import JOB_TEXT_BYTES
from jobgen.errors import JobgenError
from jobgen.generator import Generator
from jobgen.paths import to_path
from jobgen.planner.assembly import command_words
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.planning.program import escape_macros
from jobgen.profiles.conflicts import is_reserved
from jobgen.schedulers import get_scheduler, pbs
from jobgen.schedulers.slurm_directives import quoted as slurm_quoted
from jobgen.scripts.jinja_environments import FILTERS
from tests.helpers import jobgen, script
from tests.hostile import (
    ARGUMENTS,
    BENIGN,
    COMMANDS,
    CORPUS,
    HOSTILE,
    UTF_8,
    Input,
    inputs,
    literal,
    site,
)
from tests.test_pbs import as_qsub_reads
from tests.test_slurm import as_sbatch_reads

INPUTS = list(inputs())
NO_NUMBERS = [value for value in CORPUS if len(value) < 5]  # where BENIGN is none, a few will do
# The places for shell: what they say is meant to be in the script.
SHELL = ("software.commands", "software.after_modules", "software.once_per_node")


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generator]:
    """In a folder of bare profiles, where it also is to make its files."""
    folder = site(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        yield Generator(folder)
    assert not list(folder.rglob("pwned"))


def generate(generator: Generator, job: Job) -> list[str]:
    """The lines that a job generates, without checksums; commands of several lines are one."""
    plan = generator.plan(job)
    if job.command == "interactive":
        words = get_scheduler(plan.scheduler).interactive(plan)
        return [" ".join(map(quoting.quote, words))]
    script = generator.render(plan, job.template).replace(" \\\n    ", " ")
    # A reason stands behind a short line, and above a long one.
    script = re.sub(r"^# other jobs have other ports\n(.*)$", r"\1", script, flags=re.MULTILINE)
    script = script.replace("  # other jobs have other ports", "")
    for variable in plan.software.environment:
        indent = "  " if job.command == "byhand" else "  export "
        if variable.value is None:
            continue
        line = f"{indent}{variable.name}={quoting.quote_path(variable.value)}"
        script = script.replace(FILTERS["because"](line, variable.why), line)
    return [line for line in script.split("\n") if not re.match("# (sha256|made) of ", line)]


def machinery(lines: list[str]) -> list[str]:
    """What is below the line that parts a script; nothing in what is pasted by hand."""
    starts = [n for n, line in enumerate(lines) if line.startswith("# ==== machinery")]
    return lines[starts[0] :] if starts else []


@functools.cache
def harmless(generator: Generator, place: Input) -> list[str] | None:
    """The lines with a harmless value; None where none is taken, since a value is a number, say."""
    with named(generator, place, BENIGN):
        try:
            return unwrapped(generate(generator, place.job(BENIGN)))
        except JobgenError:
            return None


class named:
    """While a file is there that is called as the value says, where the value is a file's name."""

    def __init__(self, generator: Generator, place: Input, value: str) -> None:
        self.generator = generator
        is_file = place.option in ("profile", "template") and "\0" not in value and len(value) < 99
        name = place.frame.replace("{}", value)
        self.path = generator.profiles.within / to_path(name) if is_file else None
        is_folder = self.path is not None and (name.endswith("/") or self.path.is_dir())
        if name in ("", ".", "..") or name.startswith("/") or is_folder:
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
            self.generator.__init__(self.generator.profiles.within)  # type: ignore[misc]

    def __exit__(self, *_: object) -> None:
        if self.path:
            self.path.unlink()


def pieces(run: str) -> Iterator[tuple[str, str, str]]:
    """Every part of a word that has BENIGN in it, with what is before and after."""
    start = run.index(BENIGN)
    for first in range(start + 1):
        for last in range(len(run), start + len(BENIGN) - 1, -1):
            yield run[:first], run[first:last], run[last:]


def quoted_path(text: str) -> str:
    """A path whose harmless form is one pair of quotes around the whole."""
    is_quoted = text.startswith('"$') and text.endswith('"')
    return quoting.quote_path(text[1:-1] if is_quoted else text)


SPELLINGS: tuple[Callable[[str], str], ...] = (
    quoting.quote,
    quoted_path,
    lambda text: FILTERS["indexed"]([text], "I"),
    lambda text: FILTERS["array"]([text]),
    lambda text: FILTERS["placed"]([text], "$node", "$nodes", 1, "")[0],  # the launcher node's
    slurm_quoted,
    pbs.quoted,
    lambda text: quoting.quote(escape_macros(text)),
)


def carries(line: str, benign: str, value: str) -> bool:
    """Whether a line is the benign one with the value, rightly quoted, in the place of BENIGN."""
    before, _, rest = benign.partition(BENIGN)
    start = before.rfind(" ") + 1
    end = len(benign) - len(rest) + (rest + " ").index(" ")
    for first, part, last in pieces(benign[start:end]):
        whole = part.replace(BENIGN, value)
        for spell in SPELLINGS:
            if line == benign[:start] + first + spell(whole) + last + benign[end:]:
                return True
    # Apptainer's spelling of an image that is none of its own files.
    return "docker://" in benign and carries(line, benign.replace("docker://", ""), value)


def unwrapped(lines: list[str]) -> list[str]:
    """Lines with each array on one: a long value has its array continue on lines of their own."""
    joined: list[str] = []
    is_open = False
    for line in lines:
        if is_open:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
            is_open = re.match(r"\s*\w+=\(", line) is not None
        is_open = is_open and not line.partition("  # -K1: ")[0].endswith(")")
    return joined


def unnamed(planned: Plan, lines: list[str]) -> list[str]:
    """Lines without what a program's name and words make of others, each as it has to be."""
    name = planned.name
    for own, plain in (
        (f"#SBATCH --job-name={slurm_quoted(name)}", "#SBATCH --job-name=N"),
        (f"#PBS -N {pbs.quoted(name)}", "#PBS -N N"),
        (f'--rdzv-id="{name}" ', '--rdzv-id="N" '),
    ):
        lines = [line.replace(own, plain, 1) for line in lines]
    program = quoting.quote(planned.program.name)
    return [
        line if line.startswith("#") else line.replace(f" -- {program}", f" {program}", 1)
        for line in lines
    ]


def check(generator: Generator, place: Input, value: str) -> bool:
    """Whether the value is taken; it must come as it is, and nothing else may change."""
    with named(generator, place, value):
        try:
            lines = unwrapped(generate(generator, place.job(value)))
        except JobgenError as error:
            messages = str(error).split("\n")
            assert all(line.isprintable() and 0 < len(line) < 2000 for line in messages), messages
            return False
    benign = harmless(generator, place)
    if benign is None:  # a number, say, or YAML's word for nothing
        assert re.fullmatch(r"[\w.:-]*|~", value.strip(), re.ASCII), (
            f"{place.name} needs a line in FRAMES"
        )
        return True
    if (place.frame == "{}=x" or place.path.endswith("{}")) and "=" in value:  # the name ends there
        return check(generator, place, value.partition("=")[0])
    if place.option == "environment" and place.frame == "{}" and "=" in value:
        return True  # the other form, NAME=VALUE
    if place.option == "hosts":  # a list that is read
        assert all(
            re.fullmatch(r"[\w.:-]+", host) for host in generator.plan(place.job(value)).hosts
        )
        return True
    if (place.path or place.option == "set_values") and not place.listed and value in ("", "null"):
        return True  # nothing is said
    if place.path.endswith(".why"):  # has lines of its own in the comment
        assert all(line.lstrip().startswith("#") for line in set(lines) - set(benign)), place
        return True
    if place.words:
        lines = unnamed(generator.plan(place.job(value)), lines)
        benign = unnamed(generator.plan(place.job(BENIGN)), benign)
    assert machinery(lines) == machinery(benign), place
    assert BENIGN not in "".join(machinery(benign)), place
    assert len(lines) == len(benign), place
    for line, expected in zip(lines, benign, strict=True):
        if line.startswith("#   jobgen "):
            words = command_words(place.job(value))
            assert line == "#   " + " ".join(map(quoting.quote, words)), place
        elif expected.startswith("mkdir -p -- "):  # of the output's folder
            folder = place.frame.replace("{}", value).rpartition("/")[0]
            assert line.startswith(f"mkdir -p -- {quoting.quote(folder)} "), place
        elif BENIGN not in expected:
            assert line == expected, (place, value)
        elif place.path in SHELL:
            assert line.strip() == expected.replace(BENIGN, value).strip(), place
        else:
            assert carries(line, expected, value), (place, value, line, expected)
            for start, reader in (("#SBATCH", as_sbatch_reads), ("#PBS", as_qsub_reads)):
                if line.startswith(start):
                    words = [word.replace(BENIGN, value) for word in reader(expected)]
                    assert reader(line) == words, place
    return True


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_a_value_is_refused_or_comes_alone(generator: Generator, command: str) -> None:
    """Every input, every value of the corpus: none of it is for a shell or a scheduler to read."""
    for place in (place for place in INPUTS if place.command == command):
        for value in CORPUS if harmless(generator, place) else NO_NUMBERS:
            check(generator, place, value)


@settings(max_examples=300, deadline=None)
@given(place=st.sampled_from(INPUTS), value=HOSTILE)
def test_any_value_is_refused_or_comes_alone(
    generator: Generator, place: Input, value: str
) -> None:
    check(generator, place, value)


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
    assert (done.returncode, done.stderr.count(b"\n")) == (0, 1)  # there is no such file
    assert b"#SBATCH --job-name=job\n" in done.stdout


PYTHON = """#!/bin/bash
if [[ $1 == -c ]]; then :; exit; fi
printf '%s\\0' "$@" > arguments
printf '%s\\0' "$VALUE" > environment
"""


@pytest.mark.slow
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
    if not program[0].startswith("-"):
        (tmp_path / program[0]).touch()  # a job whose program is missing does not begin
    trainer = "elastic_ddp" if program[0] == "--first" else None
    value = "".join(ARGUMENTS)
    job = Job(
        *("local", "local"),
        nodes="1",
        environment=(f"VALUE={literal(value)}",),
        program=(*program, *ARGUMENTS),
        trainer=trainer,
    )
    done = subprocess.run(
        ["bash", "-c", 'bash <(cat) "$@"'],
        input=script(job).encode("utf-8"),
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
    options = [b"-m", b"torch.distributed.run", b"--nproc-per-node=2"]
    assert words[:6] == [*options, b"--standalone", b"--local-addr=127.0.0.1", b"--tee=3"]
    assert words[6].startswith(b"--log-dir=")
    words.remove(b"--")  # torchrun takes the first for itself
    own = octets([escape_macros(word) for word in job.program]).split(b"\0")[:-1]
    assert words[-len(own) :] == own
    # The trainer's file, or --no-python.
    assert len(words) - 7 - len(own) == (program[0] in ("--first", "./$(touch pwned)"))
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
    return sorted(name for name in taken if not is_reserved(name))


@pytest.mark.parametrize("shell", [None, "bash", "zsh"], ids=str)
def test_no_variable_of_a_shell_s_own_is_evaluated(shell: str | None, tmp_path: Path) -> None:
    """`export RANDOM=…` is arithmetic to bash, which runs commands; others it keeps for itself.

    Those that jobgen takes arrive: in a script, and pasted into a `shell` at a terminal.
    """
    if shell and not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    value = "HISTSIZE[$(touch pwned)]"
    taken = names(shell or "bash")
    assert {"HOME", "COLUMNS"} < set(taken) if shell else "HOME" in taken
    (tmp_path / "x.py").touch()
    for name in ("torchrun", "python3"):
        (tmp_path / name).write_text(NOTES)
        (tmp_path / name).chmod(0o755)
    job = Job(
        *("byhand" if shell else "local", "local"),
        nodes=None if shell else "1",
        hosts="a" if shell else None,
        program=("x.py",),
        environment=tuple(f"{name}={literal(value)}" for name in taken),
    )
    subprocess.run(
        PASTED.get(shell or "", ("bash", "-s")), input=f"{script(job)}\necho ended\n".encode(),
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
name = os.path.basename(sys.argv[0])
if name != "shifter" and sys.argv[1] not in ("run", "exec"):
    sys.exit()
given = dict(PATH=os.environ["PATH"])
if name == "shifter":  # all of the host's, but the image's own win over them
    given = dict(os.environ, X="the image's")
prefix = name.upper() + "ENV_"
for word in sys.argv:
    if word.startswith("--env="):
        name, has_value, value = word[6:].partition("=")
        if has_value or name in os.environ:
            given[name] = value if has_value else os.environ[name]
for name, value in os.environ.items():
    if name.startswith(prefix):  # evaluated without --no-eval
        given[name.removeprefix(prefix)] = value if "--no-eval" in sys.argv else "evaluated"
image = next(n for n, word in enumerate(sys.argv) if word.endswith("image"))
start = next(n for n in range(image, len(sys.argv)) if sys.argv[n] in ("env", "python3"))
if {{"torch.distributed.run", "torchrun"}} & {{*sys.argv}}:
    open("engine", "w").write("\\0".join(sys.argv[:start]))
os.execvpe(sys.argv[start], sys.argv[start:], given)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "shell"),
    [
        *((engine, shell) for engine in ("podman", "docker") for shell in (None, *PASTED)),
        *((engine, shell) for engine in ("apptainer", "singularity") for shell in (None, "bash")),
        *(("shifter", shell) for shell in (None, *PASTED)),
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
    start = "[[ $1 != -c ]] || { :; exit; }\nwhile [[ $1 != x.py ]]; do shift; done\n"
    python.write_text(f'#!/bin/bash\n{start}exec {sys.executable} "$@"\n')
    (python.parent / "torchrun").write_text(python.read_text())
    (python.parent / engine).write_text(ENGINE.format(python=sys.executable))
    for file in python.parent.iterdir():
        file.chmod(0o755)
    sets = (f"software.container.engine={engine}", "software.container.image=./$$(id)image",
            f"software.container.options={options}",
            f"software.container.mounts={json.dumps([f'{folder}:/in{folder}'])}")  # fmt: skip
    job = Job("byhand" if shell else "local", "local", nodes=None if shell else "1",
               hosts="a" if shell else None, environment=(f"X={literal(values)}",), set_values=sets,
               program=("x.py", *UTF_8))  # fmt: skip
    done = subprocess.run(
        PASTED[shell] if shell else ("bash", "-c", "bash <(cat)"), input=script(job).encode(),
        cwd=tmp_path, env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        capture_output=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert shell or (done.returncode, done.stderr) == (0, b""), done
    assert (tmp_path / "shown").read_text() == ascii(
        [[escape_macros(value) for value in UTF_8], values]
    )
    words = (tmp_path / "engine").read_text().split("\0")
    flag = "--bind" if engine in ("apptainer", "singularity") else "--volume"
    assert f"{flag}={mounted}:/in{mounted}" in words
    assert {"--label=a b$(touch pwned)", "a'b"} < set(words)
    assert not list(tmp_path.rglob("pwned"))


MISREAD = {
    "a line of PBS's that old qsubs read in pieces": Job(
        "qsub", "eap", program=("x.py", "#PBS -q other " * 400)
    ),
    "an option of conda's": Job(
        "sbatch", "mi210", set_values=("software.container=null", "software.conda=--stack")
    ),
    "two mounts": Job(
        "sbatch",
        "mi210",
        set_values=(
            "software.container.engine=apptainer",
            "software.container.mounts=['/a,/b:/c']",
        ),
    ),
    "bytes that no container gets": Job("sbatch", "mi210", program=("x.py", "\udcff")),
    "more than a node's shell can be given": Job(
        "sbatch", "dgx-a100", set_values=(f"software.modules={json.dumps(['m' * 4000] * 25)}",)
    ),
    "nothing for a number": Job("sbatch", "mi210", nodes="~"),
}


@pytest.mark.parametrize("case", MISREAD)
def test_a_value_that_would_be_misread_is_refused(case: str) -> None:
    with pytest.raises(JobgenError):
        script(MISREAD[case])


def test_words_at_the_limit() -> None:
    """All that a job may have fits into the words of one program."""
    words = ("x" * (JOB_TEXT_BYTES - 1000), *["y"] * 200)
    upper, _, _ = script(Job("sbatch", "dgx-a100", program=("train.py", *words))).partition("====")
    values = 'head=a node=0 host=a address=a; python3() { echo "$#"; }; exec() { "$@"; }'
    done = subprocess.run(
        ["bash"],
        input=f"{upper}\n{values}\nranks\n",
        env={"PATH": os.environ["PATH"], "SLURM_JOB_ID": "1", "SLURM_CPUS_PER_TASK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > len(words)
