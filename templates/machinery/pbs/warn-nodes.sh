# warn_nodes: has each node warn its ranks, once the walltime is near.
warn_nodes() {
  ((SECONDS >= warn_after)) && [[ ! -e $folder/orders/warn ]] || return 0
  echo "jobgen: the walltime is near: the ranks are warned" >&2
  : > "$folder/orders/warn"
}
