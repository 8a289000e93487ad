"""A launcher reports that a process failed, and not why.

accelerate, deepspeed, lightning, torch's spawn, Ray and MPI's mpirun each wrap the failure of one
process in lines of their own. They name a rank, a node or an exit status at the best; the cause
is in that process's own output, mostly far above.

- accelerate and the old torch.distributed.launch: `subprocess.CalledProcessError: Command
  '[…python…]' returned non-zero exit status 1.`
- deepspeed: `[launch.py:…:sigkill_handler] Killing subprocess …`, then `exits with return code =
  1`. The rank in the printed command (`--local_rank=7`) is the last one of the node, and not the
  one that failed.
- lightning and torch's spawn: `ProcessRaisedException`, `ProcessExitedException`,
  `SIGTERMException`.
- Ray: `RayTaskError(NAME)`: NAME is the exception of the task, whose traceback is below.
  `ActorDiedError` says only that a process is gone.
- mpirun: `Primary job terminated normally, but 1 process returned a non-zero exit code`; mpiexec
  of MPICH: `BAD TERMINATION`; PALS: `rank 3 exited with code 1`.

What misleads: these are the last lines of the log, and look like the error.

The cure: read the output of the rank that is named, from its first error on.

Sources: https://github.com/deepspeedai/DeepSpeed/issues/3232
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/launch.py
https://github.com/huggingface/accelerate/blob/main/src/accelerate/commands/launch.py
https://github.com/pytorch/pytorch/blob/main/torch/multiprocessing/spawn.py
https://github.com/ray-project/ray/issues/18586
https://github.com/cBio/cbio-cluster/issues/256
https://github.com/horovod/horovod/issues/1421
"""

from jobgen.diagnosis.signs import Role, Sign

_LAUNCHED = (
    r"\[?[\"']*[^\s\"',]*(?:python[\d.]*|torchrun|accelerate|deepspeed|mpirun|mpiexec|srun|pdsh"
    r"|bash)"
    r"[\"',\s]"
)
_ENDED = "a process ended with exit status {status}"

SIGNS = (
    Sign(
        r"CalledProcessError: Command ['\"]" + _LAUNCHED + r".*returned non-zero exit status"
        r" (?P<status>\d+)",
        _ENDED,
        Role.CONSEQUENCE,
    ),
    Sign(
        r"CalledProcessError: Command ['\"]"
        + _LAUNCHED
        + r".*died with <Signals\.SIG(?:TERM|INT|HUP)",
        "a process got a signal",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"\[ERROR\] \[launch\.py:\d+:sigkill_handler\] .*exits with return code ="
        r" (?P<status>-?\d+)",
        _ENDED,
        Role.CONSEQUENCE,
    ),
    Sign(
        r"^(?:\[\w+\] )*\[launch\.py:\d+:\w+\] .*exits with return code = (?P<status>-?\d+)$",
        _ENDED,
        Role.CONSEQUENCE,
    ),
    Sign(r"\[launch\.py:\d+:sigkill_handler\] Killing subprocess", "", Role.TEARDOWN),
    Sign(r"NameError: free variable 'kill_cmd' referenced before assignment", "", Role.TEARDOWN),
    Sign(
        r"^pdsh@[^:]+: (?P<node>[\w.-]+): ssh exited with exit code (?P<status>\d+)",
        "what pdsh started on this node ended with exit status {status}",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"^srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Exited with exit code (?P<status>\d+)",
        "a task on this node ended with exit status {status}",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"slurmstepd(?:-\S+)?: error: \*\*\* \w+ [\d.+]+ ON (?P<node>\S+) FAILED \(non-zero"
        r" exit code",
        "a task failed",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"ProcessRaisedException:|^-- Process \d+ terminated with the following error:",
        "a spawned process raised an exception",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"ProcessExitedException: process (?P<local_rank>\d+) terminated with exit code"
        r" (?P<status>\d+)",
        "a spawned process ended with exit status {status}",
        Role.CONSEQUENCE,
    ),
    Sign(r"SIGTERMException\b", "Lightning got SIGTERM", Role.TEARDOWN),
    Sign(r"Received SIGTERM: \d+|Bypassing (?:signal )?SIG\w+", "it got SIGTERM", Role.TEARDOWN),
    Sign(r"DeadlockDetectedException: DeadLock detected from rank", "", Role.CONSEQUENCE),
    Sign(
        r"^ray\.exceptions\.RayTaskError\((?P<name>\w+)\): ",
        "a task of Ray raised {name}",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"^ray\.exceptions\.(?:ActorDiedError|RayActorError|WorkerCrashedError"
        r"|ActorUnavailableError"
        r"|NodeDiedError|LocalRayletDiedError|ObjectLostError|OwnerDiedError)\b",
        "a process of Ray is gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Worker exit type: SYSTEM_ERROR|worker died or was killed while executing a task by an"
        r" unexpected system error|^\(raylet[^)]*\) .*worker has died or been killed",
        "a process of Ray is gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Horovod has been shut down\. This (?:was|has been) caused by an exception"
        r"|^(?:horovod\.common\.exceptions\.)?HorovodInternalError\b",
        "another rank of Horovod failed",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Primary job +terminated normally, but \d+ process(?:es)? returned",
        "a process failed",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"^(?:mpirun|mpiexec|prterun) detected that one or more processes exited with non-zero"
        r" status",
        "a process failed",
        Role.CONSEQUENCE,
    ),
    Sign(r"^\s+Exit code: +(?P<status>[1-9]\d*)$", _ENDED, Role.CONSEQUENCE),
    Sign(
        r"^MPI_ABORT was invoked on rank (?P<rank>\d+) in communicator",
        "this rank called MPI_Abort",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"process rank (?P<rank>\d+) with PID \d+ on node (?P<node>[\w.-]+) exited on signal"
        r" (?:1|2|6|15)\b",
        "this rank got a signal",
        Role.CONSEQUENCE,
    ),
    Sign(r"^=? +BAD TERMINATION OF ONE OF YOUR APPLICATION", "a process failed", Role.CONSEQUENCE),
    Sign(r"^=? +EXIT CODE: (?P<status>\d+)$", _ENDED, Role.CONSEQUENCE),
    Sign(
        r"^\[(?:mpiexec|proxy:[\d:]+)@[^]]+\] (?:HYD\w+|main|control_cb|check_exit_codes) \(.*\): ",
        "mpiexec ends what is left",
        Role.TEARDOWN,
    ),
    Sign(
        r"^sacct: State=FAILED JobID=\d+(?:_\d+)? ExitCode=(?P<status>\d+):"
        r"|^qstat: [Ee]xit_status=[1-9]",
        "the job ended with an exit status",
        Role.TEARDOWN,
    ),
    Sign(
        r"^(?P<node>[\w.-]+): rank (?P<rank>\d+) exited with code (?P<status>[1-9]\d*)$",
        "this rank ended with exit status {status}",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"^(?P<node>[\w.-]+): rank (?P<rank>\d+) died from signal (?:1|2|6|15)\b",
        "this rank got a signal",
        Role.CONSEQUENCE,
    ),
)
CURE = (
    "read what that process wrote, from its first error on; jobgen's scripts leave a file of each"
    " rank"
)
MISLEADS = "deepspeed's --local_rank in the printed command: it is the node's last rank"
EXPLAINS = ()
