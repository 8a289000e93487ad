"""Refuses jobs whose environment of a lock is not built, where the store is seen from here."""

from collections.abc import Sequence
from pathlib import Path

from jobgen.code_store.store import folder_of_job
from jobgen.errors import JobgenError, problem
from jobgen.paths import is_outside
from jobgen.planning.plan import Plan
from jobgen.quoting import quote


def check_environments(plans: Sequence[Plan], within: Path) -> None:
    """Raise JobgenError for jobs, submitted from the folder `within`, that lack an environment."""
    missing = {place: plan for plan in plans if (place := _missing(plan, within))}
    found = [
        problem(
            "software.lock",
            f"its environment is not built: {place}",
            "environment",
            f"make it: {' '.join(map(quote, plan.software.build))}",
        )
        for place, plan in missing.items()
    ]
    if found:
        raise JobgenError([each for error in found for each in error.problems])


def _missing(plan: Plan, within: Path) -> Path | None:
    """The environment of a job, if it is not there; nobody knows in a store of the nodes alone."""
    software, chdir = plan.software, plan.request.chdir
    place = software.stage_from or software.venv
    if software.lock is None or not place:
        return None
    try:
        store = folder_of_job(software.store, chdir, within)
        environment = folder_of_job(place, chdir, within)
    except JobgenError:  # a variable is not set here
        return None
    is_here = store.parent.is_dir() or not is_outside(store, within)
    return environment if is_here and not environment.exists() else None
