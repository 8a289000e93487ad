status=0
run_ranks || status=$?
