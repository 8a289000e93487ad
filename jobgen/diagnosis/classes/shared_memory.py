"""/dev/shm is full or too small, or the ranks of a node do not share it.

DataLoader workers hand their batches over in /dev/shm, and NCCL connects the GPUs of a node by
segments there. It is a file system in memory: in containers often 64 MiB, else half of the
memory; files that killed jobs leave behind stay there. A write to a mapped file without room is
SIGBUS (signal 7, `Bus error`); NCCL checks first and says `No space left on device`.

One sees `killed by signal: Bus error`, `exitcode: -7`, `failed to extend /dev/shm/nccl-…`,
`unable to write to file </torch_…>`. A segment that is not found (`No such file or directory`)
means that ranks of one node have different /dev/shm: one container a rank, or a private one.

NCCL's `unhandled system error` can be this: NCCL_SHM_DISABLE=1 shows it, at the price of speed.
`--shm-size=64g` gives a container more, `rm /dev/shm/nccl-* /dev/shm/torch_*` removes old files of
yours, and a smaller prefetch_factor needs less.

Cure: give the container a larger /dev/shm (--set software.container.options='[--ipc=host]'), remove
old files there, or use fewer DataLoader workers

Not this: No space left on device does not mean the disk here

Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
https://github.com/pytorch/pytorch torch/csrc/DataLoader.cpp
https://github.com/pytorch/pytorch/issues/5040
https://github.com/NVIDIA/nccl/issues/342
https://github.com/NVIDIA/nccl/issues/1589
"""

SIGNS = r"""
sure cause: NCCL found no room in /dev/shm for a segment
    failed to extend /dev/shm/nccl-\S+ to (?P<size>\d+) bytes
    Error while creating shared memory segment \S*nccl-
    Call to posix_fallocate failed ?: No space left on device
likely cause: a rank did not find the segment of another rank of its node in /dev/shm
    Error while attaching to shared memory segment \S*nccl-.*No such file or directory
likely cause: NCCL could not use /dev/shm ({why})
    NCCL WARN Call to shm_open failed ?: (?P<why>.*)
sure cause: a DataLoader worker found no room in /dev/shm (bus error)
    (?<![`'"])DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: Bus error
    Unexpected bus error encountered in worker
likely cause: ended by signal 7 (bus error), most often because /dev/shm was full
    Caught signal 7 \(Bus error|^Fatal Python error: Bus error|Signal: Bus error \(7\)
sure cause: no room in /dev/shm for a tensor
    unable to (write to|resize|mmap|allocate|open)\b.*
        (/torch_\d|shared memory(\(shm\)| file| object)).*: (No space left on device
        |Resource temporarily unavailable|Cannot allocate memory|Bad file descriptor)
likely cause: no room in /dev/shm for a tensor
    unable to write to file </torch_\d+_\d+
possible cause: a tensor's segment in /dev/shm was lost, or there is no room
    (unable to open shared memory object|could not unlink the shared memory file) <?/torch_
        (?!.*Too many open files)
sure cause: no room in /dev/shm
    No space left on device.*['"<]/dev/shm/|/dev/shm/\S+.*No space left on device
likely confirmation: ended by signal 7 (bus error), most often because /dev/shm was full
    ^\W*(traceback *: )?Signal 7 \(SIGBUS\) received by PID|exitcode *: -7\b
    exits with return code = -7\b|died with <Signals\.SIGBUS: 7>
    terminated with signal SIGBUS|exited on signal 7\b
    srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Bus error
    ^\S+: line \d+: +\d+ Bus error\b|^Bus error( +\(core dumped\))?$
# A note of NVIDIA's images at every start.
noise:
    SHMEM allocation limit is set to the default of 64MB
"""
EXPLAINS = "peer-lost collective-timeout rendezvous python-exception killed"
