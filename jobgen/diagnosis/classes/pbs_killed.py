"""PBS killed the job, or could not run it.

PBS (OpenPBS, PBS Professional, Torque) writes `=>> PBS: job killed: …` into the job's error file
when the job uses more than it requested: walltime, memory, virtual memory, CPU time or cores. The
number after the name is what it used, the second the limit. PBS sends TERM to the first host only;
the ranks on the others end with KILL.

`qstat -xf` shows the same as Exit_status: -29 walltime, -28 CPU time, -27 memory, -26 virtual
memory, -25 and -24 cores; 256 + N is signal N (271: TERM, mostly qdel; 265: KILL). Other negative
numbers: PBS could not start the job (-1 to -3), aborted it when its daemon started again (-4 to
-6), or a hook of the site refused it (-16 to -19, -22).

Cure: request more of it: -t TIME for the walltime, --set request.memory=… for memory, --set
request.chunk.NAME=… for others

Not this: Killed and Terminated: PBS sent these signals

Sources: OpenPBS, src/resmom/mom_main.c (job_over_limit) and src/include/job.h (JOB_EXEC_…)
https://github.com/openpbs/openpbs/blob/master/src/include/job.h
https://github.com/adaptivecomputing/torque/blob/master/src/include/pbs_job.h
"""

SIGNS = r"""
# It may come after a prompt or a progress bar, but not in quotes, comments or sentences.
PBS = ^(?:[^"'`#<]*[^"'`#<\sA-Za-z,;:(+]\s?)?=>> PBS:
sure cause: the job reached its walltime of {limit} s
    <PBS> job killed: walltime (?P<used>\d+) exceeded limit (?P<limit>\d+)
sure cause: the job used more memory ({resource}) than its limit, {limit}
    <PBS> job killed: (?P<resource>p?v?mem) (?:(?P<used>\S+) )?exceeded limit (?P<limit>\S+)
sure cause: the job used more {resource} than its limit, {limit}
    <PBS> job killed: (?P<resource>\w+) (?:(?P<used>\S+) )?exceeded limit (?P<limit>\S+)
sure cause: PBS killed it: {reason}
    <PBS> job killed: (?!node \d+ )(?P<reason>.+)
likely cause: PBS on this node ended the job
    <PBS> job killed: node \d+ \((?P<node>[\w.-]+)\) requested job (?:die|terminate)(?!, '?EOF)
sure confirmation: the job reached its walltime
    ^qstat: Exit_status=-29[ ]
    # Torque
    ^qstat: exit_status=-11[ ]
sure confirmation: the job used more CPU time than requested
    ^qstat: Exit_status=-28[ ]
    ^qstat: exit_status=-12[ ]
sure confirmation: the job used more memory than it requested
    ^qstat: Exit_status=-2[67][ ]
    ^qstat: exit_status=-10[ ]
sure confirmation: the job used more cores than requested
    ^qstat: Exit_status=-2[45][ ]
sure confirmation: PBS could not start the job
    ^qstat: Exit_status=-(?:1|2|3|10|30)[ ]
    ^qstat: exit_status=-[12389][ ]
sure confirmation: PBS's daemon started again on the first node, and aborted the job
    ^qstat: Exit_status=-[4567][ ]
sure confirmation: a hook of the site ended it
    ^qstat: Exit_status=-(?:1[6789]|22)[ ]
possible confirmation: the job got SIGKILL: from PBS, the kernel, or a person
    ^qstat: Exit_status=(?:265|137)[ ]
sure cause: the job reached its walltime
    # What Torque and Moab write in mails, which people add to the job's output.
    ^(?:MOAB_INFO: +job exceeded wallclock limit|Job exceeded its walltime limit\. Job was[ ]
        aborted)\s*$
noise:
    ^Unable to copy file \S+ to[ ]
"""
EXPLAINS = "cancelled killed peer-lost launcher-report"
# Not "outside": PBS names the node that it means.
TRAITS = "scheduler setup"
