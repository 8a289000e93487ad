# check_torch: this job needs none.
check_torch() { torch="without torch"; }
