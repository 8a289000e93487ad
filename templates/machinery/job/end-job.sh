end_job() {  # after a failure, the last lines say what is certain, and where the evidence is
  local status=$?
  if ((status == 0)); then [[ ${keep_logs-} ]] || rm -r "$logs"; return; fi
  echo "$status ${outside-}" > "$logs/status"
  [[ ${outside-} ]] || timeout 15 "${each_node[@]}" evidence > "$logs/evidence" 2>&1 || true
  grep -sm 1 -E "^(srun|jobgen): .*(code|ended|illed|answers|started)" "$logs/stderr" >&2 || true
  echo "jobgen: the job ${outside-failed}, with status $status: jobgen why $job reads $logs" >&2
  (software &> /dev/null && "${jobgen-jobgen}" why --line "$logs" 2> /dev/null) >&2 || true
}
