"""The program `jobgen`, also as `python -m jobgen`."""

import gc
import os
import sys

from jobgen.cli.app import main, run_words
from jobgen.errors import run_command

_MANY = 8_000  # objects, a few megabytes: by default, 700


def run() -> None:
    """Run the command line; its words are UTF-8 text, whatever the locale is."""
    if os.environ.get("_JOBGEN_COMPLETE"):  # set by the script of `jobgen completion`
        from jobgen.cli.completion import complete

        sys.exit(complete(main))
    words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]
    gc.freeze()  # else Python would search all imports for garbage again and again,
    gc.set_threshold(_MANY)  # or what a command imports and reads,
    exit_code = run_command(lambda: run_words(words))
    gc.freeze()  # and all objects as it ends
    sys.exit(exit_code)


if __name__ == "__main__":
    run()
