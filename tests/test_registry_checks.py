"""What the registry of profiles checks each week and in each pull request.

The web is a server on this machine, and gh a stand-in that keeps issues in a file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread

import pytest

from tests.registry_web import COMMIT, MANY, NODES, PAGE, PROFILE, REGISTRY, Web, run

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A registry with one profile."""
    folder = tmp_path / "small"
    for name in ("checks", "MAINTAINERS"):
        copy = shutil.copytree if (REGISTRY / name).is_dir() else shutil.copyfile
        folder.mkdir(exist_ok=True)
        copy(REGISTRY / name, folder / name)
    (folder / "profiles/sites").mkdir(parents=True)
    (folder / "profiles/sites/here.yaml").write_text(PROFILE)
    return folder


@pytest.fixture
def web(small: Path) -> Iterator[Web]:
    """The documents of the profile of `small`, as they were read."""
    made = Web()
    made.answers = {
        f"/site/docs/{COMMIT}/a%20b/nodes.md": NODES,
        "/site/docs/HEAD/a%20b/nodes.md": NODES,
        "/site/docs/HEAD/limits.md": f"# Slurm's limits\n{MANY}{MANY}\n",
        "/page": PAGE,
    }
    file = small / "profiles/sites/here.yaml"
    file.write_text(file.read_text().replace("WEB", made.address))
    Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def sources(folder: Path, web: Web) -> tuple[int, str]:
    """The exit code of the check of sources, and its lines, without the web's address."""
    words = ("--raw", web.address, "--pause", "0", "--report", "sources.json")
    code, text = run(folder, "checks/check_sources.py", *words)
    return code, text.replace(web.address, "WEB")


def test_words_that_are_there_are_no_finding_and_a_second_run_reads_little(
    small: Path, web: Web
) -> None:
    everything = (0, "1 of 1 profiles have all their sources; 4 of 4 addresses could be read\n")
    assert sources(small, web) == everything
    assert len(web.asked) == len(web.answers)
    web.asked.clear()
    assert sources(small, web) == everything
    # The file at its commit is not asked for again, and the others have not changed.
    assert f"/site/docs/{COMMIT}/a%20b/nodes.md" not in "".join(web.asked)
    assert [each.rpartition(" ")[2] for each in web.asked] == ["304"] * 3
    assert json.loads((small / "sources.json").read_text())[0]["text"] == ""


def test_a_line_that_has_moved_is_no_fault(small: Path, web: Web) -> None:
    web.answers["/site/docs/HEAD/a%20b/nodes.md"] = f"# More\n\n{NODES}"
    code, text = sources(small, web)
    assert code == 0
    moved = "sites/here: `node`: line 2 has become line 4 of WEB/site/docs/HEAD/a%20b/nodes.md\n"
    assert text.startswith(moved)


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        (
            "/site/docs/HEAD/a%20b/nodes.md",
            NODES.replace("8", "16"),
            "`node`: the words `64 cores, 8 GPUs` are gone from WEB/site/docs/HEAD/a%20b/nodes.md",
        ),
        (
            "/site/docs/HEAD/a%20b/nodes.md",
            404,
            "WEB/site/docs/HEAD/a%20b/nodes.md answers 404; it is the source of `node`",
        ),
        (
            f"/site/docs/{COMMIT}/a%20b/nodes.md",
            f"\n{NODES}",
            f"`node`: `64 cores, 8 GPUs` is not on line 2 of WEB/site/docs/{COMMIT}/a%20b/nodes.md",
        ),
        (f"/site/docs/{COMMIT}/a%20b/nodes.md", 404, "answers 404; it is the source of `node`"),
        (
            "/page",
            PAGE.replace("<b>8<", "<b>128<"),
            "`partition`: the words `The partition gpu has 8 GPUs` are gone from WEB/page",
        ),
        ("/page", 410, "WEB/page answers 410; it is the source of `contact`, `partition`"),
        (
            "/site/docs/HEAD/limits.md",
            MANY * 2,
            "`scheduler`: the words `Slurm's limits` are gone from WEB/site/docs/HEAD/limits.md",
        ),
    ],
)
def test_what_is_gone_or_dead_is_a_finding(
    small: Path, web: Web, path: str, answer: str | int, message: str
) -> None:
    assert path in web.answers
    web.answers[path] = answer
    code, text = sources(small, web)
    assert (code, message in text) == (1, True), text
    (report,) = json.loads((small / "sources.json").read_text())
    assert report["title"] == "sites/here: its sources have changed"
    assert message in report["text"].replace(web.address, "WEB")


