end_job() {  # after a failure, the last lines say what is certain, and where the evidence is
  local status=$?  # of the job; a full disk must not change it, so each line has a || true
  if ((status == 0)); then [[ ${keep_logs-} ]] || rm -r "$logs" || true; return; fi
  echo "$status after $SECONDS s ${outside-}" > "$logs/status" || true
  [[ ${outside-} ]] || timeout -k 9 15 "${each_node[@]}" evidence > "$logs/evidence" 2>&1 || true
  grep -sm 1 -E "^(srun|jobgen): .*(code|ended|illed|answers|started)" "$logs/stderr" >&2 || true
  echo "jobgen: the job ${outside-failed}, with status $status: jobgen why $job reads $logs" >&2
  (software &> /dev/null && "${jobgen-jobgen}" why --line "$logs" 2> /dev/null) >&2 || true
}
