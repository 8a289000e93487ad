"""Reads what a person saved of a command's answer: sacct, scontrol, qstat -f, NCCL's RAS.

scheduler.py makes of such a file the facts that `jobgen why JOBID` gets from the commands
themselves; nccl_ras.py finds the rank that NCCL's answer names;
other_jobs.py leaves out the answers on another job. Not here: what a fact means
(classes/), and py-spy's stacks (stacks.py), which are read like those in a log.
"""

FACTS, RAS, KERNEL = "facts", "ras", "kernel"  # KERNEL: dmesg, or the journal of a node
_DAYS = (b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat")
_DAY_LENGTH = len("Sun Nov  2 10:00:00 2025")  # what `date` prints has a time zone, too
_LINES_OF_A_KERNEL = 4  # at a file's beginning; a job's log may have one of the same form
_RECORDS = (b"JobId=", b"Job Id: ")  # of scontrol and qstat


def answer_of(first_bytes: bytes) -> str:
    """What a file with these first bytes may be: FACTS, RAS, KERNEL, or ""."""
    start = first_bytes.lstrip()
    head = start.partition(b"\n")[0]
    if head.startswith(_RECORDS) or (b"JobID" in head and b"State" in head):
        return FACTS
    lines = start.splitlines()[:_LINES_OF_A_KERNEL]
    if lines and all(map(is_of_kernel, lines)):
        return KERNEL
    is_ras = start.startswith((b"NCCL version ", b"RCCL version ", b"Job summary"))
    return RAS if is_ras and b"Job summary\n====" in start.replace(b"\r", b"") else ""


def is_of_kernel(line: bytes) -> bool:
    """Whether a line has the form of dmesg, of dmesg -T, or of a journal's line of the kernel."""
    stamp = line[1:].partition(b"] ")[0].strip() if line.startswith(b"[") else b""
    is_uptime = b"." in stamp and len(stamp) < 17 and stamp.replace(b".", b"").isdigit()
    is_day = stamp.startswith(_DAYS) and len(stamp) == _DAY_LENGTH
    return is_uptime or is_day or b" kernel: " in line
