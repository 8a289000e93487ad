# observe: what this task leaves as evidence. The line that it begins with names it to label_lines.
observe() {
  printf '\036\036%s: \n' "$host${rank+ rank $rank}"; printf '\036\036%s: \n' "$host${rank+ rank $rank}" >&2
  mkdir -p "$logs/$host"
  export PET_TEE=3 PET_LOG_DIR="$logs/$host" TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=$'\036'"$host rank \${rank}: "
  killed_for_memory > "$logs/$host/oom_kill"
  ${stall:+watch_ranks "$SLURM_LOCALID"}
}
