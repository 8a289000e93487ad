"""The hosts of a manifest's jobs: reached by ssh, and sent what their jobs need there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from jobgen.campaign.jobs import Job, Needs
from jobgen.keeper.carried import FOLDER
from jobgen.remote.code import send_codes
from jobgen.remote.files import address, failed, rsync
from jobgen.remote.job import prepare
from jobgen.remote.place import reach
from jobgen.submission.login import Login
from jobgen.submission.machine import Machine


def reach_hosts(jobs: Sequence[Job], needs: dict[Path, Needs], submits: bool) -> list[Job]:
    """The jobs, each with its machine as it was reached; if it `submits`, their folders are made.

    Raises JobgenError if a host does not answer, or lacks what its jobs need.
    """
    reached: dict[Machine, Machine] = {}
    for host in dict.fromkeys(each.machine for each in jobs):
        if not isinstance(host, Login):
            continue
        plans = [needs[each.path].plan for each in jobs if each.machine == host]
        for scheduler in {plan.scheduler for plan in plans}:
            own = [plan for plan in plans if plan.scheduler == scheduler]
            reached[host] = prepare(host, own) if submits else reach(host)[0]
    return [replace(each, machine=reached.get(each.machine, each.machine)) for each in jobs]


def send_needs(jobs: Iterable[Job], needs: dict[Path, Needs], folder: Path) -> None:
    """Send the code and the keepers of jobs to their hosts, from a manifest's folder here."""
    by_host: dict[Login, list[Needs]] = {}
    for job in jobs:
        if isinstance(job.machine, Login):
            by_host.setdefault(job.machine, []).append(needs[job.path])
    for login, own in by_host.items():
        copies = {id(each.codes): each.codes for each in own}
        spaces = filter(None, (each.plan.software.workspace for each in own))
        names = {space.commit for space in spaces}
        codes = [code for each in copies.values() for code in each.codes if code[-1].name in names]
        send_codes(login, codes, folder / ".jobgen/store")
        for name in sorted({name for each in own for name in each.keepers}):
            target = address(login, login.folder.replace("$$", "$"))
            answer = rsync(["-pR"], f"{folder}/./{FOLDER}/{name}", f"{target}/", login)
            if answer.status:
                raise failed(login, answer)
