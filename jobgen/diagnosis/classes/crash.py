"""A process crashed in compiled code: a segmentation fault, a damaged heap, or a fault of a GPU.

Compiled code (an extension, NCCL or one of its plugins, MPI, a driver) read an address that does
not exist. Python prints nothing unless PYTHONFAULTHANDLER=1 is set; torchrun says `exitcode:
-11`, UCX prints `Caught signal 11` with a backtrace. On ROCm a wild read of a GPU is `Memory
access fault by GPU node-N`, after which the runtime aborts (signal 6): `GPU node-2` is the GPU's
number in that machine, no node of the cluster.

Usual reasons: extensions built for another torch or CUDA; two versions of NCCL or MPI in one
process; an OFI plugin that does not fit; fork after CUDA or MPI started; a stack that is too
small. `Illegal instruction` (signal 4): the program was built for a newer CPU than this node's.

Other ranks may crash at their end, after a first failure; torchrun's summary names the first of one
node only. Make the versions on all nodes the same, and try without the plugin that the backtrace
names.

Cure: -e PYTHONFAULTHANDLER=1 shows the Python line; see that extensions, NCCL, MPI and plugins fit
torch's versions; leave out a node where it happens alone

Not this: lost peers and timeouts of the other ranks; GPU node-2 is a GPU, no node of the cluster

Sources: https://docs.python.org/3/library/faulthandler.html
https://github.com/deepseek-ai/DeepEP/issues/150
https://github.com/NVIDIA/nccl/issues/1914
https://github.com/ai2cm/ace/issues/346
https://github.com/tinygrad/tinygrad/issues/3343
"""

SIGNS = r"""
sure cause: crashed in compiled code ({what})
    ^Fatal Python error: (?P<what>Segmentation fault|Illegal instruction|Floating point exception)
sure cause: crashed in compiled code (segmentation fault)
    Caught signal 11 \(Segmentation fault|!!!!!!! Segfault encountered !!!!!!!
    \*\*\* SIGSEGV \(@?\S*\) received by PID|Signal: Segmentation fault \(11\)
    ^\S+: line \d+: +\d+ Segmentation fault\b|^Segmentation fault( +\(core dumped\))?$
    ^\S*\[\d+\]: segfault at |python\S*\[\d+\]: segfault at[ ]
sure cause: a DataLoader worker crashed (segmentation fault)
    (?<![`'"])DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: Segmentation fault
    Unexpected segmentation fault encountered in worker
sure confirmation: crashed in compiled code (segmentation fault)
    <AGENT_FAILED>\(exitcode: -11\)|^\W*exitcode *: -11 \(pid
    ^\W*(traceback *: )?Signal 11 \(SIGSEGV\) received by PID
    died with <Signals\.SIGSEGV: 11>|terminated with signal SIGSEGV
    exits with return code = -11\b|Process finished with exit code 139
sure confirmation: crashed in compiled code ({what})
    srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: (?P<what>Segmentation fault|Illegal instruction
        |Floating point exception)
sure confirmation: crashed in compiled code
    process rank (?P<rank>\d+) with PID \d+ on node (?P<node>[\w.-]+) exited on signal (4|8|11)\b
    <AGENT_FAILED>\(exitcode: -[48]\)|Signal (4 \(SIGILL|8 \(SIGFPE)\) received by PID
    ^(\S+: line \d+: +\d+ )?(Illegal instruction|Floating point exception) +\(core dumped\)
    <FAILED_FIRST>(?:killed by signal (4|8|11)\b|crashed in compiled code)
    ^ *exit status of rank (?P<rank>\d+): killed by signal (?:4|7|8|11)\b
    ^=? +EXIT CODE: (?:11|139)$
likely confirmation: it called abort()
    ^jobgen: rank (?P<rank>\d+) on (?P<node>[\w.-]+) failed first: killed by signal 6\b
sure cause: a kernel on a GPU (ROCm) read an address that does not exist
    ^Memory access fault by GPU (node-)?\S+ .*on address \w+\. Reason
sure cause: a GPU (ROCm) raised a fault {why}{code}
    HW Exception by GPU node-\S+ .*reason ?: ?(?P<why>[\w ]+)|HSA_STATUS_ERROR_(?P<code>EXCEPTION
        |MEMORY_FAULT|MEMORY_APERTURE_VIOLATION|ILLEGAL_INSTRUCTION|INVALID_ISA|OUT_OF_RESOURCES)
likely cause: crashed in compiled code (a damaged heap)
    ^(\S+: |\*\*\* Error in `\S+': )?(free\(\): (?:invalid|double free)|malloc\(\): |double free[ ]
        or corruption|munmap_chunk\(\): invalid|corrupted (size|double-linked)|realloc\(\): invalid
        |\*\*\* stack smashing detected)
sure cause: crashed in compiled code
    ^(?P<node>[\w.-]+): rank (?P<rank>\d+) died from signal (?:4|7|8|11)\b
likely confirmation: it crashed in compiled code, or called abort()
    \bRank (?P<rank>\d+) crashed with exit code -(?:4|6|7|8|11)\b
possible confirmation: it called abort()
    ^=? +EXIT CODE: (?:6|134)$|^Aborted \(core dumped\)$
likely cause: a C++ exception ended it ({what})
    ^ *what\(\): +(?P<what>CUDA error: initialization error|invalid device pointer: \w+)
"""
EXPLAINS = "peer-lost collective-timeout rendezvous fabric python-exception killed"
TRAITS = "process gpu"
