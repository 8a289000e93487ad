"""pbsdsh does not report how its tasks end.

pbsdsh ends with 0 whatever its tasks do. A job whose training crashed counts as done.

Evidence: tried on OpenPBS: exit status always 0, a crashed worker's job ended with 0;
pbs_tmrsh, ssh and OpenMPI's mpiexec hand it on.

Cure: pbs_tmrsh, in the background for each host, and then `wait` for each. Or let each node write
its status to a file, which the script reads.

Example:
  #PBS -l select=2:ncpus=4
- pbsdsh -- bash "$PBS_O_WORKDIR/node.sh"
+ mpiexec --ppn 1 bash "$PBS_O_WORKDIR/node.sh"
"""

from jobgen.lint.rules import Findings, Script, finding_at

_STATUS_FILES = ("exit_code", "status", ".rc", "returncode", ".done")


def check(script: Script) -> Findings:
    if script.scheduler != "pbs":  # pbsdsh is in a branch that another scheduler does not come to
        return
    writes_status = any(name in script.text for name in _STATUS_FILES)
    for command in script.commands if not script.functions and not writes_status else ():
        if command.name == "pbsdsh":
            text = "pbsdsh ends with 0 whatever its tasks do: a failed job counts as done"
            yield finding_at(command, text, "use pbs_tmrsh, which ends with the task's status")
