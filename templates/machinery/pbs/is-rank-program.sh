# is_rank: whether a process of the program handles SIGUSR1: the program itself, or a rank that it started.
is_rank() {
  grep -qszxF "JOBGEN_JOB=$job" "/proc/$1/environ" && grep -qsz '^JOBGEN_NODE=' "/proc/$1/environ" &&
    grep -qs '^SigCgt:.*[2367abef]..$' "/proc/$1/status"
}
