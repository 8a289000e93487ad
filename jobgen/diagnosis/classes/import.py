"""Python does not find a module, or a name in it.

The Python that runs on the node is not the one in which the package was installed: the environment
is not activated there, lies in a folder that only some nodes see, or the container has its own
Python. `cannot import name` means another version of the package than the program expects.

One sees ModuleNotFoundError at the start, on one node, on some, or on all: `why` names a node if it
is one. `No module named torch.distributed.run` from /usr/bin/python3: the system's Python ran.

A warning about an optional package (apex, flash_attn) that the program does without misleads, too.
`python -c 'import sys; print(sys.executable, sys.path)'` on that node shows which Python runs.

Cure: activate the environment on every node (--set software.venv=FOLDER, software.conda or
software.modules), or install the package in it

Not this: rendezvous timeouts of the other nodes: they waited for this one

Sources: https://docs.python.org/3/library/exceptions.html#ModuleNotFoundError
https://docs.python.org/3/tutorial/modules.html#the-module-search-path
"""

SIGNS = r"""
sure cause: Python does not find the module {module}
    ^ModuleNotFoundError: No module named '(?P<module>[\w.-]+)'($|;)
    ^(?:\S+: )?\S*python[\d.]*: (No module named |Error while finding module specification[ ]
        for )['"]?(?P<module>[\w.]+)
sure cause if failed: Python does not find the module {module}
    (?:^|[\])|] )(ModuleNotFoundError|ImportError): No module named ['"]?(?P<module>[\w.-]+)['"]?
        ($|;)
likely cause if failed: a Python package is not installed
    ^ImportError: .*(\b(is|are) not installed|was not found in your environment
        |but it was not found|please install it)
sure cause if failed: {module} has no {name} (another version?)
    (?:^|[\])|] )ImportError: cannot import name ['"]?(?P<name>\w+)['"]? from[ ]
        (partially initialized module )?['"]?(?P<module>[\w.]+)
"""
EXPLAINS = "rendezvous peer-lost collective-timeout python-exception silent-hang"
