# identity: changes when pip or conda change the environment: the times of the places where they write.
identity() {
  { stat -Lc '%n %i %.Y' "$stage_from" "$stage_from"/{bin,lib/python*/site-packages,conda-meta/history} 2> /dev/null || true; } |
    sha256sum | cut -c 1-16
}

# note_python: a venv has no Python of its own. If the one that it was made with is on a shared file system, it stays there.
note_python() {
  local python
  python=$(realpath -e -- "$stage_from/bin/python3" 2> /dev/null) || return 0
  if [[ $python != "$stage_from"/* ]] && is_shared "$python"; then
    echo "jobgen: $python is not copied, and all ranks read it: an environment with its own Python is faster" >&2
  fi
}

# pack_environment: one archive of the environment, made once for all jobs until it changes. It appears as a whole.
pack_environment() {
  local part place
  stage_values
  [[ -d $stage_from ]] || fail "there is no folder $stage_from: see stage_values in the script"
  stage_from=$(realpath -- "$stage_from")
  note_python; place=$stage_from JOBGEN_STAGE_ID=$(identity)
  [[ -O $stage_from && -w ${stage_from%/*} ]] || place=$PWD/${stage_from##*/}
  export JOBGEN_STAGE_ID JOBGEN_STAGE=$place.jobgen-$JOBGEN_STAGE_ID.tar
  [[ ! -O $JOBGEN_STAGE ]] || return 0
  [[ ! -e $JOBGEN_STAGE ]] || fail "$JOBGEN_STAGE is of somebody else, and is not used: remove it"
  find "$place".jobgen-*.tar* -maxdepth 0 -type f -mmin +1440 -delete 2> /dev/null || true  # of before it changed
  echo "jobgen: packing $stage_from, once until it changes"
  part=$(mktemp "$JOBGEN_STAGE.XXXXXX")
  if tar --mode=u+rwX -C "$stage_from" -cf - . | dd "of=$part" "obs=64M" status=none && [[ $(identity) == "$JOBGEN_STAGE_ID" ]]
  then mv -T "$part" "$JOBGEN_STAGE"; return 0; fi
  rm -f "$part"
  fail "$stage_from could not be packed as $JOBGEN_STAGE, see above, or has changed meanwhile: submit again"
}
