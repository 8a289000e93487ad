end_chain() {  # HOW: how a job ended; a line of the state says whether another one goes on
  local number began verdict="goes on" how=$1 files
  read -r number _ began < <(grep " began " "$chain" | tail -n 1)
  mapfile -t files < <(compgen -G "$progress"; compgen -G "$chain.progress")
  case $how in
    done:*) verdict=done how=${how#done: } ;;
    program:*) verdict=stopped how=${how#program: } ;;
    *) if [[ ! $(find "${files[@]}" -prune -newermt "@$began" 2> /dev/null) ]]; then
      grep -B 1 "^$number began" "$chain" | grep -q "without progress" && verdict=stopped
      how+=", without progress"
    fi ;;
  esac
  echo "$number $verdict: $how" >> "$chain"
  echo "jobgen: job $number of $jobs in the chain $verdict: $how" >&2
  [[ $verdict == "goes on" ]] || cancel_rest &> /dev/null || true  # nodes may not be allowed to
}

how_it_ended() {  # by the status of the job, and by what is known besides
  if ((status == 0)) && [[ ! ${warned-} ]]; then echo "done: the program has ended by itself"
  elif ((status == 0)); then echo "the ranks have saved before the walltime"
  elif ((status == 93)); then echo "done: the program ended with 93"
  elif [[ ${outside-} ]]; then echo "it was ended from outside, as at the walltime"
  elif grep -qE "(Import|ModuleNotFound|Syntax|Indentation|Name|Attribute|Type)Error: " \
    "$logs/stderr"; then echo "program: it failed with status $status, by its own fault"
  else echo "it failed with status $status"; fi
}

case $(tail -n 1 "$chain" 2> /dev/null) in
  *" began "*) end_chain "it ended without a word, as with its first node" ;;&
  *" began "* | *" done: "* | *" stopped: "*)
    if ! tail -n 1 "$chain" | grep " goes on: "; then
      echo "jobgen: the chain has ended, so this job does nothing: $(tail -n 1 "$chain")"
      exit 0
    fi ;;
esac
echo "$index began $EPOCHSECONDS" >> "$chain"
trap '[[ ! -e $logs/orders/warn ]] || warned=yes; end_job "$?"; end_chain "$(how_it_ended)"
  [[ ${outside-} || ! ${stop_grace-} || ! -e $logs/status ]] || sleep "$stop_grace"
  exit "$status"' EXIT
