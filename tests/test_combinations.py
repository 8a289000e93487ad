"""Every combination that the planner does not refuse: each machinery is whole, and has no more."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations as combinations_of
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("tree_sitter_bash")

from jobgen.planning.plan import Plan
from jobgen.profiles.search import ProfileSearch
from jobgen.scripts.features import features
from jobgen.scripts.parts import PARTS, Part, chosen_parts
from jobgen.scripts.render import Templates, part_text
from tests.bash_names import Names, names_in
from tests.combinations import combinations
from tests.test_machinery import split, without_carried

TEMPLATES = Templates(ProfileSearch())  # which reads each template once

Machineries = dict[tuple[Part, ...], Plan]

# What a job's nodes have beside bash: each is checked, comes with the scheduler, or is in the base
# of a distribution (coreutils, diffutils, util-linux, grep, sed, awk, findutils, iproute2, tar).
COMMANDS = set(
    "awk cat chmod comm cp cut date dd df diff dmesg enroot env find flock getent git grep head id"
    " install ip ln mkdir mktemp mountpoint mv nproc nvidia-smi paste realpath rm rmdir sbcast"
    " scancel scontrol sed sha256sum sleep sort squeue srun ss stat tail tar tee timeout touch tr"
    " uname uniq unsquashfs wc xargs".split()
)
OF_THE_UPPER_PART = {"software", "ranks", "container", "prepare_node", "stage_values"}


class Tried(NamedTuple):
    machineries: Machineries  # a plan for each
    count: int
    refused: int


@cache
def tried(all_details: bool = False) -> Tried:
    found: dict[frozenset[str], Plan] = {}
    count = refused = 0
    for plan in combinations(all_details):
        count, refused = count + 1, refused + (plan is None)
        if plan:
            found.setdefault(features(plan), plan)
    machineries: Machineries = {}
    for plan in found.values():
        machineries.setdefault(chosen_parts(features(plan)), plan)
    return Tried(machineries, count, refused)


@cache
def functions_of_shell() -> frozenset[str]:
    done = subprocess.run(
        ["bash", "-c", "compgen -b -k"], capture_output=True, text=True, check=True
    )
    return frozenset(done.stdout.split())


@cache
def part_names(part: Part) -> Names:
    return names_in(part_text(part))


def upper_names(plan: Plan) -> Iterator[Names]:
    """The names in each block of the upper part: many scripts have the same ones."""
    upper = without_carried("\n".join(split(TEMPLATES.render(plan).decode())[0]))
    return map(names_in, re.split(r"\n\n(?=\S)", upper)[1:])


def united(names: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*names)


@cache
def functions_of_parts() -> frozenset[str]:
    return united(part_names(part).defined for part in PARTS)


def guarded(parts: tuple[Part, ...]) -> set[str]:
    """Functions that a script may lack: it asks for them, or starts no node that runs them."""
    starts_none = any("each_node=(" in part_text(part) for part in parts)
    asked = (re.findall(r"declare -F (\w+)", part_text(part)) for part in parts)
    return {name for names in asked for name in names} | ({"evidence"} if starts_none else set())


def faults(parts: tuple[Part, ...], plan: Plan) -> Iterator[str]:
    """What is wrong with the names in a script."""
    own = [part_names(part) for part in parts]
    names = Names(*map(united, zip(*own, *upper_names(plan), strict=True)))
    used = names.words | names.commands
    functions = functions_of_parts() | OF_THE_UPPER_PART
    has = names.defined | guarded(parts)
    yield from (f"{name} is called" for name in functions & used - has)
    yield from (f"{name} is never called" for name in names.defined - used)
    commands = united(each.commands for each in own)
    others = commands - functions - COMMANDS - functions_of_shell()
    yield from (f"{name} is no command" for name in others)
    has_value = names.assigned | names.read_with_default
    yield from (f"{name} is not assigned" for name in names.read - has_value)
    values = {value for part in parts for value in part.values.split()}
    yield from (f"no line reads {name}" for name in values - names.read - names.read_with_default)


def wrong_names(machineries: Machineries) -> dict[str, str]:
    """What is wrong, each with the shortest machinery in which it is."""
    found: dict[str, list[str]] = {}
    for parts, plan in machineries.items():
        for fault in faults(parts, plan):
            found.setdefault(fault, []).append(" ".join(part.name for part in parts))
    return {fault: min(texts, key=len) for fault, texts in sorted(found.items())}


def report(found: Tried, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        count, refused, kinds = found.count, found.refused, len(found.machineries)
        print(f"\n{count} combinations, {refused} of them refused: {kinds} machineries")


def covering(machineries: Machineries) -> list[Plan]:
    """Plans for some of them, with all pairs of parts that occur together in one."""
    found, seen = [], set[tuple[str, ...]]()
    for parts in sorted(machineries, key=len, reverse=True):
        pairs = set(combinations_of((part.name for part in parts), 2))
        if not pairs <= seen:
            seen |= pairs
            found.append(machineries[parts])
    return found


@pytest.mark.thorough
@pytest.mark.slow
def test_every_machinery_is_whole_and_has_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    """In one test, since each process has to try all combinations."""
    report(tried(), capsys)
    assert wrong_names(tried().machineries) == {}
    used = {part for parts in tried().machineries for part in parts}
    assert set(PARTS) - used == set()
    # Many at once: that is no other language than one of them.
    text = "".join(
        f"({TEMPLATES.render(plan).decode()}\n)\n" for plan in covering(tried().machineries)
    )
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
@pytest.mark.slow
def test_shellcheck_has_no_finding(tmp_path: Path) -> None:
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("shellcheck is not installed")
    plans = covering(tried().machineries)
    for number, plan in enumerate(plans):
        (tmp_path / f"{number}.sh").write_text(TEMPLATES.render(plan).decode(), encoding="utf-8")
    files = [str(path) for path in tmp_path.iterdir()]
    done = subprocess.run(
        [shellcheck, "--norc", "--shell=bash", "--format=gcc", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert {line.partition(" ")[2] for line in done.stdout.splitlines()} == set()


@pytest.mark.thorough
def test_machineries_of_all_details_together_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    found = tried(all_details=True)
    report(found, capsys)
    others = {
        parts: plan for parts, plan in found.machineries.items() if parts not in tried().machineries
    }
    assert wrong_names(others) == {}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.name}, {part.having}")
def test_a_part_reads_its_values(part: Part) -> None:
    """Lists that start something are read where they are made longer; `logs` has `job` in it."""
    names = part_names(part)
    used = names.read | names.read_with_default | (names.assigned & {"each_node", "start_ranks"})
    used |= {"job"} if "logs" in used else set()
    assert set(part.values.split()) - used == set()
