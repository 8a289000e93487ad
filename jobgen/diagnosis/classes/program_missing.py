"""The program, or what should run it, is not there or may not be run on a node.

The scheduler started the step, but a node has no such file: the path exists on the login node
only, a folder is not mounted there or in the container, PATH differs, a script has no execute
bit, or its first line ends in a carriage return (`bad interpreter`).

One sees `execve(): … No such file or directory` of slurmstepd, `can't open file` of Python,
`executable file not found in $PATH` of a container's engine, and exit code 2, 126, 127 or 13.

`couldn't chdir to …: going to /tmp instead` alone is harmless. Data and environment have to be in a
folder that all nodes see, too.

Cure: put the program in a folder that every node sees (and mount it: software.container.mounts),
write the path in full, and make it executable

Not this: exit codes 2, 126 and 127, and the rendezvous timeouts of the other nodes

Sources: https://man7.org/linux/man-pages/man2/execve.2.html
https://github.com/SchedMD/slurm src/slurmd/slurmstepd/task.c
"""

SIGNS = r"""
sure cause: {program} could not be run: {why}
    error: execve\(\): (?P<program>.+): (?P<why>No such file or directory|Permission denied
        |Exec format error)
sure cause: Python does not find the program {program}
    ^\S*python[\d.]*: can't (open file|find '__main__' module in) '(?P<program>[^']+)'
sure cause: {name}{program}{command} is not in the container
    ([Ee]rror|failed|FATAL|OCI|crun|exec).*"(?P<name>[^"]+)": executable file not found in \$PATH
        |executable file [`'"](?P<program>[^`'"]+)[`'"] not found in \$PATH|exec:? [`'"]
        (?P<command>[^'"`]+)[`'"]:.*no such file or directory
sure cause: {program} is not on this node, or may not be run
    ^(\S+: )?(/usr)?(/bin/)?env: [‘'"]?(?P<program>[^’'": ]+)[’'"]?: (No such file or directory
        |Permission denied)
sure cause: the interpreter in a script's first line is not on this node
    : bad interpreter: (No such file or directory|Permission denied)
sure cause: {program} is for another kind of machine, or its interpreter is missing
    (?P<program>[^ :]+): cannot execute( binary file)?: (Exec format error|required file)
sure cause: mpirun does not find the program on a node
    mpirun was unable to (find the specified executable file|launch the specified application as[ ]
        it could not (find an executable|access or execute))
sure cause: there is no program {program}
    ^(?:\[proxy:\d+:\d+@(?P<node>[\w.-]+)\] )?HYDU_create_process \(.*\): execvp error on file[ ]
        (?P<program>\S+) \(No such file
    flux-shell\[\d+\]: FATAL: task (?P<rank>\d+): start failed: (?P<program>\S+): No such file
"""
EXPLAINS = "rendezvous peer-lost srun-step cancelled import"
