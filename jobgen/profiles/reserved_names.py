"""Names of environment variables that no profile and no job may set."""

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
SLURM_ARRAY_TASK_ID SLURM_HOSTFILE SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NODELIST
SLURM_JOB_NUM_NODES SLURM_LOCALID SLURM_NNODES SLURM_NODEID SLURM_NTASKS SLURM_PROCID
SLURMD_NODENAME SRUN_CPUS_PER_TASK
PMI_RANK PMI_SIZE MPI_LOCALRANKID PALS_RANKID PALS_LOCAL_RANKID
OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_SIZE
"""
# The scripts' own variables; `tests/test_golden.py` compares them with the scripts.
_SCRIPT = """
address allowed arch bad before boot cause chosen code comment copy cores cure devices each
each_node end environment exclude_at_most exported file files first folder folders free gpu_api gpus
head host hosts id image in_reserve in_use interface itself job jobgen join_timeout keep_logs keeper
label last lead limit line lock logs looks lost max_restarts min_nodes most mount mounts name named
near need newest next node nodes now number other others own part passed peer pid pids place plugin
port program python rank rank_files rank_step ras_port read_timeout ready remaining reserve restart
sent size sort_key spares stage_from stage_to stall start start_ranks starter status stop_grace
torch trainer unsafe values variable variables warn_after well workspace workspace_url
"""
RESERVED = frozenset((_SHELL + _LAUNCH + _SCRIPT).split())


def is_reserved(name: str) -> bool:
    """Whether no job may set the environment variable `name`."""
    return name in RESERVED or name.startswith(("JOBGEN_", "BASH", "PBS_"))
