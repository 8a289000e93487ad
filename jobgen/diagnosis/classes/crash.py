"""A process crashed in compiled code: a segmentation fault, a damaged heap, or a fault of a GPU.

Compiled code (an extension, NCCL or one of its plugins, MPI, a driver) read an address that does
not exist. Python prints nothing unless PYTHONFAULTHANDLER=1 is set; torchrun says `exitcode:
-11`, UCX prints `Caught signal 11` with a backtrace. On ROCm a wild read of a GPU is `Memory
access fault by GPU node-N`, after which the runtime aborts (signal 6): `GPU node-2` is the GPU's
number in that machine, no node of the cluster.

Usual reasons: extensions built for another torch or CUDA; two versions of NCCL or MPI in one
process; an OFI plugin that does not fit; fork after CUDA or MPI started; a stack that is too
small. `Illegal instruction` (signal 4): the program was built for a newer CPU than this node's.

What misleads: a crash of the other ranks at their end, after a first failure; torchrun's
summary, which names the first of one node only.

Cure: -e PYTHONFAULTHANDLER=1 shows the Python line; make the versions on all nodes the same; try
without the plugin that the backtrace names. A crash on one node only: leave that node out.

Sources:
https://docs.python.org/3/library/faulthandler.html
https://github.com/deepseek-ai/DeepEP/issues/150
https://github.com/NVIDIA/nccl/issues/1914
https://github.com/ai2cm/ace/issues/346
https://github.com/tinygrad/tinygrad/issues/3343
"""

from jobgen.diagnosis.signs import FAILED_FIRST, Role, Sign

# As torchrun's agent logs it; else it is a page that quotes it.
_AGENT = r"(?:(?<!# )\bERROR:torch[\w.]*:|E\d{4} [\d:.]+ \d+ \S*\] |\[ERROR\] |^\s*ERROR\s+)failed "

SIGNS = (
    Sign(
        r"^Fatal Python error: (?P<what>Segmentation fault|Illegal instruction"
        r"|Floating point exception)",
        "crashed in compiled code ({what})",
    ),
    Sign(
        r"Caught signal 11 \(Segmentation fault|!!!!!!! Segfault encountered !!!!!!!"
        r"|\*\*\* SIGSEGV \(@?\S*\) received by PID|Signal: Segmentation fault \(11\)",
        "crashed in compiled code (segmentation fault)",
    ),
    Sign(
        r"(?<![`'\"])DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: "
        r"Segmentation fault"
        r"|Unexpected segmentation fault encountered in worker",
        "a DataLoader worker crashed (segmentation fault)",
    ),
    Sign(
        r"^\S+: line \d+: +\d+ Segmentation fault\b|^Segmentation fault( +\(core dumped\))?$"
        r"|^\S*\[\d+\]: segfault at |python\S*\[\d+\]: segfault at ",
        "crashed in compiled code (segmentation fault)",
    ),
    Sign(
        _AGENT + r"\(exitcode: -11\)|^\W*exitcode *: -11 \(pid"
        r"|^\W*(traceback *: )?Signal 11 \(SIGSEGV\) received by PID"
        r"|died with <Signals\.SIGSEGV: 11>|terminated with signal SIGSEGV"
        r"|exits with return code = -11\b|Process finished with exit code 139",
        "crashed in compiled code (segmentation fault)",
        Role.CONFIRMATION,
    ),
    Sign(
        r"srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: (?P<what>Segmentation fault"
        r"|Illegal instruction|Floating point exception)",
        "crashed in compiled code ({what})",
        Role.CONFIRMATION,
    ),
    Sign(
        r"process rank (?P<rank>\d+) with PID \d+ on node (?P<node>[\w.-]+) exited on signal "
        r"(4|8|11)\b",
        "crashed in compiled code",
        Role.CONFIRMATION,
    ),
    Sign(
        _AGENT + r"\(exitcode: -[48]\)|Signal (4 \(SIGILL|8 \(SIGFPE)\) received by PID"
        r"|^(\S+: line \d+: +\d+ )?(Illegal instruction|Floating point exception) "
        r"+\(core dumped\)",
        "crashed in compiled code",
        Role.CONFIRMATION,
    ),
    Sign(
        FAILED_FIRST + r"(?:killed by signal (4|8|11)\b|crashed in compiled code)",
        "crashed in compiled code",
        Role.CONFIRMATION,
    ),
    Sign(
        r"^jobgen: rank (?P<rank>\d+) on (?P<node>[\w.-]+) failed first: killed by signal 6\b",
        "it called abort()",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"^Memory access fault by GPU (node-)?\S+ .*on address \w+\. Reason",
        "a kernel on a GPU (ROCm) read an address that does not exist",
    ),
    Sign(
        r"HW Exception by GPU node-\S+ .*reason ?: ?(?P<why>[\w ]+)"
        r"|HSA_STATUS_ERROR_(?P<code>EXCEPTION|MEMORY_FAULT|MEMORY_APERTURE_VIOLATION"
        r"|ILLEGAL_INSTRUCTION|INVALID_ISA|OUT_OF_RESOURCES)",
        "a GPU (ROCm) raised a fault {why}{code}",
    ),
    Sign(
        r"^(\S+: |\*\*\* Error in `\S+': )?(free\(\): (?:invalid|double free)|malloc\(\): "
        r"|double free or corruption|munmap_chunk\(\): invalid|corrupted (size|double-linked)"
        r"|realloc\(\): invalid"
        r"|\*\*\* stack smashing detected)",
        "crashed in compiled code (a damaged heap)",
        certainty="likely",
    ),
    Sign(
        r"^(?P<node>[\w.-]+): rank (?P<rank>\d+) died from signal (?:4|7|8|11)\b",
        "crashed in compiled code",
    ),
    Sign(
        r"^ *exit status of rank (?P<rank>\d+): killed by signal (?:4|7|8|11)\b",
        "crashed in compiled code",
        Role.CONFIRMATION,
    ),
    Sign(
        r"\bRank (?P<rank>\d+) crashed with exit code -(?:4|6|7|8|11)\b",
        "it crashed in compiled code, or called abort()",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(r"^=? +EXIT CODE: (?:11|139)$", "crashed in compiled code", Role.CONFIRMATION),
    Sign(
        r"^=? +EXIT CODE: (?:6|134)$|^Aborted \(core dumped\)$",
        "it called abort()",
        Role.CONFIRMATION,
        certainty="possible",
    ),
    Sign(
        r"^ *what\(\): +(?P<what>CUDA error: initialization error|invalid device pointer: \w+)",
        "a C++ exception ended it ({what})",
        certainty="likely",
    ),
)
CURE = (
    "-e PYTHONFAULTHANDLER=1 shows the Python line; see that extensions, NCCL, MPI and plugins fit"
    " torch's versions; leave out a node where it happens alone"
)
MISLEADS = "lost peers and timeouts of the other ranks; GPU node-2 is a GPU, no node of the cluster"
EXPLAINS = ("peer-lost", "collective-timeout", "rendezvous", "fabric", "python-exception", "killed")
