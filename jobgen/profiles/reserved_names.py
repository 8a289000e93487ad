"""Names of environment variables that no profile and no job may set."""

from __future__ import annotations

# Bash does not allow a script to set these, or gives them a meaning (some are arithmetic, which
# runs commands: `export RANDOM='x[$(id)]'`), or they change how a script is read, or run at a
# prompt.
_SHELL = """
CDPATH DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID EXECIGNORE FUNCNAME FUNCNEST GLOBIGNORE GROUPS
HISTCMD IFS LINENO MAILPATH OPTIND PIPESTATUS POSIXLY_CORRECT PPID RANDOM SECONDS SHELLOPTS SHLVL
SRANDOM TMOUT UID _ PROMPT_COMMAND PS0 PS1 PS2 PS4 PWD OLDPWD histchars
"""
# The scheduler and the launchers set these.
_LAUNCH = """
GROUP_RANK GROUP_WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT RANK ROLE_NAME
ROLE_RANK ROLE_WORLD_SIZE TORCHELASTIC_ERROR_FILE TORCHELASTIC_MAX_RESTARTS
TORCHELASTIC_RESTART_COUNT TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE WORLD_SIZE
SLURM_ARRAY_TASK_ID SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_LOCALID
SLURM_NNODES SLURM_NODEID SLURM_NTASKS SLURM_PROCID SLURMD_NODENAME SRUN_CPUS_PER_TASK
PMI_RANK PMI_SIZE MPI_LOCALRANKID PALS_RANKID PALS_LOCAL_RANKID
OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_SIZE
"""
# The scripts' own variables; `tests/test_golden.py` compares them with the scripts.
_SCRIPT = """
address all all_options answer arch before begun boot changed chosen comment copy devices differ
each ending ends exclude_at_most exported failed fan_out file first folder found free gpus head
host hosts i id image in_use interface job join_timeout killed kind launcher limit line lines lock
log_folder logs max_restarts min_nodes mounts mpiexec_options name named need needed no_reason node
node_command node_shell node_step nodes note now nowhere on_each_node other others own part passed
pid pids place port problems program python rank rank_options rank_step ranks ranks_per_node ready
reason removed report reserve restart running sent size spares stage_from stage_to stall status
step step_options stop_grace target task text tick time torch torchrun trainer unsafe used values
variables warn_after warned warning warning_step who workspace workspace_url written
"""
RESERVED = frozenset((_SHELL + _LAUNCH + _SCRIPT).split())


def is_reserved(name: str) -> bool:
    """Whether no job may set the environment variable `name`."""
    return name in RESERVED or name.startswith(("JOBGEN_", "BASH", "PBS_"))
