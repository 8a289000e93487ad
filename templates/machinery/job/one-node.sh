mkdir -p "$logs"
trap 'set -- "$?"
  [[ ! -e $logs/set-up.$host ]] || show_set_up "$host" | tee "$logs/roll-call" >&2 || true
  end_job "$1"; exit "$status"' EXIT
trap 'outside="was ended from outside"; exit 143' TERM  # Slurm tells the ranks
record 2> /dev/null || true
software 2> "$logs/set-up.$host"  # kept until it is over: it may have the reason of a failure
cat "$logs/set-up.$host" >&2; rm "$logs/set-up.$host"
check_torch
echo "jobgen: $host is ready: $torch" | tee "$logs/roll-call" || true
export TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="$host rank \${rank}: "
(trap "" TERM; exec "${start_ranks[@]}" bash "$0" ranks 2> >(tee "$logs/stderr" >&2)) < /dev/null
