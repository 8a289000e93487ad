# The parts of the machinery that are a few lines, in their order; the table of parts names them.

## path
PATH=$PATH:/usr/sbin:/sbin  # some systems have ip and ss there

## hosts
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")

## hosts-in-order
# In the order of the user's file; other nodes have the job's copy of it, and no step has the file.
mapfile -t hosts < <(tr , '\n' < "${SLURM_HOSTFILE-$logs/hosts}" | awk '!seen[$1]++ { print $1 }' |
  grep -xFf <(scontrol show hostnames "$SLURM_JOB_NODELIST"))
unset SLURM_HOSTFILE SLURM_DISTRIBUTION

## path-pbs
PATH=$PATH:/usr/sbin:/sbin:/opt/pbs/bin  # some systems have ip and ss there, and PBS its commands
mapfile -t hosts < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")  # a line a process

## path-local
PATH=$PATH:/usr/sbin:/sbin  # some systems have ss there
host=$(uname -n) head=127.0.0.1 each_node=(true)
find_address() { address=127.0.0.$((node + 1)); }  # each node here has one of its own

## one-node-begin
host=$SLURMD_NODENAME each_node=(bash -c 'df -P /dev/shm .; cat /proc/uptime; dmesg; nvidia-smi')

## fail
fail() { echo "jobgen: $host: $*"; exit 1; }  # which node, what is wrong, what to type

