mkdir -p "$logs"
trap 'set -- "$?"
  [[ ! -e $logs/set-up.$host ]] || show_set_up "$host" | tee "$logs/roll-call" >&2 || true
  end_job "$1"; exit "$status"' EXIT
trap 'outside="was ended from outside"; exit 143' TERM  # Slurm tells the ranks
record 2> /dev/null || true
