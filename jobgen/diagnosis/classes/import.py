"""Python does not find a module, or a name in it.

The Python that runs on the node is not the one in which the package was installed: the
environment is not activated there, lies in a folder that only some nodes see, or the container
has its own Python. `cannot import name` means another version of the package than the program
expects.

One sees ModuleNotFoundError at the start, on one node, on some, or on all: `why` names a node if
it is one. `No module named torch.distributed.run` from /usr/bin/python3: the system's Python
ran.

What misleads: the other nodes wait for the one that failed, and end in a rendezvous timeout
minutes later; a warning about an optional package (apex, flash_attn) that the program does
without.

Cure: --set software.venv=FOLDER, software.conda or software.modules, so that every node
activates it; install the package there; see `python -c 'import sys; print(sys.executable,
sys.path)'` on that node.

Sources:
https://docs.python.org/3/library/exceptions.html#ModuleNotFoundError
https://docs.python.org/3/tutorial/modules.html#the-module-search-path
"""

from jobgen.diagnosis.signs import Sign

SIGNS = (
    Sign(
        r"^ModuleNotFoundError: No module named '(?P<module>[\w.-]+)'($|;)",
        "Python does not find the module {module}",
    ),
    Sign(
        r"(?:^|[\])|] )(ModuleNotFoundError|ImportError): No module named ['\"]?(?P<module>[\w.-]+)"
        r"['\"]?($|;)",
        "Python does not find the module {module}",
        needs_failure=True,
    ),
    Sign(
        r"^ImportError: .*(\b(is|are) not installed|was not found in your environment"
        r"|but it was not found|please install it)",
        "a Python package is not installed",
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"(?:^|[\])|] )ImportError: cannot import name ['\"]?(?P<name>\w+)['\"]? from "
        r"(partially initialized module )?['\"]?(?P<module>[\w.]+)",
        "{module} has no {name} (another version?)",
        needs_failure=True,
    ),
    Sign(
        r"^(?:\S+: )?\S*python[\d.]*: (No module named "
        r"|Error while finding module specification for )"
        r"['\"]?(?P<module>[\w.]+)",
        "Python does not find the module {module}",
    ),
)
CURE = (
    "activate the environment on every node (--set software.venv=FOLDER, software.conda or"
    " software.modules), or install the package in it"
)
MISLEADS = "rendezvous timeouts of the other nodes: they waited for this one"
EXPLAINS = ("rendezvous", "peer-lost", "collective-timeout", "python-exception", "silent-hang")
