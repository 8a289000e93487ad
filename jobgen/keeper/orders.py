"""What the batch script orders while ranks run: FOLDER/orders/warn, stacks* and end."""

import contextlib, ctypes, glob, os, signal, time
from collections.abc import Iterator

from jobgen.keeper.keep import look


def handles(pid: str, number: int, state: str = ".") -> bool:
    """Whether a process, in one of these states, has a handler for a signal."""
    caught = look(pid, "status", rf"\nState:\t{state}.*\nSigCgt:\t(\w+)")
    return int(caught or "0", 16) >> number - 1 & 1 == 1


def ranks(number: int) -> "set[str]":
    """This keeper's ranks, without what a rank that handles signal `number` has forked."""
    mine, rank = rf"\0(JOBGEN_KEEPER={os.getpid()})\0", r"\0(LOCAL_RANK|JOBGEN_NODE)="
    pids = os.listdir("/proc")
    found = {pid for pid in pids if look(pid, "environ", mine) and look(pid, "environ", rank)}
    above = {pid: look(pid, "stat", r".*\) . (\d+)") for pid in found}
    return {pid for pid in found if above[pid] not in found or not handles(above[pid], number)}


def obey(folder: str, host: str) -> "Iterator[bool]":
    """Passes each order on to the ranks, once; a step is due each second."""
    kill, warned, done = ctypes.CDLL(None).kill, {""}, {""}  # this kill raises no exception
    while True:
        names = set(map(os.path.basename, glob.glob(glob.escape(folder) + "/orders/*")))
        new = ranks(signal.SIGUSR1) - warned if "warn" in names else set()
        new = {pid for pid in new if handles(pid, signal.SIGUSR1, "[^T]")}
        for pid in new:  # a rank that ends is back at the default action: look while it is stopped
            kill(int(pid), signal.SIGSTOP)
        time.sleep(0.05 if new else 0)
        for pid in new:
            if handles(pid, signal.SIGUSR1, "T"):
                kill(int(pid), signal.SIGUSR1)
                warned.add(pid)
            kill(int(pid), signal.SIGCONT)
        soon = time.time() + 1
        stacks = {n for n in names - done if n[:7] == "stacks-" and float(n[7:]) < soon}
        for name in stacks:  # all nodes ask their ranks at the same moment
            time.sleep(max(0.0, float(name[7:]) - time.time()))
        ordered = ranks(signal.SIGABRT) if stacks else set()
        done |= stacks
        for pid in ordered:
            kill(int(pid), signal.SIGABRT)
        for _ in range(5 if ordered else 1):
            yield "end" in names
        for pid in ordered & ranks(signal.SIGABRT) if ordered else ():
            number = look(pid, "environ", r"\0RANK=(\d+)")
            line = f"jobgen: {host}: rank {number} wrote no stack: it is frozen"
            for file in 2, os.path.join(folder, host, "keeper"):  # whose disk may be full
                with contextlib.suppress(OSError), open(file, "a", closefd=file != 2) as notes:
                    print(line, file=notes)
            kill(int(pid), signal.SIGKILL)
