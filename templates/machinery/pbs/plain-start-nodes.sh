for i in "${!hosts[@]}"; do start_node "$i" < /dev/null & done
for _ in "${hosts[@]}"; do wait -n; done  # the first node that fails ends the job
