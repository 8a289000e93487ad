"""Slurm cannot start the step (srun), or refuses the request.

The job has its nodes, but srun does not get a step in them, or its tasks do not start on a node.

`Unable to create step`: srun asks for more than the job has. Frequent: `--cpus-per-task`,
`--gres` or `--mem` of srun that differ from the job's; an srun inside a step that has all the
memory or all the GPUs; variables SLURM_… that came along from another job or an interactive
shell. `Job credential expired`: the clock of that node is wrong, or its prolog took too long. It
is no password. `SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually
exclusive`: sbatch was called inside a job.

`Job/step already completing or completed` is what a step says that comes after the end. jobgen's
scripts give srun no resources of its own; `--overlap` is for a step beside another.

Cure: give srun no more than the job has, and unset SLURM_ variables of another job; see the reason

Not this: nodes are busy: it is the job's own other step that holds them

Sources: https://slurm.schedmd.com/srun.html (--exact, --overlap)
https://github.com/SchedMD/slurm/blob/master/src/srun/launch.c (launch_g_create_job_step)
https://github.com/SchedMD/slurm/blob/master/src/api/step_launch.c
"""

SIGNS = r"""
teardown: the job had ended when srun asked for a step
    ^srun: error: Unable to create (?:job )?step(?: for job \d+)?: (?:Job/step already
        |Job is not running|Job is no longer)
sure cause: Slurm does not create the step: {reason}
    ^srun: error: Unable to create (?:job )?step(?: for job \d+)?: (?P<reason>.+)
possible cause if failed: the step waits for another step of the job
    ^srun: (?:Job|job) \d+ step creation (?:temporarily|still) disabled, retrying
sure cause: the credential of the step is too old on this node: its clock is wrong, or it was slow
    ^srun: error: Task launch for (?:StepId=)?[\d.+]+ failed on node (?P<node>\S+):[ ]
        (?P<reason>.*credential expired.*)
sure cause: srun could not start its tasks on this node: {reason}
    ^srun: error: Task launch for (?:StepId=)?[\d.+]+ failed on node (?P<node>\S+): (?P<reason>.+)
sure confirmation: srun could not start its tasks: {reason}
    ^srun: error: Application launch failed: (?P<reason>.+)
sure cause: srun could not start a task: {reason}
    ^srun: error: task \d+ launch failed: (?!Slurmd could not execve)(?P<reason>.+)
sure cause: srun started only {started} of {tasks} tasks in time
    ^srun: error: timeout waiting for task launch, started (?P<started>\d+) of (?P<tasks>\d+) tasks
sure cause: Slurm refuses the request: {reason}
    ^s(?:run|alloc): error: (?:Unable to allocate resources|Job submit/allocate failed):[ ]
        (?P<reason>.+)
sure cause: Slurm refuses the job: {reason}
    ^sbatch: error: (?:Batch job submission failed|Unable to allocate resources): (?P<reason>.+)
sure cause: srun is in no running job: {reason}
    ^srun: error: Unable to confirm allocation for job \d+: (?P<reason>.+)
sure cause: srun does not start: {reason}
    ^srun: fatal: (?P<reason>.+)
sure cause: srun has no such plugin for MPI: {reason}
    ^srun: error: (?P<reason>Invalid MPI type .+|cannot find mpi plugin for .+
        |Couldn't find the specified plugin name for mpi/.+)
likely cause: the site's prolog for tasks failed
    ^slurmstepd: error: (?P<reason>TaskProlog failed status=\d+)
noise:
    ^srun: [Ww]arning: can't (?:honor|run)[ ]
    ^slurmstepd: error: Failed to send MESSAGE_TASK_EXIT
teardown: srun ends the step
    ^srun: Job step aborted: Waiting up to
    ^srun: Force Terminated[ ]
    ^srun: error: Timed out waiting for job step to complete
    ^srun: error: \S+: tasks? [\d,-]+: Terminated
likely cause: the site refuses the job: {reason}
    ^sbatch: error: \*\*\* Error:? (?P<reason>.+)
likely cause: PBS refuses the job: {reason}
    ^qsub: Job (?P<reason>(?:exceeds|violates|rejected)\b.*)
"""
EXPLAINS = "launcher-report cancelled rendezvous"
TRAITS = "setup"
