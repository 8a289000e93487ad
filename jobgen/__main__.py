"""The program `jobgen`, also as `python -m jobgen`; what needs no click is answered at once."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from jobgen import __version__
from jobgen.cli.help import JOB_COMMANDS, overview
from jobgen.errors import run_command

if TYPE_CHECKING:
    from click import Command


def main() -> None:
    """The program. Python's clean-up is left out: it takes a tenth of the time of a script."""
    try:
        run()
    except SystemExit as end:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except OSError:  # Python says so at its end
            raise end from None
        if not isinstance(end.code, int):
            raise
        os._exit(end.code)


def run() -> None:
    """Run the command line; its words are UTF-8 text, whatever the locale is."""
    gc.set_threshold(50_000)  # nearly all that a command makes stays to its end
    if os.environ.get("_JOBGEN_COMPLETE"):  # set by the script of `jobgen completion`
        from jobgen.cli.completion import complete

        sys.exit(complete(_click_commands))
    words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]
    sys.exit(run_command(lambda: _run(words)))


def _click_commands() -> Command:
    from jobgen.cli.app import main

    return main


def _run(words: list[str]) -> int:
    if words in (["--version"], ["--help"], ["-h"]):
        from jobgen.scripts.write import write

        write(f"jobgen, version {__version__}\n" if words == ["--version"] else f"{overview()}\n")
        return 0
    if words and words[0] in (*JOB_COMMANDS, "lint"):
        folder = "lint" if words[0] == "lint" else "jobs"
        exit_code = import_module(f"jobgen.cli.{folder}.words").run_plain(words)
        if exit_code is not None:
            return int(exit_code)
    from jobgen.cli.app import run_words

    return run_words(words)


if __name__ == "__main__":
    main()
