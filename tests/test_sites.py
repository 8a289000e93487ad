"""The bundled profiles of public sites: what they generate, against the facts in tests/sites/."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from jobgen.generator import Generator, find_profiles
from jobgen.paths import bundled
from jobgen.registry.validation import check_profile
from jobgen.sources.check import sources_of
from tests.helpers import jobgen
from tests.site_facts import SITES, SiteFacts
from tests.site_scripts import script_of, unlike_its_facts

PROFILES = [
    file
    for kind in ("machines", "sites")
    for file in sorted((Path(str(bundled("profiles"))) / kind).glob("*.yaml"))
]


def name_of(file: Path) -> str:
    """The name of a bundled profile, with its folder."""
    return f"{file.parent.name}/{file.stem}"


def is_retired(name: str) -> bool:
    """Whether the machine of a bundled profile has ended: no script is written for it."""
    profile = find_profiles().load(name).profile
    return profile.state == "retired" or bool(profile.ends and profile.ends < f"{date.today()}")


def test_each_profile_has_its_facts_and_each_fact_its_profile() -> None:
    names = [name for name in map(name_of, PROFILES) if not is_retired(name)]
    assert names == [site.name for site in SITES]


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_what_the_site_publishes_is_in_the_script_and_nothing_that_it_forbids(
    site: SiteFacts,
) -> None:
    script = script_of(site)
    assert unlike_its_facts(site, script) == [], script


@pytest.mark.parametrize("file", PROFILES, ids=name_of)
def test_a_site_is_valid_and_says_what_is_known_of_it(file: Path) -> None:
    assert check_profile(Generator(), str(file)) == []
    profile = find_profiles().load(name_of(file)).profile
    assert profile.state
    assert len(profile.description) < 120
    assert profile.scheduler
    assert profile.account is None


def test_limits_are_those_of_the_partition() -> None:
    """LUMI's small-g allows three days and four nodes, standard-g two days and 1,024 nodes."""
    words = ("sbatch", "--profile", "sites/lumi-g", "-A", "project_465000001", "--", "train.py")
    for partition, nodes, time in (("small-g", 4, "72:00:00"), ("standard-g", 1024, "48:00:00")):
        job = (*words[:5], "-p", partition, "-N", str(nodes), "-t", time, *words[5:])
        assert jobgen(*job).returncode == 0
        for wrong in ((str(nodes), str(nodes + 1)), (time, "73:00:00")):
            assert jobgen(*[wrong[1] if word == wrong[0] else word for word in job]).returncode == 2


@pytest.mark.parametrize("file", PROFILES, ids=name_of)
def test_every_value_has_its_source(file: Path) -> None:
    """`profiles validate` checks it for a file with `sources`; a bundled one has to have them."""
    sources = sources_of(find_profiles().tree_of(name_of(file)))
    assert sources.documents
    assert sources.values


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_differences_name_lines_of_the_script_of_the_site(site: SiteFacts) -> None:
    documents = sources_of(find_profiles().tree_of(site.name)).documents
    assert not site.script or site.script in documents
    assert not site.differs or site.script
    for each in site.differs:
        assert set(each) == {"line", "theirs", "ours", "why"}, each
    assert bool(site.slurm) != bool(site.pbs)
