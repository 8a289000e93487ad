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

Cure: read what that process wrote, from its first error on; jobgen's scripts leave a file of each
rank

Not this: deepspeed's --local_rank in the printed command: it is the node's last rank

Sources: https://github.com/deepspeedai/DeepSpeed/issues/3232
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/launch.py
https://github.com/huggingface/accelerate/blob/main/src/accelerate/commands/launch.py
https://github.com/pytorch/pytorch/blob/main/torch/multiprocessing/spawn.py
https://github.com/ray-project/ray/issues/18586
https://github.com/cBio/cbio-cluster/issues/256
https://github.com/horovod/horovod/issues/1421
"""

SIGNS = r"""
LAUNCHED = \[?["']*[^\s"',]*(?:python[\d.]*|torchrun|accelerate|deepspeed|mpirun|mpiexec|srun|pdsh
        |bash)["',\s]
sure consequence: a process ended with exit status {status}
    CalledProcessError: Command ['"]<LAUNCHED>.*returned non-zero exit status (?P<status>\d+)
    \[ERROR\] \[launch\.py:\d+:sigkill_handler\] .*exits with return code = (?P<status>-?\d+)
    ^(?:\[\w+\] )*\[launch\.py:\d+:\w+\] .*exits with return code = (?P<status>-?\d+)$
    ^\s+Exit code: +(?P<status>[1-9]\d*)$
    ^=? +EXIT CODE: (?P<status>\d+)$
sure consequence: a process got a signal
    CalledProcessError: Command ['"]<LAUNCHED>.*died with <Signals\.SIG(?:TERM|INT|HUP)
teardown: the launcher ends what is left
    \[launch\.py:\d+:sigkill_handler\] Killing subprocess
    NameError: free variable 'kill_cmd' referenced before assignment
    ^\[(?:mpiexec|proxy:[\d:]+)@[^]]+\] (?:HYD\w+|main|control_cb|check_exit_codes) \(.*\):[ ]
sure consequence: what pdsh started on this node ended with exit status {status}
    ^pdsh@[^:]+: (?P<node>[\w.-]+): ssh exited with exit code (?P<status>\d+)
sure consequence: a task on this node ended with exit status {status}
    ^srun: error: (?P<node>[\w.-]+): tasks? [\d,-]+: Exited with exit code (?P<status>\d+)
sure consequence: a task failed
    slurmstepd(?:-\S+)?: error: \*\*\* \w+ [\d.+]+ ON (?P<node>\S+) FAILED \(non-zero exit code
sure consequence: a spawned process raised an exception
    ProcessRaisedException:|^-- Process \d+ terminated with the following error:
sure consequence: a spawned process ended with exit status {status}
    ProcessExitedException: process (?P<local_rank>\d+) terminated with exit code (?P<status>\d+)
teardown: it got SIGTERM
    SIGTERMException\b|Received SIGTERM: \d+|Bypassing (?:signal )?SIG\w+
sure consequence:
    DeadlockDetectedException: DeadLock detected from rank
sure consequence: a task of Ray raised {name}
    ^ray\.exceptions\.RayTaskError\((?P<name>\w+)\):[ ]
sure consequence: a process of Ray is gone
    ^ray\.exceptions\.(?:ActorDiedError|RayActorError|WorkerCrashedError|ActorUnavailableError
        |NodeDiedError|LocalRayletDiedError|ObjectLostError|OwnerDiedError)\b
    Worker exit type: SYSTEM_ERROR
    worker died or was killed while executing a task by an unexpected system error
    ^\(raylet[^)]*\) .*worker has died or been killed
sure consequence: another rank of Horovod failed
    Horovod has been shut down\. This (?:was|has been) caused by an exception
    ^(?:horovod\.common\.exceptions\.)?HorovodInternalError\b
sure consequence: a process failed
    Primary job +terminated normally, but \d+ process(?:es)? returned
    ^(?:mpirun|mpiexec|prterun) detected that one or more processes exited with non-zero status
    ^=? +BAD TERMINATION OF ONE OF YOUR APPLICATION
sure consequence: this rank called MPI_Abort
    ^MPI_ABORT was invoked on rank (?P<rank>\d+) in communicator
sure consequence: this rank got a signal
    process rank (?P<rank>\d+) with PID \d+ on node (?P<node>[\w.-]+) exited on signal (?:1|2|6
        |15)\b
    ^(?P<node>[\w.-]+): rank (?P<rank>\d+) died from signal (?:1|2|6|15)\b
teardown: the job ended with an exit status
    ^sacct: State=FAILED JobID=\d+(?:_\d+)? ExitCode=(?P<status>\d+):
    ^qstat: [Ee]xit_status=[1-9]
sure consequence: this rank ended with exit status {status}
    ^(?P<node>[\w.-]+): rank (?P<rank>\d+) exited with code (?P<status>[1-9]\d*)$
"""
TRAITS = "process plain"
