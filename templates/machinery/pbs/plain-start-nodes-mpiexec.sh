folder=$PWD/.jobgen.$job
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
start_by_mpiexec
