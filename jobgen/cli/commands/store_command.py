"""The commands `jobgen store`: what is kept for jobs in the folder `software.store`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from jobgen.cli.app import RowOption, argument, columns, command_group, option
from jobgen.cli.commands.job_commands import default_profile
from jobgen.code_store.removal import StoreEntry, kept_in, remove_parts
from jobgen.code_store.store import folder_in, store_of
from jobgen.errors import JobgenError, in_bytes, printable, problem, report
from jobgen.generator import find_profiles, no_profile, overrides
from jobgen.paths import shortest, to_path
from jobgen.planning.job_options import OPTIONS, Job
from jobgen.repository.store_users import find_users
from jobgen.scripts.write import write
from jobgen.submission.machine import HERE

_HOUR = 3600.0
_WEEK = 168 * _HOUR  # a script that is not here may be submitted as long after it was made
_A_JOB = "a queued job, perhaps"
# What decides which environment is made.
_of_an_environment = [RowOption(name, OPTIONS[name]) for name in ("profile", "set_values")]

store = command_group("store")
_store = argument("folder", default="", metavar="[STORE]")
_profile = option("--profile PROFILE", "The store of this profile.")
_below = option(
    "--below FOLDER...", "Where your scripts and records are; default: the working folder.", "below"
)


@store.command("list")
@_store
@_profile
@_below
def _store_list(folder: str, profile: str | None, below: tuple[str, ...]) -> int:
    """What a store has: files, size, last use, and what needs it.

    These are copies of code and environments. A record of a job, a script below the working folder
    or a queued job may need one. Without STORE, it is the profile's, or .jobgen/store.
    """
    found = kept_in(_folder(folder, profile))
    users = find_users(below or ["."], [each.name for each in found])
    try:
        limit = _limit()
    except JobgenError as error:
        report(f"warning: {error}")
        limit = 0
    rows = [_row(each, _needed_by(each, users, limit)) for each in found]
    head = ("NAME", "FILES", "SIZE", "LAST USE", "COMMIT", "NEEDED BY")
    write(columns([head, *rows]) if rows else "")
    return 0


@store.command("remove")
@_store
@_profile
@_below
@option("-n --dry-run", "Only show what would be removed; exit 1 if anything would.")
@option("--force", "Do not ask the queue: none of your jobs waits or runs.")
def _store_remove(
    folder: str, profile: str | None, below: tuple[str, ...], dry_run: bool, force: bool
) -> int:
    """Remove from a store what nothing needs.

    That is what no record of a job and no script below the working folder names, and what was not
    used since a week before your oldest job in the queue was submitted: that job may need it.
    Scripts elsewhere do not count: name their folders by --below. Without STORE, it is the
    profile's, or .jobgen/store.
    """
    place = _folder(folder, profile)
    found = kept_in(place)
    users = find_users(below or ["."], [each.name for each in found])
    limit = time.time() - _HOUR if force else _limit()
    count, size = 0, 0
    for each in found:
        if _needed_by(each, users, limit):
            continue
        count, size = count + 1, size + each.size()[1]
        if not dry_run:
            each.remove()
        write(f"{printable(str(each.path))}: {'would be ' * dry_run}removed\n")
    if not dry_run:
        remove_parts(place)
    verb = "to be removed" if dry_run else "removed"
    report(f"{count} {verb}, {in_bytes(size)}; {len(found) - count} needed")
    return int(dry_run and bool(count))


@store.command("build", params=_of_an_environment)
@option("--lock FILE", "The lock; the default is the profile's `software.lock`.")
@option("--image", "Also pack it as one image; with `software.stage: squashfs`, it always is.")
def _store_build(
    profile: str | None, set_values: tuple[str, ...], lock: str | None, image: bool
) -> int:
    """Make the environment of a lock, where there is a network.

    It runs `uv sync --frozen` with your own uv, into the store: a folder that is named by the lock.
    The jobs of the profile then run from it. It appears there as a whole, and only if torch, where
    the lock has it, can be imported; what is there already is not made again. Packages that are
    folders here are code, and not installed: a job has them by --code. The path is on stdout.
    Example:

      jobgen store build --profile mi210
    """
    from jobgen.environment.lock import FOLDER, check_architecture, read_lock
    from jobgen.environment.making import make_environment, make_image

    name = profile or default_profile()
    if name is None:
        raise no_profile()
    profiles = find_profiles()
    changes = [*overrides(Job("sbatch", profile=name, set_values=set_values))]
    if lock is not None:
        changes.append(("--lock", "software.lock.file", lock))
    resolved = profiles.load(name, changes)
    software = resolved.profile.software
    if software.lock is None:
        text = f"the profile {name} has no `software.lock`"
        raise problem("--lock", text, "usage", "such as --lock uv.lock")
    locked = read_lock(resolved, profiles.within)
    check_architecture(resolved, os.uname().machine)
    if not locked.has_torch:
        text = "torch is not in the lock: ranks have it only if the profile brings another one"
        report(f"warning: {text}; uv add torch")
    folder = folder_in(store_of(resolved.profile, profiles.within).absolute(), FOLDER)
    place = make_environment(locked, folder)
    if image or software.stage == "squashfs":
        place = make_image(locked, folder)
    write(f"{place}\n")
    return 0


def _folder(folder: str, profile: str | None) -> Path:
    """The folder of a store: the named one, or that of the profile's jobs."""
    if folder:
        return to_path(folder)
    resolved = find_profiles().load(profile or default_profile() or "local")
    return shortest(store_of(resolved.profile, Path()))


def _limit() -> float:
    """The time since which a copy may be used by a queued job, or by one submitted soon."""
    from jobgen.submission.queues.own_jobs import NoAnswer, own_jobs, schedulers_on

    schedulers = schedulers_on(HERE)
    if not schedulers:
        text = "neither `squeue` nor `qselect` is here: a queued job may need what is removed"
        raise problem("store", text, "submit", "do this on a login node, or add --force")
    try:
        jobs = [job for scheduler in schedulers for job in own_jobs(scheduler)]
    except NoAnswer as error:
        text = f"it is not known whether a queued job needs something: {error}"
        raise problem("store", text, "submit", "try again later, or add --force") from None
    active = (job.submitted for job in jobs if job.status.exit_status is None)
    return min([time.time(), *active]) - _WEEK


def _needed_by(each: StoreEntry, users: Mapping[str, Sequence[str]], limit: float) -> str:
    """What needs a copy, in words; "" if nothing does."""
    if not users[each.name]:
        return _A_JOB if each.used >= limit else ""
    first, *others = users[each.name]
    return f"{first} and {len(others)} more" if others else first


def _row(each: StoreEntry, needed_by: str) -> tuple[str, ...]:
    from jobgen.diagnosis.job_folder.silence import in_words

    files, size = each.size()
    note = each.note
    commit = str(note.get("commit", ""))[:10] + " and changes" * bool(note.get("differs"))
    name = f"{each.path.parent.name}/{each.name}"
    age = f"{in_words(time.time() - each.used)} ago"
    return name, f"{files}", in_bytes(size), age, commit or "-", needed_by or "-"
