"""The program `jobgen`, also as `python -m jobgen`: what needs no click is answered at once."""

from __future__ import annotations

import os
import sys

from jobgen import __version__
from jobgen.errors import handled


def run() -> None:
    """Run the command line: its words are the UTF-8 text they are, whatever the locale says."""
    if os.environ.get("_JOBGEN_COMPLETE"):  # a shell asks, by the script of `jobgen completion`
        from jobgen.completion import answer

        sys.exit(answer())
    words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]
    sys.exit(handled(lambda: _answer(words)))


def _answer(words: list[str]) -> int:
    if words in (["--version"], ["--help"], ["-h"]):
        from jobgen.overview import overview
        from jobgen.write import write

        write(f"jobgen, version {__version__}\n" if words == ["--version"] else f"{overview()}\n")
        return 0
    from jobgen import cli

    return cli.answer(words)


if __name__ == "__main__":
    run()
