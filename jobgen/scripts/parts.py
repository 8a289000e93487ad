"""Which parts of the machinery a script has: one table, a row a part, the same for all schedulers.

A part is plain bash: a file in templates/machinery/, or, where it is a line or two, the text in its
row. The row says for which scripts it is, by words of `features`, and which values of the upper
part it reads. The order of the rows is that in a script. A feature of jobgen adds rows, and changes
none.
"""

from functools import cache
from typing import NamedTuple

from jobgen.scripts import ready_nodes


class Part(NamedTuple):
    """A part of the machinery."""

    name: str  # of its file, without .sh
    having: str  # a script has it that has all these features, …
    without: str = ""  # … and none of these
    values: str = ""  # of the upper part
    text: str = ""  # if it has no file

    def is_for(self, found: frozenset[str]) -> bool:
        """Whether a script with these features has this part."""
        return found.issuperset(self.having.split()) and found.isdisjoint(self.without.split())


_FAIL = """\
fail() { echo "jobgen: $host: $*"; exit 1; }  # which node, what is wrong, what to type
"""
_AGENT = r"""
[[ $logs != *[[:space:]]* ]] || fail "mpiexec takes no folder with a blank in its name: $logs"
install -m 700 /dev/stdin "$logs/agent" \
  <<< $'#!/bin/bash\nexec pbs_tmrsh "$1" bash "${0%/*}/start" bash -c "${*:2}"'  # has no PATH
""".lstrip()
_COPY_SCRIPT = 'install -D -m 700 "$0" "$logs/job.sh"\n'
_NODE_FOLDERS = 'for each in "${hosts[@]}"; do mkdir -p "$logs/$each"; done\n'
_NODE_LINKS = 'for each in "${hosts[@]}"; do ln -s "$rank_files" "$logs/$each"; done\n'
_OWN_ID = """\
id=$SLURM_JOB_ID  # of this job alone, also in an array
[[ ! ${SLURM_ARRAY_TASK_ID-} ]] || id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
"""
_EACH_NODE = 'each_node+=("$logs/job.sh") start_ranks+=("$logs/job.sh")\n'

