unset "${!PET_@}"  # torchrun takes a variable PET_… for one of its options
