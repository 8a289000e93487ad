"""Checks the paths of a manifest's scripts: below its folder, not hidden, and all different."""

import os
import re
from pathlib import Path

from jobgen.bounds import FILE_NAME_BYTES, FOLDER_DEPTH, MANIFEST_FOLDERS
from jobgen.errors import Mark, problem
from jobgen.paths import to_path
from jobgen.profiles.kinds import CONTROLS

_PATH_BYTES = 4096  # Linux's PATH_MAX


class ScriptPaths:
    """The paths of a manifest's scripts that were added so far, without links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        top = os.path.realpath(folder)
        self.root = top.rstrip("/")
        self._scripts: dict[str, str] = {}  # from a script's path to its label
        self._folders = {top: ""}  # from a folder to the label of the first script below it

    def add(self, text: str, label: str, mark: Mark, pattern: str = "") -> tuple[Path, str]:
        """Add the path for a script's `file`; returns the path, and the path without links.

        `pattern`, if known, would give each script a path of its own: the hint after a collision.

        Raises JobgenError for a path where no script may be, or where another script is.
        """
        path = self.folder / to_path(text)
        # A short text needs no check: a character has at most four bytes.
        if len(text) > FILE_NAME_BYTES // 4 and _is_too_long(to_path(text)):
            hint = (
                f"at most {FOLDER_DEPTH} folders, {FILE_NAME_BYTES} bytes for each name, and"
                f" {_PATH_BYTES} for the path"
            )
            raise problem(mark, f"{text!r:.80} is too long for {label}", "limit", hint)
        # `..` is refused: it cannot be resolved after a folder that does not exist yet.
        if re.search(f"[{CONTROLS}]", text) or not text.strip("./") or "/../" in f"/{text}/":
            real = ""
        else:
            real = os.path.realpath(path)
        if not real.startswith(f"{self.root}/"):
            hint = "a path below the manifest's folder, without .. or a link that leads out of it"
            raise problem(mark, f"{text!r:.80} is not a valid path for {label}", "value", hint)
        if self._is_hidden(real):
            reason = "`jobgen check` skips hidden files, and git may run them as hooks"
            hint = f"use names without a leading dot: {reason}"
            raise problem(mark, f"{text!r:.80} is a hidden file for {label}", "value", hint)
        if other := self._collision(real, label):
            text = f"{text!r:.80} would be the script of {label}, and {other}"
            hint = "use in the pattern what differs, as in {name}"
            hint = f'write `file: "{pattern}"`' if pattern else hint
            raise problem(mark, text, "collision", hint)
        if len(self._folders) > MANIFEST_FOLDERS:
            text = f"more than {MANIFEST_FOLDERS} folders for all scripts"
            raise problem(mark, text, "limit", "fewer folders, or several manifests")
        self._scripts[real] = label
        return path, real

    def fixed_folder(self, pattern: str) -> Path | None:
        """The folder below which all scripts of a pattern are; None if no script may be there."""
        fixed = pattern.partition("{")[0].replace("}}", "}")
        path = self.folder / to_path(os.path.dirname(fixed))
        real = f"{os.path.realpath(path)}/"
        return path if real.startswith(f"{self.root}/") and not self._is_hidden(real) else None

    def _is_hidden(self, real: str) -> bool:
        return "/." in real[len(self.root) :]  # the manifest's folder itself may be hidden

    def _collision(self, real: str, label: str) -> str:
        """The conflict of a script's path with another script, in words.

        Without a conflict, returns "" and remembers the path's folders for the next scripts.
        """
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


def _is_too_long(path: Path) -> bool:
    names = [os.fsencode(name) for name in path.parts]
    return (
        any(len(name) > FILE_NAME_BYTES for name in names)
        or len(names) > FOLDER_DEPTH + 1  # `check` would not find such a script
        or len(bytes(path)) > _PATH_BYTES
    )