# fmt: off
PARTS = (
    # ---- what this shell is, on whichever node it runs
    Part("path", "copied slurm", text="""\
PATH=$PATH:/usr/sbin:/sbin  # some systems have ip and ss there
"""),
    Part("hosts", "copied hosts slurm", "ordered", text="""\
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
"""),
    Part("hosts-in-order", "copied hosts slurm ordered", values="logs", text=ready_nodes.HOSTS),
    Part("path-pbs", "copied pbs", text="""\
PATH=$PATH:/usr/sbin:/sbin:/opt/pbs/bin  # some systems have ip and ss there, and PBS its commands
mapfile -t hosts < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")  # a line a process
"""),
    Part("path-local", "local", text="""\
PATH=$PATH:/usr/sbin:/sbin  # some systems have ss there
host=$(uname -n) head=127.0.0.1 each_node=(true)
find_address() { address=127.0.0.$((node + 1)); }  # each node here has one of its own
"""),
    Part("one-node-begin", "one_torchrun", text=f"""\
host=$SLURMD_NODENAME each_node=(bash -c 'df -P /dev/shm .; cat /proc/uptime; dmesg; nvidia-smi')
{_FAIL}if (($#)); then trap "" USR1 USR2; "$@"; exit; fi  # the step below runs this script again
"""),
    Part("number-in-order", "checked copied srun ordered", text=ready_nodes.NUMBER),
    Part("task-number", "checked copied srun", "ordered",
         text="host=$SLURMD_NODENAME node=$SLURM_NODEID\n"),
    Part("task-number", "plain copied srun", "in_engine ranks", text="node=$SLURM_NODEID\n"),
    Part("task-number", "plain copied srun ranks", "in_engine named", text="node=$SLURM_NODEID\n"),
    Part("task-number", "plain in_engine", "named", text="node=0\n"),
    Part("lead-number", "copied lead", text="""\
node=${JOBGEN_NUMBER-0} host=${JOBGEN_HOST-${hosts[0]}}
"""),
    Part("node/number-by-name", "copied other_starter", "lead"),
    Part("fail", "checked copied", text=_FAIL),
    Part("fail", "plain mpi", "workspace", text=_FAIL),
    Part("fail", "local", text=_FAIL.replace("; exit", " >&2; exit")),
    Part("plain-fail", "plain workspace", "local", text=f"host=$(uname -n)\n{_FAIL}"),
    # ---- functions that nodes run
    Part("no-container", "checked torch", "container in_engine",
         text='container() { "$@"; }  # there is none: commands run as they are\n'),
    Part("stage/folder", "stage", "image"),
    Part("stage/image", "stage image"),
    Part("stage/copy", "stage"),
    Part("node/address-named", "copied named", values="interface"),
    Part("node/address-route", "copied", "named"),
    Part("node/check-gpus", "checked gpus", values="gpus gpu_api"),
    Part("node/check-torch", "checked torch", "gpus"),
    Part("no-torch", "checked", "torch gpus", text='check_torch() { torch="no torch needed"; }\n'),
    Part("find-plugin", "plugin", text="""\
find_plugin() {  # sets plugin: aws-ofi-nccl's version, a text in the file that NCCL or RCCL loads
  read -r plugin < <(tr : '\\0' <<< "${LD_LIBRARY_PATH-}:" | xargs -0 -I % find % -maxdepth 1 \\
    -name "lib?ccl-net*.so" -exec grep -aoh "aws-ofi-nccl [0-9][0-9.]*" {} + 2> /dev/null) || true
}
"""),
    Part("node/check-node", "roll_call", values="arch cores port program"),
    Part("node/run-node", "checked", "one_torchrun ranks", values="logs"),
    Part("node/run-rank", "checked ranks", "in_engine", values="logs"),
    Part("node/own-step", "checked own_step"),
    Part("node/pyxis", "checked pyxis"),
    Part("show-place", "picks_nodes srun", text=ready_nodes.SHOW_PLACE),
    Part("own-id", "may_lose srun", text=_OWN_ID),
    Part("node/head-lost", "may_lose srun"),
    Part("node/evidence", "roll_call"),
    Part("no-core", "stalls", text="ulimit -c 0  # a rank that hangs writes a stack, no core\n"),
    Part("python", "keeper", text="""\
python=/usr/libexec/platform-python  # the system's own: no module changes it
[[ -x $python ]] || python=/usr/bin/python3
env -u LD_LIBRARY_PATH -u LD_PRELOAD "$python" -I -S -c 'f""' 2> /dev/null ||  # f"": 3.6
  fail "no /usr/bin/python3 of 3.6 or newer, which the keeper needs: --plain needs none"
"""),
    Part("node/keep", "keeper", "lead", values="stop_grace"),
    Part("node/end-by-order", "keeper ends_by_order"),
    Part("node/local-files", "local_files", values="rank_files"),
    # ---- the batch script, from here on
    Part("job/end-job", "checked", values="job logs keep_logs jobgen"),
    Part("job/show-set-up", "checked", "local"),
    Part("enter", "checked copied srun", text="""\
# Each node runs a copy of this script, with the name of a function. srun may lose a last line.
if (($#)); then trap '(($?)) && sleep 1' EXIT; "$@"; exit; fi
"""),
    Part("enter", "checked copied other_starter", text="""\
# Each node runs a copy of this script, with the name of a function. A check that fails has said
# why; with a status other than 0, mpiexec would end the checks of the other nodes, too.
if (($#)); then [[ $1 != check_node ]] || trap 'exit 0' EXIT; "$@"; exit; fi
"""),
    Part("first-node", "roll_call ordered", values="nodes", text=ready_nodes.ALL_HOSTS),
    Part("first-node", "roll_call", "ordered", values="nodes", text="""\
((${#hosts[@]} == nodes + ${spares:-0})) || fail "${#hosts[@]} nodes, not $nodes: -N of jobgen"
find_address  # of the first node: the ranks meet there
"""),
    Part("plain-enter", "plain copied", "in_engine", text="""\
if (($#)); then head=$1; find_address; software; ranks; exit; fi  # each node runs a copy of this
"""),
    Part("plain-end", "plain leaves_files", values="job logs", text="""\
trap 'rm -rf "$logs"' EXIT
"""),
    Part("copy-script", "checked copied srun", text=_COPY_SCRIPT),
    Part("copy-script", "plain copied srun", "in_engine", text=_COPY_SCRIPT),
    Part("pack", "stage other_starter", text="pack_environment\n"),  # it exports what is copied
    Part("start/copy-environment", "copied other_starter"),
    Part("host-file", "ordered", text=ready_nodes.HOST_FILE),
    Part("task-file", "ordered ranks", text=ready_nodes.TASKS),
    Part("node-folders", "checked copied", "local_files", text=_NODE_FOLDERS),
    Part("node-folders", "local_files", text=_NODE_LINKS),
    Part("start/lead", "lead", values="starter stop_grace join_timeout"),
    Part("start/mpiexec", "mpi"),
    Part("note-software", "mpi", "stage", "start_ranks", 'note_software "${start_ranks[0]}" &\n'),
    Part("note-software", "mpi stage", values="start_ranks", text="""\
(
  stage_environment() { stage_values; JOBGEN_STAGED=$stage_from; }  # the copy is for the ranks
  note_software "${start_ranks[0]}"
) &
"""),
    Part("software-noted", "mpi", text="""\
wait "$!" || { rm -r "$logs"; exit 1; }
"""),
    Part("start-there", "mpi", text='start_ranks=(bash "$logs/start" "${start_ranks[@]}")\n'),
    Part("start-there", "mpi checked", values="each_node",
         text='each_node=(bash "$logs/start" "${each_node[@]}")\n'),
    Part("each-node", "copied checked", "lead in_engine", values="each_node start_ranks",
         text=_EACH_NODE),
    Part("each-node", "checked in_engine", values="each_node",
         text='each_node+=("$logs/job.sh")\n'),
    Part("each-rank", "plain copied", "one_by_one in_engine", values="start_ranks",
         text='start_ranks+=("$logs/job.sh")\n'),
    Part("ends-on-slurm", "roll_call srun", text="""\
trap 'end_job "$?"; exit "$status"' EXIT
trap 'outside="was ended from outside"  # by Slurm, which ends the ranks, too
  timeout 25 tail -f --pid="${!-}" /dev/null || true; exit 143' TERM  # waits for srun
"""),
    Part("ends", "roll_call other_starter", values="stop_grace", text="""\
trap 'end_job "$?"; [[ ${outside-} || ! -e $logs/status ]] || sleep "$stop_grace"
  exit "$status"' EXIT  # keepers that lost their parent end meanwhile; then PBS may give nodes away
trap 'outside="was ended from outside"; jobs -p | xargs -r kill
  timeout $((stop_grace + 3)) tail -f --pid="${!-}" /dev/null || true; exit 143' TERM  # qdel
"""),
    Part("end-all", "keeper ends_by_order", text="""\
mkdir -p "$logs/orders"
start_ranks+=(end_all)
"""),
    Part("keeper", "keeper", "lead", text="""\
printf '%s\\n' "$keeper" > "$logs/keeper.py"
start_ranks+=(keep)
"""),
    Part("agent", "agent", text=_AGENT),
    Part("trainer", "trainer", values="job logs", text="""\
mkdir -p "$logs"
printf '%s\\n' "$trainer" > "$program"
"""),
    Part("job/workspace", "workspace", values="job"),
    Part("job/one-node", "one_torchrun", values="start_ranks"),
    Part("pack", "stage", "other_starter", text="pack_environment\n"),
    Part("stage/send", "stage srun"),
    Part("own-id", "requeues", "may_lose", text=_OWN_ID),
    Part("job/exclude-nodes", "excludes", values="exclude_at_most"),
    Part("pyxis-end", "checked pyxis", text="""\
trap 'set -- "$?"; set +e; trap "" TERM; timeout -k 9 60 "${each_node[@]}" remove_container
  ! declare -F exclude_nodes > /dev/null || exclude_nodes
  end_job "$1"; exit "$status"' EXIT
"""),
    Part("job/roll-call", "roll_call", values="nodes join_timeout"),
    Part("address-in-order", "ordered", text=ready_nodes.FIRST_OF_HOSTS),
    Part("ready-nodes", "picks_nodes", text=ready_nodes.READY),
    Part("nodes-in-order", "picks_nodes srun", text=ready_nodes.IN_ORDER),
    Part("neighbours", "spares srun", text=ready_nodes.NEIGHBOURS),
    Part("first-address", "picks_nodes", text=ready_nodes.FIRST_ADDRESS),
    Part("job/choose-nodes", "spares"),
    Part("chosen-nodes", "spares srun", "may_lose", text="""\
start_ranks=(srun --nodelist="$chosen" "${start_ranks[@]:1}")
"""),
    Part("chosen-nodes", "spares lead", "may_lose", text="""\
start_ranks=("${lead[@]}" 2 0 "${ready[*]:0:nodes}" "$starter" "$logs/job.sh")
"""),
    Part("all-ready-nodes", "may_lose lead", text="""\
in_reserve=$((${#ready[@]} - nodes))  # the last ones; they replace nodes that are lost
start_ranks=("${lead[@]}" 2 "$in_reserve" "${ready[*]}" "$starter" "$logs/job.sh")
"""),
    Part("warn-on-slurm", "warns slurm", "in_engine", text="""\
# Slurm signals this shell before the walltime; the keeper of each node then warns its ranks.
trap 'mkdir -p "$logs/orders"; : > "$logs/orders/warn"' USR1
"""),
    Part("warn-in-engine", "warns in_engine", text="""\
# Slurm signals this shell before the walltime; then it signals the ranks, which srun has started.
trap 'mkdir -p "$logs/orders"; : > "$logs/orders/warn"; scancel -s USR1 "$SLURM_JOB_ID"' USR1
"""),
    Part("job/warn-pbs", "warns pbs", values="warn_after"),
    Part("ask-nccl", "asks_nccl", values="ras_port", text="""\
ask_nccl() {  # what NCCL knows of each communicator (RAS, since 2.24): jobgen why reads it
  (exec 3<> "/dev/tcp/localhost/$ras_port" && echo verbose status >&3 && timeout 60 cat <&3)
}
"""),
    Part("job/stall", "stalls", values="stall"),
    Part("job/run", "roll_call", "supervised"),
    Part("job/run-ranks", "supervised", "may_lose in_engine"),
    Part("job/run-ranks", "may_lose lead"),
    Part("job/run-with-spares", "may_lose srun"),
    Part("plain-in-engine", "plain in_engine", text="find_address\n"),
    Part("job/run-in-engine", "in_engine", values="logs nodes port start_ranks"),
    Part("ended-for-good", "starts_again", text="""\
ended_for_good() {  # a rank or a node's program ended with 93, as ft_launcher of NVRx does
  sleep 1  # for tee
  grep -sqE "^(srun: error|jobgen): .* (code|status) 93$|^  exitcode  : 93 " "$logs/stderr"
}
"""),
    Part("job/restart", "restarts_all torchrun", "local", values="max_restarts"),
    Part("job/restart-program", "restarts_all program_on_nodes", values="max_restarts"),
    Part("no-other-start", "starts_again", text="""\
if ((status)) && ended_for_good; then
  echo "jobgen: the program ended with 93, so nothing starts it again" >&2
  status=93
fi
"""),
    Part("no-other-requeue", "requeues", text="""\
((status != 93)) || scontrol update JobId="$id" Requeue=0 || true  # whoever else would requeue it
"""),
    Part("job/requeue", "requeues warns"),
    Part("say-time-is-up", "warns", "requeues", text="""\
if [[ -e $logs/orders/warn ]] && ((status == 0)); then
  echo "jobgen: the walltime is near, and the ranks have ended: submit again to continue" >&2
fi
"""),
    Part("exit", "supervised", text='((status == 0)) || exit "$status"\n'),
    Part("remove-files", "local_files",
         text='timeout -k 9 60 "${each_node[@]}" rm -r "$rank_files" || true\n'),
    # ---- without a roll call
    Part("plain-one-node", "plain", "copied", text="(software; ranks)\n"),
    Part("exit", "plain in_engine", text='((status == 0)) || exit "$status"\n'),
    Part("plain-start", "plain copied", "one_by_one in_engine", text="""\
find_address
"${start_ranks[@]}" "$address" < /dev/null
"""),
    Part("plain/start-one-by-one", "plain copied one_by_one", values="starter"),
    Part("start/local", "local", values="nodes port program"),
    Part("start/wait-local", "local", "elastic"),
    Part("wait-local-some", "local elastic", text="""\
wait "${pids[0]}" || status=$?  # the other nodes may be lost
stop_nodes
((status == 0)) || exit "$status"
"""),
)
# fmt: on


@cache  # most scripts of a repository have the same ones
def chosen_parts(found: frozenset[str]) -> tuple[Part, ...]:
    """The parts of a script with these features, in their order."""
    return tuple(part for part in PARTS if part.is_for(found))


@cache
def used_values(parts: tuple[Part, ...]) -> frozenset[str]:
    """The values of the upper part that these parts read."""
    return frozenset(" ".join(part.values for part in parts).split())
