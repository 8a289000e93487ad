"""The program, or what should run it, is not there or may not be run on a node.

The scheduler started the step, but a node has no such file: the path exists on the login node
only, a folder is not mounted there or in the container, PATH differs, a script has no execute
bit, or its first line ends in a carriage return (`bad interpreter`).

One sees `execve(): … No such file or directory` of slurmstepd, `can't open file` of Python,
`executable file not found in $PATH` of a container's engine, and exit code 2, 126, 127 or 13.

What misleads: `couldn't chdir to …: going to /tmp instead` alone is harmless. The other nodes'
rendezvous timeouts.

Cure: put program, data and environment in a folder that all nodes see, mount it in the container
(software.container.mounts), and write the path in full.

Sources:
https://man7.org/linux/man-pages/man2/execve.2.html
https://github.com/SchedMD/slurm src/slurmd/slurmstepd/task.c
"""

from jobgen.diagnosis.signs import Sign

SIGNS = (
    Sign(
        r"error: execve\(\): (?P<program>.+): (?P<why>No such file or directory|Permission denied"
        r"|Exec format error)",
        "{program} could not be run: {why}",
    ),
    Sign(
        r"^\S*python[\d.]*: can't (open file|find '__main__' module in) '(?P<program>[^']+)'",
        "Python does not find the program {program}",
    ),
    Sign(
        r"([Ee]rror|failed|FATAL|OCI|crun|exec).*\"(?P<name>[^\"]+)\": executable file not "
        r"found in \$PATH"
        r"|executable file [`'\"](?P<program>[^`'\"]+)[`'\"] not found in \$PATH"
        r"|exec:? [`'\"](?P<command>[^'\"`]+)[`'\"]:.*no such file or directory",
        "{name}{program}{command} is not in the container",
    ),
    Sign(
        r"^(\S+: )?(/usr)?(/bin/)?env: [‘'\"]?(?P<program>[^’'\": ]+)[’'\"]?: "
        r"(No such file or directory|Permission denied)",
        "{program} is not on this node, or may not be run",
    ),
    Sign(
        r": bad interpreter: (No such file or directory|Permission denied)",
        "the interpreter in a script's first line is not on this node",
    ),
    Sign(
        r"(?P<program>[^ :]+): cannot execute( binary file)?: (Exec format error|required file)",
        "{program} is for another kind of machine, or its interpreter is missing",
    ),
    Sign(
        r"mpirun was unable to (find the specified executable file|launch the specified application"
        r" as it could not (find an executable|access or execute))",
        "mpirun does not find the program on a node",
    ),
    Sign(
        r"^(?:\[proxy:\d+:\d+@(?P<node>[\w.-]+)\] )?HYDU_create_process \(.*\): execvp"
        r" error on file (?P<program>\S+) \(No such file",
        "there is no program {program}",
    ),
    Sign(
        r"flux-shell\[\d+\]: FATAL: task (?P<rank>\d+): start failed: (?P<program>\S+):"
        r" No such file",
        "there is no program {program}",
    ),
)
CURE = (
    "put the program in a folder that every node sees (and mount it: software.container.mounts),"
    " write the path in full, and make it executable"
)
MISLEADS = "exit codes 2, 126 and 127, and the rendezvous timeouts of the other nodes"
EXPLAINS = ("rendezvous", "peer-lost", "srun-step", "cancelled", "import")
