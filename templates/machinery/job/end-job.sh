find_status() {  # of the rank that failed first: torchrun ends with 1, srun with its highest one
  local code
  sleep 1  # tee may be behind
  code=$(sed -nE '/^Root Cause/,/exitcode/s/^  (time|exitcode) +: (\S+).*/\2/p' "$logs/stderr" |
    paste - - | sort -sk 1,1 | head -n 1)  # the earliest report of a torchrun: its time, the code
  code=${code:-$first}  # else the line of srun or a node; a signal becomes -9, as torchrun has it
  code=${code/: Killed*/ -9} code=${code/: Segmentation*/ -11} code=${code/ signal / -}
  code=${code##*[[:space:]]}
  if [[ $code =~ ^-?[1-9][0-9]*$ ]]; then status=$((code > 0 ? code : 128 - code)); fi
}

end_job() {  # after a failure, the last lines say what is certain, and where the evidence is
  status=$1  # of the job; a full disk must not change it, so each line has a || true
  ((status)) || record 0 2> /dev/null || true
  if ((status == 0)); then [[ ${keep_logs-} ]] || rm -r "$logs" || true; return; fi
  [[ ${outside-} ]] || timeout -k 9 15 "${each_node[@]}" evidence > "$logs/evidence" 2>&1 || true
  first=$(grep -sm 1 -E "^(srun|jobgen): .*(code|ended|illed|fault|answers|started)" \
    "$logs/stderr" || true)
  [[ ${outside-} || $status == 93 || ! -e $logs/stderr ]] || find_status || true
  echo "$status after $SECONDS s ${outside-}" > "$logs/status" || true
  record "$status" 2> /dev/null || true
  [[ ! $first ]] || echo "$first" >&2 || true
  echo "jobgen: the job ${outside-failed}, with status $status: jobgen why $job reads $logs" >&2
  ([[ -e $logs/set-up.$host ]] || software &> /dev/null  # jobgen may be there; it may hang, though
    "${jobgen-jobgen}" why --line "$logs" 2> /dev/null | tee "$logs/verdict") >&2 || true
}
