"""`jobgen why --timeline`: nodes × time as text, as JSON, and as one HTML file."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Event, Role, Verdict
from jobgen.diagnosis.files import sources
from jobgen.diagnosis.report import WIDTH
from jobgen.diagnosis.timeline.drawing import drawn
from tests.diagnosis.job_folders import ends, lost, place_of, stderr_of, traceback, write_folder
from tests.helpers import jobgen
from tests.html_page import page_of, rows_of

FOLDER = Path(__file__).parent / "timelines"
CASES = sorted(path.name for path in FOLDER.glob("*/"))
ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


def text_of(words: list[str], *options: str) -> str:
    """What the command prints, which is not wider than a mail."""
    result = jobgen("why", "--timeline", *options, *words)
    assert b"Traceback" not in result.stderr
    return result.stdout.decode()


def verdict_here() -> Verdict:
    """The verdict on the files of this folder, which `jobgen why --timeline *.out *.txt` draws."""
    return diagnose(
        sources([*map(str, sorted(Path().glob("*.out"))), *map(str, sorted(Path().glob("*.txt")))])
    )


@pytest.mark.parametrize("name", CASES)
def test_the_drawings_are_as_expected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER / name)
    text = drawn(verdict_here(), "text")
    assert text == Path("expected.text").read_text(encoding="utf-8")
    assert all(len(line) <= WIDTH for line in text.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_each_row_cites_a_line_that_exists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER / name)
    rows = json.loads(drawn(verdict_here(), "json"))["timeline"]
    assert sum(row["mark"] == "failed first" for row in rows) == 1
    for row in rows:
        assert 0 < row["line"] <= len(Path(row["file"]).read_bytes().splitlines())


def test_the_page_has_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER / "hang")
    verdict = diagnose(sources(["job.out"]))
    html = drawn(verdict, "html")
    body = re.sub(r"Written by jobgen \S+\. ", "", html[html.index("<body>") :])
    assert body == Path("expected.html").read_text(encoding="utf-8")
    page = page_of(html)
    nodes, moments = (rows_of(table) for table in page.all("table"))
    assert nodes[1] == ["gx08", "o", "·", "X", "+"]
    assert len(moments) - 1 == len(json.loads(drawn(verdict, "json"))["timeline"])
    assert not [*page.all("script"), *page.all("link"), *page.all("img"), *page.all("a")]


def test_files_of_ranks_without_times(tmp_path: Path) -> None:
    name = f"{place_of(3)}/stderr.log"
    folder = write_folder(tmp_path, {name: traceback(3, "ValueError: x")})
    text = text_of([str(folder)])
    assert re.search(rf"rank 3 on nB +X ValueError: x\n +{folder}/{name}:4\n", text)
    assert "note: no line has a time: this is the order of the lines" in text


def test_many_nodes_and_moments_are_counted(tmp_path: Path) -> None:
    lines = [
        f"gx{n:03} rank {n}: [rank{n}]: RuntimeError: [pair.cc:553] Connection closed by peer"
        f" [10.1.0.9]:70{n:03}\n"
        for n in range(64)
    ]
    ends = [f"srun: error: gx{n:03}: task {n}: Exited with exit code 1{n}\n" for n in range(9)]
    log = tmp_path / "job.out"
    first = "2026-11-22 20:20:00 gx999 rank 99: ValueError: x\n"
    log.write_text("".join([first, *lines]))
    text = text_of([str(log)])
    assert len(text.splitlines()) <= 40
    assert "\nand 55 more nodes with marks\n" in text
    assert "  64 nodes (64 ranks)  + its peer 10.1.0.9 had closed the connection\n" in text
    mixed = (line for pair in zip(lines, ends, strict=False) for line in pair)
    log.write_text("".join([first, *mixed, *lines[9:]]))
    text = text_of([str(log)])
    assert len(text.splitlines()) <= 40
    assert "\n… 10 more: --all shows them\n" in text
    assert text_of([str(log)], "--all").count("\n") > 64


def test_last_lines_of_many_ranks_do_not_hide_the_failure(tmp_path: Path) -> None:
    files = {f"{place_of(n)}/stdout.log": f"2026-11-22 20:2{n}:00 step {n}\n" for n in range(4)}
    errors = lost(0, 1, 2)
    own = f"2026-11-22 20:29:00 data\n{traceback(3, 'ValueError: x')}"
    folder = write_folder(tmp_path, {**files, **errors, stderr_of(3): own})
    text = text_of([str(folder)])
    assert re.search(r"\n +20:29:00  rank 3 on nB +o data\n", text)
    assert re.search(r"\n +20:23:00  rank 3 on nB +o step 3\n", text)
    assert re.search(r"\n~20:29:00  rank 3 on nB +X ValueError: x\n", text)


@pytest.mark.parametrize(("copied_later", "time"), [(0, " 20:22:30"), (60, " " * 9)])
def test_the_kernel_s_notes_have_a_time_if_their_file_is_no_copy(
    tmp_path: Path, copied_later: int, time: str
) -> None:
    kernel = "/proc/uptime:1050.00 9.00\n[1034.0] oom-kill:constraint=X,task_memcg=/job_7/step_0\n"
    end = ends(3, -9)
    folder = write_folder(tmp_path, {**lost(0, 1, 2), "stderr": end, "nB/evidence": kernel})
    gathered = datetime.fromisoformat("2026-11-22T20:22:46").timestamp() + copied_later
    os.utime(folder / "nB/evidence", (gathered, gathered))
    text = text_of([str(folder)])
    assert re.search(rf"\n{time}  rank 3 on nB +X killed by signal 9; on that node: out of", text)


def test_a_job_that_went_well_has_no_drawing(tmp_path: Path) -> None:
    log = tmp_path / "job.out"
    log.write_text("step 1\ndone\n")
    assert text_of([str(log)]) == "no failure found\n"
    page_of(text_of([str(log)], "--format", "html"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--format", "html", "a.out"], "only a timeline is written as HTML; add --timeline"),
        (
            ["--timeline", "--all", "."],
            "it has the output of several jobs; name the",
        ),
    ],
)
def test_wrong_words(
    words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.out", "slurm-1.out", "slurm-2.out"):
        Path(name).write_text("step 1\n")
    result = jobgen("why", *words)
    assert result.returncode == 2
    assert text in result.stderr.decode()


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            Event,
            st.sampled_from(["host-memory", "peer-lost", ""]),
            st.sampled_from(Role),
            says=ANY_TEXT,
            file=st.binary(max_size=30).map(lambda name: name.decode("utf-8", "surrogateescape")),
            line=st.integers(0, 9),
            text=ANY_TEXT,
            node=st.none() | ANY_TEXT,
            rank=st.none() | st.integers(0, 10**6),
            time=st.none() | st.floats(0, 366 * 86400 - 1),
            status=st.none() | st.integers(-64, 255),
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_any_events_are_drawn_and_become_no_markup(events: list[Event], is_caused: bool) -> None:
    main = events[0] if events else Event("", Role.NOISE)
    verdict = Verdict(
        "host-memory" if is_caused else None,
        says=main.says,
        node=main.node,
        rank=main.rank,
        evidence=tuple(events[:1]),
        chain=tuple(events),
        cure=main.text,
        notes=(main.file,),
    )
    for everything in (False, True):
        text = drawn(verdict, "text", everything)
        assert "".join(text.split("\n")).isprintable()
        text.encode()
    drawn(verdict, "json").encode()
    page = page_of(drawn(verdict, "html"))
    names = {element.name for element in page.all()}
    assert names <= set(
        "html head meta title style body header p div h1 h2 main section".split()
    ) | {*("table", "caption", "thead", "tbody", "tr", "th", "td", "footer")}


@pytest.mark.slow
@given(st.binary(max_size=400))
def test_any_bytes_of_a_log_are_drawn(data: bytes) -> None:
    log = FOLDER.parent / "logs" / "host-memory"
    failure = next(log.glob("*.log")).read_bytes()
    verdict = diagnose([Source("x", BytesIO(data + b"\n" + failure + data))])
    for format in ("text", "json", "html"):
        drawn(verdict, format).encode()
    page_of(drawn(verdict, "html"))


def test_markup_in_a_log_stays_text(tmp_path: Path) -> None:
    log = tmp_path / "job<b>.out"
    error = "ValueError: <script>alert(1)</script> & </style>"
    log.write_text(f"gx01 rank 0: [rank0]: Traceback (most recent call last):\n{error}\n" * 2)
    page = text_of([str(log)], "--format", "html")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;/style&gt;" in page
