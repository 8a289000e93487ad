"""The program raised a Python exception that no other class knows.

The traceback says what it is: its last line names the exception, the line above it the place. It
is a mistake of the program, its arguments or its data, as a rule, not of the cluster.

The same exception on all ranks at once is the program or its configuration. On one rank only:
that rank's data or a file that its node lacks. The first in time counts: the others get an
exception of torch.distributed or a timeout, because this rank is gone.

torchrun's summary shows `error_file: <N/A>` and exit code 1, and names the first of ONE node; each
node prints its own "Root Cause". jobgen's scripts label each line with node and rank, and set
torchrun's error files, so that the exception of each rank is in the log.

Cure: read the traceback: it is the program, its arguments or its data

Not this: exceptions of torch.distributed and timeouts on the other ranks: they lost this one

Sources: https://docs.pytorch.org/docs/stable/elastic/errors.html
https://docs.python.org/3/library/traceback.html
"""

# The engine makes this class of a traceback whose last line no other class knows.
SIGNS = ""
EXPLAINS = "peer-lost collective-timeout rendezvous desync silent-hang"
TRAITS = "general plain"
