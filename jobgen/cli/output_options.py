"""The options that say what to do with a script; those of the job are in planning/job_options."""

from __future__ import annotations

from jobgen.planning.option_row import BATCH, RANKS, Option

OUTPUT_OPTIONS = {
    "output": Option(
        ("-o", "--output"),
        metavar="FILE",
        help="Write to FILE, atomically and executable.",
        commands=RANKS,
        group="Output",
    ),
    "submit": Option(
        ("--submit",),
        help="Submit the script; print the job's id instead of the script.",
        commands=BATCH,
        group="Output",
        effect={"sbatch": "`sbatch`", "qsub": "`qsub`"},
    ),
    "wait": Option(
        ("--wait",),
        help="Submit, follow the job on stderr, and exit with its status.",
        commands=BATCH,
        group="Output",
        effect={"sbatch": "`scontrol show job`", "qsub": "`qstat -f`, `qsub -W block=true`"},
    ),
    "mkdir": Option(
        ("--mkdir",),
        help="Create the folder of the job's output now.",
        commands=BATCH,
        group="Output",
    ),
}


def output_options(command: str) -> dict[str, Option]:
    """The options of a command that say what to do with its script, by name."""
    return {name: row for name, row in OUTPUT_OPTIONS.items() if command in row.commands}
