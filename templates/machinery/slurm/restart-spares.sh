status=0
run_ranks || status=$?
# torchrun starts failed ranks again itself. If a torchrun was killed (137) or crashed (139), all nodes start again. srun
# reports the highest status: that of a torchrun that it ended then (143) hides the other. Any failure is a reason to look
# at the nodes again: where one is lost or no longer ready, a spare takes its place.
for ((restart = 1; restart <= max_restarts; restart++)); do
  if ((status == 0)) || [[ ${warned-} ]]; then break; fi
  before=$used
  choose_nodes || { ${exclude_at_most:+exclude_nodes}; break; }
  ((status == 137 || status == 139 || status == 143)) || [[ $used != "$before" ]] || break
  [[ ! ${logs-} ]] || for file in "$logs"/std*; do mv "$file" "$logs/before-$restart-${file##*/}"; done  # for the verdict
  echo "jobgen: all nodes start again, restart $restart of $max_restarts" >&2
  status=0
  run_ranks || status=$?
done
