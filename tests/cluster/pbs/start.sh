#!/bin/bash
# start.sh FOLDER PREFIX HOME, on the login machine: a real OpenPBS, installed in PREFIX, whose server
# is there and whose moms are on the blancapeak nodes. Each keeps its state in a tmpfs on /mnt.
set -euo pipefail
. "$(dirname "$0")/../slurm/settings.sh"
PREFIX=$2
PBS=$HERE/../pbs
"$PBS/home.sh" "$PREFIX" "$3" 1
# qsub needs it setuid, which `make install` alone does not do.
cp "$PREFIX/sbin/pbs_iff" /mnt
chmod 4755 /mnt/pbs_iff
mount --bind /mnt/pbs_iff "$PREFIX/sbin/pbs_iff"
mkdir -p /run/postgresql && chown postgres /run/postgresql
"$PREFIX/libexec/pbs_postinstall" server \
  "$("$PREFIX/bin/qstat" --version | sed 's/.*= //')" "$PREFIX" /mnt "" sameconf || true
"$PREFIX/libexec/pbs_habitat"
sed -i 's/^resources: "\(.*\)"/resources: "\1, ngpus, sales_op"/' /mnt/sched_priv/sched_config
"$PREFIX/libexec/pbs_init.d" start
for _ in {1..100}; do ! "$PREFIX/bin/qmgr" -c "list server" > /dev/null 2>&1 || break; sleep 0.1; done
{
  echo "create resource sales_op type=string,flag=h"
  echo "create resource ngpus type=long,flag=nh"
  # 10 s, the default of kill_delay, is enough for a script on a machine that is not busy.
  echo "create queue blanca queue_type=execution,enabled=true,started=true,kill_delay=60"
  echo "set server flatuid=true"
  echo "set server job_history_enable=true"
  echo "set server scheduling=true"
} | "$PREFIX/bin/qmgr"
for node in "${NODES[@]}"; do
  name=${node%:*}
  [[ $name == blancapeak* ]] || continue
  "$HERE/node.sh" "$RUN" run "$name" "$PBS/home.sh" "$PREFIX" "$3" 0
  "$HERE/node.sh" "$RUN" run "$name" "$PREFIX/sbin/pbs_mom"
  {
    echo "create node $name"
    echo "set node $name resources_available.ncpus=288"
    echo "set node $name resources_available.ngpus=4"
    echo "set node $name resources_available.sales_op=blanca"
  } | "$PREFIX/bin/qmgr"
done
