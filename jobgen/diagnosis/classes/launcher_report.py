"""A launcher reports that a process failed, and not why.

accelerate, deepspeed, lightning, torch's spawn, Ray and MPI's mpirun each wrap the failure of one
process in lines of their own. They name a rank, a node or an exit status at the best; the cause is
in that process's own output, mostly far above. These are the last lines of the log, and look like
the error.

- accelerate and the old torch.distributed.launch: `subprocess.CalledProcessError: Command
  '[…python…]' returned non-zero exit status 1.`
- deepspeed: `[launch.py:…:sigkill_handler] Killing subprocess …`, then `exits with return code =
  1`.
- lightning and torch's spawn: `ProcessRaisedException`, `ProcessExitedException`,
  `SIGTERMException`.
- Ray: `RayTaskError(NAME)`: NAME is the exception of the task, whose traceback is below.
  `ActorDiedError` says only that a process is gone.
- mpirun: `Primary job terminated normally, but 1 process returned a non-zero exit code`; mpiexec
  of MPICH: `BAD TERMINATION`; PALS: `rank 3 exited with code 1`.

Sources: https://github.com/deepspeedai/DeepSpeed/issues/3232
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/launch.py
https://github.com/huggingface/accelerate/blob/main/src/accelerate/commands/launch.py
https://github.com/pytorch/pytorch/blob/main/torch/multiprocessing/spawn.py
https://github.com/ray-project/ray/issues/18586
https://github.com/cBio/cbio-cluster/issues/256
https://github.com/horovod/horovod/issues/1421
"""

from jobgen.diagnosis.signs import sure, teardown

_LAUNCHED = (
    r"\[?[\"']*[^\s\"',]*"
    r"(?:python[\d.]*|torchrun|accelerate|deepspeed|mpirun|mpiexec|srun|pdsh|bash)[\"',\s]"
)

SIGNS = (
    *sure.consequence(
        "a process ended with exit status {status}",
        rf"CalledProcessError: Command ['\"]{_LAUNCHED}.*returned non-zero exit "
        r"status (?P<status>\d+)",
        r"\[ERROR\] \[launch\.py:\d+:sigkill_handler\] .*exits with return code "
        r"= (?P<status>-?\d+)",
        r"^(?:\[\w+\] )*\[launch\.py:\d+:\w+\] .*exits with return code = (?P<status>-?\d+)$",
        r"^\s+Exit code: +(?P<status>[1-9]\d*)$",
        r"^=? +EXIT CODE: (?P<status>\d+)$",
    ),
    *sure.consequence(
        "a process got a signal",
        rf"CalledProcessError: Command ['\"]{_LAUNCHED}.*died with <Signals\.SIG(?:TERM|INT|HUP)",
    ),
    *teardown(
        "the launcher ends what is left",
        r"\[launch\.py:\d+:sigkill_handler\] Killing subprocess",
        r"NameError: free variable 'kill_cmd' referenced before assignment",
        r"^\[(?:mpiexec|proxy:[\d:]+)@[^]]+\] (?:HYD\w+|main|control_cb|check_exit_codes) \(.*\): ",
    ),
    *sure.consequence(
        "what pdsh started on this node ended with exit status {status}",
        r"^pdsh@[^:]+: (?P<node>[\w.-]+): ssh exited with exit code (?P<status>\d+)",
    ),
    *sure.consequence(
        "a task on this node ended with exit status {status}",
        r"^srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Exited with exit code (?P<status>\d+)",
    ),
    *sure.consequence(
        "a task failed",
        r"slurmstepd(?:-\S+)?: error: \*\*\* \w+ [\d.+]+ ON "
        r"(?P<node>\S+) FAILED \(non-zero exit code",
    ),
    *sure.consequence(
        "a spawned process raised an exception",
        r"ProcessRaisedException:|^-- Process \d+ terminated with the following error:",
    ),
    *sure.consequence(
        "a spawned process ended with exit status {status}",
        r"ProcessExitedException: process "
        r"(?P<local_rank>\d+) terminated with exit code (?P<status>\d+)",
    ),
    *teardown(
        "it got SIGTERM",
        r"SIGTERMException\b|Received SIGTERM: \d+|Bypassing (?:signal )?SIG\w+",
    ),
    *sure.consequence("", r"DeadlockDetectedException: DeadLock detected from rank"),
    *sure.consequence(
        "a task of Ray raised {name}",
        r"^ray\.exceptions\.RayTaskError\((?P<name>\w+)\): ",
    ),
    *sure.consequence(
        "a process of Ray is gone",
        r"^ray\.exceptions\.(?:ActorDiedError|RayActorError"
        r"|WorkerCrashedError|ActorUnavailableError|NodeDiedError|LocalRayletDiedError"
        r"|ObjectLostError|OwnerDiedError)\b",
        r"Worker exit type: SYSTEM_ERROR",
        r"worker died or was killed while executing a task by an unexpected system error",
        r"^\(raylet[^)]*\) .*worker has died or been killed",
    ),
    *sure.consequence(
        "another rank of Horovod failed",
        r"Horovod has been shut down\. This (?:was|has been) caused by an exception",
        r"^(?:horovod\.common\.exceptions\.)?HorovodInternalError\b",
    ),
    *sure.consequence(
        "a process failed",
        r"Primary job +terminated normally, but \d+ process(?:es)? returned",
        r"^(?:mpirun|mpiexec|prterun) detected that one or more processes exited "
        r"with non-zero status",
        r"^=? +BAD TERMINATION OF ONE OF YOUR APPLICATION",
    ),
    *sure.consequence(
        "this rank called MPI_Abort",
        r"^MPI_ABORT was invoked on rank (?P<rank>\d+) in communicator",
    ),
    *sure.consequence(
        "this rank got a signal",
        r"process rank (?P<rank>\d+) with PID \d+ on node "
        r"(?P<node>[\w.-]+) exited on signal (?:1|2|6|15)\b",
        r"^(?P<node>[\w.-]+): rank (?P<rank>\d+) died from signal (?:1|2|6|15)\b",
    ),
    *teardown(
        "the job ended with an exit status",
        r"^sacct: State=FAILED JobID=\d+(?:_\d+)? ExitCode=(?P<status>\d+):",
        r"^qstat: [Ee]xit_status=[1-9]",
    ),
    *sure.consequence(
        "this rank ended with exit status {status}",
        r"^(?P<node>[\w.-]+): rank (?P<rank>\d+) exited with code (?P<status>[1-9]\d*)$",
    ),
)
CURE = (
    "read what that process wrote, from its first error on; jobgen's scripts leave a file of each"
    " rank"
)
MISLEADS = "deepspeed's --local_rank in the printed command: it is the node's last rank"
TRAITS = "process plain"
