logs=${log_folder-$PWD/jobgen-logs}/$SLURM_JOB_ID
