"""Slurm cannot start the step (srun), or refuses the request.

The job has its nodes, but srun does not get a step in them, or its tasks do not start on a node.

`Unable to create step`: srun asks for more than the job has. Frequent: `--cpus-per-task`,
`--gres` or `--mem` of srun that differ from the job's; an srun inside a step that has all the
memory or all the GPUs; variables SLURM_… that came along from another job or an interactive
shell. `Job credential expired`: the clock of that node is wrong, or its prolog took too long. It
is no password. `SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually
exclusive`: sbatch was called inside a job.

What misleads: `Requested nodes are busy` does not mean another job: the job's own other step
holds them. `Job/step already completing or completed` is what a step says that comes after the
end.

The cure is in the job script: one srun with the job's own numbers (jobgen's scripts give srun no
resources of its own), or `--overlap` for a step beside another.

Sources: https://slurm.schedmd.com/srun.html (--exact, --overlap)
https://github.com/SchedMD/slurm/blob/master/src/srun/launch.c (launch_g_create_job_step)
https://github.com/SchedMD/slurm/blob/master/src/api/step_launch.c
"""

from jobgen.diagnosis.signs import Role, Sign

_LAUNCH = "srun could not start its tasks on this node: {reason}"

SIGNS = (
    Sign(
        r"^srun: error: Unable to create (?:job )?step(?: for job \d+)?:"
        r" (?:Job/step already|Job is not running|Job is no longer)",
        "the job had ended when srun asked for a step",
        Role.TEARDOWN,
    ),
    Sign(
        r"^srun: error: Unable to create (?:job )?step(?: for job \d+)?: (?P<reason>.+)",
        "Slurm does not create the step: {reason}",
    ),
    Sign(
        r"^srun: (?:Job|job) \d+ step creation (?:temporarily|still) disabled, retrying",
        "the step waits for another step of the job",
        Role.CAUSE,
        True,
        "possible",
    ),
    Sign(
        r"^srun: error: Task launch for (?:StepId=)?[\d.+]+ failed on node (?P<node>\S+):"
        r" (?P<reason>.*credential expired.*)",
        "the credential of the step is too old on this node: its clock is wrong, or it was slow",
    ),
    Sign(
        r"^srun: error: Task launch for (?:StepId=)?[\d.+]+ failed on node (?P<node>\S+):"
        r" (?P<reason>.+)",
        _LAUNCH,
    ),
    Sign(
        r"^srun: error: Application launch failed: (?P<reason>.+)",
        "srun could not start its tasks: {reason}",
        Role.CONFIRMATION,
    ),
    Sign(
        r"^srun: error: task \d+ launch failed: (?!Slurmd could not execve)(?P<reason>.+)",
        "srun could not start a task: {reason}",
    ),
    Sign(
        r"^srun: error: timeout waiting for task launch, started (?P<started>\d+) of"
        r" (?P<tasks>\d+) tasks",
        "srun started only {started} of {tasks} tasks in time",
    ),
    Sign(
        r"^s(?:run|alloc): error: (?:Unable to allocate resources|Job submit/allocate failed):"
        r" (?P<reason>.+)",
        "Slurm refuses the request: {reason}",
    ),
    Sign(
        r"^sbatch: error: (?:Batch job submission failed|Unable to allocate resources):"
        r" (?P<reason>.+)",
        "Slurm refuses the job: {reason}",
    ),
    Sign(
        r"^srun: error: Unable to confirm allocation for job \d+: (?P<reason>.+)",
        "srun is in no running job: {reason}",
    ),
    Sign(r"^srun: fatal: (?P<reason>.+)", "srun does not start: {reason}"),
    Sign(
        r"^srun: error: (?P<reason>Invalid MPI type .+|cannot find mpi plugin for .+"
        r"|Couldn't find the specified plugin name for mpi/.+)",
        "srun has no such plugin for MPI: {reason}",
    ),
    Sign(
        r"^slurmstepd: error: (?P<reason>TaskProlog failed status=\d+)",
        "the site's prolog for tasks failed",
        certainty="likely",
    ),
    Sign(r"^srun: [Ww]arning: can't (?:honor|run) ", "", Role.NOISE),
    Sign(r"^srun: Job step aborted: Waiting up to", "srun ends the step", Role.TEARDOWN),
    Sign(r"^srun: error: Timed out waiting for job step to complete", "", Role.TEARDOWN),
    Sign(r"^srun: Force Terminated ", "srun ends the step", Role.TEARDOWN),
    Sign(r"^srun: error: \S+: tasks? [\d,-]+: Terminated", "srun ended tasks", Role.TEARDOWN),
    Sign(r"^slurmstepd: error: Failed to send MESSAGE_TASK_EXIT", "", Role.NOISE),
    Sign(
        r"^sbatch: error: \*\*\* Error:? (?P<reason>.+)",
        "the site refuses the job: {reason}",
        certainty="likely",
    ),
    Sign(
        r"^qsub: Job (?P<reason>(?:exceeds|violates|rejected)\b.*)",
        "PBS refuses the job: {reason}",
        certainty="likely",
    ),
)
CURE = (
    "give srun no more than the job has, and unset SLURM_ variables of another job; see the reason"
)
MISLEADS = "nodes are busy: it is the job's own other step that holds them"
EXPLAINS = ("launcher-report", "cancelled", "rendezvous")
