# fail: ends this shell with a line that says which node it is and what is wrong there; on descriptor $report, if set.
fail() { echo "jobgen: ${host-$HOSTNAME}: $*" >&"${report:-2}"; sleep 1; exit 1; }  # without the pause, it may be lost
