# run_node: one rank; mpiexec starts one for each. It notes a failure, since MPICH's waits for the other ranks then.
run_node() {
  local status=0
  for host in "${hosts[@]}"; do [[ ${host%%.*} != "$(uname -n | cut -d . -f 1)" ]] || break; done
  rank=${OMPI_COMM_WORLD_RANK-${PMI_RANK-${PALS_RANKID-0}}}
  observe; find_address; software
  (run_labelled ranks) || status=$?
  if ((status)) && [[ ! $(nodes_with failed) ]]; then
    write_file "failed.${node-0}" "$status"
    echo "jobgen: $host: rank $rank ended with status" \
      "$((status > 128 && status < 193 ? 128 - status : status))" > "$folder/words.rank"  # -9: by signal 9
  fi
  return "$status"
}
