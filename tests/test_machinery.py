"""The shape of a script: what differs above, machinery below; and the sizes of both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobgen.generator import find_profiles
from jobgen.paths import bundled
from jobgen.planning.job_options import Job
from tests.helpers import script
from tests.test_golden import CASES

PARTS = sorted((bundled("templates") / "machinery").rglob("*.sh"))
MARKER = (
    r"# ==== machinery of jobgen for (Slurm|PBS|local jobs), the same for all jobs with these"
    r" options: docs/machinery\.md explains it ===="
)
LONGEST_FUNCTION = 20  # lines
PROGRAM = ("train.py", "--epochs", "10")


def split(text: str) -> tuple[list[str], list[str]]:
    """The lines of the upper part and of the machinery, which begins with its marker."""
    lines = text.splitlines()
    marked = [number for number, line in enumerate(lines) if re.fullmatch(MARKER, line)]
    assert len(marked) == 1
    return lines[: marked[0]], lines[marked[0] :]


def functions(text: str) -> dict[str, list[str]]:
    """The lines of each function of a part, by its name."""
    found = re.finditer(r"^(\w+)\(\) \{(?: .*\}$|\n.*?^\}$)", text, re.DOTALL | re.MULTILINE)
    return {each[1]: each[0].splitlines() for each in found}


@pytest.mark.parametrize("part", PARTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_part_is_plain_bash_with_short_functions_that_say_what_they_are_for(part: Path) -> None:
    text = part.read_text()
    assert "{{" not in text
    assert "{%" not in text
    for name, lines in functions(text).items():
        assert len(lines) < LONGEST_FUNCTION, name
        assert len(lines) == 1 or f"\n# {name}: " in f"\n{text}", name
    assert max(map(len, text.splitlines())) <= 130


def test_every_function_is_explained() -> None:
    """Support staff look it up in docs/machinery.md, to which each script points."""
    page = (Path(__file__).parent.parent / "docs/machinery.md").read_text()
    names = {name for part in PARTS for name in functions(part.read_text())}
    assert {name for name in names if f"`{name}`" not in page} == set()


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith("byhand")])
def test_machinery_has_no_value_of_the_job(case: str) -> None:
    """All its lines are from the parts, whatever the job is."""
    _, machinery = split(script(CASES[case]))
    lines = {line for part in PARTS for line in part.read_text().splitlines()}
    assert set(machinery[1:]) <= lines | {""}


def test_every_part_is_in_a_script() -> None:
    texts = [script(job) for job in CASES.values()]
    unused = [part.name for part in PARTS if not any(part.read_text() in text for text in texts)]
    assert unused == []


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


def test_sizes() -> None:
    """Comments and blank lines count: support staff have to read them all."""
    upper, machinery = sized("sbatch", "dgx-a100")
    assert upper <= 45
    assert machinery <= 175
    assert sized("sbatch", "dgx-a100", labels="false")[1] <= 95
    assert sized("sbatch", "dgx-a100", "network.interface=ib0")[0] <= 45
    upper, machinery = sized("sbatch", "mi210")
    assert upper <= 60  # with its container
    assert machinery <= 175
    assert sized("sbatch", "mi210", stall="10")[1] <= 214
    upper, machinery = sized("qsub", "eap")
    assert upper - fabric_lines() <= 45
    assert machinery <= 280
    assert sized("qsub", "eap", labels="false")[1] <= 212
    for command, profile in (("sbatch", "dgx-a100"), ("sbatch", "mi210"), ("qsub", "eap")):
        assert sum(sized(command, profile, nodes="1", labels="false")) <= 85
        assert sum(sized(command, profile, nodes="1")) <= 161


def test_sizes_of_the_plain_form() -> None:
    assert sum(sized("sbatch", "dgx-a100", plain="true")) <= 45
    assert sum(sized("sbatch", "dgx-a100", "network.interface=ib0", plain="true")) <= 45
    container = "software.container=null"
    assert sum(sized("sbatch", "mi210", container, plain="true")) <= 55  # with its fabric
    assert sum(sized("qsub", "eap", plain="true")) - fabric_lines() <= 60
