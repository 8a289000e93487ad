mkdir -p "$logs"
trap end_job EXIT
trap 'outside="was ended from outside"; exit 143' TERM  # Slurm tells the ranks
software
check_torch
echo "jobgen: $host is ready: $torch, $(env -u OMP_NUM_THREADS nproc) cores"
export TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="$host rank \${rank}: "
(trap "" TERM; exec "${start_ranks[@]}" "$0" ranks 2> >(tee "$logs/stderr" >&2)) < /dev/null
