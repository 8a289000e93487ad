logs=${log_folder-$PWD/jobgen-logs}/$job
