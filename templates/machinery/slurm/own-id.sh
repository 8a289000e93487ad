id=$SLURM_JOB_ID
if [[ ${SLURM_ARRAY_TASK_ID-} ]]; then id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi  # not the whole array
