"""The profiles of the registry, against the facts in tests/ and the scripts in tests/golden/."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from jobgen.generator import find_profiles
from jobgen.sources.check import sources_of
from tests.site_facts import SITES, SiteFacts
from tests.site_scripts import golden_part, script_of, unlike_its_facts

ROOT = Path(__file__).parent.parent
PROFILES = ROOT / "profiles"
PROOFS = sorted((PROFILES / "proofs").rglob("*.json"))
sys.path.append(str(ROOT / "checks"))

from registry import maintainers, name_of, profile_files  # noqa: E402

MACHINES = [file for file in profile_files() if file.parent.name != "fabrics"]


def jobgen(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jobgen", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def is_retired(name: str) -> bool:
    """Whether a machine has ended: no script is written for it."""
    profile = find_profiles().load(name).profile
    return profile.state == "retired" or bool(profile.ends and profile.ends < f"{date.today()}")


def test_each_profile_has_its_facts_and_each_fact_its_profile() -> None:
    of_facts, of_profiles = {site.name for site in SITES}, set(map(name_of, MACHINES))
    lacking = {name for name in of_profiles - of_facts if not is_retired(name)}
    assert not lacking, f"write the facts tests/NAME.yaml (tests/site_facts.py) of {lacking}"
    assert of_facts <= of_profiles, "facts without a profile"


@pytest.mark.parametrize("file", MACHINES, ids=name_of)
def test_a_profile_says_what_is_known_of_it(file: Path) -> None:
    profiles = find_profiles()
    profile = profiles.load(name_of(file)).profile
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", file.stem)
    assert profile.state, f"{file}: no `state`; of a new profile, `state: documented`"
    assert profile.scheduler, f"{file}: no `scheduler`"
    assert profile.account is None, f"{file}: `account` is each user's own; leave it out"
    sources = sources_of(profiles.tree_of(name_of(file)))
    assert sources.values, f"{file}: no `sources`: each value needs one (CONTRIBUTING.md)"
    has_passed = any(json.loads(proof.read_text())["passed"] for proof in proofs_of(name_of(file)))
    assert has_passed or profile.state != "ran", f"{file}: `state: ran` needs a proof that passed"


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_the_script_has_what_the_site_publishes_and_nothing_that_it_forbids(
    site: SiteFacts,
) -> None:
    if is_retired(site.name):
        pytest.skip("it has ended")
    script = script_of(site)
    assert unlike_its_facts(site, script) == [], script


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_the_script_is_the_golden_one(site: SiteFacts, update: bool) -> None:
    if is_retired(site.name):
        pytest.skip("it has ended")
    file = ROOT / f"tests/golden/{site.name}.sh"
    text = golden_part(script_of(site))
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    again = f"`python -m pytest tests -k {file.stem} --update` writes it"
    assert file.is_file(), f"tests/golden/{site.name}.sh is missing: {again}"
    assert text == file.read_text(encoding="utf-8"), f"tests/golden/{site.name}.sh differs: {again}"


def test_each_script_is_of_a_profile() -> None:
    names = {f"{file.parent.name}/{file.stem}" for file in ROOT.glob("tests/golden/*/*.sh")}
    assert names <= set(map(name_of, MACHINES))


def test_the_schema_is_that_of_jobgen(update: bool) -> None:
    file, printed = ROOT / "profile.schema.json", jobgen("profiles", "schema").stdout
    if update:
        file.write_text(printed, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == printed


def proofs_of(name: str) -> list[Path]:
    return sorted((PROFILES / "proofs" / name).glob("*.json"))


@pytest.mark.parametrize("file", PROOFS, ids=lambda file: str(file.relative_to(PROFILES)))
def test_a_proof_is_one_of_the_profile_whose_folder_it_is_in(file: Path) -> None:
    """It may be of older values; a new one may not (check.yml)."""
    done = jobgen("profiles", "proof", str(file))
    assert done.returncode in (0, 1), done.stderr
    name = file.parent.relative_to(PROFILES / "proofs").as_posix()
    assert json.loads(file.read_text())["profile"] == name


def test_a_maintainer_is_a_team_of_a_profile_that_is_here() -> None:
    maintainers()
