# The copy's name changes when a node restarts, after which files may be damaged, and every three
# days, since many sites remove old files from /tmp one by one.
stage_place() {  # the folder of this user's copies on a node, and this environment's
  local boot now
  stage_values
  read -r boot < /proc/sys/kernel/random/boot_id; printf -v now '%(%s)T' -1
  folder=$stage_to/jobgen-$UID
  copy=$folder/$JOBGEN_STAGE_ID-${boot%%-*}-$((now / 259200))
}

is_shared() {  # whether nodes share the file system of a path
  [[ $(stat -f -c %T "$1") =~ ^(nfs|lustre|gpfs|ceph|panfs|cifs|smb|afs|fuse|UNKNOWN) ]]
}

check_place() {  # nobody else may put an environment there, and it must be this node's own disk
  # others can rename what is there
  local unsafe=("(" -perm /022 ! -perm -1000 -o ! -uid 0 ! -uid "$UID" ")")
  mkdir -m 700 "$folder" 2> /dev/null || true
  [[ $(stat -c '%u %f' "$folder") == "$UID 4"[15]c0 &&
    ! $(find -H "$stage_to" -maxdepth 0 "${unsafe[@]}") ]] ||
    fail "$folder is not safe from other users, or cannot be made: --set software.stage_to=FOLDER"
  ! is_shared "$folder" ||
    fail "$stage_to is not on this node's own disk: --set software.stage_to=FOLDER"
}

copy_environment() {  # makes the copy under another name first: nothing leaves half a copy
  local file=$JOBGEN_STAGE need free part=$folder/part
  remove_unused
  need=$(stat -c %s "$JOBGEN_STAGE")
  if [[ -O ${JOBGEN_STAGE_SENT-} ]] && (($(free_bytes) >= need)); then file=$JOBGEN_STAGE_SENT; fi
  [[ $file != "$JOBGEN_STAGE" ]] || rm -f "${JOBGEN_STAGE_SENT-}"
  free=$(free_bytes)
  if ((free < need)) || ! mkdir -p "$part/files" || ! unpack "$file" "$part"; then
    rm -rf "$part" "${JOBGEN_STAGE_SENT:-$part}"
    fail "no copy of $JOBGEN_STAGE: it needs $((need / 1000000)) MB, and $stage_to has" \
      "$((free / 1000000)) MB free; see also above: --set software.stage_to=FOLDER"
  fi
  mv -T "$part" "$copy"
}

remove_unused() {  # what killed jobs left, and copies that no job uses: a job keeps its own locked
  local other
  rm -rf "$part" "${JOBGEN_STAGE_BROKEN-}"
  find "$stage_to/" -maxdepth 1 -name ".jobgen-*" -uid "$UID" -mmin +60 -delete 2> /dev/null || :
  for other in "$folder"/*-*; do
    if [[ -d $other ]] && flock -n "$other" mv -T "$other" "$part"; then rm -rf "$part"; fi
  done
}

free_bytes() { df -B1 --output=avail "$folder" | tail -n 1; }  # how much room the copies have

stage_environment() {  # this node's own copy, JOBGEN_STAGED: one for all ranks and jobs that use it
  local folder copy lock in_use
  stage_place
  check_place
  exec {lock}> "$folder/lock"
  flock "$lock"
  [[ -d $copy ]] || copy_environment
  rm -f "${JOBGEN_STAGE_SENT-}"
  exec {in_use}< "$copy"  # stays open, and so locked, as long as torchrun or a rank runs
  flock --shared "$in_use"
  exec {lock}>&-
  export JOBGEN_STAGED=$copy/files
}
