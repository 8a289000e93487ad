#!/bin/bash
# boot.sh FOLDER: PID 1 of the cluster, and its login machine. It runs in namespaces of its own (pid,
# mount, net, uts, ipc), so that killing it takes all processes, mounts and links along.
set -euo pipefail
. "$(dirname "$0")/settings.sh"
mount --make-rprivate /
hostname login
# podman keeps state and locks in these, whatever storage.conf says: not in the machine's.
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs -o mode=1777 shm /dev/shm
mkdir -m 1777 /run/lock
mkdir -p "$RUN"/{etc,munge,state,spool,log,pid,gpu,node,own,machine-etc,net}
chmod 755 "$RUN" "$RUN"/*
mount --bind /etc "$RUN/machine-etc"
mount -t tmpfs -o mode=755 net "$RUN/net" # names of the nodes' networks

{
  echo "127.0.0.1 localhost"
  echo "$LOGIN login"
  for node in "${NODES[@]}"; do
    name=${node%:*}
    [[ $name != blancapeak* ]] || name="$name.$PBS_DOMAIN $name" # PBS goes by whole names
    echo "10.71.0.${node#*:} $name"
    echo "10.72.0.${node#*:} ${node%:*}-hsn0"
  done
} > "$RUN/etc/hosts"
for file in slurm.conf gres.conf storage.conf; do
  sed "s#@RUN@#$RUN#g; s#@LOGIN@#$LOGIN#g" "$HERE/$file.in" > "$RUN/etc/$file"
done
[[ ! $CGROUPS ]] || sed -i "s#proctrack/linuxproc#proctrack/cgroup#" "$RUN/etc/slurm.conf"
[[ ! ${BINDS-} ]] || sed -i "s#task/none#task/affinity#" "$RUN/etc/slurm.conf"
[[ ! -e $RUN/etc/topology.conf ]] || echo "TopologyPlugin=topology/tree" >> "$RUN/etc/slurm.conf"
cp "$HERE/cgroup.conf" "$HERE/containers.conf" "$RUN/etc/"
own_etc login
# Devices, since slurmd takes no plain files for GPUs; 1:3 is /dev/null.
for number in {0..7}; do [ -e "$RUN/gpu/gpu$number" ] || mknod "$RUN/gpu/gpu$number" c 1 3; done

ip link set lo up
for net in mgmt fabric; do ip link add "$net" type bridge; ip link set "$net" up; done
ip addr add "$LOGIN/24" dev mgmt # the login machine has no address on the fabric
for node in "${NODES[@]}"; do
  number=${node#*:} name=${node%:*}
  touch "$RUN/net/$name"
  unshare --net="$RUN/net/$name" true
  ip link add "m$number" type veth peer name eth0 netns "$RUN/net/$name"
  ip link add "f$number" type veth peer name hsn0 netns "$RUN/net/$name"
  ip link set "m$number" master mgmt up
  ip link set "f$number" master fabric up
  nsenter --net="$RUN/net/$name" ip -batch - << EOF
link set lo up
addr add 10.71.0.$number/24 dev eth0
link set eth0 up
addr add 10.72.0.$number/24 dev hsn0
link set hsn0 up
EOF
done

# One munged for all: its socket is a file, and does not care about network namespaces.
(umask 077 && head -c 128 /dev/urandom > "$RUN/munge/key")
munged --foreground --force --key-file="$RUN/munge/key" --socket="$RUN/munge/sock" \
  --pid-file="$RUN/munge/pid" --log-file="$RUN/munge/log" --seed-file="$RUN/munge/seed" &
until [ -S "$RUN/munge/sock" ]; do sleep 0.05; done
slurmctld -D -c > "$RUN/log/slurmctld.out" 2>&1 &
for node in "${NODES[@]}"; do "$HERE/node.sh" "$RUN" start "${node%:*}"; done
touch "$RUN/pid/booted"
while :; do wait -n || sleep 0.2; done # PID 1 has to collect orphans
