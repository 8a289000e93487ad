"""The registry of profiles, as packaging/registry/make.py writes it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from tests.helpers import jobgen
from tests.registry_web import PAGE, REGISTRY, Web, run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PAGE_ALONE = """\
node: {cpus: 64}
sources:
  documents: {page: {address: "WEB/page", read: 2026-11-29}}
  values: {node: {document: page, words: "WORDS"}}
"""
WORKFLOWS = sorted((REGISTRY / ".github/workflows").glob("*.yml"))


def make(folder: Path) -> tuple[int, str]:
    return run(ROOT, "packaging/registry/make.py", str(folder))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole registry. Tests do not change it."""
    folder = tmp_path_factory.mktemp("whole") / "registry"
    assert make(folder)[0] == 0
    return folder


# ---- the folder ----


def test_two_runs_give_the_same_bytes_and_the_sums_hold(registry: Path, tmp_path: Path) -> None:
    assert make(tmp_path / "again")[0] == 0
    assert make(tmp_path / "again")[0] == 0  # in the place of the first
    files = [file for file in (tmp_path / "again").rglob("*") if file.is_file()]
    for file in files:
        assert file.read_bytes() == (registry / file.relative_to(tmp_path / "again")).read_bytes()
    done = subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=registry, check=True)
    assert done.returncode == 0
    lines = (registry / "SHA256SUMS").read_text().splitlines()
    names = [line.partition("  ")[2] for line in lines]
    assert names == sorted(names)
    assert {*names, "SHA256SUMS"} == {str(each.relative_to(tmp_path / "again")) for each in files}
    kinds = {name.rpartition("/")[0] for name in names}
    assert {"profiles/sites", "profiles/machines", "profiles/fabrics"} <= kinds
    assert {"tests/sites", "tests/machines", "tests/golden/sites", "checks"} <= kinds
    assert {"LICENSE", "profile.schema.json", "requirements.txt", "MAINTAINERS"} <= {*names}


def test_a_folder_with_other_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    code, text = make(tmp_path)
    assert (code, [*tmp_path.iterdir()]) == (2, [tmp_path / "mine"])
    assert text.endswith("mine is no file of a registry; name a new folder\n")


# Sites of each scheduler, and all that is of no site. The others are in test_sites and test_golden.
SOME = "lumi-g or polaris or azure or not (site or golden or known)"


@pytest.mark.slow
@pytest.mark.parametrize("names", [SOME, pytest.param("", marks=pytest.mark.thorough)])
def test_its_own_tests_pass_and_find_a_mistake(registry: Path, tmp_path: Path, names: str) -> None:
    folder = tmp_path / "registry"
    shutil.copytree(registry, folder)
    path = {"PYTHONPATH": str(ROOT)}
    tests = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests", "-k")
    code, text = run(folder, *tests, names, **path)
    assert code == 0, text
    files = map(str, folder.glob("profiles/*/*.yaml"))
    done = jobgen("profiles", "validate", *files, cwd=folder, env=path)
    assert done.returncode == 0, done.stdout.decode()
    assert run(folder, "checks/check_private.py") == (0, "")
    site = folder / "profiles/sites/lumi-g.yaml"
    site.write_text(site.read_text().replace("partition: standard-g", "partition: small-g"))
    code, text = run(folder, *tests, "lumi-g", **path)
    assert (code, "lacks: #SBATCH --partition=standard-g" in text) == (1, True), text


def test_what_is_missing_or_wrong_is_said_with_its_file(registry: Path, tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    shutil.copytree(registry, folder)
    words = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests", "-k", "vista")
    site, facts = folder / "profiles/sites/vista.yaml", folder / "tests/sites/vista.yaml"
    site.write_text(site.read_text().partition("\nsources:")[0])
    (folder / "tests/golden/sites/vista.sh").unlink()
    code, text = run(folder, *words, PYTHONPATH=str(ROOT))
    assert (code, "vista.yaml: no `sources`: each value needs one" in text) == (1, True)
    again = "`python -m pytest tests -k vista --update` writes it"
    assert f"tests/golden/sites/vista.sh is missing: {again}" in text
    facts.write_text(f"{facts.read_text()}modules: []\n")
    _, text = run(folder, *words, PYTHONPATH=str(ROOT))
    assert "ValueError: tests/sites/vista.yaml: got an unexpected keyword argument 'mod" in text


def test_pages_name_the_commands_of_the_workflow() -> None:
    text = (REGISTRY / ".github/workflows/check.yml").read_text()
    commands = re.findall(r"(?:jobgen profiles|python) (?!-m pip)(?:-m )?[\w/.]+", text)
    assert len(commands) == 5
    for name in ("CONTRIBUTING.md", ".github/pull_request_template.md"):
        page = (REGISTRY / name).read_text()
        assert [each for each in commands if each not in page] == []
        assert "python -m pytest tests -k" not in page  # it would leave out what is of all profiles


@pytest.mark.parametrize(("words", "expected"), [("64 cores", 0), ("128 cores a node", 123)])
def test_a_pull_request_is_read_as_each_week(tmp_path: Path, words: str, expected: int) -> None:
    """The step of check.yml, with a profile that a branch changes, and one that it does not."""
    (step,) = [
        each
        for each in steps_of(REGISTRY / ".github/workflows/check.yml")
        if "documents of changed" in each.get("name", "")
    ]
    assert step["if"] == "github.event_name == 'pull_request'"
    folder = tmp_path / "registry"
    shutil.copytree(REGISTRY / "checks", folder / "checks")
    (folder / "profiles/sites").mkdir(parents=True)
    other, mine = folder / "profiles/sites/other.yaml", folder / "profiles/sites/mine.yaml"
    web = Web()
    web.answers["/page"] = PAGE.replace("<p>The", "<p>64 cores</p><p>The")
    text = PAGE_ALONE.replace("WEB", web.address)
    other.write_text(text.replace("WORDS", "are gone"))
    environ = {**os.environ, "RUNNER_TEMP": str(tmp_path), "HOME": str(tmp_path)}
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for file in (None, mine):
        if file:
            file.write_text(text.replace("WORDS", words))
        for verb in (("init", "-q"), ("add", "."), ("commit", "-qm", "change")):
            subprocess.run([*git, *verb], cwd=folder, env=environ, check=True)
    Thread(target=web.server.serve_forever, daemon=True).start()
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=folder, env=environ, capture_output=True, check=False
    )
    web.server.shutdown()
    web.server.server_close()
    output = done.stdout.decode()
    assert (done.returncode, "sites/other" in output) == (expected, False), output
    assert (f"the words `{words}` are gone" in output) == bool(expected)


