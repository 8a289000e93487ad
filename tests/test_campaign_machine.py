"""Campaigns on an emulated Slurm, with kills at every point: each job is submitted once."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jobgen.campaign import campaign, states, submit_jobs
from jobgen.campaign.jobs import Job
from jobgen.campaign.submit_jobs import locked
from tests.emulated_slurm import EmulatedJob, EmulatedSlurm

ENDS = ["COMPLETED", "FAILED", "CANCELLED"]
STEPS = [  # each writes files
    (submit_jobs, "keep_script"),
    (submit_jobs, "note_submission"),
    (states, "note_submission"),
]


class Killed(BaseException):
    """Stands for a `kill -9` of jobgen."""


class Campaigns(RuleBasedStateMachine):
    """Runs of `build --submit`, some killed, while jobs start and end, and scripts change."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.slurm = EmulatedSlurm(self.folder, self.step)
        self.slurm.on_submission = self.check_new  # type: ignore[method-assign]
        self.steps_left: int | None = None
        self.versions: list[int] = []

    @initialize(size=st.integers(1, 5), at_once=st.none() | st.integers(1, 3))
    def make(self, size: int, at_once: int | None) -> None:
        self.versions, self.at_once = [0] * size, at_once

    def step(self) -> None:
        """A point at which jobgen may be killed."""
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise Killed

    def check_new(self, new: EmulatedJob) -> None:
        of_script = [each for each in self.slurm.jobs.values() if each.script == new.script]
        assert not [each.id for each in of_script if each.is_active or each.state == "COMPLETED"]

    def jobs(self) -> list[Job]:
        made = []
        for number, version in enumerate(self.versions):
            script = f"#!/bin/bash\n#SBATCH --job-name=j{number}\n# {version}\n".encode()
            path = self.folder / f"j{number}.sh"
            path.write_bytes(script)
            digest = hashlib.sha256(script).hexdigest()
            made.append(
                Job(path, (f"j{number}",), "slurm", digest, self.slurm.logs, machine=self.slurm)
            )
        return made

    def wrapped(self, module: ModuleType, name: str) -> object:
        original = getattr(module, name)

        def call(*words: object, **more: object) -> object:
            self.step()
            result = original(*words, **more)
            self.step()
            return result

        return mock.patch.object(module, name, call)

    @rule(kill_at=st.none() | st.integers(0, 40))
    def submit(self, kill_at: int | None) -> None:
        jobs = self.jobs()
        patches = [self.wrapped(*each) for each in STEPS]
        for each in patches:
            each.start()  # type: ignore[attr-defined]
        self.steps_left = kill_at
        try:
            with suppress(Killed), locked(self.folder) as lock:
                campaign.submit_missing(jobs, jobs, self.at_once, lock)
        finally:
            self.steps_left = None
            for each in patches:
                each.stop()  # type: ignore[attr-defined]

    @rule(job=st.data())
    @precondition(lambda self: self.slurm.startable)
    def start(self, job: st.DataObject) -> None:
        self.slurm.start(job.draw(st.sampled_from(self.slurm.startable)))

    @rule(job=st.data(), state=st.sampled_from(ENDS), silent=st.booleans())
    @precondition(lambda self: self.running)
    def end(self, job: st.DataObject, state: str, silent: bool) -> None:
        """A job ends; one whose node is lost writes no record of it."""
        chosen = job.draw(st.sampled_from(self.running))
        self.slurm.end(chosen, state, has_record=state == "COMPLETED" or not silent)

    @rule(job=st.data())
    @precondition(lambda self: self.slurm.startable)
    def cancel_waiting(self, job: st.DataObject) -> None:
        chosen = job.draw(st.sampled_from(self.slurm.startable))
        self.slurm.end(chosen, "CANCELLED", has_record=False)

    @rule()
    def forget(self) -> None:
        """As Slurm does after MinJobAge."""
        for each in self.slurm.jobs.values():
            each.is_forgotten |= not each.is_active

    @rule(number=st.integers(0, 4))
    def edit(self, number: int) -> None:
        """Change a script whose job is not in the queue."""
        name = f"j{number}"
        is_there = any(each.name == name and each.is_active for each in self.slurm.jobs.values())
        if number < len(self.versions) and not is_there:
            self.versions[number] += 1

    @rule(count=st.integers(1, 2))
    def refuse(self, count: int) -> None:
        self.slurm.refuses = count

    @rule()
    def time_out(self) -> None:
        self.slurm.takes_and_fails = True

    @property
    def running(self) -> list[EmulatedJob]:
        return [each for each in self.slurm.jobs.values() if each.state == "RUNNING"]

    @invariant()
    def at_most_so_many_run(self) -> None:
        if self.versions and self.at_once:
            assert len(self.running) <= self.at_once

    def teardown(self) -> None:
        """With nobody who kills, all jobs are done after a few calls, and none is forgotten."""
        try:
            if self.versions:
                self.finish()
        finally:
            shutil.rmtree(self.folder)

    def finish(self) -> None:
        for _ in range(6):
            self.submit(None)
            while ready := [*self.running, *self.slurm.startable]:
                job = ready[0]
                self.slurm.start(job) if job.state == "PENDING" else self.slurm.end(
                    job, "COMPLETED"
                )
        done = [each.digest for each in self.slurm.jobs.values() if each.state == "COMPLETED"]
        assert len(done) == len(set(done))
        assert {job.digest for job in self.jobs()} <= set(done)
        assert not [each for each in self.slurm.jobs.values() if each.is_active]


Campaigns.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestCampaigns = Campaigns.TestCase
