"""A project with a lock, whose packages are files: no network is needed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

LOCK = 'version = 1\n\n[[package]]\nname = "torch"\nversion = "9.9"\n'
PROJECT = '[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.10"\n'
_MORE = """
dependencies = ["package", "lib"]
[project.optional-dependencies]
gpu = ["torch"]
[tool.uv]
no-index = true
find-links = ["wheels"]
[tool.uv.sources]
lib = {path = "lib", editable = true}
"""


def lock_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a project, which uv locks, into a folder; without uv, the test is skipped.

    `package` has the program `tool`; torch, in the extra `gpu`, is that of the tests, by its path;
    `lib` is code in a folder.
    """
    if not shutil.which("uv"):
        pytest.skip("uv is not installed: pip install uv")
    torch = importlib.util.find_spec("torch")
    if torch is None:
        pytest.skip("the jobs' ranks need torch: pip install '.[trainers]'")
    monkeypatch.setenv("UV_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    packages = folder / "wheels"
    packages.mkdir()
    _wheel(packages, "torch", {"torch.pth": f"{Path(str(torch.origin)).parents[1]}\n"})
    files = {"package/__init__.py": "NAME = 'x'\ndef main() -> None: print(__file__)\n"}
    _wheel(packages, "package", files, "tool = package:main\n")
    (folder / "lib").mkdir()
    (folder / "lib/pyproject.toml").write_text('[project]\nname = "lib"\nversion = "1"\n')
    (folder / "pyproject.toml").write_text(PROJECT + _MORE)
    (folder / "uv.lock").unlink(missing_ok=True)
    subprocess.run(["uv", "lock", "--quiet"], cwd=folder, check=True)


def _wheel(folder: Path, package: str, files: dict[str, str], programs: str = "") -> None:
    """A package of this name in version 9.9, as a file in the folder."""
    described = f"{package}-9.9.dist-info"
    with zipfile.ZipFile(folder / f"{package}-9.9-py3-none-any.whl", "w") as archive:
        for file, text in {
            **files,
            f"{described}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 9.9\n",
            f"{described}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{described}/entry_points.txt": f"[console_scripts]\n{programs}",
            f"{described}/RECORD": "",
        }.items():
            archive.writestr(file, text)