def test_the_page_for_staff_fits_on_a_screen() -> None:
    assert len((REGISTRY / "CONTRIBUTING.md").read_text().splitlines()) <= 40


def test_pages_name_what_is_there(registry: Path) -> None:
    text = "".join(file.read_text() for file in registry.glob("*.md"))
    for name in re.findall(r"(?:`|python )((?:checks|tests|profiles)/[\w./-]*)", text):
        place = re.sub(r"/NAME.*", "", name)
        assert (registry / place).exists() or place.startswith("profiles/proofs"), name
    for name in re.findall(r"`(\w+\.yml)`", text):
        assert (registry / ".github/workflows" / name).is_file()


# ---- the release and the workflows ----


def test_the_archive_of_a_release_has_the_same_bytes_again(registry: Path, tmp_path: Path) -> None:
    sums = []
    for name in ("one", "other"):
        shutil.copytree(registry, tmp_path / name)
        for number, file in enumerate((tmp_path / name).rglob("*")):
            os.utime(file, (number, number + len(name)))
        archive = tmp_path / f"{name}/../jobgen-profiles-2026-11-29.tar.gz"
        code, text = run(registry, "checks/release.py", str(tmp_path / name), str(archive))
        assert code == 0
        sums.append(hashlib.sha256(archive.read_bytes()).hexdigest())
        update = f"--from jobgen-profiles-2026-11-29.tar.gz --sha256 {sums[-1]}\n"
        assert text.startswith(f"    jobgen profiles update {update}")
        of_sums = hashlib.sha256((registry / "SHA256SUMS").read_bytes()).hexdigest()
        assert f"| `SHA256SUMS` in it, for an unpacked folder | `{of_sums}` |" in text
    assert sums[0] == sums[1]
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
    assert [each.name for each in members] == sorted(each.name for each in members)
    assert {(each.mtime, each.uid, each.uname, each.mode) for each in members} == {
        (0, 0, "", 0o644)
    }
    files = {str(each.relative_to(registry)) for each in registry.rglob("*") if each.is_file()}
    assert {each.name for each in members} == {f"jobgen-profiles-2026-11-29/{n}" for n in files}


@pytest.mark.parametrize("is_archive", [True, False])
def test_jobgen_takes_a_release(registry: Path, tmp_path: Path, is_archive: bool) -> None:
    """With the sum of the archive, or with that of SHA256SUMS in the folder."""
    folder, archive = tmp_path / "registry", tmp_path / "jobgen-profiles-2026-11-29.tar.gz"
    shutil.copytree(registry, folder)
    site = folder / "profiles/sites/lumi-g.yaml"
    site.write_text(re.sub("(?m)^description: .*", "description: newer", site.read_text()))
    code, notes = run(registry, "checks/release.py", str(folder), str(archive))
    assert code == 0
    sums = re.findall(r"\| `([0-9a-f]{64})` \|", notes)
    source = (str(archive), sums[0]) if is_archive else (str(folder), sums[1])
    words = ("--from", source[0], "--sha256", source[1], "--yes")
    done = jobgen("profiles", "update", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    shown = jobgen("profiles", "show", "sites/lumi-g", cwd=tmp_path).stdout.decode()
    assert 'description: "newer"' in shown


def steps_of(file: Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(file.read_text())["jobs"].values():
        yield from job.get("steps", [{"uses": job["uses"]}] if "uses" in job else [])


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_runs_what_exists(file: Path, registry: Path) -> None:
    workflow = yaml.safe_load(file.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps_of(file):
        if "uses" in step and not step["uses"].startswith("./"):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
            assert re.search(rf"{step['uses']} # v\d+\.\d+\.\d+", file.read_text())
        elif "uses" in step:
            assert (registry / step["uses"]).is_file()
        text = step.get("run", "")
        assert "${{" not in text  # a branch's name is no command
        for script in re.findall(r"python ([\w/]+\.py)", text):
            assert (registry / script).is_file()
        for words in re.findall(r"jobgen (profiles \w+)", text):
            assert jobgen(*words.split(), "--help").returncode == 0
        for pattern in re.findall(r"(?<= )(?:profiles|tests)/[\w*/.]+\.\w+", text):
            assert [*registry.glob(pattern)]
        if shutil.which("shellcheck"):
            words = ["shellcheck", "--shell=bash", "-"]
            done = subprocess.run(words, input=text, text=True, capture_output=True, check=False)
            assert done.stdout == ""


def test_workflows_are_right_for_actionlint(registry: Path, tmp_path: Path) -> None:
    if not shutil.which("actionlint"):
        pytest.skip("no actionlint on this machine")
    shutil.copytree(registry / ".github", tmp_path / ".github")
    (tmp_path / ".git").mkdir()  # it looks for the top of a repository
    done = subprocess.run(["actionlint"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
