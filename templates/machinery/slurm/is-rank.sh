# is_rank: whether a process belongs to a rank of this job, by its environment.
is_rank() { grep -qszxF "SLURM_JOB_ID=$SLURM_JOB_ID" "/proc/$1/environ" && grep -qsz '^LOCAL_RANK=' "/proc/$1/environ"; }
