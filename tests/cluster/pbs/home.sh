#!/bin/bash
# home.sh PREFIX HOME SERVER(1|0): what OpenPBS finds on a machine of the cluster before it starts.
set -euo pipefail
mount -t tmpfs -o mode=755 pbs /mnt
# The tests' Python may be below /root, which the jobs' user has to enter: on this machine alone.
mkdir -p /mnt/root/upper /mnt/root/work
mount -t overlay -o lowerdir=/root,upperdir=/mnt/root/upper,workdir=/mnt/root/work root /root
chmod 755 /root
cat > /etc/pbs.conf << EOF
PBS_EXEC=$1
PBS_HOME=/mnt
PBS_SERVER=login
PBS_START_SERVER=$3
PBS_START_SCHED=$3
PBS_START_COMM=$3
PBS_START_MOM=$((1 - $3))
PBS_SCP=/usr/bin/scp
EOF
# The jobs are a user's: root's are ended in other ways.
echo "labuser:x:20001:20001::$2:/bin/bash" >> /etc/passwd
echo "labuser:x:20001:" >> /etc/group
echo "labuser:*:19000:0:99999:7:::" >> /etc/shadow
# A site has these on everybody's PATH.
echo "PATH=\$PATH:$1/bin" > /etc/profile.d/pbs-of-the-test.sh
[[ $3 == 0 ]] || exit 0
cd /mnt
mkdir -p aux checkpoint mom_logs mom_priv/jobs mom_priv/hooks/tmp spool undelivered
chmod 700 checkpoint
chmod 751 mom_priv mom_priv/jobs
chmod 750 mom_priv/hooks mom_priv/hooks/tmp
chmod 1777 spool undelivered
echo 'PATH=/bin:/usr/bin' > pbs_environment
# shellcheck disable=SC2016
printf '%s\n' '$clienthost login' '$usecp *:/ /' '$restrict_user False' > mom_priv/config
