"""The layout of a release: which of its files are taken, and which paths no release may have."""

import re

from jobgen.bounds import FILE_NAME_BYTES
from jobgen.errors import problem

FOLDERS = ("sites", "machines", "fabrics")
CODE = "release"
_NAME = r"[a-z0-9][a-z0-9._-]{0,80}"
_PROFILE = re.compile(rf"profiles/(?:{'|'.join(FOLDERS)})/{_NAME}\.yaml")
_PROOF = re.compile(rf"profiles/proofs/(?:{_NAME}/){{1,2}}[\w.-]{{1,80}}\.json", re.ASCII)
_ANY_PROFILE = re.compile(rf"profiles/(?:{'|'.join(FOLDERS)})/.*\.ya?ml", re.DOTALL)


def is_wanted(path: str, depth: int = 0) -> bool:
    """Whether a file of a release is taken: a profile, or a proof that one ran.

    With `depth` 1, the release may be in a folder.
    """
    inner = path.partition("/")[2] if depth else ""
    return any(_PROFILE.fullmatch(each) or _PROOF.fullmatch(each) for each in (path, inner))


def is_profile(path: str) -> bool:
    """Whether the file is a profile."""
    return bool(_PROFILE.fullmatch(path))


def _seems_profile(path: str) -> bool:
    return any(map(_ANY_PROFILE.fullmatch, (path, path.partition("/")[2])))


def check_path(release: str, path: str) -> None:
    """Raise JobgenError for a path that could lead out of a folder, or hide what it is."""
    parts = path.split("/")
    text = ""
    if path.startswith("/"):
        text = "an absolute path"
    elif ".." in parts:
        text = "a path that leads upwards"
    elif not path.isprintable() or "\\" in path:
        text = "a name with characters that nobody can see, a \\, or not in UTF-8"
    elif any(len(part.encode()) > FILE_NAME_BYTES for part in parts):
        text = f"a name of more than {FILE_NAME_BYTES} bytes"
    elif _seems_profile(path) and not is_wanted(path, depth=1):
        text = "a profile at a wrong place, or with a name that is not like lumi-g.yaml"
    if text:
        raise problem(release, f"it has {path!r:.80}, {text}", CODE)
