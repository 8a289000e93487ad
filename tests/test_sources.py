"""The sources of a profile's values: a mistake is found at its place, and each value is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import jobgen

COMMIT = "0123456789abcdef0123456789abcdef01234567"
VALUES = """\
description: a cluster
state: documented
scheduler: slurm
partition: gpu
node: {cpus: 64, gpus: 8, gpu: nvidia}
network: {interface: null}
"""
SOURCES = f"""\
sources:
  documents:
    nodes: {{repository: site/docs, commit: {COMMIT}, path: a/nodes.md, read: 2026-11-29}}
    page: {{address: "https://example.org/page", read: 2026-11-28}}
  values:
    scheduler: {{document: page, words: "Slurm"}}
    partition: {{document: page, words: "gpu"}}
    node: {{document: nodes, line: 12, words: "64 cores and 8 GPUs"}}
    node.gpu: {{ours: the name says so}}
"""


def validated(folder: Path, text: str) -> tuple[int, str]:
    file = folder / "mine.yaml"
    file.write_text(text)
    done = jobgen("profiles", "validate", "mine.yaml", cwd=folder)
    return done.returncode, done.stdout.decode()


def test_complete_sources_are_valid(tmp_path: Path) -> None:
    assert validated(tmp_path, VALUES + SOURCES) == (0, "")


def test_a_profile_without_sources_is_valid(tmp_path: Path) -> None:
    assert validated(tmp_path, VALUES) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    partition:", "    # partition:", "mine.yaml:4:12: `partition` has no source; add it"),
        (
            "    node.gpu:",
            "    node.cores:",
            "mine.yaml:15:5: this file has no value `node.cores`; a value of a base",
        ),
        ("document: nodes", "document: other", "mine.yaml:14:5: node: no document `other` is in"),
        ("line: 12, ", "", "mine.yaml:14:5: node: `line` is missing, the line of the file"),
        (', words: "Slurm"', "", "mine.yaml:12:5: scheduler: `words` are missing"),
        (
            'page, words: "gpu"',
            'page, line: 3, words: "gpu"',
            "mine.yaml:13:5: partition: `line` counts in the file of a repository",
        ),
        (
            "{ours: the name says so}",
            '{ours: "so", document: page, words: "x"}',
            "mine.yaml:15:5: node.gpu: a document, and `ours`: it is one of the two",
        ),
        ("{ours: the name says so}", "{line: 3}", "mine.yaml:15:5: node.gpu: neither a document"),
        (", path: a/nodes.md", "", "mine.yaml:9:5: nodes: no address, and not all of repository"),
        (
            'page", read',
            'page", path: b.md, read',
            "mine.yaml:10:5: page: an address, and a file of a repository: it is one of the two",
        ),
        ("read: 2026-11-28", "read: 2999-01-01", "page: it was read on 2999-01-01, a day to come"),
        ("read: 2026-11-28", "read: 2026-11-31", "expected a day, such as 2026-11-29"),
        (
            "document: nodes",
            "document: nods",
            "mine.yaml:14:5: node: no document `nods` is in sources.documents",
        ),
        (", read: 2026-11-28", "", "mine.yaml:10:5: page: `read` is missing, the day on which"),
        ("read: 2026-11-28", "read: 28.11.2026", "expected a day, such as 2026-11-29"),
        (COMMIT, "main", "expected the 40 digits of a commit, got 'main'"),
        (
            "  values:\n",
            '    third: {address: "https://example.org/3", read: 2026-11-28}\n  values:\n',
            "mine.yaml:11:5: no value is from the document `third`; remove it",
        ),
    ],
)
def test_a_mistake_is_found_at_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SOURCES
    code, output = validated(tmp_path, VALUES + SOURCES.replace(old, new))
    assert (code, message in output) == (1, True), output


def test_each_value_is_shown_with_its_words_and_the_address_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(VALUES + SOURCES)
    (tmp_path / "mine.yaml").write_text("extends: site.yaml\npartition: own\n")
    words = ("--sources", "--set", "node.cpus=32", "--set", "request.nodes=2")
    done = jobgen("profiles", "show", "mine.yaml", *words, cwd=tmp_path)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0
    assert lines[:7] == [
        "# mine: the source of each value",
        'extends: ["site.yaml"]',
        lines[2],
        'scheduler: "slurm"',
        '    "Slurm"',
        "    https://example.org/page (read on 2026-11-28)",
        'partition: "own"',
    ]
    # The source of the base's partition is no source of the own one, nor of an option's value.
    assert lines[7].startswith("    no source: ")
    assert lines[7].endswith("mine.yaml:2:12")
    assert lines[lines.index("node.cpus: 32") + 1] == "    no source: --set node.cpus"
    place = lines.index("node.gpus: 8")
    assert lines[place + 1 : place + 3] == [
        '    "64 cores and 8 GPUs"',
        f"    https://github.com/site/docs/blob/{COMMIT}/a/nodes.md#L12 (read on 2026-11-29)",
    ]
    assert lines[lines.index('node.gpu: "nvidia"') + 1] == "    ours: the name says so"


def test_a_source_changes_no_script(tmp_path: Path) -> None:
    scripts = []
    for text in (VALUES, VALUES + SOURCES, VALUES.replace("documented", "ran") + SOURCES):
        (tmp_path / "mine.yaml").write_text(text)
        done = jobgen("sbatch", "--profile", "mine.yaml", "-N", "2", cwd=tmp_path)
        assert done.returncode == 0
        scripts.append(done.stdout)
    assert scripts[0] == scripts[1] == scripts[2]


def test_a_value_in_place_of_its_group_has_its_origin(tmp_path: Path) -> None:
    """Of a variable and of a lock; what the group does not say is jobgen's default."""
    text = "scheduler: slurm\nsoftware: {lock: uv.lock, store: /s}\n"
    (tmp_path / "mine.yaml").write_text(f"{text}network: {{environment: {{HF_HOME: /hf}}}}\n")
    shown = jobgen("profiles", "show", "mine.yaml", cwd=tmp_path).stdout.decode()
    origins = dict(line.strip().split("  # ") for line in shown.splitlines() if "  # " in line)
    origins = {key.rstrip(): origin for key, origin in origins.items()}
    assert origins['file: "uv.lock"'] == "mine.yaml:2:18"
    assert origins['value: "/hf"'] == "mine.yaml:3:34"
    assert origins["python: null"] == origins['why: ""'] == "jobgen's default"
