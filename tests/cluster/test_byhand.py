"""Lines by hand, pasted into a shell on each host."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobgen import trainers
from tests.cluster.harness import Cluster
from tests.cluster.jobs import generate
from tests.cluster.site import lab
from tests.hostile import ARGUMENTS, literal

pytestmark = pytest.mark.thorough

HOSTS = ("blancapeak003", "blancapeak004")


def paste(cluster: Cluster, folder: Path, text: str, host: str) -> subprocess.CompletedProcess[str]:
    """What is for every host, and then what is for this one, typed into its bash."""
    common, *own = re.split(r"^# ---- on (?!every host)", text, flags=re.MULTILINE)
    (mine,) = [part for part in own if part.startswith(f"{host} ----")]
    typed = f"cd '{folder}'\n{common}# {mine}\n"
    return cluster.on(host, "bash", "-s", input=typed, cwd=folder, timeout=120)


def ranks(cluster: Cluster, folder: Path, words: Sequence[str], hosts: Sequence[str]) -> str:
    text = generate("byhand", *lab(ranks=1), "--hosts", ",".join(hosts), *words, cwd=folder)
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda host: paste(cluster, folder, text, host), hosts))
    assert [one.returncode for one in done] == [0] * len(hosts), done
    return "".join(one.stdout for one in done)


@pytest.mark.parametrize("profile", ["eap", "dgx-a100"])  # the latter names no interface
def test_two_hosts(cluster: Cluster, tmp_path: Path, profile: str) -> None:
    (tmp_path / "elastic_ddp.py").write_text(trainers.source("elastic_ddp"))
    words = ("--profile", profile, "--set", "launch.join_timeout=60")
    shown = ranks(cluster, tmp_path, words, HOSTS)
    assert "All 2 ranks took one DDP step together" in shown
    for host in HOSTS:
        assert shown.count(f"(node {host}, device cpu") == 1


@pytest.mark.parametrize(("words", "hosts"), [(("--rendezvous", "static"), HOSTS), ((), HOSTS[:1])])
def test_other_ways_to_meet(
    words: tuple[str, ...], hosts: tuple[str, ...], cluster: Cluster, tmp_path: Path
) -> None:
    """Without torch in the ranks, which takes them seconds."""
    text = "import os\nprint('rank {RANK} of {WORLD_SIZE}'.format(**os.environ))\n"
    (tmp_path / "show.py").write_text(text)
    command = ("--profile", "eap", *words, "--set", "launch.join_timeout=60", "--", "show.py")
    shown = ranks(cluster, tmp_path, command, hosts)
    wanted = [f"rank {rank} of {len(hosts)}" for rank in range(len(hosts))]
    assert sorted(re.findall(r"rank \d of \d", shown)) == wanted


@pytest.mark.parametrize("shell", ["zsh -f -i", "bash --norc -i"])
def test_a_comment_runs_nothing_at_a_prompt(shell: str, tmp_path: Path) -> None:
    """To zsh, a # there is a command as any other."""
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"no {shell.split()[0]} here")
    why = "a reason; touch pwned $(touch pwned)"
    variable = f"network.environment.MINE={{value: a, why: '{why}'}}"
    torchrun = tmp_path / "bin/torchrun"
    torchrun.parent.mkdir()
    torchrun.write_text('#!/bin/sh\necho "$MINE $*" >> shown\n')
    torchrun.chmod(0o755)
    venv = ("--set", f"software.venv={tmp_path}")
    words = ("--profile", "eap", *lab(ranks=1), *venv, "--set", variable, "--hosts", "a,b")
    text = generate("byhand", *words, "--", "x.py", cwd=tmp_path)
    subprocess.run(shell.split(), input=text, cwd=tmp_path, text=True, check=True, timeout=60)
    assert (tmp_path / "shown").read_text().count("a --nnodes=2 ") == 2
    assert not (tmp_path / "pwned").exists()


def test_hostile_words_arrive(cluster: Cluster, tmp_path: Path) -> None:
    hostile = "".join(ARGUMENTS)
    program = tmp_path / "show.py"
    program.write_text(
        "import os, sys\nopen('shown', 'w').write(ascii([sys.argv[1:], os.environ['MINE']]))\n"
    )
    words = (
        "--profile",
        "eap",
        "--set",
        "launch.processes_per_node=1",
        "-e",
        f"MINE={literal(hostile)}",
    )
    text = generate(
        "byhand", *lab(ranks=1), *words, "--hosts", HOSTS[0], "--", "show.py", *ARGUMENTS,
        cwd=tmp_path,
    )  # fmt: skip
    done = paste(cluster, tmp_path, text, HOSTS[0])
    assert done.returncode == 0, done
    assert (tmp_path / "shown").read_text() == ascii([ARGUMENTS, hostile])
    assert not list(tmp_path.rglob("pwned"))
