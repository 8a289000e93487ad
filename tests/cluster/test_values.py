"""Values of the user arrive as they are, and are never run."""

from __future__ import annotations

import json
import re
from subprocess import CalledProcessError

import pytest

from tests.cluster.jobs import ON_CPU, PATH, Desk, generate
from tests.hostile import ARGUMENTS, literal
from tests.test_slurm import OUTPUTS

# Into a file of each rank: srun passes long lines on in pieces, and mixes those of ranks.
SHOW = """import json, os, sys
with open("shown-" + os.environ["RANK"], "w") as file:
    json.dump([sys.argv[1:], os.environ["HOSTILE"]], file)
"""


# As a name, what it means to bash and to sbatch, and to Slurm's pattern of a file.
NAME = "a'b\"c\\d $(touch pwned)`touch pwned` #SBATCH --nodes=9 %j%%x é“”!*~;&|<>"
COMMENT = "x' \" \\ # $(touch pwned) %j ^array_index^ é {{ plan }} --nodes=9"


@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_hostile_values_arrive_unchanged(desk: Desk, launcher: str) -> None:
    """At the program and at Slurm; the file's pattern is Slurm's, the name's is not."""
    value = "".join(ARGUMENTS)
    job = desk.submit(
        *("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", "--launcher", launcher),
        *("-J", NAME, f"--directive=--comment={COMMENT}", "--set", "request.output=o $(x)'-%j"),
        *("-e", f"HOSTILE={literal(value)}", "--", desk.program("show me.py", SHOW), *ARGUMENTS),
    )
    shown = desk.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    done = desk.cluster.wait(job, 180)
    assert done.state == "COMPLETED", done.output
    assert f" JobName={NAME}\n" in shown
    assert f"   Comment={COMMENT} \n" in shown
    assert f"   StdOut={desk.folder}/o $(x)'-{job}\n" in shown
    for rank in range(2):
        assert json.loads((desk.folder / f"shown-{rank}").read_text()) == [ARGUMENTS, value]
    assert " NumNodes=2 " in shown.replace("NumNodes=2-2", "NumNodes=2")
    assert not list(desk.folder.rglob("pwned"))


@pytest.mark.parametrize(("option", "most"), [("-J", 1024), ("-A", 1024)])
def test_slurm_takes_the_longest_value_that_jobgen_does(desk: Desk, option: str, most: int) -> None:
    desk.submit(*("--profile", "mi210", *ON_CPU, option, "x" * most), options=["--hold"])
    with pytest.raises(CalledProcessError):
        desk.submit(*("--profile", "mi210", option, "x" * (most + 1)))


def test_the_output_s_folder_is_the_one_that_slurm_means(desk: Desk) -> None:
    """Of %% it makes %, and where there is a backslash, it takes that away and replaces nothing."""
    words = ("--profile", "mi210", *ON_CPU, "-N", "1", "-G", "1", "-J", "job", "--launcher", "srun")
    for output, folder in OUTPUTS.items():
        done = desk.run(*words, "--mkdir", "--set", f"request.output={output}", "--", "true")
        assert done.state == "COMPLETED"
        assert (desk.folder / folder / "o").is_file(), output


def test_no_gpus_are_seen_where_the_profile_says_none(desk: Desk) -> None:
    """Slurm sets these anew in every step; a GPU that is there must stay unused."""
    text = "import os\nprint([os.environ[f'{x}_VISIBLE_DEVICES'] for x in ('CUDA', 'ROCR')])\n"
    words = ("--profile", "mi210", *ON_CPU, "-N", "1", "-G", "1", "--launcher", "srun")
    done = desk.run(*words, "--", desk.program("show.py", text))
    assert "['', '']" in done.output.splitlines()


def test_a_rank_meets_no_function_of_the_script(desk: Desk) -> None:
    """Exported functions would shadow commands of those names in a program's own bash."""
    text = "#!/bin/bash\ntype -t run_node check_node software\n"
    text += "env | grep -c -e BASH_FUNC -e JOBGEN_\n"
    words = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1")
    done = desk.run(*words, "--", "./" + desk.program("types", text))
    assert done.state == "FAILED", done.output  # grep -c of nothing
    assert "function" not in done.output.splitlines()
    assert "\n0\n" in done.output


@pytest.mark.thorough
def test_values_of_the_node_and_of_who_submits(desk: Desk) -> None:
    """A value may use Slurm's own variables; a name alone passes the submitter's value on."""
    text = "import os\nwith open('shown-' + os.environ['RANK'], 'w') as file:\n"
    text += "    file.write(os.environ['DATA'] + ' ' + os.environ['HF_TOKEN'])\n"
    words = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1")
    values = ("-e", "DATA=${SLURM_JOB_ID}/$SLURM_NODEID/$$x$(touch pwned)", "-e", "HF_TOKEN")
    program = ("--", desk.program("show.py", text))
    environment = {"PATH": PATH, "HF_TOKEN": "hf $x 'y'"}
    ways = ((), ("--launcher", "srun"), ("--plain",), ("--directive=--export=HF_TOKEN,PATH",))
    for way in ways:
        script = generate("sbatch", *words, *way, *values, *program, cwd=desk.folder)
        job = desk.cluster.sbatch(script, cwd=desk.folder, env=environment)
        done = desk.cluster.wait(job, 180)
        assert done.state == "COMPLETED", done.output
        for rank in range(2):
            shown = (desk.folder / f"shown-{rank}").read_text()
            assert re.fullmatch(rf"{job}/[01]/\$x\$\(touch pwned\) hf \$x 'y'", shown), way
        assert "hf $x" not in script
    assert not list(desk.folder.rglob("pwned"))


def test_a_name_that_is_not_set_ends_the_job_with_that_name(desk: Desk) -> None:
    words = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", "-e", "HF_TOKEN", "--", "true")
    done = desk.run(*words)
    assert done.state == "FAILED"
    assert "HF_TOKEN: is not set: export it before the job is submitted\n" in done.output
