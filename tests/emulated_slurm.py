"""A Slurm in this process, for tests of many submissions: jobs that start and end when told to."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobgen.submission.machine import Answer

NAME = b"#SBATCH --job-name="


@dataclass
class EmulatedJob:
    """A job, with Slurm's word for its state."""

    id: str
    script: bytes
    name: str
    after: frozenset[str]
    state: str = "PENDING"
    is_forgotten: bool = False

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.script).hexdigest()

    @property
    def is_active(self) -> bool:
        return self.state in ("PENDING", "RUNNING")


class EmulatedSlurm:
    """The machine with the commands. `step` is called before and after each effect."""

    name = "emulated"
    longest_pause = 10.0

    def __init__(self, folder: Path, step: Callable[[], None] = lambda: None) -> None:
        self.folder, self.logs, self.step = folder, folder / "jobgen-logs", step
        self.jobs: dict[str, EmulatedJob] = {}
        self.calls: list[tuple[str, ...]] = []
        self.refuses, self.takes_and_fails = 0, False
        self.accounting = ""  # the lines of sacct; without any, there is none

    def run(self, words: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Answer:
        self.calls.append(tuple(words))
        self.step()
        answer: Answer = getattr(self, f"_{words[0]}")(words, data)
        self.step()
        return answer

    def submit(self, words: Sequence[str], script: bytes, lock: int | None = None) -> Answer:
        return self.run(words, script)

    def shown(self, words: Sequence[str]) -> str:
        return " ".join(words)

    # ---- the commands ----

    def _pwd(self, words: Sequence[str], data: bytes) -> Answer:
        return Answer(0, f"{self.folder}\n", "")

    def _sacct(self, words: Sequence[str], data: bytes) -> Answer:
        if self.accounting:
            return Answer(0, self.accounting, "")
        return Answer(1, "", "Slurm accounting storage is disabled\n")

    def _sbatch(self, words: Sequence[str], data: bytes) -> Answer:
        if self.refuses:
            self.refuses -= 1
            return Answer(1, "", "sbatch: error: QOSMaxSubmitJobPerUserLimit\n")
        name = next(line for line in data.splitlines() if line.startswith(NAME))
        options = [word for word in words if word.startswith("--dependency=afterany:")]
        after = frozenset(options[0].split(":")[1:] if options else ())
        job = EmulatedJob(str(len(self.jobs) + 1), data, name[len(NAME) :].decode(), after)
        self.on_submission(job)
        self.jobs[job.id] = job
        if self.takes_and_fails:
            self.takes_and_fails = False
            return Answer(1, "", "sbatch: error: Socket timed out on send/recv operation\n")
        return Answer(0, f"{job.id}\n", "")

    def on_submission(self, job: EmulatedJob) -> None:
        """What a test asserts of a new job, before it is one."""

    def _bash(self, words: Sequence[str], data: bytes) -> Answer:
        """The query of all jobs, or of the folder."""
        if "squeue" not in words[-1]:
            return self._pwd(words, data)
        jobs = [each for each in self.jobs.values() if not each.is_forgotten]
        place = f"{self.folder}\x1f2026-01-01T00:00:00"
        lines = [
            f"{each.id}\x1f{each.state}\x1f0:01\x1fNone\x1f{each.name}\x1f{place}\n"
            for each in jobs
        ]
        return Answer(0, "".join(lines), "")

    # ---- what happens to jobs ----

    @property
    def startable(self) -> list[EmulatedJob]:
        """The jobs that wait for no other one."""
        waiting = [each for each in self.jobs.values() if each.state == "PENDING"]
        return [job for job in waiting if not any(self.jobs[each].is_active for each in job.after)]

    def start(self, job: EmulatedJob) -> None:
        job.state = "RUNNING"
        self._write(job, {"begin": time.time()})

    def end(self, job: EmulatedJob, state: str, has_record: bool = True) -> None:
        job.state = state
        if has_record:
            status = int(state != "COMPLETED")
            self._write(job, {"begin": time.time(), "end": time.time(), "status": status})

    def _write(self, job: EmulatedJob, values: dict[str, float]) -> None:
        self.logs.mkdir(exist_ok=True)
        record = {"job": job.id, "script": job.digest, **values}
        (self.logs / f"{job.id}.json").write_text(json.dumps(record))
