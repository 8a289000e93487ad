"""`jobgen profiles prove` and `proof`: the job's script, the file, and what is refused in one."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen import __version__
from jobgen.doctor import proof as proofs
from jobgen.doctor.proof import Proof, in_words, newest_proof, profile_hash, read_proof
from jobgen.doctor.proof_rules import check_counts
from jobgen.errors import JobgenError
from jobgen.generator import find_profiles
from jobgen.paths import bundled
from jobgen.profiles.model import ROOT
from jobgen.trainers.checkup.proof_words import CHECKS, NETWORKS, plain_version
from tests.run_trainers import import_trainer
from tests.site_build import hook
from tests.test_cli import ROOT as CHECKOUT
from tests.test_cli import jobgen

pytestmark = pytest.mark.slow

TODAY = date(2026, 11, 29)
PROOF: dict[str, Any] = {
    "format": 1,
    "profile": "sites/lumi-g",
    "hash": profile_hash(find_profiles(CHECKOUT).load("sites/lumi-g")),
    "options": ["-A", "--set software.venv"],
    "day": "2026-11-20",
    "nodes": 2,
    "ranks": 16,
    "versions": {"jobgen": "1.1.0", "torch": "2.9.1", "slurm": "24.05.8"},
    "bandwidth": 91.4,
    "networks": ["aws-ofi-nccl"],
    "passed": True,
    "failed": [],
}
LINE = "ran on 2 nodes on 2026-11-20 (9 days ago), 91.4 GB/s between two of them, over aws-ofi-nccl"


def write(file: Path, **values: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**PROOF, **values}))
    return file


def facts_in(script: str) -> dict[str, Any]:
    (found,) = re.findall(r"^#   jobgen .* --of '(.*)'$", script, re.MULTILINE)
    facts: dict[str, Any] = json.loads(found)
    return facts


def test_the_script_is_that_of_a_job_of_doctor(tmp_path: Path) -> None:
    words = ("-A", "okapi", "--set", "software.modules=[quagga]", "-e", "DODO=1")
    done = jobgen("profiles", "prove", "sites/lumi-g", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr.decode()) == (
        0,
        "jobgen: warning: with -e, the proof is none of sites/lumi-g: it replaces its"
        " `network.environment`\n",
    )
    command, _, facts = done.stdout.decode().split("\n")[2].partition(" --of ")
    assert command == (
        "#   jobgen sbatch --profile sites/lumi-g -N 2 -t 0:15:00 -A okapi --trainer doctor"
        " -e DODO=1 --set 'software.modules=[quagga]' -- --proof proof-lumi-g.json"
    )
    assert facts_in(done.stdout.decode()) == {
        "profile": "sites/lumi-g",
        "hash": PROOF["hash"],
        "options": ["-A", "-e", "--set software.modules"],
        "jobgen": __version__,
    }
    assert not re.search("okapi|quagga|DODO", facts)


def test_the_script_for_pbs_with_another_file(tmp_path: Path) -> None:
    words = ("-N", "2", "-t", "5m", "-q", "debug", "-A", "okapi", "--json", "out/p.json")
    done = jobgen("profiles", "prove", "sites/polaris", *words, cwd=tmp_path)
    text = done.stdout.decode()
    assert "\n#   jobgen qsub --profile sites/polaris -N 2 -t 5m -q debug -A okapi " in text
    assert " -- --proof out/p.json --of " in text
    assert facts_in(text)["options"] == ["-t", "-q", "-A"]


def test_a_profile_by_its_path_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "profiles/sites").mkdir(parents=True)
    (tmp_path / "profiles/sites/own.yaml").write_text("extends: mi210\n")
    for name in ("profiles/sites/own.yaml", "sites/own"):
        done = jobgen("profiles", "prove", name, cwd=tmp_path)
        assert facts_in(done.stdout.decode())["profile"] == "sites/own", done.stderr
    (tmp_path / "other.yaml").write_text("extends: mi210\n")
    done = jobgen("profiles", "prove", "./other.yaml", cwd=tmp_path)
    assert facts_in(done.stdout.decode())["profile"] == "other"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("local",), "PROFILE: local is of this machine alone, where a job proves nothing; name"),
        (("mi210", "-N", "1"), "-N: a proof needs two nodes or more; write -N 2 [value]"),
        (("mi210", "-q", "x"), "--queue: `jobgen sbatch`, which makes the scripts for mi210, has"),
        (("sites/none",), "--profile: no profile `sites/none`"),
    ],
)
def test_wrong_words(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = jobgen("profiles", "prove", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"jobgen: {message}"), done.stderr


def test_the_exit_code_says_what_a_file_is(tmp_path: Path) -> None:
    good = write(tmp_path / "good.json", day=date.today().isoformat())
    old = write(tmp_path / "old.json", hash="0" * 64)
    failed = write(tmp_path / "failed.json", passed=False, failed=["training"], bandwidth=None)
    wrong = write(tmp_path / "wrong.json", user="okapi")

    def check(*files: Path) -> tuple[int, str, str]:
        names = [file.name for file in files]
        done = jobgen("profiles", "proof", *names, cwd=tmp_path)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    code, out, _ = check(good)
    assert (code, out) == (
        0,
        f"good.json: sites/lumi-g ran on 2 nodes on {date.today()} (today), 91.4 GB/s between two"
        " of them, over aws-ofi-nccl, with -A --set software.venv\n",
    )
    code, out, _ = check(good, old)
    assert code == 1
    assert out.endswith("; its values have changed since\n")
    code, out, _ = check(failed)
    assert code == 1
    assert out.startswith("failed.json: sites/lumi-g did not pass on 2026-11-20 (")
    assert out.endswith(": no step of DDP with the same weights on all ranks\n")
    code, out, err = check(failed, wrong, good)
    assert (code, len(out.splitlines())) == (2, 2)
    assert err.startswith("jobgen: wrong.json: unknown key `user`; ")
    assert check(tmp_path / "none.json")[2] == (
        "jobgen: none.json: cannot be read: No such file or directory [proof]\n"
    )
    code, _, err = check(write(tmp_path / "p.json", profile="sites/nowhere"))
    assert (code, err.startswith("jobgen: --profile: no profile `sites/nowhere`")) == (2, True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": 2}, "`format` is not 1"),
        ({"format": True}, "`format` is not 1"),
        ({"profile": "../x y"}, "`profile` is not the name of a profile"),
        ({"hash": "0"}, "`hash` is not a SHA-256, 64 digits"),
        ({"options": ["-A okapi"]}, "`options` is not a list of options without their values"),
        ({"options": ["--set network.environment.OKAPI"]}, "`options` is not"),
        ({"options": ["--set"]}, "`options` is not"),
        ({"options": "-A"}, "`options` is not"),
        ({"day": "today"}, "`day` is not a day, such as 2026-11-29"),
        ({"day": "20261129"}, "`day` is not a day"),
        ({"nodes": 0}, "`nodes` is not a number of nodes, or null"),
        ({"nodes": True}, "`nodes` is not"),
        ({"nodes": 1}, "it passed, with fewer than two nodes or without a bandwidth"),
        ({"ranks": 2.5}, "`ranks` is not"),
        ({"ranks": None}, "it passed, with fewer than two nodes or without a bandwidth"),
        ({"versions": {"torch": "2.9.1+okapi"}}, "`versions` is not a map to versions"),
        ({"versions": {"okapi": "1.0"}}, "`versions` is not"),
        ({"versions": []}, "`versions` is not"),
        ({"bandwidth": "fast"}, "`bandwidth` is not a number of GB/s, or null"),
        ({"bandwidth": float("nan")}, "`bandwidth` is not"),
        ({"bandwidth": None}, "it passed, with fewer than two nodes or without a bandwidth"),
        ({"networks": ["okapi"]}, f"`networks` is not a list of: {', '.join(NETWORKS)}"),
        ({"networks": [[]]}, "`networks` is not"),
        ({"failed": ["okapi"], "passed": False}, "`failed` is not a list of: start, nodes,"),
        ({"failed": ["sums"]}, "`passed` is true with an empty list `failed` alone"),
        ({"passed": False}, "`passed` is true with an empty list `failed` alone"),
        ({"passed": 1}, "`passed` is not true or false"),
        ({"account": "okapi"}, "unknown key `account`"),
    ],
)
def test_each_value_is_checked(values: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", **values)
    with pytest.raises(JobgenError) as error:
        read_proof(file)
    assert f"{file}: {message}" in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"options": ["--set node.gpus"]},
            "`options` has --set node.gpus, so that the job did not ",
        ),
        (
            {"options": ["--set network.environment"]},
            "`network.environment`; change the profile if",
        ),
        ({"options": ["-e"]}, "did not run with the profile's `network.environment`"),
        (
            {"options": ["--set software.container.image"]},
            "the profile's `software.container.image`",
        ),
        ({"options": ["--set software"]}, "did not run with the profile's `software`"),
        (
            {"options": ["--set launch.launcher"]},
            "did not run with the profile's `launch.launcher`",
        ),
        ({"options": ["--set software.after_modules"]}, "the profile's `software.after_modules`"),
        (
            {"ranks": 2},
            "`ranks` is 2 on 2 nodes, and the profile has 8 on each; prove it with whole",
        ),
        ({"ranks": 800}, "`ranks` is 800 on 2 nodes, and the profile has 8 on each"),
        (
            {"networks": ["gloo over TCP"]},
            "`networks` has gloo over TCP, which is for CPUs, and the",
        ),
        ({"bandwidth": 9999}, "`bandwidth` is 9999 GB/s, with 16 ranks on 2 nodes; no network has"),
        ({"day": "2999-01-01"}, "`day` is in the future: it is 20"),
        ({"day": "2999-01-01", "passed": False, "failed": ["sums"]}, "`day` is in the future"),
    ],
)
def test_a_proof_that_counts_for_no_profile(
    values: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "p.json", **values)
    done = jobgen("profiles", "proof", "p.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    if "day" not in values and "bandwidth" not in values:  # what the profile was is not known
        write(file, **values, hash="0" * 64)
        assert jobgen("profiles", "proof", "p.json", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("name", "options", "ranks", "networks"),
    [
        ("sites/leonardo", ["-A", "-t", "--set software.venv", "--set software.modules"], 8, []),
        ("sites/aurora", ["-A", "-q", "--directive"], 24, ["oneCCL"]),
        ("sites/alps-ce", ["-A", "-t", "--set software.container.environment"], 8, []),
    ],
)
def test_a_user_s_own_values_count(
    name: str, options: list[str], ranks: int, networks: list[str], tmp_path: Path
) -> None:
    of_profile = {"profile": name, "hash": profile_hash(find_profiles(CHECKOUT).load(name))}
    own = {"options": options, "ranks": ranks, "networks": networks}
    write(tmp_path / "proof.json", **of_profile, **own)
    done = jobgen("profiles", "proof", "proof.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_proof_that_is_published_has_its_place(tmp_path: Path) -> None:
    folder = "profiles/proofs/sites"
    for place in ("lumi-g/2026-11-20.json", "lumi-g/first.json", "alps/2026-11-20.json"):
        write(tmp_path / folder / place)
        done = jobgen("profiles", "proof", f"{folder}/{place}", cwd=tmp_path)
        text = f"its day; move it to {folder}/lumi-g/2026-11-20.json"
        assert (text in done.stderr.decode()) == (done.returncode == 2) == ("g/2" not in place)


@pytest.mark.parametrize("key", PROOF)
def test_each_key_is_needed(key: str, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({name: value for name, value in PROOF.items() if name != key}))
    with pytest.raises(JobgenError, match=f"has no `{key}`"):
        read_proof(file)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 5000, "\udcff", "{}" + " " * 20_000])
def test_what_is_no_proof_at_all(text: str, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(text, errors="surrogateescape")
    with pytest.raises(JobgenError, match=r"is no JSON|is no map|more than 16000 bytes"):
        read_proof(file)


NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-.", min_size=4).map("zq{}".format)


@pytest.mark.torch
@settings(deadline=None, max_examples=60)
@given(
    names=st.fixed_dictionaries(
        dict.fromkeys(("user", "host", "folder", "account", "job", "module", "build"), NAMES)
    ),
    passed=st.lists(st.sampled_from([*CHECKS]), unique=True),
)
def test_no_name_of_a_cluster_is_in_the_file(
    names: dict[str, str], passed: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the variables, the programs and the networks are called."""
    torch = pytest.importorskip("torch", reason="the trainers need torch")
    trainer = import_trainer("doctor")
    file = tmp_path_factory.mktemp(names["folder"].strip("."), numbered=True) / "p.json"
    answer = f"10.72.0.9: {names['host']}\nslurm 24.05.8-{names['build']} by {names['user']}"
    environment = {
        "USER": names["user"],
        "HOSTNAME": names["host"],
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_ACCOUNT": names["account"],
        "SLURM_JOB_NAME": names["job"],
        "NCCL_SOCKET_IFNAME": names["host"],
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(torch, "__version__", f"2.9.1+{names['build']}")
        done = SimpleNamespace(stdout=answer, stderr=names["host"])
        patch.setattr(trainer.subprocess, "run", lambda *_, **__: done)
        given_options = [f"network.environment.{names['module']}=1", "software.venv=/x"]
        options = [*proofs.option_words("-A", names["account"])]
        options += proofs.option_words("--set", given_options)
        facts = {"profile": "sites/lumi-g", "hash": PROOF["hash"], "options": options}
        proof = trainer.Proof(str(file), {**facts, "jobgen": f"1.1.0+{names['build']}"})
        for check in passed:
            if check != "network":
                proof.add(check, nodes=2, ranks=8, bandwidth=1.5)
        proof.add_networks({names["host"], "RoCE"}, "network" in passed)
    text = file.read_text()
    assert [name for name in (*names.values(), "10.72", "4711") if name in text] == []
    found = read_proof(file)
    assert found.versions.items() >= {"torch": "2.9.1", "slurm": "24.05.8"}.items()
    assert found.options == ("-A", "--set network.environment", "--set software.venv")
    assert (found.networks, found.failed) == (
        ("RoCE",),
        tuple(c for c in CHECKS if c not in passed),
    )
    assert [each.name for each in file.parent.iterdir()] == ["p.json"]


@pytest.mark.torch
def test_all_networks_of_doctor_are_known() -> None:
    pytest.importorskip("torch", reason="the trainers need torch")
    from tests.test_doctor import LOGS

    names = {name for name, _ in LOGS.values()} - {"none"}
    assert names <= {*NETWORKS}
    assert import_trainer("doctor").LIBFABRIC in NETWORKS


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.9.1+cu130", "2.9.1"),
        ("2022.1.1.20220926110806", "2022.1.1"),
        ("", ""),
        ("7", ""),
        ("okapi 2.9.1", ""),
    ],
)
def test_a_version_has_digits_alone(text: str, version: str) -> None:
    assert plain_version(text) == version


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "answer", "version"),
    [
        ("slurm", "slurm 23.11.4-okapi\n", "23.11.4"),
        ("slurm", "slurm-wlm 22.05.8\n", "22.05.8"),
        ("slurm", "10.72.0.9: refused\n", ""),
        ("pbs", "Connection to 10.72.0.9 refused\npbs_version = 23.06.06\n", "23.06.06"),
        ("pbs", "", ""),
    ],
)
def test_the_scheduler_s_version(
    name: str, answer: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="the trainers need torch")
    trainer = import_trainer("doctor")
    _, words, before = trainer.SCHEDULERS[name]
    monkeypatch.setattr(trainer.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=answer))
    assert trainer.version_of_program(words, before) == version
    monkeypatch.undo()
    assert trainer.version_of_program(("/nonexistent",), before) == ""


