PATH=$PATH:/usr/sbin:/sbin:/opt/pbs/bin  # some systems have ip and ss there, and PBS its own commands
unset "${!PET_@}"                        # torchrun takes a variable PET_… for one of its options
mapfile -t hosts < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")  # it has a line for each process
host=${hosts[0]} node=0                  # this script itself runs on the first node, node 0
