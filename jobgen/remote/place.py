"""The job's folder on a login node: reached, and made if it is missing."""

from __future__ import annotations

import os
from pathlib import Path

from jobgen.errors import JobgenError, problem
from jobgen.quoting import names_set, quote_path
from jobgen.remote.connection import share_connection
from jobgen.submission.login import Login, parse_host

REACH_SECONDS = 90.0
_REACH = """\
{names}{make}cd -- {folder} {else_home}|| exit
no="there is no $1, in a login shell of bash"
[[ ! $1 ]] || command -v -- "$1" > /dev/null || {{ echo "$no" >&2; exit 1; }}
{then}
pwd -P
"""


def login_of(host: str, here: Path = Path()) -> Login:
    """The login node in HOST[:FOLDER], for jobs of a folder here, whose name is the default there.

    Raises JobgenError.
    """
    name = os.path.basename(os.path.abspath(here)) or "root"
    return parse_host(host, f"jobgen/{name.replace('$', '$$')}")


def reach(
    login: Login, command: str = "", makes_folder: bool = False, then: str = ""
) -> tuple[Login, list[str]]:
    """A login node, with the job's folder as a path from /, and the words that `then` prints there.

    Without `makes_folder`, the home is taken if the folder is missing, and the result says so.
    Raises JobgenError if ssh fails, and if the node lacks the folder or the command.
    """
    folder = quote_path(login.folder)
    text = _REACH.format(
        names=names_set(login.folder),
        folder=folder,
        make=f"mkdir -p -- {folder} && " if makes_folder else "",
        else_home="" if makes_folder else "2> /dev/null || { echo missing; cd; } ",
        then=then,
    )
    words = ("bash", "-c", text, "reach", command)
    login = share_connection(login)
    answer = login._replace(folder="").run(words, seconds=REACH_SECONDS)
    if answer.status is None:
        raise unreachable(login, answer.reason)
    if answer.status:
        hint = "name a login node of the cluster, and a folder there that you may write to"
        raise problem("--host", f"{login.name}: {answer.reason}", "host", hint)
    found, _, folder = f"\n{answer.output}".removesuffix("\n").partition("\n/")
    login = login._replace(folder=f"/{folder}".replace("$", "$$"), lacks_folder="missing" in found)
    return login, found.split()


def place_there(login: Login, path: str) -> str:
    """A path from the job's folder there, which was reached, as one from /; it may have $NAME."""
    return path if path.startswith(("/", "$", "~")) else f"{login.folder}/{path}"


def unreachable(login: Login, reason: str) -> JobgenError:
    """The error for a login node that ssh does not reach."""
    hint = f"`ssh {login.destination} true` must work without a question: by a key in ssh's agent,"
    hint += " or over a connection that is open already (ControlMaster)"
    return problem("--host", f"{login.name} does not answer: {reason}", "host", hint)
