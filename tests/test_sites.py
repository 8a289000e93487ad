"""The bundled profiles of public sites: what they generate, against the facts in tests/sites/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobgen.generator import find_profiles
from jobgen.paths import bundled
from jobgen.profiles.search import NOT_RUN
from tests.helpers import jobgen
from tests.site_facts import SITES, SiteFacts

PROFILES = sorted((Path(str(bundled("profiles"))) / "sites").glob("*.yaml"))
MACHINERY = "# ==== machinery of jobgen"
COMMENT = re.compile(r"(?:^|\s)#(.*)")


def generated(site: SiteFacts) -> str:
    """The script of the site's job without quotes, and without the comments of the upper part."""
    done = jobgen(*site.words, "--", "train.py")
    assert done.returncode == 0, done.stderr.decode()
    upper, mark, machinery = done.stdout.decode().partition(MACHINERY)
    upper = re.sub(r"^ *#(?!SBATCH|PBS).*\n|  # .*", "", upper, flags=re.MULTILINE)
    return re.sub("[\"']", "", upper + mark + machinery)


def has(text: str, wanted: str) -> bool:
    """Whether a text has the words `wanted`, as words of their own; a list may go on below."""
    words = r"\s+".join(map(re.escape, wanted.split(" ")))
    return bool(re.search(rf"(?<![^\s(]){words}(?=$|[\s;)])", text, re.MULTILINE))


def test_each_profile_has_its_facts_and_each_fact_its_profile() -> None:
    assert [file.stem for file in PROFILES] == [site.name for site in SITES]


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_what_the_site_publishes_is_in_the_script_and_nothing_that_it_forbids(
    site: SiteFacts,
) -> None:
    text = generated(site)
    upper = text.partition(MACHINERY)[0]
    lacking = [wanted for wanted in site.upper if not has(upper, wanted)]
    lacking += [wanted for wanted in site.ranks if not has(text, wanted)]
    forbidden = [pattern for pattern in site.never if re.search(pattern, upper)]
    assert (lacking, forbidden) == ([], []), upper


@pytest.mark.parametrize("file", PROFILES, ids=lambda file: file.stem)
def test_a_site_is_valid_and_says_that_it_was_not_run_there(file: Path) -> None:
    done = jobgen("profiles", "validate", str(file))
    assert done.returncode == 0, done.stdout.decode()
    profile = find_profiles().load(f"sites/{file.stem}").profile
    assert profile.description.endswith(NOT_RUN)
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


def sourced(text: str) -> list[str]:
    """The lines with a value that have no source: on them, or above them up to a blank line.

    A source is a [mark] that the head of the file explains, or a repository with a path. What is
    null is left to the default, and two nodes are the smallest job of several; they need none.
    """
    head = text.partition("\ndescription:")[0].replace("\n#", "")
    assert re.search(r"[Rr]ead (on )?\d{4}-\d\d-\d\d", head), "when was it read?"
    marks = set(re.findall(r"\[([\w-]+)\]", head))
    found, comments = [], ""
    for line in text.splitlines():
        comments = comments + " " + "".join(COMMENT.findall(line)) if line.strip() else ""
        value = line.partition("#")[0].strip()
        if not value or value.endswith((":", ": null")) or value == "nodes: 2":
            continue
        cited = set(re.findall(r"\[([\w-]+)\]", comments)) & marks
        if not (cited or re.search(r"\w[\w.-]+/[\w.-]+", comments)):
            found.append(line)
    return found


@pytest.mark.parametrize("file", PROFILES, ids=lambda file: file.stem)
def test_every_value_of_a_site_has_its_source(file: Path) -> None:
    assert sourced(file.read_text(encoding="utf-8")) == []


def test_a_value_without_a_source_is_found() -> None:
    head = "# Read 2026-11-22: [a] owner/repo, page.md\ndescription: x\n\n"
    body = "node:\n  cpus: 8\n  gpus: 4  # [a]\n  gpu: null\n\nlaunch:\n  # [b]\n  launcher: srun\n"
    assert sourced(head + body) == ["  cpus: 8", "  launcher: srun"]


def test_facts_name_their_pages() -> None:
    for site in SITES:
        assert site.source
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(site.read))
        assert bool(site.slurm) != bool(site.pbs)
