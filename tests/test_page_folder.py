"""The folder that `jobgen page` writes: what is in it, what it replaces, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shlex
import zipfile
from html import unescape
from io import BytesIO
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.page.folder import MARK, mark_of, page_files, write_folder
from jobgen.page.packages import PACKAGES
from tests.helpers import jobgen
from tests.page_forms import ROOT, packages_or_skip

pytestmark = pytest.mark.slow


def test_the_folder_is_the_same_twice_and_replaces_itself(tmp_path: Path) -> None:
    folder = written(tmp_path)
    first = contents(folder)
    assert written(tmp_path) == folder
    assert contents(folder) == first
    assert os.listdir(tmp_path) == ["public"]
    listed = json.loads(first["files.json"])
    assert {*listed["files"], "files.json"} == set(first)


FILES = {"index.html": b"page", "runtime/x.js": b"1"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("files.json", '["files.json", "index.html", "runtime/x.js"]'),
        ("files.json", '{"files": {"index.html": "", "runtime/x.js": ""}}'),
        ("index.html", "edited"),
        ("runtime/notes.txt", "of somebody"),
    ],
)
def test_files_of_others_and_edited_ones_are_not_replaced(
    name: str, text: str, tmp_path: Path
) -> None:
    folder = tmp_path / "public"
    write_folder(str(folder), with_mark(FILES))
    (folder / name).write_text(text)
    before = contents(folder)
    with pytest.raises(JobgenError, match="not of such a page, or was edited: ") as refusal:
        write_folder(str(folder), with_mark({"index.html": b"new"}))
    assert name == "files.json" or repr(name) in str(refusal.value)
    assert contents(tmp_path) == {f"public/{file}": data for file, data in before.items()}


def test_a_link_to_the_same_bytes_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "public"
    write_folder(str(folder), with_mark(FILES))
    (folder / "index.html").rename(tmp_path / "index.html")
    (folder / "index.html").symlink_to(tmp_path / "index.html")
    with pytest.raises(JobgenError, match=r"'index\.html'"):
        write_folder(str(folder), with_mark(FILES))


def test_a_page_that_cannot_get_back_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "public"
    write_folder(str(folder), with_mark(FILES))
    rename = Path.rename

    def rename_once(path: Path, target: Path) -> Path:
        if path.name != "public":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", rename_once)
    with pytest.raises(JobgenError, match=r"error; the page before is in .*/\.public\.old-"):
        write_folder(str(folder), with_mark({"index.html": b"new"}))
    assert sorted(contents(tmp_path).values()) == sorted(with_mark(FILES).values())


def test_the_page_has_nothing_from_elsewhere_and_no_script_in_it(tmp_path: Path) -> None:
    """What the policy forbids; the browser's tests show that it is obeyed."""
    page = contents(written(tmp_path))["index.html"].decode()
    assert re.findall(r"\b(?:src|href)=\"(?!#)[^\"]*(?::|//)", page) == []
    assert re.findall(r"<script(?! type=\"module\" src=\"main.js\"></script>)", page) == []
    assert re.findall(r"<style|\son\w+=|\sstyle=", page) == []
    assert "default-src &#39;none&#39;" in page


def test_a_page_of_the_documentation_leads_back_to_it() -> None:
    """From the head, and from each public site to what the documentation has of it."""
    page = page_files(str(packages_or_skip()), docs="../")["index.html"].decode()
    assert '<a href="../index.html">Documentation</a>' in page
    files = [
        file for kind in ("sites", "machines") for file in (ROOT / f"profiles/{kind}").iterdir()
    ]
    assert set(re.findall(r'data-page="(.*?)"', page)) == {
        f"../{file.parent.name}/{file.stem}.html" for file in files if file.stem != "mahti"
    }


def test_the_texts_of_the_licences_are_in_the_page(tmp_path: Path) -> None:
    text = contents(written(tmp_path))["licences.txt"].decode()
    parts = dict(re.findall(r"^==== (\S+) \S+ ====\n(.*?)(?=^====|\Z)", text, re.M | re.S))
    names = ["jobgen", "click", "python-hostlist", "jinja2", "markupsafe", "pyyaml"]
    assert list(parts) == [*names, *(each.name for each in PACKAGES)]
    assert "https://www.mozilla.org/MPL/2.0/" in parts.pop("pyodide")
    wanted = r"Permission is hereby granted|Redistribution and use|GNU GENERAL PUBLIC LICENSE"
    assert [name for name, part in parts.items() if not re.search(wanted, part)] == []
    assert parts["web-tree-sitter"].startswith(
        "\nMIT; https://github.com/tree-sitter/tree-sitter\n"
    )


