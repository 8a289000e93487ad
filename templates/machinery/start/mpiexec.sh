note_software() {  # the file `start` runs a command with what software() sets: it may load the MPI
  find_address; software
  mapfile -t exported < <(compgen -e | grep -vxE "$own")
  sed -i "1a unset ${exported[*]}" "$logs/job.sh"  # a node begins without it, and sets up its own
  install -m 600 /dev/stdin "$logs/start" < <(declare -p "${exported[@]}"; echo 'exec "$@"')
  [[ $(grep -sc PBS_MPI_SGI "$(type -P "$1")") == 0 ]] ||  # PBS's own mpiexec is for another MPI
    fail "no $1 of an MPI on PATH after software(): add the site's MPI to software.modules," \
      "or choose another starter (--set launch.starter=NAME)"
}

