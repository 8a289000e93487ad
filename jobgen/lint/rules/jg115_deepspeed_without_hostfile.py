"""deepspeed gets no list of the job's nodes.

deepspeed finds other nodes in its hostfile, which is /job/hostfile if none is named, and starts
ranks there over ssh. It knows neither Slurm nor PBS. Without a hostfile it trains on the
first node only, and the other nodes do nothing until the walltime. With `--num_nodes` it ends with
"Num nodes is >1 but no extra nodes available via hostfile".

Evidence: deepspeed/launcher/runner.py (`fetch_hostfile`, `main`). Seen in
deepspeedai/DeepSpeedExamples#381: two nodes were no faster than one.

Cure: write a hostfile first (`HOST slots=GPUS`, a line for each node) and give it with
`--hostfile`; or start torchrun on every node, with the same program.

Example:
  #SBATCH --nodes=2
  #SBATCH --gres=gpu:4
- deepspeed --num_gpus=4 train.py --deepspeed_config zero.json
+ scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=4/' > hosts
+ deepspeed --hostfile=hosts train.py --deepspeed_config zero.json
"""

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

_CHOOSES_HOSTS = {"hostfile", "no-ssh", "i", "include"}


def check(script: Script) -> Findings:
    if script.functions or script.runs_itself or "/job/hostfile" in script.text:
        return
    for launcher in launchers(script):
        nodes = max(script.nodes or 1, launcher.number("nnodes") or 1)
        if launcher.name != "deepspeed" or launcher.starter or nodes == 1:
            continue
        if launcher.has_all_options and not launcher.options.keys() & _CHOOSES_HOSTS:
            text = f"deepspeed gets no list of the {nodes} nodes: it uses the first node only"
            yield finding_at(launcher.word, text, "write a hostfile, and give it with --hostfile")
