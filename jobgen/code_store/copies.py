"""The copies of code that the jobs of one folder run.

This module is imported for all jobs, and the others of this room for jobs with code alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobgen.errors import JobgenError, problem
from jobgen.paths import is_outside, outside_error, to_path, work_tree
from jobgen.planning.job_options import Job
from jobgen.profiles.model import Profile
from jobgen.quoting import quote

if TYPE_CHECKING:
    from jobgen.code_store.code import Code

_COMMANDS = ("sbatch", "qsub", "local")  # whose scripts run a copy


class _Place(NamedTuple):
    """What decides which files are the code of a job, and where its copy is."""

    folder: str
    store: str
    chdir: str | None
    logs: str | None

    @property
    def working_folder(self) -> str:
        """The folder that is $PWD in the store's name: the job's, which others need not have."""
        return (self.chdir or ".") if "PWD" in self.store else "."


class CodeCopies:
    """The code of jobs, each read once, and kept when their scripts are about to be used.

    With `confined`, the folder of the jobs may be a stranger's: no code outside of it is read, and
    no store outside of it is made.
    """

    def __init__(
        self, within: Path, confined: bool = False, environ: Mapping[str, str] | None = None
    ) -> None:
        self._within, self._confined, self._environ = within, confined, environ
        self._codes: dict[_Place, Code] = {}

    def read(self, job: Job, profile: Profile) -> Code | None:
        """The code of a job; None if it runs no copy. Raises JobgenError."""
        folder = profile.software.code
        if folder is None or job.command == "interactive":
            return None
        if not job.program or job.trainer is not None:
            if job.code is None:
                return None
            text = "a packaged trainer is a part of the script, and needs no copy"
            raise problem("--code", text, "conflict", "name a program after --")
        if job.command not in _COMMANDS:
            text = "commands by hand start at once, and run no copy of the code"
            raise problem("software.code", text, "conflict", "--set software.code=null")
        if sys.platform == "emscripten":
            text = "a web page cannot read the files of your folder"
            raise problem("--code", text, "code", "run the command itself in that folder")
        from jobgen.code_store.code import read_code

        path = self._within / to_path(folder)
        if self._confined and is_outside(path, within := work_tree(self._within)):
            raise outside_error("--code", folder, within)
        request = profile.request
        place = _Place(folder, profile.software.store, request.chdir, request.log_folder)
        if place not in self._codes:
            self._codes[place] = read_code(path, self._made_by_jobs(place))
        return self._codes[place]

    def _made_by_jobs(self, place: _Place) -> Iterator[Path]:
        """The folders in which jobs write, which are no code, wherever they are."""
        for text in filter(None, (place.store, place.logs)):
            with suppress(JobgenError):  # a variable is not set here
                yield self._folder(text, place)

    def _folder(self, text: str, place: _Place) -> Path:
        """A folder here, as it is named in a job. Raises JobgenError."""
        from jobgen.code_store.store import folder_of_job

        return folder_of_job(text, place.chdir, self._within, self._environ)

    @property
    def codes(self) -> list[tuple[str, str, Code]]:
        """All code that was read, each with the folder that is $PWD and its store.

        Other $NAME in them are those of the nodes.
        """
        return [(place.working_folder, place.store, code) for place, code in self._codes.items()]

    def keep(self) -> list[str]:
        """Make the copies of all code that was read; returns what was copied, in words.

        Raises JobgenError.
        """
        made = list[str]()
        for place, code in self._codes.items():
            from jobgen.code_store.store import keep

            store = self._folder(place.store, place)
            self._check_place(store)
            made.append(keep(code, store))
        return [*filter(None, made)]

    def _check_place(self, store: Path) -> None:
        is_new = not (store / "code").is_dir()
        if self._confined and is_new and is_outside(store, self._within):
            text = f"{store} is no store yet, and is outside of {self._within}"
            hint = f"mkdir -p {quote(str(store / 'code'))}, if jobgen may write there"
            raise problem("software.store", text, "outside", hint)
