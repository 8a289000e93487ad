"""The copies of code that the jobs of one folder run.

This module is imported for all jobs, and the others of this room for jobs with code alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jobgen.errors import problem
from jobgen.paths import is_outside, outside_error, to_path
from jobgen.planning.job_options import Job
from jobgen.profiles.model import Profile

if TYPE_CHECKING:
    from jobgen.code_store.code import Code

_COMMANDS = ("sbatch", "qsub", "local")  # whose scripts run a copy
_NEEDS_NO_PROGRAM = ("interactive",)


class CodeCopies:
    """The code of jobs, each read once, and kept when their scripts are about to be used.

    With `confined`, the folder of the jobs may be a stranger's: no code outside of it is read, and
    no store outside of it is made.
    """

    def __init__(
        self, within: Path, confined: bool = False, environ: Mapping[str, str] | None = None
    ) -> None:
        self._within, self._confined, self._environ = within, confined, environ
        self._codes: dict[tuple[str, Path], Code] = {}  # by folder and store

    def read(self, job: Job, profile: Profile) -> Code | None:
        """The code of a job; None if it runs no copy. Raises JobgenError."""
        folder = profile.software.code
        if folder is None or job.command in _NEEDS_NO_PROGRAM:
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
        from jobgen.code_store.store import store_folder

        path = self._within / to_path(folder)
        if self._confined and is_outside(path, self._within):
            raise outside_error("--code", folder, self._within)
        pwd = self._within / store_folder(profile.request.chdir or ".", self._within, self._environ)
        store = store_folder(profile.software.store, pwd, self._environ)
        if (folder, store) not in self._codes:
            logs = profile.request.log_folder or "jobgen-logs"
            skipped = (store, pwd / store_folder(logs, pwd, self._environ))
            self._codes[folder, store] = read_code(path, skipped)
        return self._codes[folder, store]

    def keep(self) -> None:
        """Make the copies of all code that was read. Raises JobgenError."""
        for (_, store), code in self._codes.items():
            from jobgen.code_store.store import keep

            self._check_place(store)
            keep(code, store)

    def _check_place(self, store: Path) -> None:
        is_new = not (store / "code").is_dir()
        if self._confined and is_new and is_outside(store, self._within):
            text = f"{store} is no store yet, and is outside of {self._within}"
            hint = f"mkdir -p {store / 'code'}, if jobgen may write there"
            raise problem("software.store", text, "outside", hint)
