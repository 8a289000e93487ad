"""Hostile values, and every input at which they are tried, from jobgen's own tables.

A new option of `Job` or key of `Profile` is tried without a change here; if jobgen accepts none of
its values, not even a harmless one, it needs a line in FRAMES or COMPANIONS.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import Option
from jobgen.profiles.keys.software import ENGINES as ENGINE_ROWS
from jobgen.profiles.kinds import Bool, Choice, Int, Kind
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import ListOf, MapOf, Record, rows_of
from jobgen.profiles.units import Walltime

PIECES = [
    *("'", '"', "\\", "$(touch pwned)", "`touch pwned`", "$HOME", "${x}", "!", "~", "~/", "*", "?"),
    *("[a]", "{a,b}", "#", "#SBATCH --nodes=9", "\n", "\r", "\t", " ", "  ", ";", "&&", "|", "<"),
    *(">", "(", ")", "-", "--", "--wrap=x", "=", "%", "%j", ",", ":", "/", "../", "\x00", "\x07"),
    *("\x1b[1m", "\x7f", "\x85", "\xa0", "\xad", "é", "“", "’", "\u200b", "\u2028", "\u202e", "😀"),
    *("PYTHON", "EOF", "hetjob", "{{ plan.name }}", "{% raw %}", "\\n", "\\x41", "a", "B", "0"),
    *(
        "#PBS -q other",
        "^array_index^",
        "%a",
        "%%",
        "%n",
        "%h",
        "$$",
        "\udcff",
        "PATH[$(touch pwned)]",
    ),
]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)

# Each tried at every input. Of those that a program can be given, ARGUMENTS are all.
CORPUS = [
    *(
        "",
        " ",
        "-",
        "--",
        "-x",
        "--help",
        ".",
        "..",
        "../x",
        ".x",
        "a b",
        "'\"",
        "'\xa0",
        "a'b",
        'a"b',
        "a\\",
        "\\",
    ),
    *(
        "$(touch pwned)",
        "`touch pwned`",
        "PATH[$(touch pwned)]",
        "$HOME",
        "~/x",
        "*",
        "!x",
    ),
    *("$$", "a$$b$", "${local_rank}", "$local_rank"),
    *("a\nb", "a\n#SBATCH --nodes=9\ntouch pwned\n", "a\n#PBS -q other\n", "a\rb", "\t", "a\0b"),
    *("#SBATCH --nodes=9", "x #c", ";touch pwned", "a;b|c&d>e<f", "a&b", "(a)", "{a,b}", "a=b"),
    *("%j", "%%", "100%a", "%x/%u", "^array_index^", "hetjob", "a,b", "a:b", "a/b", "+", "@", "^"),
    *("é", "“x”", "\u202eevil", "\u200b", "\xa0", "\x85", "\u2028", "\x1b[2J", "\x7f", "\udcff"),
    *("PYTHON", "EOF", "BASH", "{{ plan.name }}", "{% raw %}", "null", "true", "0", "-1", "1e9"),
    *("x" * 300, "x" * 5000, "#PBS -q x " * 600, "y" * (1 << 20)),
]
ARGUMENTS = [value for value in CORPUS if "\0" not in value and len(value) < 1000]
UTF_8 = [value for value in ARGUMENTS if "\udcff" not in value]  # all that a container gets
BENIGN = "benign4711"


def literal(text: str) -> str:
    """A value of the node that is exactly this text."""
    return text.replace("$", "$$")


@dataclass(frozen=True)
class Input:
    """A place for a value; `frame` has {} for it, and `job` is the job that has it there."""

    name: str
    command: str
    frame: str = "{}"
    option: str = ""  # a field of Job
    path: str = ""  # of a profile; of a list, its one item
    listed: bool = False
    words: tuple[str, ...] = ()  # the program's
    set_values: tuple[str, ...] = ()

    def job(self, value: str) -> Job:
        """The job with `value` in its place."""
        text = self.frame.replace("{}", value)
        fields: dict[str, object] = {"program": ("x.py",), "nodes": "2"}
        if self.command == "byhand":
            fields = {"program": ("x.py",), "hosts": "a"}
        set_values = self.set_values
        if self.path:
            yaml = json.dumps([text], ensure_ascii=False) if self.listed else text
            name = self.path.replace("{}", text) if "{}" in self.path else self.path
            set_values += (f"{name}={'x' if '{}' in self.path else yaml}",)
        if self.words:
            fields["program"] = tuple(word.replace("{}", value) for word in self.words)
        row = dict(job_options(self.command)).get(self.option)
        if row:
            fields[self.option] = (text,) if row.repeatable else text
        if self.option == "set_values":
            set_values, _ = (*set_values, text), fields.pop("set_values")
        profile = {"sbatch": "slurm", "qsub": "pbs", "local": "local"}.get(self.command, "slurm")
        fields = {"profile": f"{profile}.yaml", **fields, "set_values": set_values}
        return Job(self.command, **fields)  # type: ignore[arg-type]


# How a harmless value has to look where BENIGN alone is none.
FRAMES = {
    "environment": ("X={}", "{}=x", "{}"),
    "directives": {
        "sbatch": ("--comment={}",),
        "qsub": ("-P {}",),
        "interactive": ("--comment={}",),
    },
    "set_values": ("software.venv={}", "{}=x"),
    "hosts": ("{}", "a,{}"),
    "mail": ("{}@example.org",),
    "request.mail": ("{}@example.org",),
    "constraint": {"qsub": ("X={}",)},
    "request.constraint": {"qsub": ("X={}",)},
    "request.output": ("d/{}",),
    "request.error": ("d/{}",),
    "request.chdir": ("/{}",),
    "request.directives": {
        "sbatch": ("--comment={}",),
        "qsub": ("-P {}",),
        "interactive": ("--comment={}",),
    },
    "launch.srun_options": ("--comment={}", "--network={}"),
    "launch.mpiexec_options": ("--comment={}",),
    "launch.cpu_bind": ("mask_cpu:{}",),
    "request.place": ("scatter:group={}",),
    "software.store": ("/{}", "~/{}"),
    "software.stage_from": ("/{}", "~/{}"),
    "software.stage_to": ("/{}",),
    "workspace.url": ("https://h/{}", "u@h:{}"),
    "workspace.folder": ("/{}", "~/{}"),
    "software.container.mounts": ("/{}:/m", "/m:/{}"),
    "profile": ("{}.yaml",),
    "sources.documents.X.repository": ("{}/x", "x/{}"),
    "sources.documents.X.address": ("https://{}",),
}
# Other values that a value needs to be used; each tuple of a list is a case of its own.
COMMIT = "0123456789" * 4
ENGINES = [
    (f"software.container.engine={engine}", "software.container.image=i")
    for engine in ENGINE_ROWS
    if engine != "ce"
]
ENGINES.append(("software.container.engine=ce", "software.container.environment=e"))
COMPANIONS: dict[str, list[tuple[str, ...]]] = {
    "software.container": ENGINES,
    "launch.mpiexec_options": [("launch.launcher=mpiexec", "launch.starter=mpiexec-pals")],
    "software.stage_from": [("software.stage=folder",), ("software.stage=squashfs",)],
    "software.stage_to": [("software.stage=folder", "software.stage_from=/x")],
    "workspace": [
        (f"workspace.commit={COMMIT}", "workspace.url=https://h/x", "workspace.folder=/w")
    ],
}
PROGRAMS = [("x.py", "{}"), ("{}.py",), ("-m", "{}"), ("./{}",), ("x.py", "-x{}")]
COMMANDS = ("sbatch", "qsub", "local", "byhand", "interactive")


def inputs() -> Iterator[Input]:
    """Every place for a value, of every command."""
    for command in COMMANDS:
        for field, row in job_options(command):
            yield from _option(command, field, row)
        for path, kind, listed in _leaves(ROOT):
            yield from _key(command, path, kind, listed)
        if command != "interactive":
            for words in PROGRAMS:
                yield Input(f"{command} -- {' '.join(words)}", command, words=words)
    for words in PROGRAMS:
        srun = ("launch.launcher=srun",)
        yield Input(f"srun -- {' '.join(words)}", "sbatch", words=words, set_values=srun)
        node = ("launch.launcher=node",)
        for command in ("sbatch", "qsub", "local"):
            yield Input(f"node -- {command} {words}", command, words=words, set_values=node)
        mpiexec = ("launch.launcher=mpiexec", "launch.starter=mpiexec-pals")
        yield Input(f"mpiexec -- {' '.join(words)}", "qsub", words=words, set_values=mpiexec)
        ssh = ("launch.starter=ssh",)
        yield Input(f"ssh -- {' '.join(words)}", "sbatch", words=words, set_values=ssh)
        plain = ("launch.plain=true",)
        yield Input(f"plain -- {' '.join(words)}", "sbatch", words=words, set_values=plain)
        yield Input(f"plain -- {' '.join(words)}", "qsub", words=words, set_values=plain)


def _option(command: str, field: str, row: Option) -> Iterator[Input]:
    if row.metavar and (
        field != "template" or command == "sbatch"
    ):  # which are slow, and all alike
        for frame in _frames(field, command):
            yield Input(f"{command} {row.flags[-1]} {frame}", command, frame, option=field)


def _key(command: str, path: str, kind: Kind, listed: bool) -> Iterator[Input]:
    typed = isinstance(kind, (Bool, Choice, Int, Walltime))
    if path == "extends" or (typed and command != "sbatch"):
        return
    for frame in _frames(path, command):
        for others in _companions(path)[: None if command == "sbatch" else 1]:
            name = f"{command} {' '.join(others[:1])} {path} {frame}"
            yield Input(name, command, frame, path=path, listed=listed, set_values=others)


def _frames(name: str, command: str) -> tuple[str, ...]:
    found = FRAMES.get(name, ("{}",))
    return found.get(command, ("{}",)) if isinstance(found, dict) else found


def _companions(path: str) -> list[tuple[str, ...]]:
    found = (others for start, others in COMPANIONS.items() if f"{path}.".startswith(f"{start}."))
    return next(found, [()])


def _leaves(kind: Kind, path: str = "") -> Iterator[tuple[str, Kind, bool]]:
    """The paths of all values of a profile, with their kinds; and of the keys that are free."""
    dot = f"{path}." if path else ""
    if isinstance(kind, Record):
        for name, row in rows_of(kind.cls):
            yield from _leaves(row.kind, f"{dot}{name}")
    elif isinstance(kind, MapOf):
        yield f"{dot}{{}}", kind.key, False
        yield from _leaves(kind.value, f"{dot}X")
    elif isinstance(kind, ListOf):
        yield path, kind.item, True
    else:
        yield path, kind, False


def site(folder: Path) -> Path:
    """A folder with a bare profile for each scheduler."""
    for name in ("slurm", "pbs", "local"):
        (folder / f"{name}.yaml").write_text(f"scheduler: {name}\n")
    return folder
