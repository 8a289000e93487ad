"""The options of sbatch(1) up to Slurm 26.05: their names, and which of them take a value.

The field `has_arg` in src/common/slurm_opt.c says whether an option takes a value.
"""

SHORT_WITH_VALUE = frozenset("AaBbCcDdeFGiJLMmNnoPpqStwxn")
# Options that take no value, or take a value only after `=`.
WITHOUT_VALUE = frozenset(
    """
    consolidate-segments contiguous exclusive external get-user-env help hold ignore-pbs immediate
    nice no-kill no-requeue oom-kill-step overcommit oversubscribe parsable propagate quiet reboot
    requeue resv-ports share spread-job spread-segments stepmgr test-only usage use-min-nodes
    verbose version wait x11
    """.split()
)
WITH_VALUE = frozenset(
    """
    account acctg-freq array batch bb bbf begin chdir cluster cluster-constraint clusters comment
    constraint container container-id context core-spec cores-per-socket cpu_bind cpu-freq
    cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution error exclude export
    export-file extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket
    gpus-per-task gres gres-flags hint input job-name kill-on-invalid-dep licenses mail-type
    mail-user mcs-label mem mem-bind mem_bind mem-per-cpu mem-per-gpu mem-update mincpus network
    nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
    ntasks-per-tres open-mode output partition power prefer priority profile qos reservation
    resources segment signal sockets-per-node spank switches tasks tasks-per-node thread-spec
    threads-per-core time time-min tmp tres-bind tres-per-task uid umask wait-all-nodes wckey
    workdir wrap
    """.split()
)
OPTIONS = WITH_VALUE | WITHOUT_VALUE
# Options of srun that are not sbatch's, and take a value (srun(1)).
SRUN_OPTIONS = frozenset(
    """
    bcast-exclude cpu-bind epilog het-group ignore-signals jobid mpi msg-timeout pack-group
    prolog relative slurmd-debug task-epilog task-prolog threads treewidth wait
    """.split()
)
SRUN_LETTERS = {"r": "relative", "T": "threads"}
_SYNONYMS = {
    "tasks": "ntasks",
    "tasks-per-node": "ntasks-per-node",
    "share": "oversubscribe",
    "workdir": "chdir",
    "cluster": "clusters",
}


def full_name(name: str) -> str:
    """The full name of a long option.

    getopt_long(3) accepts the beginning of a name if only one option begins with it.
    """
    if name not in OPTIONS:
        candidates = [option for option in OPTIONS if option.startswith(name)]
        name = candidates[0] if len(candidates) == 1 else name
    return _SYNONYMS.get(name, name)


def nearest_option(name: str) -> str:
    """The option whose name is most like `name`; "" if `name` is an option or like no option."""
    from difflib import get_close_matches  # slow to import

    near = [] if name in OPTIONS else get_close_matches(name, OPTIONS, 1, 0.85)
    return near[0] if near else ""
