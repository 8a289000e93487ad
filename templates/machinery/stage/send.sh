# send_environment: Slurm takes the file to all nodes at once. Where it cannot, each node reads it by itself.
send_environment() {
  local folder copy sent
  stage_place
  sent=$stage_to/.jobgen-$SLURM_JOB_ID
  if [[ -d $copy ]] || ! type sbcast > /dev/null 2>&1; then return 0; fi  # if this node has a copy, most others do
  if sbcast "$JOBGEN_STAGE" "$sent"; then export JOBGEN_STAGE_SENT=$sent; return 0; fi
  export JOBGEN_STAGE_BROKEN=$sent
  echo "jobgen: sbcast failed, as it says above: each node reads $JOBGEN_STAGE itself" >&2
}