def test_a_sites_profiles_and_words_come_first(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/base.yml").write_text("node: {gpus: 4}\n")
    text = "extends: [mi210, ./base.yml]\ndescription: <b>Ours</b>\n"
    (tmp_path / "ours/gpu.yaml").write_text(text)
    (tmp_path / "notes.txt").write_text("Ask us: <help>.\n\nSecond.\n")
    words = ("--profiles", "ours", "--title", "A & B", "--notes", "notes.txt")
    files = contents(written(tmp_path, *words))
    page = files["index.html"].decode()
    assert "<h1>A &amp; B</h1>" in page
    words_of_site = '<p class="notes">Ask us: &lt;help&gt;.</p>\n  <p class="notes">Second.</p>'
    assert words_of_site in page
    headings = re.findall("<h3>(.*?) *(?:<span>.*)?</h3>", page)
    others = ["Public sites", "Machine types of clouds", "Tutorials' systems", "Another cluster"]
    assert [unescape(each) for each in headings[: len(others) + 1]] == ["This site", *others]
    assert "<b>gpu</b><span>&lt;b&gt;Ours&lt;/b&gt;</span>" in page
    with zipfile.ZipFile(BytesIO(files["python.zip"])) as archive:
        names = set(archive.namelist())
    assert {"site/profiles/base.yml", "site/profiles/gpu.yaml", "jobgen/__main__.py"} <= names
    assert {"yaml/__init__.py", "jobgen/other_words/words.yaml"} <= names
    assert {
        "jobgen/lint/rules/nodes/jg101_first_node_only.txt",
        "jobgen/lint/option_values/slurm.txt",
    } <= names
    assert "base" not in re.findall(r"radio\" name=\"profile\" value=\"(.*?)\"", page)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--profiles", "bad"), "jobgen: bad/x.yaml:1:1: unknown key `a`"),
        (("--profiles", "bad/x.yaml"), "jobgen: --profiles: there is no folder bad/x.yaml"),
        (("--profiles", "empty"), "jobgen: --profiles: empty has no file *.yaml"),
        (("--profiles", "bases"), "jobgen: --profiles: no profile in bases names a scheduler"),
        (("--profiles", "up"), "jobgen: up/x.yaml:1:10: no file up/../shared.yaml; the page"),
        (("--profiles", "away"), "/shared.yaml is outside away; the page has no other files"),
        (("--profiles", "yml"), "jobgen: yml/x.yml:1:1: unknown key `a`"),
        (("--profiles", "bytes"), "jobgen: --profiles: the name of \\udcff.yaml is not UTF-8"),
        (("--title", "\udcff"), "jobgen: --title: it is not UTF-8 text"),
        (("--notes", "nope"), "jobgen: --notes: nope cannot be read: No such file"),
        (("--packages", "empty"), "it is not the package that npm has"),
        (("-o", "bad/x.yaml"), "jobgen: -o bad/x.yaml: x.yaml is a file, not a folder"),
        (("-o", "bad/x.yaml/y"), "jobgen: -o bad/x.yaml/y: x.yaml is a file, not a folder"),
        (
            ("-o", "bad"),
            "jobgen: -o bad: it has a file that is not of such a page, or was edited: 'x.ya",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_reported_and_nothing_is_written(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    for name, text in {
        "shared.yaml": "extends: mi210\n",
        "bad/x.yaml": "a: b\n",
        "bases/x.yaml": "account: a\n",
        "up/x.yaml": "extends: ../shared.yaml\n",
        "away/x.yaml": f"extends: {tmp_path}/shared.yaml\n",
        "yml/x.yml": "a: b\n",
        "bytes/\udcff.yaml": "extends: mi210\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "empty").mkdir()
    for package in PACKAGES:
        (tmp_path / "empty" / package.archive).write_bytes(b"other")
    before = contents(tmp_path)
    packages = () if "--packages" in words else ("--packages", str(packages_or_skip()))
    done = jobgen("page", "-o", "public", *packages, *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr.decode()
    assert contents(tmp_path) == before


def test_without_the_packages_the_command_that_gets_them_is_reported(tmp_path: Path) -> None:
    done = jobgen("page", "-o", "public", cwd=tmp_path)
    assert done.returncode == 2
    names = " ".join(f"{each.name}@{each.version}" for each in PACKAGES)
    lines = done.stderr.decode().splitlines()
    assert [line.partition("; ")[2] for line in lines] == [f"npm pack {names} [package]"] * 3


def test_the_command_that_shows_the_page_can_be_pasted(tmp_path: Path) -> None:
    packages = ("--packages", str(packages_or_skip()))
    done = jobgen("page", "-o", "our page", *packages, cwd=tmp_path)
    last = done.stderr.decode().splitlines()[-1]
    server = ["python3", "-m", "http.server", "--bind", "127.0.0.1"]
    assert shlex.split(last)[1:] == [*server, "-d", "our page"]


def written(folder: Path, *words: str) -> Path:
    """The folder `public` of a page."""
    packages = ("--packages", str(packages_or_skip()))
    done = jobgen("page", "-o", "public", *packages, *words, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "public"


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder by their paths."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def with_mark(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a page, with what makes them jobgen's own."""
    return {**files, MARK: mark_of(files)}
