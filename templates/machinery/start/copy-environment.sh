# A node has no variable of this shell, so its copy of the script begins with them.
own='PBS_(NODENUM|TASKNUM|MOMPORT|JOBCOOKIE)|SLURM_(NODEID|PROCID|LOCALID)|HOSTNAME|SHLVL|TMPDIR|_'
own+='|HOST|.*_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|ZE_AFFINITY_MASK'  # each node has its own
[[ ! -e $logs ]] || mv "$logs" "$logs.$(date +%s)"  # the scheduler runs the job again
install -D -m 700 /dev/null "$logs/job.sh"
if [[ ${PBS_NODEFILE-} ]]; then cp "$PBS_NODEFILE" "$logs/hosts"; PBS_NODEFILE=$logs/hosts; fi
mapfile -t exported < <(compgen -e | grep -vxE "$own")
{ head -n 1 "$0"; declare -p "${exported[@]}"; printf 'cd %q\n' "$PWD"; cat "$0"; } > "$logs/job.sh"
