"""Values of the user arrive as they are, and are never run."""

from __future__ import annotations

import json

import pytest

from tests.cluster.jobs import ON_CPU, Desk

HOSTILE = ["--", "--nnodes=4", "", " a  b ", "new\nline\n", "cr\rtab\t", "-h", "--help", "%j"]
HOSTILE += ["$(touch pwned)", "`touch pwned`", ";touch pwned", "&", "|", "$HOME", "${x}", "*", "~"]
HOSTILE += ["'", '"', "\\", "\\n", "a'b\"c\\", "~/x", "!x", "#SBATCH --nodes=9", "PYTHON"]
HOSTILE += ["é“”–\u202e\u200b", "{{ plan }}", "\udcff\udcfe"]
SHOW = """import json, os, sys
sys.stdout.write(json.dumps(["shown", sys.argv[1:], os.environ["HOSTILE"]]) + "\\n")
"""


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_hostile_arguments_arrive_unchanged(desk: Desk, launcher: str) -> None:
    value = "".join(HOSTILE)
    done = desk.run(
        *("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", "--launcher", launcher),
        *("-e", f"HOSTILE={value}", "--", desk.program("show me.py", SHOW), *HOSTILE),
    )
    assert done.state == "COMPLETED", done.output
    lines = [line for line in done.output.splitlines() if line.startswith('["shown"')]
    assert [json.loads(line) for line in lines] == [["shown", HOSTILE, value]] * 2
    assert not (desk.folder / "pwned").exists()


def test_no_gpus_are_seen_where_the_profile_says_none(desk: Desk) -> None:
    """Slurm sets these anew in every step; a GPU that is there must stay unused."""
    text = "import os\nprint([os.environ[f'{x}_VISIBLE_DEVICES'] for x in ('CUDA', 'ROCR')])\n"
    words = ("--profile", "mi210", *ON_CPU, "-N", "1", "-G", "1", "--launcher", "srun")
    done = desk.run(*words, "--", desk.program("show.py", text))
    assert "['', '']" in done.output.splitlines()


def test_a_rank_meets_no_function_of_the_script(desk: Desk) -> None:
    """Exported functions would else shadow commands such as `node` in a program's own bash."""
    text = "#!/bin/bash\ntype -t node preflight address; env | grep -c BASH_FUNC\n"
    words = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1")
    done = desk.run(*words, "--", "./" + desk.program("types", text))
    assert done.state == "FAILED", done.output  # grep -c of nothing
    assert "function" not in done.output
    assert "\n0\n" in done.output
