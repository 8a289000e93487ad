"""No rank printed anything for so long that the job was ended.

A rank is busy or stuck outside the collectives: in the data loader, on a file system that does not
answer, in a lock, in a loop without end. The others wait for it and print nothing either. With
`--stall MINUTES`, jobgen's scripts then have SIGABRT sent to all ranks; since PYTHONFAULTHANDLER=1
is set, each writes its Python stack under its label, and ends with status -6.

The rank to look at is the one whose stack differs: the others are in all_reduce, barrier or another
collective, that one is in a line of the program. If all are in the same collective, the network or
a GPU is the reason, or a rank that printed no stack at all: it hangs in the kernel, as on a file
system that is gone.

A SIGABRT of the stall is no crash. Stacks after an error of one rank only show that the others
waited for it. If the silence is on purpose (a long evaluation, a large download), the program can
also write a line now and then.

Cure: look at the line where that rank is, or give --stall more minutes

Not this: exit status -6 of all ranks, and torchrun's Root Cause among them

Sources: https://docs.python.org/3/library/faulthandler.html
https://github.com/benfred/py-spy
https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/multiprocessing/api.py
"""

SIGNS = r"""
likely confirmation: no rank wrote a line for {minutes} minutes
    ^jobgen: no rank has written for (?P<minutes>\d+) minutes?\b
sure confirmation: it is in {place}, while the others wait for it
    ^jobgen: the ranks hung: rank (?P<rank>\d+) on (?P<node>[\w.-]+) in (?P<place>.+?);[ ]
        (\d+ (ranks|processes)|ranks? [^;]*) in \w+
sure confirmation: it {how}, while the others wait for it
    ^jobgen: the ranks hung: rank (?P<rank>\d+) on (?P<node>[\w.-]+) (?P<how>is frozen
        |ended early, with status 0)\b
teardown: it got SIGABRT, or called abort()
    ^Fatal Python error: Aborted\s*$
"""
EXPLAINS = "peer-lost collective-timeout silent-hang rendezvous crash killed"
TRAITS = "peers"
