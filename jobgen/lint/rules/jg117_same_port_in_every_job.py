"""Every job of this script has the same port, and other jobs may be on its nodes.

If two jobs use the same port on one node, the second joins the rendezvous of the first one. There
is not an error if the id is the same, too. The second dies when the first one ends. Nothing in the
script requests whole nodes. The site may give them anyway, which lint cannot know; so it searches
for this only where the rule is selected. (With a profile, JG705 knows.)

Evidence: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py; pytorch#73320. Tried with
torch 2.13: an agent that cannot bind the port becomes a client of whatever is there, and default
and fixed ids merge the agents of unrelated jobs.

Cure: a port made from the job's id, such as $((10000 + SLURM_JOB_ID % 20000)), and the job's id as
--rdzv-id; or --exclusive.

Example:
  #SBATCH --nodes=2
  #SBATCH --ntasks-per-node=1
- srun torchrun --nnodes=2 --rdzv-id=100 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29400 train.py
+ port=$((10000 + SLURM_JOB_ID % 20000))
+ srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:$port train.py
"""

from jobgen.lint.launchers import fixed_ports, launchers
from jobgen.lint.rules import Findings, Script, finding_at

# Many sites give whole nodes without a request.
OPTIONAL = True

_CURE = "make it from the job's id, or request whole nodes"


def check(script: Script) -> Findings:
    if not script.scheduler or script.asks_for_whole_nodes:
        return
    for launcher, port in fixed_ports(script):
        job_id = launcher.options.get("rdzv-id")
        more = f", and the id {job_id.text}" if job_id and job_id.is_literal else ""
        yield finding_at(port, f"every job of this script has this port{more}", _CURE)
    assignment = script.constant("MASTER_PORT")
    if assignment and assignment.value.text.isdecimal() and not launchers(script):
        yield finding_at(assignment, "every job of this script has this port", _CURE)
