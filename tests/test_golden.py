"""Whole scripts, in readable pieces: `make golden` rewrites them, and the diff is reviewed.

An upper part for each case, and each kind of machinery once: the index says which case has which.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from jobgen.paths import bundled
from jobgen.planning.parser import parse_command
from jobgen.profiles.conflicts import is_reserved
from tests.golden_cases import CASES, script_of
from tests.helpers import script
from tests.site_facts import SITES, SiteFacts
from tests.site_scripts import MACHINERY, golden_part

GOLDEN = Path(__file__).parent / "golden"
BY_HAND = {case for case in CASES if case.startswith("byhand")}


@cache
def golden_files() -> dict[str, str]:
    """The text of each file below tests/golden, by its path."""
    files, names, index = {}, {}, ""
    for case in CASES:
        upper, _, machinery = script_of(case).partition(MACHINERY)
        if case in BY_HAND:
            files[f"byhand/{case}.sh"] = upper
            continue
        files[f"upper/{case}.sh"] = golden_part(upper)
        machinery = machinery.partition("\n")[2]
        name = names.setdefault(machinery, case)
        files[f"machinery/{name}.sh"] = machinery
        index += f"{case}: {name}\n"
    for site in SITES:
        job = parse_command([*map(str, site.words), "--", "train.py"])
        files[f"{site.name}.sh"] = golden_part(script(job))
    return {**files, "index": index}


def kept_files() -> set[str]:
    return {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()}


def test_the_golden_files_are_those_of_the_cases(update: bool) -> None:
    if update:
        for name in kept_files() - golden_files().keys():
            (GOLDEN / name).unlink()
        for name, text in golden_files().items():
            (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name).write_text(text, encoding="utf-8")
    assert kept_files() == golden_files().keys()
    assert (GOLDEN / "index").read_text() == golden_files()["index"]


@pytest.mark.parametrize("case", CASES)
def test_script_is_the_golden_one(case: str) -> None:
    files = golden_files()
    names = dict(line.split(": ") for line in files["index"].splitlines())
    is_whole = case in BY_HAND
    pieces = [f"byhand/{case}"] if is_whole else [f"upper/{case}", f"machinery/{names[case]}"]
    for name in pieces:
        assert files[f"{name}.sh"] == (GOLDEN / f"{name}.sh").read_text(encoding="utf-8")


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_the_upper_part_of_a_site_is_the_golden_one(site: SiteFacts) -> None:
    text = golden_files()[f"{site.name}.sh"]
    assert text == (GOLDEN / f"{site.name}.sh").read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["templates", "none"])
def test_the_sandbox_changes_no_byte(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {case: script_of(case) for case in CASES}
    (tmp_path / folder).mkdir()  # in a folder `templates` there may be some of the project
    monkeypatch.chdir(tmp_path)
    for case, job in CASES.items():
        assert script(job) == made[case]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_script_is_clean(case: str) -> None:
    text = script_of(case)
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("shellcheck is not installed")
    found = subprocess.run(
        [shellcheck, "--norc", "--shell=bash", "-"],
        input=text,
        text=True,
        capture_output=True,
        check=False,
    )
    assert found.stdout == ""


def shell_code(text: str) -> str:
    """A script without comments, without what is in quotes, and without the trainer."""
    text = re.sub(r"<< 'PYTHON'.*?^PYTHON$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"'[^'\n]*'", "''", text)
    text = re.sub(r'"[^"\n]*"', '""', text)
    return re.sub(r"(^|  )#.*", "", text, flags=re.MULTILINE)


def assigned_names(text: str) -> set[str]:
    """The variables in lower case to which a script assigns."""
    code = shell_code(text)
    found = set(re.findall(r"(?:^|[ (;{])([a-z]\w*)(?:\[\w+\])?\+?=", code, re.MULTILINE))
    for names in re.findall(r"\b(?:local|read|mapfile)((?: -\w+)*(?: \w+)*)", code):
        found |= {name for name in names.split() if re.fullmatch(r"[a-z]\w*", name)}
    for name in re.findall(r"\bfor (?:\(\()?(\w+)", code):
        found.add(name)
    return found


def test_no_variable_of_a_script_can_be_the_user_s() -> None:
    """A script that assigned to an exported variable would change it for the ranks."""
    assigned = set().union(*(assigned_names(script_of(case)) for case in CASES.keys() - BY_HAND))
    for part in (bundled("templates") / "machinery").rglob("*.sh"):
        assigned |= assigned_names(part.read_text())
    assert {"node", "head", "hosts", "status", "pid", "each", "nodes", "devices"} <= assigned
    assert {name for name in assigned if name.islower() and not is_reserved(name)} == set()
