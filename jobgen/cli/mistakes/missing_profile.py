"""What to write in a job that names no profile: that of the login node here, or one that fits."""

from collections.abc import Iterator
from itertools import islice

from jobgen.errors import Mark, Problem
from jobgen.generator import find_profiles
from jobgen.planning.job_options import Job
from jobgen.planning.option_row import BATCH
from jobgen.profiles.login_node import profiles_here
from jobgen.profiles.search import profile_files
from jobgen.quoting import quote

_MOST_NAMES = 5  # the most profiles in one message


def profile_problem(job: Job) -> Iterator[Problem]:
    """The problem of a job without a profile, also if a profile is named as partition or queue."""
    if job.profile is not None or job.command == "local":
        return
    name = job.partition or job.queue
    if name in profile_files():
        text = f"no profile is named, and {name} is one"
        yield Problem(Mark("--profile"), text, "usage", f"write --profile {name}")
    elif job != Job(job.command):
        from jobgen.planner.assembly import command_words  # only a mistake needs it

        of_host = profiles_here(find_profiles())
        name = of_host[0] if len(of_host) == 1 else "NAME"
        line = " ".join(map(quote, command_words(job._replace(profile=name))))
        hint = f"this is a login node of {' or '.join(of_host)}; write: {line}"
        if not of_host:
            names = ", ".join(islice(_fitting_profiles(job.command), _MOST_NAMES))
            hint = f"write: {line}; a NAME is {names} or another one of `jobgen profiles list`"
            hint += "; `jobgen detect` writes one for the cluster here"
        yield Problem(Mark("--profile"), "no profile is named", "usage", hint)


def _fitting_profiles(command: str) -> Iterator[str]:
    """The profiles for the scheduler of a command, the user's own first."""
    from jobgen.cli.mistakes.other_commands import command_of

    for name in profile_files():
        own = command_of(name)
        if own == command or (own in BATCH and command not in BATCH):
            yield name