def test_a_server_that_does_not_answer_is_a_finding_in_the_third_week(
    small: Path, web: Web
) -> None:
    """Sites have maintenance, and refuse visitors from a cloud for a while."""
    web.answers["/page"] = 503
    codes, whole = [], []
    for _ in range(3):
        code, text = sources(small, web)
        codes.append(code)
        whole.append(json.loads((small / "sources.json").read_text())[0]["is_whole"])
        assert "WEB/page answers 503" in text
        last = "0 of 1 profiles have all their sources; 3 of 4 addresses could be read\n"
        assert text.endswith(last)
    assert codes == [0, 0, 1]
    assert whole == [False, False, True]
    web.answers["/page"] = PAGE
    assert sources(small, web)[0] == 0


def test_what_was_not_read_is_not_all_right(small: Path) -> None:
    page = ("--cache", str(small / "cache"), "profiles/sites/here.yaml")
    words = ("--raw", "http://127.0.0.1:1", "--pause", "0", *page)
    _, text = run(small, "checks/check_sources.py", *words)
    assert "does not answer: [Errno 111]" in text
    assert text.endswith(
        "\n0 of 1 profiles have all their sources; 0 of 4 addresses could be read\n"
    )


def test_a_page_without_text_is_for_people(small: Path, web: Web) -> None:
    web.answers["/page"] = "<html><script>show()</script></html>"
    code, text = sources(small, web)
    assert code == 0
    assert "WEB/page has no text for this check: look with a browser" in text
    assert text.endswith("0 of 1 profiles have all their sources; 3 of 4 addresses could be read\n")
    assert json.loads((small / "sources.json").read_text())[0]["is_whole"]


def test_a_host_is_not_asked_twice_in_a_row(
    small: Path, web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(REGISTRY / "checks"))
    make_documents = import_module("documents").Documents
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    documents = make_documents(tmp_path / "cache", 5.0, sleep, lambda: now[0])
    assert documents.get(f"{web.address}/page").text == PAGE
    assert documents.get(f"{web.address}/page").text == PAGE  # it is known
    now[0] = 2.0
    assert documents.get(f"{web.address}/none").is_dead
    assert documents.get("file:///etc/passwd").is_dead
    assert slept == [3.0]
    documents.close()
    assert len([*(tmp_path / "cache").iterdir()]) == 2  # the index and the page


@pytest.mark.parametrize(
    ("more", "soon", "past"),
    [
        ("", "", ""),
        ("ends: null", "", ""),
        ("ends: 2027-01-29", "", ""),
        ("ends: 2027-01-28", "Its last day is 2027-01-28, in 60 days. No successor is named", ""),
        ("ends: 2026-11-29\nsuccessor: sites/b", "in 0 days. `sites/b` follows.", ""),
        ("ends: 2026-11-28", "", "Its last day was 2026-11-28. No successor is named"),
    ],
)
def test_a_machine_that_ends(small: Path, more: str, soon: str, past: str) -> None:
    (small / "profiles/sites/here.yaml").write_text(f"{PROFILE}{more}\n")
    words = ("--today", "2026-11-29", "--report", "ends.json")
    code, text = run(small, "checks/check_ends.py", *words)
    assert (code, bool(text)) == (int(bool(soon or past)), bool(soon or past))
    reports = {
        each["title"]: each["text"] for each in json.loads((small / "ends.json").read_text())
    }
    for title, wanted in (("sites/here: ends soon", soon), ("sites/here: has ended", past)):
        assert wanted in reports[title]
        assert bool(wanted) == bool(reports[title])


def test_a_retired_machine_is_no_news(small: Path) -> None:
    text = PROFILE.replace("documented", "retired")
    (small / "profiles/sites/here.yaml").write_text(f"{text}ends: 2020-01-01\n")
    assert run(small, "checks/check_ends.py") == (0, "")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("# ask jane.doe@example.org", "jane.doe@example.org: a mail address that is not the con"),
        ("# in /home/jdoe12/venv", "/home/jdoe12: the home folder of a user?"),
        ("# --mail-user=jdoe", "--mail-user=jdoe: a user's name?"),
        ("# export USER=jdoe", "USER=jdoe: a user's name?"),
        ("# HF_TOKEN=abcdefgh1234", "HF_TOKEN=abcdefgh1234: a token?"),
        (f"# ghp_{'a1B2' * 9}", "a token?"),
        (f"# {'0123abcd' * 4}", "a token?"),
        (f"# {'aB3' * 12}", "a token?"),
        ("# in /users/jdoe12/venv", "/users/jdoe12: the home folder of a user?"),
        ("# export DB_PASS=hunter22secret", "DB_PASS=hunter22secret: a token?"),
        ("# -----BEGIN OPENSSH PRIVATE KEY-----", "a key?"),
    ],
)
def test_a_private_text_is_refused(small: Path, line: str, what: str) -> None:
    file = small / "profiles/sites/here.yaml"
    assert run(small, "checks/check_private.py") == (0, "")
    file.write_text(f"{PROFILE}{line}\n")
    code, text = run(small, "checks/check_private.py")
    number = PROFILE.count("\n") + 1
    assert (code, text.startswith(f"profiles/sites/here.yaml:{number}: ")) == (1, True)
    assert what in text
    proof = small / "profiles/proofs/sites/here/2026-11-29.json"
    proof.parent.mkdir(parents=True)
    proof.write_text(json.dumps({"hash": "0123abcd" * 8, "day": line[2:]}))
    file.write_text(PROFILE)
    code, text = run(small, "checks/check_private.py")
    assert (code, what in text) == (1, True)


