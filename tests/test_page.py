"""The Python of `jobgen page` that answers the form in the browser."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobgen.__main__ import run
from jobgen.lint.rules import rules
from jobgen.page.browser.fields import all_fields
from jobgen.page.browser.session import Session
from jobgen.page.browser.syntax_tree import Parser
from jobgen.planning.job_options import OPTIONS
from tests.page_tree import nodes_of, numbers_of

ROOT = Path(__file__).parent.parent
PROFILE = "description: Ours\nextends: mi210\npartition: ours\n"


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Asks a session, which has a folder of its own, as in the browser."""
    monkeypatch.chdir(tmp_path)
    session = Session(run)

    def ask(kind: str = "form", **fields: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(session.answer(json.dumps({"kind": kind, **fields})))
        assert "fault" not in found, found
        return found

    return ask


Answer = Callable[..., dict[str, Any]]


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
        ({"directives": "--comment=\x07"}, "directives", "--directive: '\\x07' has a character"),
        ({"profile": "nope"}, "profile", "--profile: no profile `nope`"),
        ({"profile": ""}, "profile", "--profile: no profile is named"),
        ({"gpus_per_node": "2", "shared": "on"}, "profile", r"mi210.yaml:36:13: with podman"),
        (
            {"profile": "-", "profile_text": "scheduler: slurm\na: b"},
            "profile_text",
            "cluster.yaml:2:1: unknown",
        ),
        ({"profile": "-", "profile_file": "../x.yaml"}, "profile_file", "'../x.yaml' is no name"),
        ({"profile": "-"}, "profile_text", "no profile is here yet; paste one, such as"),
        ({"profile": "-", "profile_text": " \n"}, "profile_text", "no profile is here yet"),
    ],
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else None,
)
def test_a_refusal_is_at_its_field(
    form: dict[str, str], field: str, text: str, answer: Answer
) -> None:
    found = answer(form={"profile": "mi210", **form})
    assert (found["exit"], found["upper"]) == (2, "")
    has_no_words = "is for a shell" in text or text.startswith(("'../x", "no profile is here"))
    program = " ".join(found["line"].split()[:2])
    assert program == ("" if has_no_words else "jobgen sbatch")
    (message,) = found["messages"]
    assert (message["field"], message["is_warning"]) == (field, False)
    assert text in message["text"]
    assert not re.search("profile_(file|text)", message["text"])


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
    drawing = answer(form=form)["drawing"]
    text = drawing.pop("text")
    assert drawing.pop("title") == "4 nodes × 8 GPUs = 32 ranks"
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
    one = answer(form={"profile": "local", "nodes": "1"})
    assert one["drawing"]["text"] == "1 node with 2 ranks each on the CPU: 2 ranks in all."
    assert one["drawing"]["title"] == "1 node × 2 ranks = 2 ranks on CPUs"
    form = {"profile": "mi210", "nodes": "2", "program": "./run.sh"}
    assert answer(form=form)["drawing"]["numbers_ranks"]  # with c10d, too
    programs = answer(form={**form, "launcher": "node"})["drawing"]
    assert programs["text"].startswith("2 nodes with 1 program each")
    assert not programs["numbers_ranks"]
    assert programs["title"] == "2 nodes × 1 program = 2 programs, each node with 8 GPUs"
    elastic = {"profile": "mi210", "nodes": "1:2", "program": "train.py"}
    title = answer(form=elastic)["drawing"]["title"]
    assert title == "2 nodes × 8 GPUs = 16 ranks, or fewer"
    assert answer(form={"profile": "eap", "nodes": "x"})["drawing"] is None


