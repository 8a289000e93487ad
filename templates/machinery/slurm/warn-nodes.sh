# warn_nodes: has each node warn its ranks, once Slurm has warned this shell.
warn_nodes() {
  [[ $warned && ! -e $folder/orders/warn ]] || return 0
  echo "jobgen: the walltime is near: the ranks are warned" >&2
  : > "$folder/orders/warn"
}

warned=""
trap warned=yes USR1
