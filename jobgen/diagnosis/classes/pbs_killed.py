"""PBS killed the job, or could not run it.

PBS (OpenPBS, PBS Professional, Torque) writes `=>> PBS: job killed: …` into the job's error file
when the job uses more than it requested: walltime, memory, virtual memory, CPU time or cores. The
number after the name is what it used, the second the limit.

`qstat -xf` shows the same as Exit_status: -29 walltime, -28 CPU time, -27 memory, -26 virtual
memory, -25 and -24 cores; 256 + N is signal N (271: TERM, mostly qdel; 265: KILL). Other negative
numbers: PBS could not start the job (-1 to -3), aborted it when its daemon started again (-4 to
-6), or a hook of the site refused it (-16 to -19, -22).

What misleads: a bare `Killed` or `Terminated` of the shell. PBS sends TERM to the first host
only; the ranks on the others end with KILL.

The cure: request more of the resource that the line names: `-t` for the walltime, `--set
request.memory=…` for memory, `--set request.chunk…` for others.

Sources: OpenPBS, src/resmom/mom_main.c (job_over_limit) and src/include/job.h (JOB_EXEC_…)
https://github.com/openpbs/openpbs/blob/master/src/include/job.h
https://github.com/adaptivecomputing/torque/blob/master/src/include/pbs_job.h
"""

from jobgen.diagnosis.signs import Role, Sign

# It may come after a prompt or a progress bar, but not in quotes, comments or sentences.
_PBS = r"^(?:[^\"'`#<]*[^\"'`#<\sA-Za-z,;:(+]\s?)?=>> PBS: "
_MEMORY = "the job used more memory than it requested"

SIGNS = (
    Sign(
        _PBS + r"job killed: walltime (?P<used>\d+) exceeded limit (?P<limit>\d+)",
        "the job reached its walltime of {limit} s",
    ),
    Sign(
        _PBS + r"job killed: (?P<resource>p?v?mem) (?:(?P<used>\S+) )?exceeded limit"
        r" (?P<limit>\S+)",
        "the job used more memory ({resource}) than its limit, {limit}",
    ),
    Sign(
        _PBS + r"job killed: (?P<resource>\w+) (?:(?P<used>\S+) )?exceeded limit (?P<limit>\S+)",
        "the job used more {resource} than its limit, {limit}",
    ),
    Sign(_PBS + r"job killed: (?!node \d+ )(?P<reason>.+)", "PBS killed it: {reason}"),
    Sign(
        _PBS + r"job killed: node \d+ \((?P<node>[\w.-]+)\) requested job (?:die|terminate)"
        r"(?!, '?EOF)",
        "PBS on this node ended the job",
        certainty="likely",
    ),
    Sign(r"^qstat: Exit_status=-29 ", "the job reached its walltime", Role.CONFIRMATION),
    Sign(
        r"^qstat: Exit_status=-28 ", "the job used more CPU time than requested", Role.CONFIRMATION
    ),
    Sign(r"^qstat: Exit_status=-2[67] ", _MEMORY, Role.CONFIRMATION),
    Sign(
        r"^qstat: Exit_status=-2[45] ", "the job used more cores than requested", Role.CONFIRMATION
    ),
    Sign(
        r"^qstat: Exit_status=-(?:1|2|3|10|30) ", "PBS could not start the job", Role.CONFIRMATION
    ),
    Sign(
        r"^qstat: Exit_status=-[4567] ",
        "PBS's daemon started again on the first node, and aborted the job",
        Role.CONFIRMATION,
    ),
    Sign(r"^qstat: Exit_status=-(?:1[6789]|22) ", "a hook of the site ended it", Role.CONFIRMATION),
    Sign(
        r"^qstat: Exit_status=(?:265|137) ",
        "the job got SIGKILL: from PBS, the kernel, or a person",
        Role.CONFIRMATION,
        certainty="possible",
    ),
    Sign(r"^qstat: exit_status=-11 ", "the job reached its walltime", Role.CONFIRMATION),  # Torque
    Sign(r"^qstat: exit_status=-10 ", _MEMORY, Role.CONFIRMATION),
    Sign(
        r"^qstat: exit_status=-12 ", "the job used more CPU time than requested", Role.CONFIRMATION
    ),
    Sign(r"^qstat: exit_status=-[12389] ", "PBS could not start the job", Role.CONFIRMATION),
    # What Torque and Moab write in mails, which people add to the job's output.
    Sign(
        r"^(?:MOAB_INFO: +job exceeded wallclock limit|Job exceeded its walltime limit\. Job was"
        r" aborted)\s*$",
        "the job reached its walltime",
    ),
    Sign(r"^Unable to copy file \S+ to ", "PBS could not copy a file back", Role.NOISE),
)
CURE = (
    "request more of it: -t TIME for the walltime, --set request.memory=… for memory,"
    " --set request.chunk.NAME=… for others"
)
MISLEADS = "Killed and Terminated: PBS sent these signals"
EXPLAINS = ("cancelled", "killed", "peer-lost", "launcher-report")
