# Each event of the chain is a line of the file $chain; the last one says how it goes on.
last_event() {  # KINDS: the last line of these; one that a full disk has cut may be none
  grep -sE "^\S+ job [0-9]+ ($1)" "$chain" | tail -n 1 || true
}

note_events() {  # LINE…: all at once, so that no kill comes between two
  [[ ! -s $chain || ! $(tail -c 1 "$chain") ]] || echo >> "$chain"  # after a line that was cut
  printf '%s\n' "$@" | cat >> "$chain"
}

last_progress() {  # when the newest file was written that shows how far the training is
  local usual=(-name "*.pt" -o -name "*.pth" -o -name "*.ckpt" -o -name "*.safetensors")
  {
    if [[ $progress ]]; then compgen -G "$progress"
    else timeout 5 find . -maxdepth 3 -name ".?*" -prune -o \( "${usual[@]}" \) -print; fi
    echo "$chain.progress"
  } 2> /dev/null | tr '\n' '\0' | { xargs -0 stat -Lc %.9Y 2> /dev/null || true; } | sort -n |
    tail -n 1 | grep . || echo 0
}

is_lost() {  # a node, perhaps only to the scheduler; with nodes in reserve the job may go on
  [[ ! ${spares-}${min_nodes-} || $status != 0 ]] &&
    grep -qsE "^srun: error: Node failure|^jobgen: \S+: no longer answers" "$logs/stderr"
}

is_ended_by_slurm() {  # in GraceTime of a preemption, ranks get TERM, and this shell does not
  [[ ${SLURM_JOB_ID-} ]] || return 1
  ((status)) || ! grep -qsE "\*\*\* (STEP|JOB) .* (CANCELLED|FAILED)" "$logs/stderr" || return 0
  [[ $(timeout 20 scontrol show job "$SLURM_JOB_ID" 2> /dev/null) == *PreemptTime=[0-9]* ]]
}

is_its_own_fault() {  # the last error of each rank is one that no node and no network can cause
  local kind='(\w+\.)*(\w+(Error|Exception|Interrupt|Exit))(:.*)?'
  [[ $status == [12] ]] || return 1
  fault=$(sed -nE "s/^\S+ rank ([0-9]+): (\[rank[0-9]+\]: )?$kind\$/\1 \4/p
    s/^\S+ rank ([0-9]+): (\S+: error|Error): .*/\1 usage/p" "$logs/stderr" | tac |
    awk '!seen[$1]++ { print $2 }' | sort -u | paste -sd " ")
  [[ $fault && ! $(tr ' ' '\n' <<< "$fault" |
    grep -vxE "(Syntax|Indentation|Tab|Name|UnboundLocal|ModuleNotFound)Error|usage") ]]
}

how_it_ended() {  # whether the chain goes on, and why, by what this job knows at its end
  local fault=""
  if ((status == 93)); then echo "is done: the program ended with 93"
  elif is_lost; then echo "goes on: a node was lost"
  elif [[ -e $logs/orders/warn ]] && ((status == 0)); then
    echo "goes on: the ranks were warned, and ended with 0"
  elif [[ ${outside-} ]] || is_ended_by_slurm; then
    echo "goes on: it was ended from outside, as at the walltime"
  elif ((status == 0)); then echo "is done: the program ended by itself, with 0"
  elif is_its_own_fault; then echo "stopped: the program failed by its own fault: $fault"
  else echo "goes on: it failed with status $status"; fi
}

judge() {  # BEGAN HOW: the line about the end of a job; a second one without progress is the last
  local how=$2 when
  if [[ $how == "goes on"* && ! $(last_progress) > ${1##* } ]] &&
    [[ $progress || $how != *" warned, "* ]]; then
    [[ $(last_event "goes on") != *" without progress: "* ]] || how="stopped${how#goes on}"
    how="${how%%:*} without progress:${how#*:}"
  fi
  when=$(cut -d " " -f 2,3 <<< "$1")
  echo "$(date +%FT%T) $when $how"
}

say_how_it_goes_on() {  # LINE: in the log; if the chain has ended, what is left is cancelled
  local rest=""
  if [[ $1 != *" goes on"* ]]; then
    timeout 20 "${cancel_rest[@]}" &> /dev/null || true  # a node may not be allowed to
  elif ((index == jobs)); then rest="; if no job is left, submit the script again"; fi
  echo "jobgen: chain of $jobs jobs: ${1#* }$rest" >&2
}

end_part() {  # of this job in the chain, unless another one has begun, or ranks still live
  local how=$1
  [[ $(last_event began) == "$mine" ]] || return 0
  [[ ${!-} == "${watcher-}" ]] || ! kill -0 "$!" 2> /dev/null || return 0  # the next job waits
  ended=$(judge "$mine" "$how")
  note_events "$ended" || true
}

eval "usual_$(declare -f end_job)"
end_job() {  # as in other jobs; ended from outside, it has little time for its part in the chain
  local how
  status=$1
  [[ ! ${watcher-} ]] || kill "$watcher" 2> /dev/null || true
  [[ ${outside-} ]] || sleep 1  # tee may be behind
  how=$(how_it_ended)
  if [[ $how == "goes on"* ]]; then  # ranks may be left that nobody else ends
    { mkdir -p "$logs/orders" && : > "$logs/orders/end"; } || true
    [[ ${outside-} ]] || sleep $((stop_grace + 3))
  fi
  [[ ! ${outside-} ]] || end_part "$how"
  usual_end_job "$status"
  ((status == 0)) || how=$(how_it_ended)  # the status is now that of the rank that failed first
  [[ ${outside-} ]] || end_part "$how"
  [[ ! ${ended-} ]] || say_how_it_goes_on "$ended"
}

begin_part() {  # a job that has not noted its end may still live: it sees that this one begins
  local before after ended=""
  mkdir -p "${chain%/*}"
  before=$(last_event "began|goes on|is done|stopped")
  [[ $before != *" began on "* ]] || ended=$(judge "$before" "goes on: it did not note its end")
  after=${ended:-$before}
  if [[ $after == *" is done: "* || $after == *" stopped"* ]]; then
    [[ ! $ended ]] || note_events "$ended"
    say_how_it_goes_on "$after"
    exit 0
  fi
  mine="$(date +%FT%T) job $index began on $host, progress $(last_progress)"
  note_events ${ended:+"$ended"} "$mine" || fail "the state of the chain cannot be written: $chain"
  [[ ! $ended && $after != *": a node was lost" ]] || sleep $((90 + stop_grace))
}

watch_chain() {  # if the scheduler has given this job up and begun the next one, this one ends
  local event=$mine
  while [[ ! $event || $event == "$mine" ]]; do sleep 15; event=$(last_event began); done
  echo "jobgen: another job of the chain has begun, so this one ends" >&2
  mkdir -p "$logs/orders"
  : > "$logs/orders/end"
  kill "$$" 2> /dev/null || true
}

begin_part
