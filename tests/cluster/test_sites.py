"""Bundled profiles of public sites: a scheduler like the site's takes the scripts, and they run."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster
from tests.cluster.jobs import Desk, generate
from tests.cluster.site import ONE_THREAD, OpenPbs, Site
from tests.cluster.site_controller import Controller
from tests.site_facts import SITES, SiteFacts

# What the nodes here lack: the partition, GPUs of a type, modules, many cores, the architecture.
HERE = (
    *("-p", "dgx", "-N", "2", "-G", "2", "--set", "node.gpu=none", "--set", "node.gpu_type=null"),
    *("--set", "node.cpus=8", "--set", "node.arch=null", "--set", "request.memory=null"),
    *("--set", "software.modules=[]", "--set", "software.commands=[]"),
    *("--set", "software.venv=null", "--set", "network.interface=hsn0", *ONE_THREAD),
)
# One write for the whole line: the ranks of a node have one pipe, and print() writes its parts.
SHOW = """import os
os.write(1, f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}\\n".encode())
"""
# Stands in for the engine: runs what follows the image without it.
ENGINE = """#!/bin/bash
echo "singularity of ${SLURMD_NODENAME}"
while [[ $1 != *.sif ]]; do shift; done
shift
exec "$@"
"""


@pytest.mark.thorough
@pytest.mark.parametrize("site", [site for site in SITES if site.slurm], ids=lambda s: s.name)
def test_a_slurm_with_what_the_site_has_takes_the_script(
    site: SiteFacts, cluster: Cluster, tmp_path: Path
) -> None:
    script = generate(*site.words, "--mkdir", "--", "true", cwd=tmp_path)
    folder = tmp_path / "site"
    folder.mkdir()
    with Controller(cluster, folder, site.slurm) as controller:
        taken, answer = controller.test_only(script)
        assert taken, answer
        assert " to start at " in answer
        for options in site.slurm["refuses"]:
            taken, answer = controller.test_only(script, list(map(str, options)))
            assert not taken, (options, answer)


@pytest.mark.parametrize("site_facts", [site for site in SITES if site.pbs], ids=lambda s: s.name)
def test_a_pbs_with_what_the_site_has_takes_the_script(
    site_facts: SiteFacts, site: Site, tmp_path: Path
) -> None:
    """Held, since its nodes are not here; on OpenPBS, which checks queues, limits and resources."""
    if not isinstance(site, OpenPbs):
        pytest.skip("the stand-in takes any resource")
    queues = site_facts.pbs["queues"]
    resources = site_facts.pbs.get("resources", {})
    manage(site, *[f"create resource {name} type={kind}" for name, kind in resources.items()])
    try:
        for name, limits in queues.items():
            set_limits = [f"set queue {name} {key} = {value}" for key, value in limits.items()]
            manage(site, f"create queue {name} queue_type=execution,enabled=true", *set_limits)
        script = generate(*site_facts.words, "--", "true", cwd=tmp_path)
        done = site.tool("qsub", "-f", "-h", input=script)
        assert done.returncode == 0, done.stderr
        # -x: without its history, which would keep the resources in use.
        site.tool("qdel", "-x", done.stdout.strip())
        for options in site_facts.pbs["refuses"]:
            done = site.tool("qsub", "-f", "-h", *options, input=script)
            assert done.returncode != 0, options
    finally:
        wait_until_empty(site, list(queues))
        manage(site, *[f"delete queue {name}" for name in queues])
        manage(site, *[f"delete resource {name}" for name in resources])


def manage(site: OpenPbs, *commands: str) -> None:
    """qmgr, as root."""
    for command in commands:
        words = [str(site.folder / "bin/qmgr"), "-c", command]
        done = site.cluster.run(words)
        assert done.returncode == 0, (command, done.stderr)


def wait_until_empty(site: OpenPbs, queues: list[str]) -> None:
    """Until no job is in these queues, which else cannot be deleted."""
    limit = time.monotonic() + 30
    while any(site.tool("qselect", "-q", name).stdout.strip() for name in queues):
        assert time.monotonic() < limit
        time.sleep(0.2)


def ran(desk: Desk, *words: str) -> str:
    """The output of a site's job here; four ranks have to report."""
    done = desk.run(*words, "--set=request.output=out", "--", desk.program("show.py", SHOW))
    assert done.state == "COMPLETED", done.output
    found = sorted(re.findall(r"^rank (\d) of (\d)$", done.output, re.MULTILINE))
    assert found == [(str(rank), "4") for rank in range(4)], done.output
    return done.output


def test_torchrun_of_roihu_runs(desk: Desk) -> None:
    ran(desk, "--profile", "sites/roihu", *HERE)


def test_ranks_of_srun_of_isambard_run(desk: Desk) -> None:
    ran(desk, "--profile", "sites/isambard-ai", *HERE)


def test_container_of_lumi_runs(desk: Desk) -> None:
    """With a stand-in for singularity, whose folder is on PATH; without numactl and /scratch."""
    folder = desk.folder / "bin"
    folder.mkdir()
    (folder / "singularity").write_text(ENGINE)
    (folder / "singularity").chmod(0o755)
    # A login has USER; who submits here has none.
    path = f"export USER=root PATH={folder}:{Path(sys.executable).parent}:$PATH"
    words = ["--set", f"software.commands=['{path}']", "--set", "launch.numa_binding=null"]
    words += ["--set", "software.once_per_node=[]", "-A", "project_465000001"]
    output = ran(desk, "--profile", "sites/lumi-g", *HERE, *words)
    for node in ("dgx01", "dgx02"):
        assert f"singularity of {node}" in output
