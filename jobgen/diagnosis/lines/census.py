"""Facts from all lines of a log: the ranks, their nodes, and the nodes' addresses."""

import re

from jobgen.diagnosis.events import Event, Role
from jobgen.errors import listed

LABELS_SEARCHED = 1 << 17  # bytes at the end of each block: all ranks print again and again
MOST = 20_000  # ranks, or addresses, that are remembered at most
_LABEL = re.compile(
    rb"^(?:(?P<node>[\w.-]{1,255}) rank (?P<rank>\d{1,6}): |\[rank(?P<own>\d{1,6})\]: ?)",
    re.MULTILINE,
)
_WORLDS = (b"world_size", b"world size", b"WORLD_SIZE", b"nranks")
_WORLD = rb"(?:" + b"|".join(_WORLDS) + rb")['\"]?[ =:]{1,3}(\d{1,6})\b"
_ADDRESS = (
    rb"(?m)^(?:.{0,80}?[ :])?(?P<node>[A-Za-z][\w.-]{0,80}):\d+:\d+ \[-?\d+\] NCCL INFO "
    rb".{0,60}?\b[\w.-]+:(?P<address>\d+\.\d+\.\d+\.\d+|[\da-f]*:[\da-f:.]+)<\d+>"
)
_NCCL_RANK = (
    rb"(?m)^(?:.{0,80}?[ :])?(?P<node>[A-Za-z][\w.-]{0,80}):\d+:\d+ \[-?\d+\] NCCL INFO "
    rb".{0,40}comm 0x\w+ rank (?P<rank>\d{1,6}) n[Rr]anks (?P<world>\d{1,6})\b"
)
_JOINING = rb"GLOBAL_RANK: (\d{1,6}), MEMBER: \d{1,6}/(\d{1,6})"  # of Lightning
_ALL_JOINED = (b" processes registered", b" - CUDA_VISIBLE_DEVICES: [")
_NOT_JOINED = """\
start all ranks: srun with --ntasks-per-node = devices, and Trainer(num_nodes=N) as sbatch's \
--nodes=N; without srun, each node needs its own NODE_RANK"""
_STILL_WAITS = (
    _NOT_JOINED
    + "; in a Slurm job, python without srun starts one rank alone; if they began (in another "
    "file), they do not reach MASTER_ADDR: interface, firewall, port"
)
_LEFT_TO_SLURM = b"Multi-processing is handled by Slurm"
_LONGEST = 400  # bytes of a line
MOST_SHOWN = 8
_READY = rb"jobgen: (?P<node>\S+) is ready, (?P<address>[\da-f.:]+) on"
# Starters of a node's ranks: under them, a task of srun is a node.
_TORCHRUN = (
    b"accelerate/commands/launch",
    b"deepspeed/launcher",
    b"deepspeed.launcher",
    b"[launch.py:",
    b"torch/distributed/elastic",
    b"torch.distributed.elastic",
    b"torch.distributed.run",
    b"torchrun",
)
# What started the ranks, by words of which one is in the log.
_LAUNCHERS = {
    "mpirun": (b"mpirun", b"mpiexec", b"prterun", b"<stdout>:", b"<stderr>:", b"OMPI_", b"horovod"),
    "ray": (b"ray::", b"raylet", b"ray.init", b"ray start", b"/ray/", b"Ray runtime started"),
    "srun": (b"srun: ", b"slurmstepd: "),
    "torchrun": _TORCHRUN,
}
# How they were started, by such words, for cures: with a random port, with a random id, and a
# command that tells all ranks of a node the same local rank.
_STARTS = {
    "standalone": (b" --standalone", rb"\btorch(?:run|\.distributed\.\w+) .{0,400}--standalone "),
    "random-id": (b"random run_id", rb"\bgenerated a random run_id: \d"),
    "same-rank": (
        b" --local",
        rb"\btorch(?:run|\.distributed\.\w+) .{0,400}\.py .{0,400}--local[-_]rank[ =]\d",
    ),
}


