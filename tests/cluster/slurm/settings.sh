# shellcheck shell=bash
# Sourced by the scripts here: $1 is the folder that holds everything of one cluster.
# shellcheck disable=SC2034
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RUN=$1
LOGIN=10.71.0.1
# The sources' names, each with the last number of its addresses: 10.71.0.N on eth0, which the
# hostname resolves to, and 10.72.0.N on hsn0. Their order as text is another one.
NODES=(smc-r07-07:9 smc-r07-08:10 smc-r07-09:100 slc-wn1:21 slc-wn2:22 dgx01:31 dgx02:32
  blancapeak003:3 blancapeak004:14 blancapeak005:105)
PBS_DOMAIN=hostmgmt2000.cm.us.cray.com # of the last three, which are PBS's
export SLURM_CONF=$RUN/etc/slurm.conf

# own_etc NAME: an overlay of /etc for this machine alone, so that what a test writes there is gone
# with it. $RUN/machine-etc is the /etc below them all (an overlay cannot be stacked at will).
own_etc() {
  local own=$RUN/own/$1
  mkdir -p "$own"
  mount -t tmpfs -o mode=755 "etc-$1" "$own"
  mkdir "$own/upper" "$own/work"
  mount -t overlay -o "lowerdir=$RUN/machine-etc,upperdir=$own/upper,workdir=$own/work" overlay /etc
  rm -f /etc/resolv.conf
  : > /etc/resolv.conf
  echo "$1" > /etc/hostname
  cp "$RUN/etc/hosts" /etc/hosts
  mkdir -p /etc/containers
  cp "$RUN/etc/containers.conf" "$RUN/etc/storage.conf" /etc/containers/
}
