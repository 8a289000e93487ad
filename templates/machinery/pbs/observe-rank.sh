# observe: what this rank leaves as evidence.
observe() {
  mkdir -p "$logs/$host"
  killed_for_memory > "$logs/$host/oom_kill"
  ${stall:+watch_ranks "${OMPI_COMM_WORLD_LOCAL_RANK-${MPI_LOCALRANKID-${PALS_LOCAL_RANKID-0}}}"}
}

# run_labelled: a command whose lines are labelled.
run_labelled() { { "$@" 2>&1 >&3 3>&- | label_lines stderr >&2 3>&-; } 3>&1 | label_lines stdout; }
