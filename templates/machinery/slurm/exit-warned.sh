stop_warning
if [[ $warned ]] && ((status == 0)); then
  echo "jobgen: the walltime is near, and the ranks have ended: submit again to continue" >&2
fi
((status == 0)) || exit "$status"
