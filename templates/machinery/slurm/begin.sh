PATH=$PATH:/usr/sbin:/sbin  # some systems have ip and ss there
unset "${!PET_@}"           # torchrun takes a variable PET_… for one of its options
host=$HOSTNAME node=0       # this script itself runs on the first node, node 0