@pytest.mark.torch
@pytest.mark.parametrize(
    ("cuda", "hip", "found"),
    [
        ("13.0", None, {"cuda": "13.0"}),
        (None, "6.4.43484-123eb5128", {"rocm": "6.4.43484"}),
    ],
)
def test_the_versions_on_gpus(
    cuda: str | None, hip: str | None, found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="the trainers need torch")
    trainer = import_trainer("doctor")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda.nccl, "version", lambda: (2, 28, 9))
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", hip)
    versions = trainer.versions("1.1.0")
    assert versions.pop("nccl") == "2.28.9"
    assert versions.keys() == {"jobgen", "python", "torch", *found}
    assert versions.items() >= found.items()


def hash_of(folder: Path, *lines: str) -> str:
    (folder / "p.yaml").write_text("\n".join(["extends: sites/lumi-g", *lines, ""]))
    return profile_hash(find_profiles(folder).load(str(folder / "p.yaml")))


def test_the_hash_is_of_what_a_script_depends_on(tmp_path: Path) -> None:
    same = hash_of(tmp_path)
    assert same == PROOF["hash"]
    for line in ("description: other", "limits: {nodes: 3}", "# a comment"):
        assert hash_of(tmp_path, line) == same, line
    lines = ("partition: other", "network: {environment: {A: b}}", "request: {nodes: 3}")
    others = {hash_of(tmp_path, line) for line in lines}
    assert len(others | {same}) == 4
    default = ROOT.cls().launch.launcher
    assert hash_of(tmp_path, f"launch: {{launcher: {default}}}") == same