## one-node-enter
if (($#)); then trap "" USR1 USR2; "$@"; exit; fi  # the step below runs this script again

## number-in-order
host=$SLURMD_NODENAME
for node in "${!hosts[@]}"; do [[ ${hosts[node]} != "$host" ]] || break; done

## task-number
host=$SLURMD_NODENAME node=$SLURM_NODEID

## node-number
node=$SLURM_NODEID

## node-zero
node=0

## lead-number
node=${JOBGEN_NUMBER-0} host=${JOBGEN_HOST-${hosts[0]}}

## fail-local
fail() { echo "jobgen: $host: $*" >&2; exit 1; }  # which node, what is wrong, what to type

## host-name
host=$(uname -n)

## no-container
container() { "$@"; }  # there is none: commands run as they are

## no-torch
check_torch() { torch="no torch needed"; }

## find-plugin
find_plugin() {  # sets plugin: aws-ofi-nccl's version, a text in the file that NCCL or RCCL loads
  read -r plugin < <(tr : '\0' <<< "${LD_LIBRARY_PATH-}:" | xargs -0 -I % find % -maxdepth 1 \
    -name "lib?ccl-net*.so" -exec grep -aoh "aws-ofi-nccl [0-9][0-9.]*" {} + 2> /dev/null) || true
}

## show-place
: "${SLURM_TOPOLOGY_ADDR=}"  # the switches above the node, and its name: s0.s4.NAME
show_place() { echo "$node $host ${SLURM_TOPOLOGY_ADDR%"$host"}."; }  # and its number in the step

## own-id
id=$SLURM_JOB_ID  # of this job alone, also in an array
[[ ! ${SLURM_ARRAY_TASK_ID-} ]] || id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID

## no-core
ulimit -c 0  # a rank that hangs writes a stack, no core

## python
python=/usr/libexec/platform-python  # the system's own: no module changes it
[[ -x $python ]] || python=/usr/bin/python3
env -u LD_LIBRARY_PATH -u LD_PRELOAD "$python" -I -S -c 'f""' 2> /dev/null ||  # f"": 3.6
  fail "no /usr/bin/python3 of 3.6 or newer, which the keeper needs: --plain needs none"

## older-ranks
end_older_ranks() {  # of this chain: without cgroups, ranks outlive keepers that were killed
  grep -lszxF "JOBGEN_PROGRESS=$chain.progress" /proc/[0-9]*/environ |
    xargs -r grep -lsz "^JOBGEN_KEEPER=" | tr -dc '0-9\n' | xargs -r kill -KILL || true
}

## enter-by-srun
# Each node runs a copy of this script, with the name of a function. srun may lose a last line.
if (($#)); then trap '(($?)) && sleep 1' EXIT; "$@"; exit; fi

## enter
# Each node runs a copy of this script, with the name of a function. A check that fails has said
# why; with a status other than 0, mpiexec would end the checks of the other nodes, too.
if (($#)); then [[ $1 != check_node ]] || trap 'exit 0' EXIT; "$@"; exit; fi

## first-node-in-order
((${#hosts[@]} == nodes)) || fail "${#hosts[@]} of the job's $nodes nodes are in SLURM_HOSTFILE:" \
  "export it before sbatch, with the names that scontrol show hostnames prints"
find_address

## first-node
((${#hosts[@]} == nodes + ${spares:-0})) || fail "${#hosts[@]} nodes, not $nodes: -N of jobgen"
find_address  # of the first node: the ranks meet there

## plain-enter
if (($#)); then head=$1; find_address; software; ranks; exit; fi  # each node runs a copy of this

## plain-end
trap 'rm -rf "$logs"' EXIT

## copy-script
install -D -m 700 "$0" "$logs/job.sh"

## pack
pack_environment

## host-file
printf '%s\n' "${hosts[@]}" > "$logs/hosts"

## task-file
awk -v size="$SLURM_NTASKS_PER_NODE" '{ for (i = 0; i < size; i++) print }' \
  "$logs/hosts" > "$logs/tasks"

## node-folders
for each in "${hosts[@]}"; do mkdir -p "$logs/$each"; done

## node-links
for each in "${hosts[@]}"; do ln -s "$rank_files" "$logs/$each"; done

## note-software
note_software "${start_ranks[0]}" &

## note-software-staged
(
  stage_environment() { stage_values; JOBGEN_STAGED=$stage_from; }  # the copy is for the ranks
  note_software "${start_ranks[0]}"
) &

## software-noted
wait "$!" || { rm -r "$logs"; exit 1; }

## start-there
start_ranks=(bash "$logs/start" "${start_ranks[@]}")

## start-nodes-there
each_node=(bash "$logs/start" "${each_node[@]}")

## each-node
each_node+=("$logs/job.sh") start_ranks+=("$logs/job.sh")

## each-node-in-engine
each_node+=("$logs/job.sh")

## each-rank
start_ranks+=("$logs/job.sh")

## ends-on-slurm
trap 'end_job "$?"; ! declare -F end_part > /dev/null || end_part; exit "$status"' EXIT
trap 'outside="was ended from outside"  # by Slurm, which ends the ranks, too
  timeout 25 tail -f --pid="${!-}" /dev/null || true; exit 143' TERM  # waits for srun

## ends
trap 'end_job "$?"; ! declare -F end_part > /dev/null || end_part  # orphaned keepers end meanwhile
  [[ ${outside-} || ! -e $logs/status ]] || sleep "$stop_grace"; exit "$status"' EXIT
trap 'outside="was ended from outside"; jobs -p | xargs -r kill 2> /dev/null || true
  timeout $((stop_grace + 3)) tail -f --pid="${!-}" /dev/null || true; exit 143' TERM  # qdel

## record-code
code=", \"code\": {\"name\": \"${workspace##*/}\", \"of\": $(
  cat "$workspace.json" 2> /dev/null || echo "{}")}"

## begin-record
record 2> /dev/null || true

## end-all
mkdir -p "$logs/orders"
start_ranks+=(end_all)

## keeper
printf '%s\n' "$keeper" > "$logs/keeper.py"
start_ranks+=(keep)

## agent
[[ $logs != *[[:space:]]* ]] || fail "mpiexec takes no folder with a blank in its name: $logs"
install -m 700 /dev/stdin "$logs/agent" \
  <<< $'#!/bin/bash\nexec pbs_tmrsh "$1" bash "${0%/*}/start" bash -c "${*:2}"'  # has no PATH

## trainer
mkdir -p "$logs"
printf '%s\n' "$trainer" > "$program"

## end-older-ranks
[[ ! $before || $before == *" warned, "* ]] || "${each_node[@]}" end_older_ranks || true

## check-code
check_code

## check-code-of-chain
fault="the copy of the code is not what was submitted"  # nor is it for the next job of the chain
check_code
fault=""

## one-node-ready
software 2> "$logs/set-up.$host"  # kept until it is over: it may have the reason of a failure
cat "$logs/set-up.$host" >&2; rm "$logs/set-up.$host"
check_torch
echo "jobgen: $host is ready: $torch" | tee "$logs/roll-call" || true

## one-node-ranks
export TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="$host rank \${rank}: "
(trap "" TERM; exec "${start_ranks[@]}" bash "$0" ranks 2> >(tee "$logs/stderr" >&2)) < /dev/null

## pyxis-end
trap 'set -- "$?"; set +e; trap "" TERM; timeout -k 9 60 "${each_node[@]}" remove_container
  ! declare -F exclude_nodes > /dev/null || exclude_nodes
  end_job "$1"; ! declare -F end_part > /dev/null || end_part; exit "$status"' EXIT

## address-in-order
address=$(sed -n "s/^jobgen: ${hosts[0]} is ready, \([^ ]*\) .*/\1/p" "$logs/roll-call")

## ready-nodes
mapfile -t ready < <(sed -n 's/^jobgen: \([^ ]*\) is ready, .*/\1/p' "$logs/roll-call" |
  grep -xFf - <(printf '%s\n' "${hosts[@]}"))

## nodes-in-order
mapfile -t ready < <(timeout -k 9 60 "${each_node[@]}" show_place | sort -n |
  awk 'NR == FNR { ready[$1]; next } NF == 3 && $2 in ready' <(printf '%s\n' "${ready[@]}") - |
  tee "$logs/nodes" | cut -d " " -f 2)  # in Slurm's own order
((${#ready[@]} >= nodes)) || fail "${#ready[@]} nodes still answer, not $nodes: submit again"

## neighbours
most=$(awk 'NR == FNR { n[$3]++; next } { print n[$3], $0 }' "$logs/nodes"{,} |
  sort -k 1,1nr -k 4,4 -k 2,2n | sed -n "1,$nodes p" | cut -d " " -f 3)  # of the fullest switches
mapfile -t ready < <(printf '%s\n' "${ready[@]}" | grep -xF "$most"
  printf '%s\n' "${ready[@]}" | grep -vxF "$most")  # the others are in reserve

## first-address
address=$(sed -n "s/^jobgen: ${ready[0]} is ready, \([^ ]*\) .*/\1/p" "$logs/roll-call")

## chosen-nodes
start_ranks=(srun --nodelist="$chosen" "${start_ranks[@]:1}")

## chosen-nodes-by-lead
start_ranks=("${lead[@]}" 2 0 "${ready[*]:0:nodes}" "$starter" "$logs/job.sh")

## all-ready-nodes
in_reserve=$((${#ready[@]} - nodes))  # the last ones; they replace nodes that are lost
start_ranks=("${lead[@]}" 2 "$in_reserve" "${ready[*]}" "$starter" "$logs/job.sh")

## warn-on-slurm
# Slurm signals this shell before the walltime; the keeper of each node then warns its ranks.
trap 'mkdir -p "$logs/orders"; : > "$logs/orders/warn"' USR1

## warn-in-engine
# Slurm signals this shell before the walltime; then it signals the ranks, which srun has started.
trap 'mkdir -p "$logs/orders"; : > "$logs/orders/warn"; scancel -s USR1 "$SLURM_JOB_ID"' USR1

## watch-chain
echo "$mine" > "$chain.ranks" || true  # a job whose ranks never start shows nothing of the program
watch_chain &
watcher=$!

## ask-nccl
ask_nccl() {  # what NCCL knows of each communicator (RAS, since 2.24): jobgen why reads it
  (exec 3<> "/dev/tcp/localhost/$ras_port" && echo verbose status >&3 && timeout 60 cat <&3)
}

## plain-in-engine
find_address

## ended-for-good
ended_for_good() {  # a rank or a node's program ended with 93, as ft_launcher of NVRx does
  sleep 1  # for tee
  grep -sqE "^(srun: error|jobgen): .* (code|status) 93$|^  exitcode  : 93 " "$logs/stderr"
}

## no-other-start
if ((status)) && ended_for_good; then
  echo "jobgen: the program ended with 93, so nothing starts it again" >&2
  status=93
fi

## no-other-requeue
((status != 93)) || scontrol update JobId="$id" Requeue=0 || true  # whoever else would requeue it

## say-time-is-up
if [[ -e $logs/orders/warn ]] && ((status == 0)); then
  echo "jobgen: the walltime is near, and the ranks have ended: submit again to continue" >&2
fi

## exit
((status == 0)) || exit "$status"

## remove-files
timeout -k 9 60 "${each_node[@]}" rm -r "$rank_files" || true

## plain-one-node
(software; ranks)

## plain-start
find_address
"${start_ranks[@]}" "$address" < /dev/null

## wait-local-some
wait "${pids[0]}" || status=$?  # the other nodes may be lost
stop_nodes
((status == 0)) || exit "$status"
