"""Where a manifest's scripts may be: below its folder, not hidden, and no two in one place."""

from __future__ import annotations

import os
import re
from pathlib import Path

from jobgen.errors import Mark, problem
from jobgen.paths import native
from jobgen.schema import CONTROLS

DEEPEST = 32  # names in a path
LONGEST_NAME = 255  # bytes, of Linux's file systems


class Places:
    """The places of a manifest's scripts, by their real paths: without links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        top = os.path.realpath(folder)
        self.root = top.rstrip("/")
        self._scripts: dict[str, str] = {}  # the label of the script at each
        self._folders = {top: ""}  # the label of the first script below each
        self._real: dict[str, str] = {}  # of folders; asking for each script takes long

    def take(self, text: str, label: str, mark: Mark) -> tuple[Path, str]:
        """The path that a script's `file` says, and the real one.

        Raises JobgenError where no script may be, or another one is in the way.
        """
        path = self.folder / native(text)
        if len(text) > DEEPEST and _is_too_long(native(text)):
            hint = f"at most {LONGEST_NAME} bytes a name, {DEEPEST} names"
            raise problem(mark, f"{text!r:.80} is too long for {label}", "limit", hint)
        # Beside a folder that is not there yet, .. is not where it will be.
        if re.search(f"[{CONTROLS}]", text) or not text.strip("./") or "/../" in f"/{text}/":
            real = ""
        else:
            real = self._real_path(path)
        if not real.startswith(f"{self.root}/"):
            hint = "a path below the manifest's folder, without .. or a link that leads out of it"
            raise problem(mark, f"{text!r:.80} is no file for {label}", "value", hint)
        if self._is_hidden(real):
            hint = "git or others may run it, and `jobgen check` does not see it: no . in front"
            raise problem(mark, f"{text!r:.80} is a hidden file for {label}", "value", hint)
        if other := self._in_the_way(real, label):
            text = f"{text!r:.80} would be the script of {label}, and {other}"
            hint = "name in the pattern what differs, as in {name}"
            raise problem(mark, text, "collision", hint)
        self._scripts[real] = label
        return path, real

    def begin(self, pattern: str) -> Path | None:
        """The folder that is the same for all scripts of a pattern, if they may be there."""
        fixed = pattern.partition("{")[0].replace("}}", "}")
        path = self.folder / native(os.path.dirname(fixed))
        real = f"{os.path.realpath(path)}/"
        return path if real.startswith(f"{self.root}/") and not self._is_hidden(real) else None

    def _is_hidden(self, real: str) -> bool:
        return "/." in real[len(self.root) :]  # the folder itself may be

    def _real_path(self, path: Path) -> str:
        folder, name = os.path.split(path)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        real = os.path.join(self._real[folder], name)
        return os.path.realpath(real) if os.path.islink(real) else real

    def _in_the_way(self, real: str, label: str) -> str:
        """What another script makes of a path, or of a folder above it; else those are taken."""
        if real in self._scripts:
            return f"of {self._scripts[real]}"
        if real in self._folders:
            return f"a folder for {self._folders[real]}"
        above, folder = [], os.path.dirname(real)
        while folder not in self._folders:
            if folder in self._scripts:
                return f"below that of {self._scripts[folder]}"
            above.append(folder)
            folder = os.path.dirname(folder)
        self._folders.update(dict.fromkeys(above, label))
        return ""


def _is_too_long(said: Path) -> bool:
    long = any(len(os.fsencode(name)) > LONGEST_NAME for name in said.parts)
    return long or len(said.parts) > DEEPEST
