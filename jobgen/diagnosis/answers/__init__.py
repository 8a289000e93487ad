"""Reads what a person saved of a command's answer: sacct, scontrol, qstat -f, NCCL's RAS.

scheduler.py makes of such a file the facts that `jobgen why JOBID` gets from the commands
themselves; nccl_ras.py finds the rank that NCCL's answer names. Not here: what a fact means
(classes/), and py-spy's stacks (stacks.py), which are read like those in a log.
"""

FACTS, RAS, KERNEL = "facts", "ras", "kernel"  # KERNEL: dmesg, or the journal of a node
_DAYS = (b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat")
_RECORDS = (b"JobId=", b"Job Id: ")  # of scontrol and qstat


def answer_of(first_bytes: bytes) -> str:
    """What a file with these first bytes may be: FACTS, RAS, KERNEL, or ""."""
    start = first_bytes.lstrip()
    head = start.partition(b"\n")[0]
    if head.startswith(_RECORDS) or (b"JobID" in head and b"State" in head):
        return FACTS
    stamp = head[1:].partition(b"] ")[0].strip() if head.startswith(b"[") else b""
    is_uptime = b"." in stamp and len(stamp) < 17 and stamp.replace(b".", b"").isdigit()
    if is_uptime or stamp.startswith(_DAYS) or b" kernel: " in head:
        return KERNEL
    is_ras = start.startswith((b"NCCL version ", b"RCCL version ", b"Job summary"))
    return RAS if is_ras and b"Job summary\n====" in start.replace(b"\r", b"") else ""
