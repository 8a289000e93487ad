list_code() {  # what the copy of the code has: files with their sums, links, programs
  cd "$workspace" || return
  find . -type f ! -path ./.jobgen-files -print0 | sort -z | xargs -0r sha256sum
  find . -type l -printf 'link %l %p\n' -o -type f -perm -u=x -printf 'program %p\n' | sort
}

check_code() {  # the name of the copy is the sum of its list, as it was at the submission
  local -x LC_ALL=C
  local cure="make the script again, and submit it from the same folder" sum changed
  [[ -x $workspace ]] || fail "there is no copy of the code, $workspace: $cure"
  sum=$(list_code 2> /dev/null | sha256sum) || true  # a file that cannot be read has no line
  touch -c "$workspace.json" 2> /dev/null || true  # it is in use: jobgen store remove
  [[ $sum != "${workspace##*/}"* ]] || return 0
  changed=$(diff "$workspace/.jobgen-files" <(list_code 2>&1) | sed -n 's,^[<>].* \./,,p' |
    sort -u | head -n 5 | paste -sd " ") || true
  fail "the copy of the code is not what was submitted, $workspace:" \
    "${changed:-its list is gone}: $cure"
}
