"""/dev/shm is full or too small, or the ranks of a node do not share it.

DataLoader workers hand their batches over in /dev/shm, and NCCL connects the GPUs of a node by
segments there. It is a file system in memory: in containers often 64 MiB, else half of the
memory; files that killed jobs leave behind stay there. A write to a mapped file without room is
SIGBUS (signal 7, `Bus error`); NCCL checks first and says `No space left on device`.

One sees `killed by signal: Bus error`, `exitcode: -7`, `failed to extend /dev/shm/nccl-…`,
`unable to write to file </torch_…>`. A segment that is not found (`No such file or directory`)
means that ranks of one node have different /dev/shm: one container a rank, or a private one.

What misleads: `No space left on device` read as the disk; NCCL's `unhandled system error`.

Cure: give the container the host's (`--ipc=host`) or a larger one (`--shm-size=64g`); remove old
files of yours (`rm /dev/shm/nccl-* /dev/shm/torch_*`); fewer workers, a smaller prefetch_factor.
NCCL_SHM_DISABLE=1 shows whether it is this, at the price of speed.

Sources:
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
https://github.com/pytorch/pytorch torch/csrc/DataLoader.cpp
https://github.com/pytorch/pytorch/issues/5040
https://github.com/NVIDIA/nccl/issues/342
https://github.com/NVIDIA/nccl/issues/1589
"""

from jobgen.diagnosis.signs import Role, Sign

SIGNS = (
    Sign(
        r"failed to extend /dev/shm/nccl-\S+ to (?P<size>\d+) bytes"
        r"|Error while creating shared memory segment \S*nccl-",
        "NCCL found no room in /dev/shm for a segment",
    ),
    Sign(
        r"Call to posix_fallocate failed ?: No space left on device",
        "NCCL found no room in /dev/shm for a segment",
    ),
    Sign(
        r"Error while attaching to shared memory segment \S*nccl-.*No such file or directory",
        "a rank did not find the segment of another rank of its node in /dev/shm",
        certainty="likely",
    ),
    Sign(
        r"NCCL WARN Call to shm_open failed ?: (?P<why>.*)",
        "NCCL could not use /dev/shm ({why})",
        certainty="likely",
    ),
    Sign(
        r"(?<![`'\"])DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: Bus error"
        r"|Unexpected bus error encountered in worker",
        "a DataLoader worker found no room in /dev/shm (bus error)",
    ),
    Sign(
        r"Caught signal 7 \(Bus error|^Fatal Python error: Bus error|Signal: Bus error \(7\)",
        "ended by signal 7 (bus error), most often because /dev/shm was full",
        certainty="likely",
    ),
    Sign(
        r"unable to (write to|resize|mmap|allocate|open)\b.*(/torch_\d|shared memory(\(shm\)| file"
        r"| object)).*: (No space left on device|Resource temporarily unavailable"
        r"|Cannot allocate memory|Bad file descriptor)",
        "no room in /dev/shm for a tensor",
    ),
    Sign(
        r"unable to write to file </torch_\d+_\d+",
        "no room in /dev/shm for a tensor",
        certainty="likely",
    ),
    Sign(
        r"(unable to open shared memory object|could not unlink the shared memory file) <?/torch_"
        r"(?!.*Too many open files)",
        "a tensor's segment in /dev/shm was lost, or there is no room",
        certainty="possible",
    ),
    Sign(
        r"No space left on device.*['\"<]/dev/shm/|/dev/shm/\S+.*No space left on device",
        "no room in /dev/shm",
    ),
    Sign(
        r"^\W*(traceback *: )?Signal 7 \(SIGBUS\) received by PID|exitcode *: -7\b"
        r"|exits with return code = -7\b|died with <Signals\.SIGBUS: 7>"
        r"|terminated with signal SIGBUS|exited on signal 7\b",
        "ended by signal 7 (bus error), most often because /dev/shm was full",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Bus error",
        "ended by signal 7 (bus error), most often because /dev/shm was full",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"^\S+: line \d+: +\d+ Bus error\b|^Bus error( +\(core dumped\))?$",
        "ended by signal 7 (bus error), most often because /dev/shm was full",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"SHMEM allocation limit is set to the default of 64MB",
        "a note of NVIDIA's images at every start: harmless",
        Role.NOISE,
    ),
)
CURE = (
    "give the container a larger /dev/shm (--set software.container.options='[--ipc=host]'), remove"
    " old files there, or use fewer DataLoader workers"
)
MISLEADS = "No space left on device does not mean the disk here"
EXPLAINS = ("peer-lost", "collective-timeout", "rendezvous", "python-exception", "killed")
