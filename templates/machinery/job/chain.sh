# The file $chain has a line for each event: a job began, or it ended, and what follows from that.
last_event() {  # [KIND]; a line that a full disk has cut may be no event
  grep -sE "^\S+ job [0-9]+ (${1-began on|goes on|is done|stopped})" "$chain" | tail -n 1 || true
}

note_event() {  # NUMBER EVENT: of the job with this number
  event="$(date +%FT%T) job $1 $2"
  [[ ! -s $chain || ! $(tail -c 1 "$chain") ]] || echo >> "$chain"  # after a line that was cut
  echo "$event" >> "$chain"
}

has_progress() {  # since the last event, a file was written that shows how far the training is
  [[ $chain.progress -nt $chain || $(
    if [[ $progress ]]; then
      compgen -G "$progress" | xargs -d '\n' -I % find -L % -prune -newer "$chain"
    else
      timeout 5 find . -maxdepth 5 -name ".?*" -prune -o -newer "$chain" \
        -regex '.*\.\(pt\|pth\|ckpt\|safetensors\|distcp\)' -print -quit
    fi 2> /dev/null) ]]
}

how_it_ended() {  # what is certain of this job's end; $outside: a signal from outside came first
  if ((status == 93)); then echo "is done: the program ended with 93"
  elif [[ ${outside-} ]]; then echo "goes on: it was ended from outside, as at the walltime"
  elif [[ $(own_fault) ]]; then echo "stopped: $(own_fault)"
  elif ((status)); then echo "goes on: it failed with status $status"
  elif is_ended_by_slurm; then echo "goes on: a node was lost, or Slurm ended the ranks"
  elif [[ -e $logs/orders/warn ]]; then echo "goes on: the ranks were warned, and ended with 0"
  else echo "is done: the program ended by itself, with 0"; fi
}

own_fault() {  # what each job of the chain would meet, on whatever nodes; else nothing
  printf %s "${fault-}"  # found before the roll call; in the call, no program beside the logs:
  grep -sqv ": no program [^/]" "$logs/roll-call" ||
    sed "s/^[^ ]* [^ ]* //; q" "$logs/roll-call" 2> /dev/null
  sed -n 's/.*; a fault of the program (\([^)]*\)).*/the program failed by its own fault: \1/p' \
    "$logs/verdict" 2> /dev/null
}

is_ended_by_slurm() {  # in a preemption, ranks may get TERM and end with 0, and this shell does not
  sleep 1  # tee may be behind
  local signs="^srun: error: Node failure|\*\*\* (STEP|JOB) .* (CANCELLED|FAILED)"
  [[ ${spares-}${min_nodes-} ]] || ! grep -qsE "$signs" "$logs/stderr" || return 0
  [[ $(timeout 20 scontrol show job "${SLURM_JOB_ID-}" 2> /dev/null) == *PreemptTime=[0-9]* ]]
}

note_end() {  # NUMBER HOW: if the job goes on without progress, as the one before, the chain stops
  local how=$2 before
  before=$(last_event "goes on(:| without)")  # of a job whose ranks had started
  if [[ $how != "goes on: "* ]]; then :
  elif [[ $(cat "$chain.ranks" 2> /dev/null) != "$(last_event)" ]]; then  # as on a bad node
    how="goes on, no rank had started:${how#*:}"
  elif [[ $progress || $how != *" warned, "* ]] && ! has_progress; then  # the warned have saved
    how="goes on without progress:${how#*:}"
    [[ $before != *" without progress: "* ]] || how="stopped${how#goes on}"
  fi
  note_event "$1" "$how"
}

say_event() {  # the last line of the job's log; if the chain has ended, no job of it is left
  local rest="; if no job is left, submit the script again"
  [[ $event == *" goes on"* ]] ||  # where a node may cancel nothing, the others end by themselves
    timeout 20 "${cancel_rest[@]}" &> /dev/null || true
  [[ $event == *" goes on"* && $index == "$jobs" ]] || rest=""
  echo "jobgen: chain of $jobs jobs: ${event#* }$rest" >&2
}

keep=${keep_logs-} keep_logs=yes  # until end_part has read them
end_part() {  # of this job in the chain, after end_job
  [[ ! ${watcher-} ]] || kill "$watcher" 2> /dev/null || true
  : > "$logs/orders/end" || true  # an order to the keepers: some ranks may live on a lost node
  if [[ $(last_event) == "$mine" ]]; then  # else another job has begun
    note_end "$index" "$(how_it_ended)" || true
    say_event
  fi
  ((status)) || [[ $keep || $event == *"a node was lost"* ]] || rm -r "$logs" || true
}

watch_chain() {  # if the scheduler gives this job up and begins the next one, its ranks may live
  local last=$mine
  while [[ ! $last || $last == "$mine" ]]; do sleep 15; last=$(last_event); done
  echo "jobgen: another job of the chain has begun, so this one ends" >&2
  : > "$logs/orders/end" || true
  kill "$$" 2> /dev/null || true
}

mkdir -p "${chain%/*}"
before=$(last_event "goes on") event=$(last_event)
if [[ $event == *" began on "* ]]; then  # and has no end: that job was killed, or still lives
  note_end "$(cut -d " " -f 3 <<< "$event")" "$(status=1 outside=yes how_it_ended)"
  before=$event
fi
[[ ! $event || $event == *" goes on"* ]] || { say_event; exit 0; }
note_event "$index" "began on $host" || fail "the state of the chain cannot be written: $chain"
mine=$event
if [[ $before && $before != *" warned, "* ]]; then  # some ranks before may still live
  trap : USR1  # a warning would end this shell
  echo "jobgen: the next ranks start in $((90 + stop_grace)) s, when those before are surely gone"
  sleep $((90 + stop_grace))  # watch_chain there has ended them, or nothing has, as without cgroups
fi
mkdir -p "$logs/orders"
