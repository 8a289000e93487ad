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
      timeout 5 find . -maxdepth 3 -name ".?*" -prune -o -newer "$chain" \
        -regex '.*\.\(pt\|pth\|ckpt\|safetensors\)' -print -quit
    fi 2> /dev/null) ]]
}

note_end() {  # NUMBER HOW: the second job in a row without progress is the last one
  local how=$2
  if [[ $how == "goes on:"* && ($progress || $how != *" warned, "*) ]] && ! has_progress; then
    how="goes on without progress:${how#*:}"
    [[ $before != *" without progress: "* ]] || how="stopped${how#goes on}"
  fi
  note_event "$1" "$how"
}

say_event() {  # the last line of the job's log; if the chain has ended, no job of it is left
  local rest=""
  if [[ $event != *" goes on"* ]]; then
    timeout 20 "${cancel_rest[@]}" &> /dev/null || true  # a node may not be allowed to
  elif ((index == jobs)); then rest="; if no job is left, submit the script again"; fi
  echo "jobgen: chain of $jobs jobs: ${event#* }$rest" >&2
}

how_it_ended() {  # what follows for the chain, and why
  local fault
  fault=$(sed -n "s/.*; the program's own fault (\([^)]*\)).*/\1/p" "$logs/verdict" 2> /dev/null || true)
  if ((status == 93)); then echo "is done: the program ended with 93"
  elif [[ ${outside-} ]]; then echo "goes on: $from_outside"
  elif [[ $fault ]]; then echo "stopped: the program failed by its own fault: $fault"
  elif ((status)); then echo "goes on: it failed with status $status"
  elif is_ended_by_slurm; then echo "goes on: a node was lost, or Slurm ended the ranks"
  elif [[ -e $logs/orders/warn ]]; then echo "goes on: the ranks were warned, and ended with 0"
  else echo "is done: the program ended by itself, with 0"; fi
}

is_ended_by_slurm() {  # in a preemption, ranks may get TERM and end with 0, and this shell does not
  sleep 1  # tee may be behind
  local signs="^srun: error: Node failure|\*\*\* (STEP|JOB) .* (CANCELLED|FAILED)"
  [[ ${spares-}${min_nodes-} ]] || ! grep -qsE "$signs" "$logs/stderr" || return 0
  [[ $(timeout 20 scontrol show job "${SLURM_JOB_ID-}" 2> /dev/null) == *PreemptTime=[0-9]* ]]
}

end_ranks() { mkdir -p "$logs/orders" && : > "$logs/orders/end"; }  # by the keepers

keep=${keep_logs-} keep_logs=yes  # until end_part has read them
end_part() {  # of this job in the chain, after end_job
  local how
  [[ ! ${watcher-} ]] || kill "$watcher" 2> /dev/null || true
  end_ranks || true  # some may live on a lost node
  how=$(how_it_ended)
  event="$(date +%FT%T) job $index $how"
  [[ $(last_event) != "$mine" ]] || note_end "$index" "$how" || true  # else another job has begun
  say_event
  ((status)) || [[ $keep || $how == *"a node was lost"* ]] || rm -r "$logs" || true
}

watch_chain() {  # if the scheduler gives this job up and begins the next one, its ranks may live
  local now=$mine
  while [[ ! $now || $now == "$mine" ]]; do sleep 15; now=$(last_event); done
  echo "jobgen: another job of the chain has begun, so this one ends" >&2
  end_ranks || true
  kill "$$" 2> /dev/null || true
}

from_outside="it was ended from outside, as at the walltime"
mkdir -p "${chain%/*}"
before=$(last_event "goes on") event=$(last_event)
if [[ $event == *" began on "* ]]; then  # and has no end: that job was killed, or still lives
  note_end "$(cut -d " " -f 3 <<< "$event")" "goes on: $from_outside"
  before=$event
fi
[[ ! $event || $event == *" goes on"* ]] || { say_event; exit 0; }
note_event "$index" "began on $host" || fail "the state of the chain cannot be written: $chain"
mine=$event
if [[ $before && $before != *" warned, "* ]]; then  # until watch_chain there has ended its ranks
  trap : USR1  # a warning would end this shell
  echo "jobgen: the next ranks start in $((90 + stop_grace)) s, when those before are surely gone"
  sleep $((90 + stop_grace))
fi
