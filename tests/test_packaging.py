"""What is published: the wheel and the sdist, the recipes of others, and the repository's forms."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import jobgen
from tests.helpers import jobgen as program

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SPACK = ROOT / "packaging/spack/spack_repo/jobgen"
CONDA = ROOT / "packaging/conda"
FORMS = sorted(set((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")))


def requirements() -> dict[str, str]:
    """What the package needs: a name with its least version."""
    found = {}
    for text in (*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"):
        name, least = re.fullmatch(r"([a-z-]+\d?)>=([\d.]+)", text).groups()  # type: ignore[union-attr]
        found[name] = least
    return found


def build_requirement() -> str:
    system = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    (text,) = system["requires"]
    return str(text)


# ---- the wheel and the sdist ----


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completions_of_the_wheel_are_what_jobgen_prints(shell: str, update: bool) -> None:
    names = {"bash": "jobgen", "zsh": "_jobgen", "fish": "jobgen.fish"}
    file = ROOT / "completions" / names[shell]
    printed = program("completion", shell).stdout
    if update:
        file.write_bytes(printed)
    assert file.read_bytes() == printed


# What each shell does with a file of its folder, as it finds them below a prefix.
LOADED = {
    "bash": (
        ["bash", "--norc", "-c", "source completions/jobgen; complete -p jobgen"],
        "-F _jobgen",
    ),
    "zsh": (
        [
            "zsh",
            "-f",
            "-c",
            "fpath=($PWD/completions $fpath); autoload -U compinit; compinit -D -u;"
            " print $_comps[jobgen]",
        ],
        "_jobgen",
    ),
    "fish": (
        [
            "fish",
            "--no-config",
            "-c",
            "set fish_complete_path $PWD/completions; complete jobgen; complete -C 'jobgen pro'",
        ],
        "profiles",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", LOADED)
def test_a_shell_finds_the_completions_of_the_wheel(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    command, expected = LOADED[shell]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in done.stdout, done.stderr


def checkout(folder: Path) -> Path:
    """A copy of what git has, with the changes of the working tree; skips where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    for name in map(os.fsdecode, filter(None, listed.stdout.split(b"\0"))):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
            shutil.copymode(ROOT / name, folder / name)
    return folder


