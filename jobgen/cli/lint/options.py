"""The options of `jobgen lint`, one row each: for click, and for reading words without it."""

from __future__ import annotations

from jobgen.planning.option_row import Option

_LINT = frozenset({"lint"})

OPTIONS = {
    "format": Option(
        ("--format",),
        metavar="text|json|sarif|github",
        help="The format of the findings.",
        group="Output",
        commands=_LINT,
    ),
    "select": Option(
        ("--select",),
        metavar="CODE",
        help="Only these rules. JG2 selects all codes that begin with JG2. Repeatable.",
        group="Other",
        commands=_LINT,
        repeatable=True,
    ),
    "ignore": Option(
        ("--ignore",),
        metavar="CODE",
        help="Without these rules. Repeatable.",
        group="Other",
        commands=_LINT,
        repeatable=True,
    ),
    "also": Option(
        ("--also",),
        metavar="CODE",
        help="These rules, too, which are off by default. Repeatable.",
        group="Other",
        commands=_LINT,
        repeatable=True,
    ),
    "jobs_only": Option(
        ("--jobs-only",),
        help="Skip files without #SBATCH or #PBS lines, also if they are named.",
        group="Other",
        commands=_LINT,
    ),
    "profile": Option(
        ("--profile",),
        metavar="PROFILE|FILE",
        help="The cluster of the scripts; its limits are checked, too.",
        group="Cluster",
        commands=_LINT,
    ),
    "fix": Option(
        ("--fix",),
        help="Mend what has only one right mend, show the changes, and report what is left.",
        group="Output",
        commands=_LINT,
    ),
    "diff": Option(
        ("--diff",),
        help="Only show what --fix would change.",
        group="Output",
        commands=_LINT,
    ),
    "stdin_filename": Option(
        ("--stdin-filename",),
        metavar="FILE",
        help="What file - stands for: its name and its pyproject.toml count.",
        group="Other",
        commands=_LINT,
    ),
}
FORMATS = OPTIONS["format"].metavar.split("|")
