"""What the tests of the page share: its packages, and forms as people and others may fill them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest

from jobgen.generator import find_profiles
from jobgen.page.packages import PACKAGES, npm_command

ROOT = Path(__file__).parent.parent
PACKAGES_FOLDER = ROOT / ".cache/npm"

# Values of fields, most of them right.
VALUES = {
    "nodes": ["1", "2", "3", "7", "64", "2:4", "4+1", "0", "x"],
    "gpus_per_node": ["1", "2", "4", "99"],
    "time": ["30", "1:30:00", "2-0", "soon"],
    "program": [
        "train.py",
        "train.py --lr 0.1",
        "-m pkg.train --note 'two words'",
        "./run.sh ü",
        "a $b",
    ],
    "trainer": ["elastic_ddp", "regression"],
    "name": ["bert", "a b", "größe", "../x"],
    "account": ["physics", "a-1"],
    "partition": ["gpu", "a b"],
    "queue": ["gpu"],
    "environment": ["NCCL_DEBUG=INFO", "A=1\nB=it's $HOME", "UID=1", "HOME"],
    "software.modules": ["gcc", "gcc\ncuda/12.4"],
    "software.venv": ["/home/me/venv", "$HOME/venv"],
    "max_restarts": ["1", "3"],
    "requeue": ["on"],
    "stall": ["30"],
    "signal": ["120"],
    "launcher": ["torchrun", "srun", "mpiexec", "node"],
    "rendezvous": ["c10d", "static"],
    "plain": ["on"],
    "exclusive": ["on"],
    "shared": ["on"],
    "request.memory": ["64G", "all"],
    "network.interface": ["ib0", "hsn0\nhsn1"],
    "network.port": ["29500", "port"],
    "request.output": ["logs/%x-%j.out", "out.log"],
    "log_folder": ["/scratch/logs"],
    "mail": ["me@example.org"],
    "mail_on": ["begin,fail", "never"],
    "array": ["0-9%2", "9-0"],
    "after": ["4711", "4711:any\n4712"],
    "set_values": ["request.time=1:00:00", "launch.join_timeout=60\nnope=1"],
    "directives": ["--nice=100", "--nodes=9"],
}
OWN = "extends: {}\ndescription: größer\nlimits: {{nodes: 8}}\n"


@cache
def packages_or_skip() -> Path:
    """The folder with the packages of npm; without them, the test is skipped."""
    if not all((PACKAGES_FOLDER / each.archive).is_file() for each in PACKAGES):
        pytest.skip(f"no Pyodide: mkdir -p .cache/npm && {npm_command('.cache/npm')}")
    return PACKAGES_FOLDER


@cache
def profiles() -> list[str]:
    """The bundled profiles that the page offers: neither bases nor machines that have ended."""
    loader = find_profiles(Path("/dev/null"), environ={})
    names = (name for name in loader.files() if not name.startswith("fabrics/"))
    return sorted(name for name in names if loader.load(name).profile.state != "retired")


def random_form(random: Random) -> dict[str, str]:
    """A form with one of the profiles and a few fields."""
    form = {"profile": random.choice(profiles())}
    if random.random() < 0.1:
        form = {"profile": "-", "profile_text": OWN.format(form["profile"])}
    chosen = random.sample(sorted(VALUES), random.randrange(1, 7))
    # Of each list, the first values are the likeliest.
    for name in chosen:
        form[name] = VALUES[name][int(len(VALUES[name]) * random.random() ** 2)]
    return form
