"""The shape of a script: what differs above, machinery below; and the sizes of both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobgen.generator import find_profiles
from jobgen.keeper.carried import keeper_text
from jobgen.paths import bundled
from jobgen.planning.job_options import Job
from jobgen.scripts.parts import PARTS, Part
from jobgen.scripts.render import part_text, short_parts
from tests.golden_cases import CASES, script_of
from tests.helpers import script

FOLDER = bundled("templates") / "machinery"
FILES = sorted({*bundled("templates").rglob("*.sh")} - {FOLDER / "short.sh"})
MARKER = (
    "# ==== machinery of jobgen for (Slurm|PBS|local jobs), the same for all with these"
    r" options: docs/machinery\.md"
)
LONGEST_FUNCTION = 20  # lines
WIDEST = 100  # columns
PROGRAM = ("train.py", "--epochs", "10")


def split(text: str) -> tuple[list[str], list[str]]:
    """The lines of the upper part and of the machinery, which begins with its marker."""
    lines = text.splitlines()
    marked = [number for number, line in enumerate(lines) if re.fullmatch(MARKER, line)]
    assert len(marked) == 1
    return lines[: marked[0]], lines[marked[0] :]


def without_carried(text: str) -> str:
    """An upper part without the texts of the trainer and of the keeper."""
    return re.sub(r"(?ms)(<< 'PYTHON'\n).*?^PYTHON$", r"\1PYTHON", text)


def functions(text: str) -> dict[str, list[str]]:
    """The lines of each function of a part, by its name."""
    pattern = r"^(\w+)\(\) \{(?:(?:  #[^\n]*)?\n.*?^\}$|[^\n]*$)"
    found = re.finditer(pattern, text, re.DOTALL | re.MULTILINE)
    return {each[1]: each[0].splitlines() for each in found}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_is_plain_bash_with_short_functions_that_say_what_they_are_for(part: Part) -> None:
    text = part_text(part)
    assert "{{" not in text
    assert "{%" not in text
    for name, lines in functions(text).items():
        assert len(lines) < LONGEST_FUNCTION, name
        assert len(lines) == 1 or re.match(r"\w+\(\) \{  # \S", lines[0]), name
    assert max(map(len, text.splitlines())) <= WIDEST


def test_every_file_is_a_part_s() -> None:
    """And a text in the file of short ones is short."""
    names = {str(file.relative_to(FOLDER))[:-3] for file in FILES}
    assert sorted([*names, *short_parts()]) == sorted({part.name for part in PARTS})
    assert {name for name, text in short_parts().items() if text.count("\n") > 4} == set()


def test_the_machinery_is_small() -> None:
    """All that somebody who maintains it has to know: the files, the short texts, the keeper."""
    lines = [len(file.read_text().splitlines()) for file in FILES]
    short = sum(text.count("\n") for text in short_parts().values())
    carried = keeper_text(with_lead=True).count("\n")
    assert len(FILES) <= 44
    assert sum(lines) + short + carried <= 1130


def test_every_function_is_explained() -> None:
    """Support staff look it up in docs/machinery.md, to which each script points."""
    page = (Path(__file__).parent.parent / "docs/machinery.md").read_text()
    names = {name for part in PARTS for name in functions(part_text(part))}
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_nothing_follows_the_machinery_but_its_parts() -> None:
    """A template that prints below it could print a value of the job."""
    lines = {line for part in PARTS for line in part_text(part).splitlines()} | {""}
    for case in (case for case in CASES if not case.startswith("byhand")):
        _, machinery = split(script_of(case))
        assert set(machinery[1:]) <= lines, case


def test_no_program_of_awk_or_sed_has_several_lines() -> None:
    texts = "\n".join(map(part_text, PARTS))
    assert re.findall(r"\b(?:awk|sed)\b[^'\n]*'[^'\n]*\n[^']*'", texts) == []


def sized(command: str, profile: str, *values: str, **fields: str) -> tuple[int, int]:
    """The lines of the upper part and of the machinery for the user's own program."""
    job = Job(command, profile, set_values=values, program=PROGRAM, **fields)  # type: ignore[arg-type]
    upper, machinery = split(script(job))
    return len(upper), len(machinery)


def fabric_lines() -> int:
    """The lines that Slingshot's variables take in a script for eap."""
    variables = find_profiles().load("fabrics/slingshot").profile.network.environment
    removed = (f"network.environment.{name}=null" for name in variables)
    return sized("qsub", "eap")[0] - sized("qsub", "eap", *removed)[0]


def lines_of(command: str, profile: str, *values: str, **fields: str) -> int:
    return sum(sized(command, profile, *values, **fields))


def carried_lines() -> int:
    """What a script for eap carries: a keeper with a lead, and the lines around it."""
    return keeper_text(with_lead=True, with_orders=False).count("\n") + 5


def test_sizes() -> None:
    """Comments and blank lines count: support staff have to read them all."""
    assert lines_of("sbatch", "dgx-a100", nodes="2") <= 178
    assert lines_of("sbatch", "dgx-a100", nodes="1") <= 108
    assert lines_of("sbatch", "mi210", nodes="2") <= 202  # with its container
    assert lines_of("qsub", "eap", nodes="2") <= 429  # with a lead, and NCCL's plug-in
    assert lines_of("qsub", "eap", nodes="2") - carried_lines() <= 222
    for name in ("openmpi", "mpich", "pals"):
        assert lines_of("qsub", "eap", f"launch.starter=mpiexec-{name}", nodes="2") <= 329


def test_sizes_of_the_plain_form() -> None:
    assert sum(sized("sbatch", "dgx-a100", plain="true")) <= 53
    assert sum(sized("sbatch", "dgx-a100", "network.interface=ib0", plain="true")) <= 50
    container = "software.container=null"
    assert sum(sized("sbatch", "mi210", container, plain="true")) <= 61  # with its fabric
    assert sum(sized("qsub", "eap", plain="true")) - fabric_lines() <= 71