def test_a_field_shows_what_holds_without_a_choice(answer: Answer) -> None:
    """Also if another field is wrong."""

    def defaults(profile: str, text: str = "") -> dict[str, str]:
        form = {"profile": profile, "profile_text": text, "nodes": "x"}
        found: dict[str, str] = answer(form=form)["defaults"]
        return found

    whole_nodes = defaults("mi210")
    assert (whole_nodes["nodes"], whole_nodes["gpus_per_node"]) == ("2", "8")
    assert whole_nodes["exclusive"] == "on"
    assert defaults("local")["gpus_per_node"] == "0"
    assert not {"exclusive", "shared", "requeue"} & set(defaults("eap"))
    assert defaults("sites/lumi-g")["network.interface"] == "hsn0, hsn1, hsn2, hsn3"
    own = "extends: mi210\nrequest: {gpus_per_node: 2}\nlaunch: {requeue: true}\n"
    found = defaults("-", own)
    assert (found["gpus_per_node"], found["requeue"]) == ("2", "on")


def test_the_limits_of_a_cluster_are_beside_their_fields(answer: Answer) -> None:
    """Those of the partition in the form, also if another field is wrong."""
    lumi = {"profile": "sites/lumi-g", "nodes": "x"}
    partitions = "such as standard-g, small-g, dev-g"
    assert answer(form=lumi)["limits"] == {
        "nodes": "at most 1024 on standard-g",
        "gpus_per_node": "at most 8",
        "time": "at most 48:00:00 on standard-g",
        "partition": partitions,
        "queue": partitions,
        "exclusive": "the site gives whole nodes",
    }
    found = answer(form={**lumi, "partition": "small-g,dev-g"})["limits"]
    assert found["nodes"] == "at most 4 on small-g or 32 on dev-g"
    assert found["time"] == "at most 72:00:00 on small-g or 3:00:00 on dev-g"
    own = {"profile": "-", "profile_text": "scheduler: slurm\nlimits: {nodes: 8}\n"}
    assert answer(form=own)["limits"] == {"nodes": "at most 8"}
    text = "scheduler: slurm\nnode: {gpus: 4}\nlimits: {nodes: 8, min_nodes: 2, gpus: 16}\n"
    assert answer(form={"profile": "-", "profile_text": text})["limits"] == {
        "nodes": "at least 2, at most 8",
        "gpus_per_node": "at most 4; of the job, at most 16",
    }
    text = (
        "scheduler: slurm\npartition: batch\nrequest: {qos: debug}\n"
        "limits:\n  qos: {debug: {nodes: 8}}\n"
        "  partitions: {batch: {time: 12h, time_by_nodes: {91: 2h}}}\n"
    )
    own = {"profile": "-", "profile_text": text}
    names = {"partition": "such as batch", "queue": "such as batch", "qos": "such as debug"}
    for nodes, time in (("", "2h"), ("91", "2h"), ("92", "12h"), ("x", "2h")):
        found = answer(form={**own, "nodes": nodes})["limits"]
        assert found == {
            "nodes": "at most 8 with debug",
            "time": f"at most {time} on batch",
            **names,
        }
    assert answer(form={"profile": "-", "profile_text": "a: b"})["limits"] == {}


def test_blanks_around_a_value_do_not_count(answer: Answer) -> None:
    form = {
        "profile": "-",
        "profile_file": " ours.yaml\t",
        "profile_text": PROFILE,
        "nodes": " 3 ",
        "time": "10\u00a0",
        "account": "  ",
        "program": " train.py ' two  words ' ",
        "request.memory": " 64G",
    }
    found = answer(form=form)
    assert found["line"] == (
        "jobgen sbatch --profile ours.yaml -N 3 -t 10 --set request.memory=64G"
        " -- train.py ' two  words '"
    )
    assert found["exit"] == 0


def test_the_tree_for_lint_is_that_of_the_python_package() -> None:
    """The browser's parser gives numbers; here the package gives them."""
    tree_sitter, grammar = map(pytest.importorskip, ("tree_sitter", "tree_sitter_bash"))
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    texts = [rule.bad for rule in rules().values()]
    for text in (*texts, "écho '€ 😀' && (ü=😀 a\n b) # 😀\n", "if (", ""):
        data = text.encode()
        expected = list(nodes_of(parser.parse(data).root_node))
        found = list(nodes_of(Parser(lambda text: numbers_of(parser, text)).parse(data).root_node))
        assert found == expected, text