def test_who_logs_in_in_the_example_of_a_page_is_nobody(small: Path) -> None:
    file = small / "profiles/sites/here.yaml"
    file.write_text(f"{PROFILE}# user@login.example.org your-login@example.org\n")
    assert run(small, "checks/check_private.py") == (0, "")


@pytest.mark.parametrize("script", ["check_private", "check_sources", "issues"])
def test_help_and_a_file_that_is_not_there(small: Path, script: str) -> None:
    code, text = run(small, f"checks/{script}.py", "--help")
    assert (code, text.startswith(f"usage: {script}.py")) == (0, True)
    code, text = run(small, f"checks/{script}.py", "none.yaml")
    assert (code, text.endswith(": none.yaml: no such file\n")) == (2, True)


# `gh` with the issues in a file: what the script asks of it, and no more.
GH = """\
#!/usr/bin/env python3
import json, sys
from pathlib import Path
file, (what, verb, *words) = Path(__file__).with_name("issues.json"), sys.argv[1:]
issues = json.loads(file.read_text())
if what == "issue":
    assert "--limit" in words or "--label" not in words or verb == "create"
    if verb == "list":
        assert words[words.index("--json") + 1] == "number,title,body"
        print(json.dumps([each for each in issues if each["state"] == "open"]))
    elif verb == "create":
        title = words[words.index("--title") + 1]
        body = sys.stdin.read()
        issues.append({"number": len(issues) + 1, "state": "open", "title": title, "body": body})
    elif verb == "edit":
        issues[int(words[0]) - 1]["body"] = sys.stdin.read()
    elif verb == "close":
        issues[int(words[0]) - 1]["state"] = "closed"
file.write_text(json.dumps(issues))
"""


def test_an_issue_is_opened_changed_and_closed(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    (folder / "issues.json").write_text("[]")
    with (small / "MAINTAINERS").open("a") as file:
        file.write("sites/here @site/support\n")
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"

    def issues(*texts: str, is_whole: bool = True) -> list[tuple[str, str]]:
        for number, text in enumerate(texts):
            report = {"title": f"sites/{'here' if number else 'b'}: changed", "text": text}
            (small / f"{number}.json").write_text(json.dumps([{**report, "is_whole": is_whole}]))
        names = [f"{number}.json" for number in range(len(texts))]
        code, output = run(small, "checks/issues.py", *names, PATH=path)
        assert code == 0, output
        found = json.loads((folder / "issues.json").read_text())
        return [(each["title"], f"{each['state']} {each['body']}") for each in found]

    assert issues("", "") == []
    ((title, text),) = issues("", "- one\n")
    assert title == "sites/here: changed"
    assert text.startswith("open - one\n\n@site/support\n\nThis issue is written again each week")
    assert issues("", "- one\n") == [(title, text)]
    first, second = issues("- b\n", "- two\n")
    assert first[1].startswith("open - two\n\n@site/support")
    assert second[1].startswith("open - b\n\nThis issue")
    assert issues("", "", is_whole=False) == [first, second]
    first, second = issues("- b\n", "")
    assert (first[1][:6], second[1][:6]) == ("closed", "open -")
    assert len(issues("- b\n", "- three\n")) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sites/heer @site/team", "no profile `sites/heer`; did you mean `sites/here`?"),
        ("sites/none @site/team", "no profile `sites/none`; "),
        ("sites/here @someone", "expected `sites/NAME @ORGANISATION/TEAM`"),
        ("sites/here", "expected `sites/NAME @ORGANISATION/TEAM`"),
    ],
)
def test_a_maintainer_is_a_team_of_a_profile(small: Path, line: str, message: str) -> None:
    (small / "MAINTAINERS").write_text(f"# who\n{line}\n")
    words = "import registry; print(registry.maintainers())"
    done = subprocess.run(
        [sys.executable, "-c", words], cwd=small / "checks", capture_output=True, check=False
    )
    assert f"MAINTAINERS:2: {message}" in done.stderr.decode()
