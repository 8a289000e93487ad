folder=$PWD/.jobgen.$job
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
mpiexec_ranks command < /dev/null
