"""The options of sbatch(1): their names, and which of them take a value."""

from __future__ import annotations

SHORT_WITH_VALUE = frozenset("AaBbCcDdeFGiJLMmNnoPpqStwxn")
# Options that take no value, or one only after `=`.
WITHOUT_VALUE = frozenset(
    """
    contiguous exclusive get-user-env help hold ignore-pbs immediate nice no-kill no-requeue
    overcommit oversubscribe parsable propagate quiet reboot requeue share spread-job test-only
    usage use-min-nodes verbose version wait
    """.split()
)
OPTIONS = WITHOUT_VALUE | frozenset(
    """
    account acctg-freq array batch bb bbf begin chdir cluster cluster-constraint clusters
    comment constraint consolidate-segments container container-id core-spec cores-per-socket
    cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution error
    exclude export export-file external-launcher extra extra-node-info gid gpu-bind gpu-freq
    gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint input job-name
    kill-on-invalid-dep licenses cpu_bind mem_bind mail-type mail-user mcs-label mem mem-bind
    mem-per-cpu mem-per-gpu mincpus network nodefile nodelist nodes ntasks ntasks-per-core
    ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode oom-kill-step output partition
    power prefer priority profile qos reservation resv-ports segment signal sockets-per-node
    spank stepmgr switches tasks tasks-per-node thread-spec threads-per-core time time-min tmp
    tres-bind tres-per-task uid umask wait-all-nodes wckey workdir wrap x11
    """.split()
)
_SYNONYMS = {
    "tasks": "ntasks",
    "tasks-per-node": "ntasks-per-node",
    "share": "oversubscribe",
    "workdir": "chdir",
    "cluster": "clusters",
}


def full_name(name: str) -> str:
    """The full name of a long option.

    getopt_long(3) takes the beginning of a name, if only one option begins with it.
    """
    if name not in OPTIONS:
        candidates = [option for option in OPTIONS if option.startswith(name)]
        name = candidates[0] if len(candidates) == 1 else name
    return _SYNONYMS.get(name, name)
