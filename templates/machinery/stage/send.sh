send_environment() {  # to all nodes at once; where Slurm cannot, each node reads it by itself
  local folder copy sent
  stage_place
  if ((nodes == 1)) || [[ -d $copy ]]; then return 0; fi  # if this node has a copy, most others do
  type sbcast > /dev/null 2>&1 || return 0
  sent=$stage_to/.jobgen-$SLURM_JOB_ID
  if sbcast "$JOBGEN_STAGE" "$sent"; then export JOBGEN_STAGE_SENT=$sent; return 0; fi
  export JOBGEN_STAGE_BROKEN=$sent
  echo "jobgen: sbcast failed, as it says above: each node reads $JOBGEN_STAGE itself" >&2
}

send_environment