@pytest.mark.slow
@pytest.mark.thorough
def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    """In other folders, of files with other times, by users with another umask."""
    sums = []
    for number, umask in enumerate((0o022, 0o077)):
        source = checkout(tmp_path / f"of-user-{number}/source")
        for file in source.rglob("*.py"):
            os.utime(file, (number * 10**8, number * 10**8))
        command = [sys.executable, "-m", "build", "--quiet", "--no-isolation", str(source)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TZ": f"UTC{number}"}
        done = subprocess.run(
            command, env=environment, umask=umask, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        files = sorted((source / "dist").iterdir())
        assert [file.suffix for file in files] == [".whl", ".gz"]
        sums.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    assert sums[0] == sums[1]
    names = set(zipfile.ZipFile(files[0]).namelist())
    data = f"jobgen-{jobgen.__version__}.data/data/share"
    assert {
        "jobgen/py.typed",
        "jobgen/other_words/words.yaml",
        "jobgen/lint/rules/nodes/jg101_first_node_only.txt",
        "jobgen/bundled/profiles/mi210.yaml",
        f"{data}/man/man1/jobgen.1",
        f"{data}/bash-completion/completions/jobgen",
        f"{data}/zsh/site-functions/_jobgen",
        f"{data}/fish/vendor_completions.d/jobgen.fish",
    } <= names
    assert not [name for name in names if name.startswith(("tests/", "docs/", "packaging/"))]


# ---- recipes ----


def collected(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a package of Spack declares; Spack itself is not needed."""
    calls: dict[str, list[tuple[Any, ...]]] = {"depends_on": [], "version": [], "license": []}

    def recorder(name: str) -> Callable[..., None]:
        return lambda *words, **more: calls[name].append((*words, more))

    spack, systems = (
        ModuleType("spack.package"),
        ModuleType("spack_repo.builtin.build_systems.python"),
    )
    for name in calls:
        setattr(spack, name, recorder(name))
    systems.PythonPackage = object  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        for module in (spack, systems):
            patch.setitem(sys.modules, module.__name__, module)
        scope = {"__file__": str(file), "__name__": "recipe"}
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    calls["scope"] = [(scope,)]
    return calls


def test_spack_has_the_same_dependencies_and_version() -> None:
    calls = collected(SPACK / "packages/jobgen/package.py")
    run, build = {}, {}
    for text, more in calls["depends_on"]:
        name, least = re.fullmatch(r"(?:py-)?(\S+)@([\d.]+):", text).groups()  # type: ignore[union-attr]
        (run if "run" in more["type"] else build)[name] = least
    assert run == requirements()
    assert [f"{name}>={least}" for name, least in build.items()] == [build_requirement()]
    versions = dict(calls["version"])
    assert versions[jobgen.__version__] == {"tag": f"v{jobgen.__version__}"}
    assert calls["license"] == [(PROJECT["license"], {})]
    assert calls["scope"][0][0]["CHECKOUT"] == ROOT
    names = {path.parent.name for path in SPACK.glob("packages/*/package.py")}
    assert names == {"jobgen", "py_python_hostlist"}
    assert "py-setuptools" in str(collected(SPACK / "packages/py_python_hostlist/package.py"))
    assert yaml.safe_load((SPACK / "repo.yaml").read_text())["repo"]["namespace"] == SPACK.name


def test_conda_has_the_same_dependencies_and_version() -> None:
    recipe = yaml.safe_load((CONDA / "jobgen/recipe.yaml").read_text(encoding="utf-8"))
    run = dict(text.split(" >=") for text in recipe["requirements"]["run"])
    assert run == requirements()
    assert build_requirement().replace(">=", " >=") in recipe["requirements"]["host"]
    assert recipe["context"]["version"] == jobgen.__version__
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert (CONDA / "jobgen" / recipe["source"]["path"] / "pyproject.toml").resolve().is_file()
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry.split(" = ") == list(*PROJECT["scripts"].items())


def test_both_have_the_same_python_hostlist() -> None:
    """Its sum is in two files."""
    conda = (CONDA / "python-hostlist/recipe.yaml").read_text(encoding="utf-8")
    spack = (SPACK / "packages/py_python_hostlist/package.py").read_text(encoding="utf-8")
    (one,), (other,) = (re.findall(r"\b[0-9a-f]{64}\b", text) for text in (conda, spack))
    assert one == other
    assert 'version: "2.3.0"' in conda
    assert 'version("2.3.0"' in spack


def test_the_citation_file_is_valid_and_names_this_version() -> None:
    """The required keys of CFF 1.2.0, and those that it knows."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == jobgen.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    assert citation["authors"][0]["name"] in (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.thorough
def test_the_container_file_builds_and_lints(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On an image with this machine's /usr, and the packages that this machine's pip finds."""
    from tests.cluster.test_podman import skeleton

    if not shutil.which("podman") or os.geteuid() != 0 or not Path("/bin").is_symlink():
        pytest.skip("it needs podman, root, and a system whose /bin is /usr/bin")
    python = ["/usr/bin/python3", "-c", "import sys; print(*sys.version_info[:2])"]
    version = subprocess.run(python, check=False, capture_output=True, text=True).stdout.split()
    if tuple(map(int, version)) != sys.version_info[:2]:
        pytest.skip("/usr/bin/python3 is of another version: the packages here are not for it")
    store = Path(tempfile.mkdtemp(prefix="jg"))  # podman takes a path of at most 50 characters
    request.addfinalizer(lambda: shutil.rmtree(store, ignore_errors=True))
    podman = ["podman", "--root", str(store / "root"), "--runroot", str(store / "run")]
    podman += ["--storage-driver", "vfs"]
    base = [*podman, "import", "-", "localhost/base"]
    made = subprocess.run(base, input=skeleton(), capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"podman does not work here: {made.stderr.decode()}")
    source = checkout(tmp_path / "source")
    build = [sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation", str(source)]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next((source / "dist").glob("*.whl"))
    wheels = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(source / "dist")]
    wheels.append(f"{wheel}[lint]")
    found = subprocess.run(wheels, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"pip finds no packages here: {found.stderr[-200:]}")
    options = [
        "--isolation=chroot",
        "--volume=/usr:/usr:ro",
        "--env=PIP_NO_INDEX=1",
        "--tag=jobgen",
    ]
    file = ["--build-arg=BASE=localhost/base", "--file", "packaging/Containerfile", "."]
    done = subprocess.run(
        [*podman, "build", *options, *file], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # Its programs run in the image's files: a container needs more than some machines give.
    mounted = subprocess.run(
        [*podman, "image", "mount", "jobgen"], capture_output=True, text=True, check=True
    )
    (root := Path(mounted.stdout.strip()) / "work").mkdir(exist_ok=True)
    (root / "job.sh").write_text("#!/bin/bash\n#SBATCH -c=16\nsrun hostname\n")
    subprocess.run(["mount", "--bind", "/usr", str(root.parent / "usr")], check=True)
    try:
        inside = ["chroot", str(root.parent), "/opt/jobgen/bin/jobgen"]
        shown = subprocess.run([*inside, "--version"], capture_output=True, text=True, check=True)
        assert shown.stdout == f"jobgen, version {jobgen.__version__}\n"
        words = [*inside, "lint", "/work/job.sh"]
        lint = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (lint.returncode, "[JG215]" in lint.stdout) == (1, True), lint.stderr
    finally:
        subprocess.run(["umount", str(root.parent / "usr")], check=True)
        subprocess.run([*podman, "image", "umount", "jobgen"], check=False, capture_output=True)


# ---- the checklist ----


@pytest.fixture
def checklist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`make release-check` of a copy of the repository."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "packaging/release_check.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("jobgen/__init__.py", "CHANGELOG.md", "CITATION.cff", "man/jobgen.1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "packaging", tmp_path / "packaging")
    (tmp_path / ".gitignore").write_text("build/\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *own, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_release_has_one_version_and_a_date(checklist: Any, tmp_path: Path) -> None:
    version = jobgen.__version__
    assert checklist.same_version() == version
    changes = tmp_path / "CHANGELOG.md"
    heading = next(line for line in changes.read_text().splitlines() if line.startswith("## "))
    edit(changes, heading, f"## {version} (unreleased)")
    with pytest.raises(checklist.Failed, match=r"write `## .* \(YYYY-MM-DD\)`"):
        checklist.dated()
    edit(changes, f"## {version} (unreleased)", f"## {version} (2026-12-01)")
    citation = tmp_path / "CITATION.cff"
    citation.write_text(re.sub("date-released.*\n", "", citation.read_text()))
    with pytest.raises(checklist.Failed, match="write `date-released: 2026-12-01`"):
        checklist.dated()
    citation.write_text(citation.read_text() + "date-released: 2026-12-01\n")
    assert checklist.dated() == "2026-12-01"
    for name in ("CITATION.cff", "packaging/conda/jobgen/recipe.yaml", "man/jobgen.1"):
        edit(tmp_path / name, version, "9.9.9")
        with pytest.raises(checklist.Failed, match=f"has {version}, but\n{name}: 9.9.9"):
            checklist.same_version()
        edit(tmp_path / name, "9.9.9", version)


def test_a_release_is_of_a_tested_commit_without_a_tag(checklist: Any, tmp_path: Path) -> None:
    assert checklist.clean_tree() in git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "new").touch()
    with pytest.raises(checklist.Failed, match=r"commit or remove:\n\?\? new"):
        checklist.clean_tree()
    with pytest.raises(checklist.Failed, match="has passed on nothing"):
        checklist.tested()
    (tmp_path / "build").mkdir()
    (tmp_path / checklist.STAMP).write_text(git(tmp_path, "rev-parse", "HEAD"))
    assert checklist.tested().startswith("make test-all, on ")
    commit(tmp_path)
    with pytest.raises(checklist.Failed, match="run it"):
        checklist.tested()
    assert checklist.not_tagged() == f"v{jobgen.__version__}"
    git(tmp_path, "tag", f"v{jobgen.__version__}")
    with pytest.raises(checklist.Failed, match="exists: raise the version"):
        checklist.not_tagged()
    assert checklist.site() == "no mkdocs.yml, no site"


def test_the_checklist_runs_all_steps_and_says_what_to_do(
    checklist: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> str:
        raise checklist.Failed("run it\nagain")

    steps = (("good", lambda: "1.0"), ("bad", fails), ("last", lambda: "a\nb"))
    monkeypatch.setattr(checklist, "STEPS", steps)
    assert checklist.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "1. ok     good: 1.0",
        "2. FAILED bad: run it",
        "          again",
        "3. ok     last: a",
        "          b",
        "2 of 3 steps hold - not ready",
    ]
    monkeypatch.setattr(checklist, "STEPS", steps[:1])
    assert checklist.main() == 0


# ---- forms ----

# The syntax of GitHub's issue forms, by the pages of its documentation "Syntax for issue forms" and
# "Syntax for GitHub's form schema": keys of a form, and of the attributes of each kind of element.
KEYS = {"name", "description", "body", "assignees", "labels", "title", "type", "projects"}
ATTRIBUTES = {
    "markdown": ({"value"}, set()),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}


@pytest.mark.parametrize(
    "file", [file for file in FORMS if file.name != "config.yml"], ids=lambda f: f.stem
)
def test_an_issue_form_has_the_syntax_of_github(file: Path) -> None:
    form = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form) <= KEYS
    kinds = [element["type"] for element in form["body"]]
    assert set(kinds) - {"markdown"}
    for element in form["body"]:
        required, optional = ATTRIBUTES[element["type"]]
        attributes = element["attributes"]
        assert required <= set(attributes) <= required | optional, element
        if element["type"] == "markdown":
            assert set(element) == {"type", "attributes"}
            continue
        assert set(element) <= {"type", "id", "attributes", "validations"}
        assert re.fullmatch(r"[\w-]+", element["id"])
        assert set(element.get("validations", ())) <= {"required"}
        options = attributes.get("options", [])
        if element["type"] == "dropdown":  # no truth value of YAML, and no `None`
            assert all(isinstance(each, str) and each != "None" for each in options)
            assert len(set(options)) == len(options) > 0
        if element["type"] == "checkboxes":
            assert all(set(each) <= {"label", "required"} for each in options)
    ids = [element["id"] for element in form["body"] if "id" in element]
    labels = [e["attributes"].get("label") for e in form["body"] if e["type"] != "markdown"]
    assert len(set(ids)) == len(ids)
    assert len(set(labels)) == len(labels)


def test_there_is_a_form_for_each_matter() -> None:
    names = {
        yaml.safe_load(file.read_text())["name"] for file in FORMS if file.name != "config.yml"
    }
    assert names == {"A site's profile", "A failure that why did not know", "Lint is wrong"}
    assert len({file.name for file in FORMS}) == 4
    config = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text())
    assert set(config) <= {"blank_issues_enabled", "contact_links"}


def test_what_the_forms_and_pages_of_the_project_name_exists() -> None:
    pages = [ROOT / "CODE_OF_CONDUCT.md", ROOT / "docs/decisions.md", ROOT / "docs/stability.md"]
    pages += [ROOT / ".github/PULL_REQUEST_TEMPLATE.md", ROOT / "packaging/README.md", *FORMS]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"\b(?:tests|docs)/[a-z_./-]*[a-z/]", text):
            assert (ROOT / name).exists(), f"{page.name}: {name}"
        for target in re.findall(r"`make ([a-z-]+)", text):
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
