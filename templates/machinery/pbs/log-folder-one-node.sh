logs=${log_folder-$PWD/jobgen-logs}/${PBS_JOBID//[^A-Za-z0-9.-]/_} host=$HOSTNAME
