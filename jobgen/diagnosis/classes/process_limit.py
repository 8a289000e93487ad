"""A node allows no more processes or threads.

Each user may have so many processes and threads on a node (ulimit -u, or the pids limit of a
container or a cgroup). Ranks × DataLoader workers × threads of OpenMP or BLAS reach it quickly:
8 ranks with 16 workers and 64 threads each are 8000.

One sees `can't start new thread`, `fork: retry: Resource temporarily unavailable`, `pthread_create
failed`. The limit counts all processes of the user on that node. `--pids-limit` raises that of a
container.

Cure: -e OMP_NUM_THREADS=CORES_OF_A_RANK, fewer DataLoader workers, or a higher ulimit -u

Not this: Resource temporarily unavailable is neither memory nor the network here

Sources: https://man7.org/linux/man-pages/man2/fork.2.html
https://docs.docker.com/reference/cli/docker/container/run/
"""

SIGNS = r"""
sure cause: no more threads are allowed on the node
    (?:^|[\])|] )RuntimeError: can't start new thread
sure cause if failed: no more processes or threads are allowed on the node
    pthread_create failed for thread \d+ of \d+: Resource temporarily unavailable
    fork: (retry: )?Resource temporarily unavailable
    what\(\): +thread: Resource temporarily unavailable
    \bpthread_create failed: Resource temporarily unavailable
    libgomp: Thread creation failed: Resource temporarily unavailable
likely cause: no more processes are allowed on the node
    ^BlockingIOError: \[Errno 11\] Resource temporarily unavailable
sure confirmation: the job had more threads than LSF allows it
    ^TERM_THREADLIMIT: job killed after reaching LSF thread limit
"""
EXPLAINS = "python-exception peer-lost collective-timeout rendezvous crash killed"