@pytest.mark.parametrize("name", sorted(find_profiles(CHECKOUT).files()))
def test_each_profile_has_a_hash(name: str) -> None:
    assert re.fullmatch("[0-9a-f]{64}", profile_hash(find_profiles(CHECKOUT).load(name)))


def test_the_newest_proof_of_a_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "bundled", lambda kind: tmp_path / kind)
    assert newest_proof("sites/lumi-g") is None
    folder = tmp_path / "profiles/proofs/sites/lumi-g"
    write(folder / "a.json", day="2026-11-20")
    write(folder / "b.json", day="2026-10-01")
    write(folder / "c.json", day="2026-11-28", passed=False, failed=["sums"])
    write(folder / "d.json", day="2026-11-27", profile="sites/alps")
    found = newest_proof("sites/lumi-g")
    assert found == Proof(
        **{**PROOF, "options": ("-A", "--set software.venv"), "networks": ("aws-ofi-nccl",)}
        | {"failed": ()}
    )
    assert in_words(found, True, TODAY) == f"{LINE}, with -A --set software.venv"
    assert found.age(date(2026, 11, 1)) == 0
    assert newest_proof("sites/alps") is None
    assert newest_proof("../proofs/sites/lumi-g") is None


def test_show_has_the_newest_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobgen.cli.app import run_words

    assert run_words(["profiles", "show", "sites/lumi-g"]) == 0
    before = capsys.readouterr().out
    monkeypatch.setattr(proofs, "bundled", lambda kind: tmp_path / kind)
    file = tmp_path / "profiles/proofs/sites/lumi-g/a.json"
    write(file)
    assert run_words(["profiles", "show", "sites/lumi-g", "--set", "partition=x"]) == 0
    title, line, *_ = capsys.readouterr().out.split("\n")
    assert title == before.split("\n")[0]
    assert re.fullmatch(r"# ran on 2 nodes on 2026-11-20 \(\d+ days ago\), .* software.venv", line)
    write(file, hash="0" * 64)
    assert run_words(["profiles", "show", "sites/lumi-g"]) == 0
    assert capsys.readouterr().out.split("\n")[1].endswith("; its values have changed since")


