# observe: what the ranks of this node leave as evidence.
observe() {
  mkdir -p "$logs/$host"
  export PET_TEE=3 PET_LOG_DIR="$logs/$host" TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=$'\036'"$host rank \${rank}: "
  killed_for_memory > "$logs/$host/oom_kill"
  exec > >(label_lines stdout) 2> >(label_lines stderr >&2)
  ${stall:+watch_ranks 0}
}
