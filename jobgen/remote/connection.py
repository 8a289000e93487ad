"""One connection for all commands of this process, which makes each of them quick.

Many sites refuse a client that connects often. If the user's configuration shares connections
(ControlPath), that is used; if the shared connection is lost, each command makes its own.
"""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from jobgen.submission.login import SSH, Login
from jobgen.submission.machine import run_here

_NULL = subprocess.DEVNULL
_OPEN_SECONDS = 60.0
_IDLE_SECONDS = 120  # after which it ends by itself, if this process was killed


def share_connection(login: Login) -> Login:
    """The login node with a connection that is open until this process ends.

    If none can be opened, the first command says why.
    """
    shown = run_here(("ssh", "-G", "--", login.destination), b"", _OPEN_SECONDS).output
    if re.search(r"^controlpath (?!none$)", shown, re.MULTILINE):
        return login
    # A socket's name must be short, and that of TMPDIR may be long.
    folder = Path(tempfile.mkdtemp(prefix="jobgen-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    options = ("-o", f"ControlPath={folder}/%C")
    persist = f"ControlPersist={_IDLE_SECONDS}"
    words = (*SSH, *options, "-o", "ControlMaster=yes", "-o", persist, "-fN", login.destination)
    with suppress(subprocess.TimeoutExpired):
        # It stays in the background, and would keep a pipe open.
        subprocess.run(
            words, stdin=_NULL, stdout=_NULL, stderr=_NULL, timeout=_OPEN_SECONDS, check=False
        )
        closing = (*SSH, *options, "-O", "exit", login.destination)
        atexit.register(run_here, closing, b"", _OPEN_SECONDS)
    return login._replace(options=options)
