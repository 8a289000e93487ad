"""A node ran out of memory, and the kernel killed a process.

The processes of a job on one node together took more memory than the job may use there (its
cgroup) or than the node has. The kernel then ends one of them with SIGKILL: it prints nothing,
torchrun says `exitcode: -9`, and the other ranks report lost connections or, minutes later,
timeouts. Slurm's own line (`oom_kill event in StepId=…`, before 21.08 `oom-kill event(s) in step
…`) comes when the step ends, so it stands below the consequences.

Usual reasons: each rank loads the whole checkpoint or data set (ranks × size); many DataLoader
workers, whose copies of Python objects grow with each epoch; pinned memory; an optimizer that is
offloaded to the CPU; a job that asked for no memory and got the partition's small default.

In `STEP … CANCELLED ON nodeB`, nodeB may be any node; `Exceeded step memory limit at some point`
alone means cached files, not a failure. With `--exclusive`, request.memory=all is the whole node.
Load a checkpoint with mmap=True or on the meta device, and keep data as arrays.

Cure: ask for more memory (--set request.memory=all, or a size), use fewer DataLoader workers, or
load the checkpoint once a node

Not this: SIGTERM lines and STEP … CANCELLED above it; lost peers and timeouts of other ranks

Sources: https://slurm.schedmd.com/cgroup.conf.html
https://github.com/SchedMD/slurm src/plugins/task/cgroup/task_cgroup_memory.c
https://github.com/pytorch/pytorch/issues/13246
https://github.com/huggingface/accelerate/issues/1519
https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files
"""

SIGNS = r"""
sure confirmation: the node ran out of memory, and the kernel killed a process
    error: Detected \d+ oom[-_]kill event(\(s\)|s)? in (StepId=|step )
    srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Out Of Memory
sure confirmation: the job used more memory than it asked for, and Slurm ended it
    (StepId=\S+|[Jj]ob \d+|[Ss]tep \d\S*|task \d+).{0,40}exceeded memory limit \(.*being killed
sure confirmation: the scheduler's accounting says that the job ran out of memory
    ^State: OUT_OF_MEMORY|Slurm.*Job.*(Ended|Failed),.*OUT_OF_MEMORY
    ^\s*\d+(\.\w+)?\s.*\bOUT_OF_ME(MORY|\+)|JobState=OUT_OF_MEMORY
    ^sacct: State=OUT_OF_MEMORY |^Cgroup mem(?:ory|sw) limit exceeded:[ ]
sure cause: the kernel killed {program}, because memory ran out
    [Oo]ut of memory: Kill(ed)? process \d+ \((?P<program>[^)]*)\)
sure confirmation: the kernel killed a process, because memory ran out
    \binvoked oom-killer: |oom-kill:constraint=CONSTRAINT_
sure confirmation: killed by signal 9, and the node ran out of memory
    <FAILED_FIRST>.*\bout of memory
likely confirmation: killed by signal 9, and the kernel killed a process of that node because memory
        ran out
    # The kernel's counter of a whole node: the process may be another job's.
    <FAILED_FIRST>.*\bmemory ran out for this job or another
likely cause: a DataLoader worker was killed by signal 9, most often because memory ran out
    (?<![`'"])DataLoader worker \(pid\(?s?\)? [\d, ]+\) is killed by signal: Killed
sure cause: no memory for a tensor of {size} bytes on the CPU
    DefaultCPUAllocator: (can't allocate|not enough) memory: you tried to allocate (?P<size>\d+)[ ]
        bytes
sure cause if failed: no memory for an object of Python {size}
    ^(\w+\.)*_?(Array)?MemoryError(: Unable to allocate (?P<size>[\d.]+ \w+) for an array
        |: std::bad_alloc|:? ?$)
likely cause if failed: the system refused memory for a new process or a mapping
    ^(OSError|BlockingIOError): \[Errno 12\] Cannot allocate memory
likely cause: the system refused memory
    terminate called after throwing an instance of 'std::bad_alloc'
    fork: Cannot allocate memory
sure cause: ray ended a worker, because the node was short of memory
    ray\.exceptions\.OutOfMemoryError: |OutOfMemoryError: Task was killed due to the node
    \b[1-9]\d* Workers \(tasks / actors\) killed due to memory pressure \(OOM\)
sure confirmation: the container ran out of memory, and the kernel killed a process
    ^\s*([Rr]eason: +|"?OOMKilled"?: *"?)(OOMKilled|true)\b
# Cached files reached the memory's limit.
noise:
    Exceeded (step|job) memory limit at some point|hit memory(\+swap)? limit at least once
likely cause: no memory for {size} bytes
    ^memory allocation of (?P<size>\d+) bytes failed
sure confirmation: the job used more memory than it has
    \boom: Memory cgroup out of memory: killed \d+ tasks? on (?P<node>[\w-]+)
sure confirmation: the job used more memory than LSF allows it
    ^TERM_MEMLIMIT: job killed after reaching LSF memory usage limit
"""
EXPLAINS = (
    "killed peer-lost collective-timeout rendezvous fabric python-exception cancelled silent-hang"
)
TRAITS = "process"
