"""The schedulers: what a scheduler must provide, and which schedulers there are.

A scheduler is one template, and one module here: it has a SCHEDULER, which knows the directives and
their quoting. Not here: what happens to a job after it is submitted (submission/).
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from jobgen.errors import JobgenError, Problem, problem
from jobgen.profiles.model import Profile
from jobgen.profiles.records import keys_of
from jobgen.quoting import has_unseen

if TYPE_CHECKING:
    from jobgen.planning.plan import Directive, Plan, Request


Note = Callable[[str, str, str], None]  # path, text, hint
Words = tuple[str, ...]


class Scheduler(NamedTuple):
    """What a scheduler is and does; the functions that take a plan may raise JobgenError."""

    template: str
    launchers: tuple[str, ...]
    name_rule: str  # a regular expression for the name of a job
    name_rule_in_words: str
    time_rule_in_words: str  # how a walltime is written
    # The lines that request the job, and the words of a command that requests the same nodes and a
    # shell on the first node.
    directives: "Callable[[Plan], tuple[str, ...]]"
    interactive: "Callable[[Plan], tuple[str, ...]]"
    # Returns the seconds of a walltime, or None if the scheduler cannot read the text.
    seconds: Callable[[str], int | None] = lambda _: None
    # Returns the folder of the job's output; JobgenError if only the scheduler will know its name.
    output_folder: "Callable[[Plan], str]" = lambda _: ""
    # Returns what is lost if that folder does not exist, or "" if the script creates it.
    lost_without_folder: "Callable[[Plan], str]" = lambda _: ""
    # Returns the options of every step of a job, and those of the step that starts the ranks.
    step_options: "Callable[[Profile, Request], tuple[Words, Words]]" = lambda *_: ((), ())
    # Notes the values of a profile that its starter does not support.
    starter_conflicts: Callable[[Profile, str, Note], None] = lambda *_: None
    starters: tuple[str, ...] = ()  # the values of launch.starter; the first is the default
    gpu_options: tuple[str, ...] = ()  # the values of request.gpu_option
    variables: tuple[str, ...] = ()  # environment variables that the scheduler sets for a rank
    array_index: str = ""  # the variable with the number of a job in its array
    elastic: bool = False  # whether a job can have from MIN to MAX nodes
    signals: bool = False  # whether the scheduler signals a job before its walltime
    requeues_at_walltime: bool = False  # whether a job can put itself back into the queue
    kill_delay: int | None = None  # seconds between its TERM and its KILL, unless a site has others
    new_options: Mapping[
        str, str
    ] = {}  # options that old versions lack, each with its first version


GRACE_LESS = 2  # seconds of the scheduler's delay that are left to the processes that end the ranks
_SHOWS_DELAY = {
    "slurm": "`scontrol show config | grep KillWait`",
    "pbs": "`qmgr -c 'list queue NAME kill_delay'`",
}
# A process of these starters starts one node. All run on the first node, and a lead waits for them.
ONE_NODE_EACH = ("pbs_tmrsh", "pbsdsh", "ssh")
MOST_STARTED = 512  # nodes; each needs a process and three open files of the lead
MOST_OF_NAME = 200  # characters: both Slurm and PBS take so many
COMMANDS = {"slurm": "sbatch", "pbs": "qsub", "local": "local"}


def get_scheduler(name: str) -> Scheduler:
    """The scheduler of that name; its module is imported when it is needed."""
    return cast(Scheduler, import_module(f"jobgen.schedulers.{name}").SCHEDULER)


def nearest_job_name(text: str, command: str) -> str:
    """Returns `text`, or the nearest name that a command's scheduler takes for a job."""
    rule = next(get_scheduler(name).name_rule for name, each in COMMANDS.items() if each == command)
    plain = re.sub(r"[^A-Za-z0-9_+.-]", "_", text)[:MOST_OF_NAME]
    return next((name for name in (text, plain) if re.fullmatch(rule, name)), "job")


def starter_of(profile: Profile, scheduler: Scheduler) -> str:
    """Returns the starter of a job: the profile's, or the scheduler's default; "" without any."""
    return profile.launch.starter or (*scheduler.starters, "")[0]


@cache
def absent_keys(scheduler: str) -> dict[str, str]:
    """Returns the keys of a profile that a scheduler does not support, each with a hint."""
    hints = {key.path: key.row.absent.get(scheduler) for key in keys_of(Profile)}
    return {path: hint for path, hint in hints.items() if hint}