def test_the_page_of_a_site_has_the_newest_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_pages = hook("machine_pages")
    monkeypatch.setattr(proofs, "bundled", lambda kind: tmp_path / kind)
    assert machine_pages._newest_run("sites/lumi-g") == []
    write(tmp_path / "profiles/proofs/sites/lumi-g/a.json")
    (sentence,) = machine_pages._newest_run("sites/lumi-g")
    assert sentence.endswith(
        " is of 2 nodes on 2026-11-20, with 91.4 GB/s between two of them, over aws-ofi-nccl, and"
        " the options `-A --set software.venv`."
    )


def test_a_profile_that_ran_has_a_proof() -> None:
    """And of the values that it has now."""
    for name, file in find_profiles(CHECKOUT).files().items():
        if file.is_relative_to(bundled("profiles")):
            resolved = find_profiles(CHECKOUT).load(name)
            if resolved.profile.state == "ran":
                found = newest_proof(name)
                assert found
                assert found.hash == profile_hash(resolved), name
                place = bundled("profiles") / f"proofs/{name}/{found.day}.json"
                check_counts(found, place, resolved.profile)


def test_the_proofs_that_come_with_jobgen_are_right() -> None:
    folder = bundled("profiles") / "proofs"
    for file in folder.rglob("*.json"):
        found = read_proof(file)
        assert found.passed
        check_counts(found, file, None)
