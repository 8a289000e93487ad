[[ ! $program || -r $program ]] || fail "there is no program $program in $PWD: go to its folder, or give its full path"
