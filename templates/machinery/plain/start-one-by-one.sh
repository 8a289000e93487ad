find_address
for each in "${hosts[@]}"; do
  "${starter[@]}" "$each" "$logs/job.sh" "$address" < /dev/null &
done
for _ in "${hosts[@]}"; do wait -n; done  # the first node that fails ends the job