class Census:
    """Collects the ranks and nodes in blocks of logs, some of which a single rank has written."""

    def __init__(self) -> None:
        self.ranks: set[int] = set()
        self.rank_nodes: dict[int, str] = {}
        self.addresses: dict[str, str] = {}  # the node of each address
        self.world = 0  # the number of ranks; 0 if it is unknown
        self.launchers: set[str] = set()
        self.starts: set[str] = set()  # names of _STARTS
        self.is_jobgens = False  # a script of jobgen made the log
        self.joining: set[int] = set()  # the ranks of Lightning that began to wait for the others
        self.waits: list[tuple[str, int, bytes]] = []  # the files that end so, and their last lines

    def take(self, block: bytes, lines_before: int, *, is_one_rank: bool) -> None:
        """Take a block that begins and ends with whole lines."""
        if b"rank" in block and not is_one_rank:
            begin = block.rfind(b"\n", 0, -LABELS_SEARCHED) if lines_before else 0
            found = (label.groups() for label in _LABEL.finditer(block, max(begin, 0)))
            for node, labelled, own in dict.fromkeys(found):
                if len(self.ranks) < MOST:
                    self.ranks.add(int(labelled or own))
                if node and len(self.rank_nodes) < MOST:
                    self.rank_nodes[int(labelled)] = _text(node)
                self.is_jobgens |= bool(node)
        if b"NCCL INFO" in block:
            for info in re.finditer(_ADDRESS, block):
                if len(self.addresses) < MOST:
                    self.addresses.setdefault(_text(info["address"]), _text(info["node"]))
            for info in re.finditer(_NCCL_RANK, block):
                if len(self.rank_nodes) < MOST:
                    self.rank_nodes[int(info["rank"])] = _text(info["node"])
                self.world = max(self.world, int(info["world"]))
        if b"GLOBAL_RANK" in block or self.joining:
            self._take_joining(block)
        if b" is ready, " in block:
            for ready in re.finditer(_READY, block):
                self.addresses[_text(ready["address"])] = _text(ready["node"])
        self.is_jobgens |= block.startswith(b"jobgen: ") or b"\njobgen: " in block
        for name in _LAUNCHERS.keys() - self.launchers:
            if any(word in block for word in _LAUNCHERS[name]):
                self.launchers.add(name)
        for name in _STARTS.keys() - self.starts:
            word, pattern = _STARTS[name]
            if word in block and re.search(pattern, block):
                self.starts.add(name)
        if self.world == 0 and any(word in block for word in _WORLDS):
            self.world = max(map(int, re.findall(_WORLD, block)), default=0)

    def _take_joining(self, block: bytes) -> None:
        for rank, world in re.findall(_JOINING, block):
            if len(self.joining) < MOST:
                self.joining.add(int(rank))
            self.world = max(self.world, int(world))
        if any(words in block for words in _ALL_JOINED):
            self.joining.clear()

    def take_end(self, file: str, count: int, end: bytes) -> None:
        """Take the end of a file of so many lines, which nobody writes any more."""
        text = end.rstrip()
        last = text.rpartition(b"\n")[2][:_LONGEST]
        if _LEFT_TO_SLURM in last or re.search(_JOINING, last):
            line = count - end[len(text) :].count(b"\n")
            self.waits.append((file, line, last))

    def hung_at_start(self, files: int) -> list[Event]:
        """An event where the last line of all files shows that Lightning waits for other ranks.

        The first rank writes more as soon as all have come.
        """
        if not self.waits or len(self.waits) < files:
            return []
        file, line, last = self.waits[0]
        if self.joining:
            found = self.absent(file) if 0 in self.joining else []
            says = found[0].says if found else ""
        else:
            says = "Slurm was to start its ranks" if _LEFT_TO_SLURM in last else ""
        if not says:
            return []
        says = f"the output ends where Lightning waited for other ranks: {says}"
        event = Event("silent-hang", Role.CAUSE, says, file, line, _text(last))
        return [event._replace(certainty="possible", cures=_STILL_WAITS)]

    def absent(self, file: str) -> list[Event]:
        """An event of `file` for the ranks of Lightning for which the others waited, if any."""
        absent = [str(rank) for rank in range(self.world) if rank not in self.joining]
        if not (absent and self.joining):
            return []
        says = f"of {self.world} ranks, {listed(absent, MOST_SHOWN)} never began"
        event = Event("silent-hang", Role.CAUSE, says, file, text=says, certainty="likely")
        return [event._replace(cures=_NOT_JOINED)]


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