def profile_conflicts(profile: Profile, note: Note) -> None:
    """Note the values of a profile that its scheduler does not support."""
    if profile.scheduler is None:
        return
    scheduler = get_scheduler(profile.scheduler)
    for path, hint in absent_keys(profile.scheduler).items():
        if attrgetter(path)(profile):
            value = attrgetter(path)(profile)
            if other := re.fullmatch(r"(PBS|Slurm) has a `(\w+)`", hint):
                hint = f"write --set {other[2]}={value}"
            note(path, f"{profile.scheduler} has no {path.rpartition('.')[2]}", hint)
    starter = starter_of(profile, scheduler)
    if starter in scheduler.starters or not scheduler.starters:
        scheduler.starter_conflicts(profile, starter, note)
    else:
        text = f"{profile.scheduler} has no starter `{starter}`"
        note("launch.starter", text, f"one of: {', '.join(scheduler.starters)}")
    _grace(profile, scheduler, note)
    if profile.slurm_version:
        _new_options(profile, profile.slurm_version, scheduler.new_options, note)
    gpu_option = profile.request.gpu_option
    if gpu_option and scheduler.gpu_options and gpu_option not in scheduler.gpu_options:
        text = f"{profile.scheduler} has no `{gpu_option}`"
        note("request.gpu_option", text, f"one of: {', '.join(scheduler.gpu_options)}")


def _new_options(profile: Profile, version: str, since: Mapping[str, str], note: Note) -> None:
    """Note the options that `version` of the scheduler does not have."""
    request, launch = profile.request, profile.launch
    options = {
        "request.segment": ("--segment",) * bool(request.segment),
        "launch.oom_kill_step": ("--oom-kill-step",) * launch.oom_kill_step,
        "launch.expedite": ("--requeue=expedite",) * launch.expedite,
        "request.directives": request.directives,
        "launch.srun_options": launch.srun_options,
    }
    for path, words in options.items():
        for name, first in since.items():
            if first > version and any(re.match(f"--{name}(=|$)", word) for word in words):
                text = f"--{name} is new in Slurm {first}, and slurm_version is {version}"
                note(
                    path, text, "leave it out, or correct slurm_version if the site has a newer one"
                )


def _grace(profile: Profile, scheduler: Scheduler, note: Note) -> None:
    """Note a grace (launch.stop_grace) of the ranks that is longer than the scheduler's own.

    A scheduler lists the nodes as free after its KILL: a process that still runs there disturbs the
    next job, and with PBS the process may run on.
    """
    launch = profile.launch
    if scheduler.kill_delay is None or launch.plain:
        return
    grace, delay = launch.stop_grace, launch.kill_delay or scheduler.kill_delay
    most = delay - GRACE_LESS
    if grace > most:
        text = f"ranks have {grace} s after TERM, and {profile.scheduler} kills after {delay}:"
        text += " what then still runs would disturb the next job on its node"
        shown = _SHOWS_DELAY[str(profile.scheduler)]
        hint = f"--set launch.stop_grace={most}, or the site's launch.kill_delay ({shown})"
        note("launch.stop_grace", text, hint)


Option = TypeVar("Option")


def user_options(plan: "Plan", option_of: "Callable[[Directive], Option]") -> list[Option]:
    """Returns the options that a person wrote; raises JobgenError with all their problems."""
    found, problems = list[Option](), list[Problem]()
    for directive in plan.request.directives:
        try:
            found.append(option_of(directive))
        except JobgenError as error:
            problems += error.problems
    if problems:
        raise JobgenError(problems)
    return found


def after_hint(text: str, form: str, job: str) -> str:
    """Returns what to write for a value such as afterok:1:2 or 123:456; `form` for any other.

    `job` is the pattern of a job's id.
    """
    if not text or text.startswith("-"):
        return f"the value is missing; {form}"
    words = re.sub("(?i)submitted batch job", "", text).replace("after", "")
    tokens = [word for word in re.split(r"[:,\s]+", words) if word]
    ids = [word for word in tokens if re.fullmatch(job, word, re.ASCII)]
    kinds = {word for word in tokens if word in ("ok", "any", "notok")}
    if not ids or len(kinds) > 1 or len(ids) + len(kinds) < len(set(tokens)):
        return form
    kind = f":{''.join(kinds)}" if kinds - {"ok"} else ""
    return f"write {' '.join(f'--after {each}{kind}' for each in ids)}"


def checked_visible(value: str, place: str) -> str:
    """Returns a directive's value, set at `place`; raises JobgenError for unseen characters."""
    if has_unseen(value):
        text = f"{value!a:.80} has a character that cannot be seen"
        raise problem(place, text, "value", "a directive is one line of visible characters")
    return value
