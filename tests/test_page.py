"""`jobgen page`: the folder that it writes, and the Python that answers the form in the browser."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from jobgen.__main__ import run
from jobgen.lint.rules import rules
from jobgen.page.browser.fields import all_fields
from jobgen.page.browser.session import Session
from jobgen.page.browser.syntax_tree import Parser
from jobgen.page.packages import PACKAGES
from jobgen.planning.job_options import OPTIONS
from tests.helpers import jobgen
from tests.page_forms import packages_or_skip
from tests.page_tree import nodes_of, numbers_of

ROOT = Path(__file__).parent.parent
PROFILE = "description: Ours\nextends: mi210\npartition: ours\n"


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Asks a session, which has a folder of its own, as in the browser."""
    monkeypatch.chdir(tmp_path)
    session = Session(run)

    def ask(kind: str = "script", **fields: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(session.answer(json.dumps({"kind": kind, **fields})))
        assert "fault" not in found, found
        return found

    return ask


Answer = Callable[..., dict[str, Any]]


# ---- what the form becomes ----


def test_a_form_is_a_command_line_and_its_script(answer: Answer) -> None:
    form = {
        "profile": "mi210",
        "nodes": "3",
        "program": "train.py --note 'two words'",
        "environment": "A=1\n B=two words \n",
        "software.modules": "gcc\ncuda/12.4",
        "set_values": "request.time=2:00:00",
        "requeue": "on",
        "queue": "of PBS, so that it does not count",
    }
    found = answer(form=form)
    assert found["line"] == (
        "jobgen sbatch --profile mi210 -N 3 -e A=1 -e 'B=two words'"
        """ --set 'software.modules=["gcc", "cuda/12.4"]' --set request.time=2:00:00 --requeue"""
        " -- train.py --note 'two words'"
    )
    assert found["exit"] == 0
    assert "\n  module load gcc cuda/12.4\n" in found["upper"]
    assert found["machinery"].startswith("# ==== machinery of jobgen for Slurm")
    assert found["messages"] == []


def test_every_option_has_its_place_in_the_form() -> None:
    names = [field.name for field in all_fields()]
    assert len(names) == len(set(names))
    assert set(OPTIONS) - set(names) == {"profile", "hosts", "template"}
    assert all(field.label and field.help for field in all_fields())


@pytest.mark.parametrize(
    ("form", "field", "text"),
    [
        ({"nodes": "0"}, "nodes", "-N: 0 is out of range"),
        ({"gpus_per_node": "9"}, "gpus_per_node", "-G: 9 GPUs on each node requested"),
        ({"set_values": "nodes"}, "set_values", "--set: 'nodes' is not PATH=VALUE"),
        ({"network.port": "x"}, "network.port", "--set network.port: expected a whole number"),
        ({"set_values": "node.gpuz=2"}, "set_values", "--set node.gpuz: unknown key"),
        ({"program": "-x"}, "program", "--: '-x' is not a program"),
        ({"program": "a 'b"}, "program", '--: "\'" at character 3 is for a shell'),
        ({"program": "a $HOME"}, "program", "--: '$' at character 3 is for a shell"),
        ({"directives": "--nodes=9"}, "directives", "--directive: jobgen sets --nodes itself"),
        ({"directives": "--comment=\x07"}, "directives", "--comment: '\\x07' has a character"),
        ({"profile": "nope"}, "profile", "--profile: no profile `nope`"),
        ({"profile": ""}, "profile", "--profile: no profile is named"),
        ({"gpus_per_node": "2", "shared": "on"}, "profile", r"mi210.yaml:36:13: with podman"),
        ({"profile": "-", "profile_text": "a: b"}, "profile_text", "cluster.yaml:1:1: unknown"),
        ({"profile": "-", "profile_file": "../x.yaml"}, "profile_file", "profile_file: '../x.yam"),
    ],
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else None,
)
def test_a_refusal_is_at_its_field(
    form: dict[str, str], field: str, text: str, answer: Answer
) -> None:
    found = answer(form={"profile": "mi210", **form})
    assert (found["exit"], found["upper"]) == (2, "")
    has_no_words = "is for a shell" in text or field == "profile_file"
    assert found["line"].startswith("" if has_no_words else "jobgen sbatch")
    assert bool(found["line"]) != has_no_words
    (message,) = found["messages"]
    assert (message["field"], message["is_warning"]) == (field, False)
    assert text in message["text"]


def test_what_the_page_cannot_know_is_no_warning(answer: Answer) -> None:
    """It has none of the user's files."""
    assert answer(form={"profile": "mi210", "program": "train.py"})["messages"] == []
    found = answer(form={"profile": "mi210", "program": "'python train.py'"})
    assert [each["field"] for each in found["messages"]] == ["program"]
    assert found["messages"][0]["is_warning"]


def test_a_pasted_profile_is_a_file_and_the_only_one(answer: Answer) -> None:
    form = {"profile": "-", "profile_text": PROFILE, "profile_file": "ours.yml"}
    assert "#SBATCH --partition=ours\n" in answer(form=form)["upper"]
    answer(form={**form, "profile_file": "other.yaml"})
    assert os.listdir() == ["other.yaml"]
    answer(form={"profile": "mi210"})
    assert os.listdir() == []


def test_a_drawing_says_what_the_job_is(answer: Answer) -> None:
    form = {"profile": "sites/lumi-g", "nodes": "4", "rendezvous": "static"}
    drawing = answer("job", form=form)["drawing"]
    text = drawing.pop("text")
    assert drawing == {
        "nodes": 4,
        "spares": 0,
        "ranks_per_node": 8,
        "gpus_per_node": 8,
        "numbers_ranks": True,
        "interface": "hsn0 or hsn1 or hsn2 or hsn3",
        "port": "from the job's id",
    }
    assert text.startswith("4 nodes with 8 ranks each on 8 GPUs: 32 ranks in all. Node 0 is ")
    one = answer("job", form={"profile": "local", "nodes": "1"})
    assert one["drawing"]["text"] == "1 node with 2 ranks each on the CPU: 2 ranks in all."
    assert one["defaults"]["nodes"] == "2"
    wrong = answer("job", form={"profile": "eap", "nodes": "x"})
    assert wrong["drawing"] is None
    assert wrong["defaults"]["queue"]


def test_the_tree_for_lint_is_that_of_the_python_package() -> None:
    """The browser's parser gives numbers; here the package gives them."""
    tree_sitter, grammar = map(pytest.importorskip, ("tree_sitter", "tree_sitter_bash"))
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    texts = [rule.module.BAD for rule in rules().values()]
    for text in (*texts, "écho '€ 😀' && (ü=😀 a\n b) # 😀\n", "if (", ""):
        data = text.encode()
        expected = list(nodes_of(parser.parse(data).root_node))
        found = list(nodes_of(Parser(lambda text: numbers_of(parser, text)).parse(data).root_node))
        assert found == expected, text


# ---- the folder ----


def test_the_folder_is_the_same_twice_and_replaces_itself(tmp_path: Path) -> None:
    folder = written(tmp_path)
    first = contents(folder)
    assert written(tmp_path) == folder
    assert contents(folder) == first
    assert os.listdir(tmp_path) == ["public"]
    listed = json.loads(first["files.json"])
    assert set(listed) == set(first)


def test_the_page_has_nothing_from_elsewhere_and_no_script_in_it(tmp_path: Path) -> None:
    """What the policy forbids; the browser's tests show that it is obeyed."""
    page = contents(written(tmp_path))["index.html"].decode()
    assert re.findall(r"\b(?:src|href)=\"(?!#)[^\"]*[:/]", page) == []
    assert re.findall(r"<script(?! type=\"module\" src=\"main.js\"></script>)", page) == []
    assert re.findall(r"<style|\son\w+=|\sstyle=", page) == []
    assert "default-src &#39;none&#39;" in page


def test_a_sites_profiles_and_words_come_first(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/base.yaml").write_text("node: {gpus: 4}\n")
    (tmp_path / "ours/gpu.yaml").write_text("extends: [mi210, base]\ndescription: <b>Ours</b>\n")
    (tmp_path / "notes.txt").write_text("Ask us: <help>.\n\nSecond.\n")
    words = ("--profiles", "ours", "--title", "A & B", "--notes", "notes.txt")
    files = contents(written(tmp_path, *words))
    page = files["index.html"].decode()
    assert "<h1>A &amp; B</h1>\n    <p>Ask us: &lt;help&gt;.</p>\n    <p>Second.</p>" in page
    headings = re.findall(r"optgroup label=\"(.*?)\"", page)
    assert headings[0] == "This site"
    assert "gpu: &lt;b&gt;Ours&lt;/b&gt;</option>" in page
    with zipfile.ZipFile(BytesIO(files["python.zip"])) as archive:
        names = set(archive.namelist())
    assert {"site/profiles/base.yaml", "site/profiles/gpu.yaml", "jobgen/__main__.py"} <= names
    assert "yaml/__init__.py" in names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--profiles", "bad"), "jobgen: bad/x.yaml:1:1: unknown key `a`"),
        (("--profiles", "bad/x.yaml"), "jobgen: --profiles: there is no folder bad/x.yaml"),
        (("--profiles", "empty"), "jobgen: --profiles: empty has no file *.yaml"),
        (("--profiles", "bases"), "jobgen: --profiles: no profile in bases names a scheduler"),
        (("--notes", "nope"), "jobgen: --notes: nope cannot be read: No such file"),
        (("--packages", "empty"), "it is not the package that npm has"),
        (("-o", "bad/x.yaml"), "jobgen: -o bad/x.yaml: x.yaml is a file, not a folder"),
        (("-o", "bad/x.yaml/y"), "jobgen: -o bad/x.yaml/y: x.yaml is a file, not a folder"),
        (("-o", "bad"), "jobgen: -o bad: it has files that are not of such a page, such as 'x.ya"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    for name, text in (("bad/x.yaml", "a: b\n"), ("bases/x.yaml", "account: a\n")):
        (tmp_path / name).parent.mkdir()
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


def test_without_the_packages_the_command_that_gets_them_is_said(tmp_path: Path) -> None:
    done = jobgen("page", "-o", "public", cwd=tmp_path)
    assert done.returncode == 2
    names = " ".join(f"{each.name}@{each.version}" for each in PACKAGES)
    lines = done.stderr.decode().splitlines()
    assert [line.partition("; ")[2] for line in lines] == [f"npm pack {names} [package]"] * 3


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
