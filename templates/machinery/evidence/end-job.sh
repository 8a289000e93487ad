# end_job: after a failure ($1), the last words of the nodes, which $2… collects, and the last line, what failed first.
end_job() {
  local failed no_reason="no rank says why it failed: one ended too early, a node was lost, or the job was ended from outside"
  if (($1)) && compgen -G "$logs/stderr*" > /dev/null; then
    { "${@:2}" 2> /dev/null || true; } | sort | tee -a "$logs/stderr" >&2
    failed=$({ ${stall:+hung_ranks}; first_failure; } | sed -n "/./ { p; q }" || true)
    echo "jobgen: ${failed:-${reason-$no_reason}}; what each rank wrote is in $logs" >&2
  elif [[ ! ${log_folder-} ]]; then rm -rf "$logs"; rmdir "${logs%/*}" 2> /dev/null || true; fi
}
