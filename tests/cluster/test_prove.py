"""`jobgen profiles prove` on the real Slurm: a job that passes, and one that does not."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from jobgen.cli.app import run_words
from tests.cluster.jobs import ON_CPU, PATH, Desk, PbsDesk, generate
from tests.cluster.site import lab

NODE = "smc-r07-08"
WORDS = (*ON_CPU, "-N", "2", "-G", "1", "-A", "okapi-7", "--set", "network.interface=hsn0")
FILE = "proof-mi210.json"


def prove(desk: Desk) -> int:
    """`jobgen profiles prove mi210 … | sbatch`, by a user and in a folder with names of their own.

    Returns the job's id.
    """
    script = generate("profiles", "prove", "mi210", *WORDS, cwd=desk.folder)
    names = {"PATH": PATH, "USER": "quagga", "LOGNAME": "quagga", "PI_EMAIL": "dodo@example.org"}
    return desk.cluster.sbatch(script, cwd=desk.folder, env=names)


def read(desk: Desk) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((desk.folder / FILE).read_text())
    return values


def test_two_nodes_pass(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = desk.folder / "thylacine"
    folder.mkdir()
    desk = Desk(desk.cluster, folder)
    job = prove(desk)
    done = desk.cluster.wait(job, 180)
    assert done.state == "COMPLETED", done.output
    assert f"\njobgen profiles prove: all passed: {FILE}\npublish this file alone: " in done.output
    values = read(desk)
    assert (values["passed"], values["failed"]) == (True, [])
    assert (values["nodes"], values["ranks"]) == (2, 2)
    assert values["bandwidth"] > 0
    assert values["networks"] == ["gloo over TCP"]
    assert {"jobgen", "python", "torch", "slurm"} <= {*values["versions"]}
    assert {*values["options"]} == {
        "-A", "-G", "--set software.container", "--set node.gpu", "--set network.interface",
        "-e",
    }  # fmt: skip
    assert_no_name(folder / FILE, done.labelled)
    monkeypatch.chdir(folder)
    assert run_words(["profiles", "proof", FILE]) == 2  # it ran as no job of mi210 does
    wrong = capsys.readouterr().err
    for text in ("has --set node.gpu, ", "`ranks` is 2 on 2 nodes, ", "has gloo over TCP, "):
        assert f"{FILE}: `" in wrong
        assert text in wrong


def assert_no_name(file: Path, output: str) -> None:
    """The file names no user, host, address, folder or account of the cluster."""
    nodes = [host for host in ("smc-r07-07", NODE) if host in output]
    assert len(nodes) == 2, output  # the job's own output has them
    names = [*nodes, *file.parent.parts[1:], "quagga", "okapi-7", "dodo", "10.72.0", "hsn0"]
    names += ["root", os.uname().nodename]
    text = file.read_text().replace("mi210", "")
    assert [name for name in names if name.lower() in text.lower()] == []


@pytest.mark.thorough
def test_a_rank_that_is_killed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = prove(desk)
    output, limit = desk.folder / f"doctor-{job}.out", time.monotonic() + 120
    while not (output.exists() and "between two nodes" in output.read_text()):
        assert time.monotonic() < limit, output.exists() and output.read_text()
        time.sleep(0.1)
    desk.cluster.on(NODE, "pkill", "-KILL", "-f", "doctor.py --proof")
    done = desk.cluster.wait(job, 180)
    assert done.state == "FAILED", done.output
    values = read(desk)
    assert values["passed"] is False
    assert values["failed"][-1] == "network"
    assert not {"start", "nodes", "bandwidth"} & {*values["failed"]}
    monkeypatch.chdir(desk.folder)
    assert run_words(["profiles", "proof", FILE]) == 1
    assert f"{FILE}: mi210 did not pass on " in capsys.readouterr().out


@pytest.mark.thorough
def test_two_nodes_of_pbs(pbs: PbsDesk) -> None:
    words = ("profiles", "prove", "eap", *lab(ranks=1), "-N", "2", "--json", "p.json")
    done = pbs.site.wait(pbs.send(generate(*words, cwd=pbs.folder)), pbs.folder)
    assert done.status == 0, done.output
    values = json.loads((pbs.folder / "p.json").read_text())
    assert values["passed"], done.output
    assert (values["profile"], values["nodes"], values["ranks"]) == ("eap", 2, 2)
    assert str(pbs.folder) not in (pbs.folder / "p.json").read_text()
