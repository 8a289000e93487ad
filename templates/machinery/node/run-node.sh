run_node() {  # the launcher of this node; the lines of a rank begin with its node and number
  head=$1 node=${2-$node}  # the address of the first node, and this node's number
  grep -H oom_kill /proc/vmstat > "$logs/$host/oom_kill" || true  # killed for memory until now
  unset "${!PET_@}"  # torchrun would take them for options
  export TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="$host rank \${rank}: "
  trap "" USR1 USR2  # they are for ranks with a handler, and would end torchrun
  find_address
  software
  ranks
}
