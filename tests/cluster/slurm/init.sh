#!/bin/bash
# init.sh FOLDER NODE: PID 1 of a node.
set -euo pipefail
. "$(dirname "$0")/settings.sh"
hostname "$2"
umount /etc # the login machine's
own_etc "$2"
# A sysfs of its own shows the node's own interfaces, but hides the cgroups, which podman wants.
mount --rbind /sys/fs/cgroup "$RUN/own/$2.cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$RUN/own/$2.cgroup" /sys/fs/cgroup
umount -l "$RUN/own/$2.cgroup"
if [[ ${CGROUPS-} ]]; then # each node has a part of it: its slurmd sees no other node's
  mkdir -p "$CGROUPS/$2"
  mount --bind "$CGROUPS/$2" /sys/fs/cgroup/freezer
fi
mount -t tmpfs -o mode=1777 tmp /var/tmp # PBS's folders of jobs
if [[ $2 != blancapeak* ]]; then
  ulimit -c 0
  # slurmd 22.05 aborts now and then ("unaligned tcache chunk"); one that is killed stays dead.
  until slurmd -D -N "$2"; do [[ $? == 134 || $? == 139 ]] || break; done &
fi
while :; do wait -n || sleep 0.2; done
