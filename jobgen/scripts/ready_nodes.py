"""Texts of parts: the order of the nodes, which are ready, and which of them are in reserve."""

HOSTS = r"""
# In the order of the user's file; other nodes have the job's copy of it, and no step has the file.
mapfile -t hosts < <(tr , '\n' < "${SLURM_HOSTFILE-$logs/hosts}" | awk '!seen[$1]++ { print $1 }' |
  grep -xFf <(scontrol show hostnames "$SLURM_JOB_NODELIST"))
unset SLURM_HOSTFILE SLURM_DISTRIBUTION
""".lstrip()
HOST_FILE = r"""
printf '%s\n' "${hosts[@]}" > "$logs/hosts"
""".lstrip()
NUMBER = """\
host=$SLURMD_NODENAME
for node in "${!hosts[@]}"; do [[ ${hosts[node]} != "$host" ]] || break; done
"""
ALL_HOSTS = """\
((${#hosts[@]} == nodes)) || fail "${#hosts[@]} of the job's $nodes nodes are in SLURM_HOSTFILE:" \\
  "export it before sbatch, with the names that scontrol show hostnames prints"
find_address
"""
TASKS = """\
awk -v size="$SLURM_NTASKS_PER_NODE" '{ for (i = 0; i < size; i++) print }' \\
  "$logs/hosts" > "$logs/tasks"
"""
READY = r"""
mapfile -t ready < <(sed -n 's/^jobgen: \([^ ]*\) is ready, .*/\1/p' "$logs/roll-call" |
  grep -xFf - <(printf '%s\n' "${hosts[@]}"))
""".lstrip()
IN_ORDER = """\
mapfile -t ready < <(timeout -k 9 60 "${each_node[@]}" show_place | sort -n |
  awk 'NR == FNR { ready[$1]; next } NF == 3 && $2 in ready' <(printf '%s\\n' "${ready[@]}") - |
  tee "$logs/nodes" | cut -d " " -f 2)  # in Slurm's own order
((${#ready[@]} >= nodes)) || fail "${#ready[@]} nodes still answer, not $nodes: submit again"
"""
SHOW_PLACE = """\
: "${SLURM_TOPOLOGY_ADDR=}"  # the switches above the node, and its name: s0.s4.NAME
show_place() { echo "$node $host ${SLURM_TOPOLOGY_ADDR%"$host"}."; }  # and its number in the step
"""
NEIGHBOURS = r"""
most=$(awk 'NR == FNR { n[$3]++; next } { print n[$3], $0 }' "$logs/nodes"{,} |
  sort -k 1,1nr -k 4,4 -k 2,2n | sed -n "1,$nodes p" | cut -d " " -f 3)  # of the fullest switches
mapfile -t ready < <(printf '%s\n' "${ready[@]}" | grep -xF "$most"
  printf '%s\n' "${ready[@]}" | grep -vxF "$most")  # the others are in reserve
""".lstrip()
FIRST_ADDRESS = r"""
address=$(sed -n "s/^jobgen: ${ready[0]} is ready, \([^ ]*\) .*/\1/p" "$logs/roll-call")
""".lstrip()
FIRST_OF_HOSTS = FIRST_ADDRESS.replace("ready[0]", "hosts[0]")
