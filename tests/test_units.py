"""Times and sizes as people write them: what they become, and that the keys take them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobgen.generator import find_profiles
from jobgen.planning.job_options import Job
from jobgen.profiles.units import seconds_of, size_of
from tests.helpers import script


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("24h", 86400),
        ("2d", 172800),
        ("90m", 5400),
        ("1d12h", 129600),
        ("1h30m", 5400),
        ("1 h 30 min", 5400),
        ("30min", 1800),
        ("2 days", 172800),
        ("1 hour", 3600),
        ("3HRS", None),
        ("3Hrs", 10800),
        ("1.5h", 5400),
        ("0.25d", 21600),
        ("45s", 45),
        ("1w", 604800),
        ("2 weeks", 1209600),
        ("90 sec", 90),
        ("0h", 0),
        ("90", None),
        ("1h30", None),
        ("30m1h", None),
        ("1:30h", None),
        ("h", None),
        ("", None),
        ("-1h", None),
        ("1e3h", None),
        ("٣h", None),
        ("9999999999h", None),
    ],
)
def test_a_time(text: str, seconds: int | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100GB", "100G"),
        ("100 GiB", "100G"),
        ("512 G", "512G"),
        ("64g", "64G"),
        ("64gb", "64G"),
        ("1.5T", "1536G"),
        ("0.5 TiB", "512G"),
        ("1.3T", "1331G"),
        ("2T", "2T"),
        ("100MB", "100M"),
        ("512", None),
        ("1.5", None),
        ("0G", None),
        ("0.0G", None),
        ("1.5K", None),
        ("G", None),
        ("100XB", None),
        ("100B", None),
        ("1000000000G", None),
        ("٣G", None),
    ],
)
def test_a_size(text: str, size: str | None) -> None:
    assert size_of(text) == size


def test_every_key_of_a_time_takes_a_unit(tmp_path: Path) -> None:
    file = tmp_path / "units.yaml"
    file.write_text(
        "scheduler: slurm\nlimits: {time: 2 days, partitions: {a: {time: 12h}}}\n"
        "request: {time: 1d12h, memory: 100 GiB}\nnode: {memory: 0.5TB}\n"
        "launch: {stall: 2h, signal: 5 min, stop_grace: 10s, kill_delay: 1m, join_timeout: 1h}\n"
    )
    profile = find_profiles().load(str(file)).profile
    assert (profile.node.memory, profile.request.memory) == ("512G", "100G")
    launch = profile.launch
    assert (launch.stall, launch.signal, launch.join_timeout) == (120, 300, 3600)
    assert (launch.stop_grace, launch.kill_delay) == (10, 60)


def test_a_unit_means_the_same_for_both_schedulers() -> None:
    """And a number alone what it means to each."""
    lines = {
        ("sbatch", "mi210", "24h"): "#SBATCH --time=1-00:00:00",
        ("sbatch", "mi210", "90m"): "#SBATCH --time=01:30:00",
        ("sbatch", "mi210", "90"): "#SBATCH --time=01:30:00",
        ("qsub", "eap", "24h"): "#PBS -l walltime=24:00:00",
        ("qsub", "eap", "90m"): "#PBS -l walltime=01:30:00",
        ("qsub", "eap", "90"): "#PBS -l walltime=00:01:30",
    }
    for (command, profile, time), line in lines.items():
        assert line in script(Job(command, profile, time=time)).splitlines()
    values = ("node.memory=null", "request.memory=100GB")
    assert "#SBATCH --mem=100G\n" in script(Job("sbatch", "mi210", set_values=values))
    assert ":mem=100gb" in script(Job("qsub", "eap", set_values=values))
