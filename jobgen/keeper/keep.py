"""The keeper of a node, the parent of its command: nothing that the command started outlives it.
The stub stays in the starter's session; its child, the keeper, has a session of its own. When the
child or the parent of one of both ends, it ends all below: TERM, KILL after `grace` seconds."""

import ctypes, functools, os, re, signal, subprocess, sys, time
from collections.abc import Callable


def look(pid: str, name: str, pattern: str) -> str:
    """What `pattern` finds first in /proc/PID/NAME."""
    try:
        with open(f"/proc/{pid}/{name}", errors="replace") as file:
            return "".join(re.findall(pattern, "\0" + file.read(), re.DOTALL)[:1])
    except OSError:
        return ""


def descendants(pid: int) -> "set[str]":
    tree, found = {p: look(p, "stat", r".*\) . (\d+)") for p in os.listdir("/proc")}, [str(pid)]
    for above in found:  # which grows
        found += [child for child in tree if tree[child] == above]
    return set(found[1:])


def keep(grace: float, host: str, command: "list[str]", step: "Callable[[], object]") -> int:
    """Runs the command, and `step` each second; returns its status when nothing of it is left."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))  # only KILL ends stub and keeper
    libc, above, stub, child = ctypes.CDLL(None), os.getppid(), os.getpid(), os.fork()
    libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER, of both: what loses its parent becomes their child
    is_keeper = child == 0
    if is_keeper:
        os.setsid()
        os.environ["JOBGEN_KEEPER"], above = str(os.getpid()), stub
        unblock = functools.partial(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
        started = subprocess.Popen(command, preexec_fn=unblock, close_fds=False)
        child = started.pid
    status, outside, seconds, reaped, code = -1, False, 0.0, 0, ctypes.c_int()
    signalled: set[str] = set()
    while reaped >= 0 and (not signalled or seconds < grace + 30):  # KILL may fail: a dead disk
        before = time.monotonic()
        signal.sigtimedwait({signal.SIGCHLD}, 0 if reaped else 0.1 if signalled else 0.5)
        seconds += min(time.monotonic() - before, 1)  # a suspend does not use the grace up
        outside |= os.getppid() != above or bool(signal.sigpending() & {1, 2, 15})
        reaped = libc.waitpid(-1, ctypes.byref(code), os.WNOHANG)  # 0: all live, -1: none
        status = code.value if reaped == child else status
        if reaped == 0 and (outside or status >= 0):
            seconds = seconds if signalled else 0.0
            targets = descendants(os.getpid()) if is_keeper or status >= 0 else {str(child)}
            kills = seconds > grace + (not is_keeper)  # the stub a second later
            for pid in targets if kills else targets - signalled:
                libc.kill(int(pid), signal.SIGKILL if kills else signal.SIGTERM)
            signalled |= targets
        elif is_keeper and seconds >= 1:
            seconds = 0.0
            outside |= step() is True
    killed = status & 127
    if host and not outside and (killed or (is_keeper and status)):
        end = f"was killed by signal {killed}" if killed else f"ended with status {status >> 8}"
        print(f"jobgen: {host}: {end}", file=sys.stderr)
    return 128 + killed if killed else status >> 8
