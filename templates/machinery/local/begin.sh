PATH=$PATH:/usr/sbin:/sbin  # some systems have ss there
unset "${!PET_@}"           # torchrun takes a variable PET_… for one of its options
