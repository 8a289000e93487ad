unpack() {  # the archive, in few and large pieces; programs such as bin/accelerate name a Python
  dd "if=$1" "bs=64M" status=none | tar -C "$2/files" -xf - || return 1
  { grep -rlIZ -e "^#!.*/bin/python" -e "^'''exec' " "$2/files/bin" 2> /dev/null || true; } |
    xargs -0r sed -i -e '1s|^#!.*/bin/python.*|#!/usr/bin/env python3|' \
      -e "2s|^'''exec' .*|'''exec' python3 \"\$0\" \"\$@\"|"  # the copy's, not the original's
}

identity() {  # changes when pip or conda change the environment: the times of where they write
  local folders=("$stage_from" "$stage_from"/{bin,lib/python*/site-packages,conda-meta/history})
  { stat -Lc '%n %i %.Y' "${folders[@]}" 2> /dev/null || true; } | sha256sum | cut -c 1-16
}

note_python() {  # a venv has no Python of its own: one on a shared file system stays there
  local python
  python=$(realpath -e -- "$stage_from/bin/python3" 2> /dev/null) || return 0
  if [[ $python != "$stage_from"/* ]] && is_shared "$python"; then
    echo "jobgen: $python is not copied, and all ranks read it: an environment with its own" \
      "Python is faster" >&2
  fi
}

pack_environment() {  # one archive, made once for all jobs until it changes; it appears as a whole
  local place
  stage_values
  [[ -d $stage_from ]] || fail "there is no folder $stage_from: see stage_values in the script"
  stage_from=$(realpath -- "$stage_from")
  note_python
  place=$stage_from JOBGEN_STAGE_ID=$(identity)
  [[ -O $stage_from && -w ${stage_from%/*} ]] || place=$PWD/${stage_from##*/}
  export JOBGEN_STAGE_ID JOBGEN_STAGE=$place.jobgen-$JOBGEN_STAGE_ID.tar
  [[ ! -O $JOBGEN_STAGE ]] || return 0
  [[ ! -e $JOBGEN_STAGE ]] || fail "$JOBGEN_STAGE is of somebody else, and is not used: remove it"
  # Archives of the environment before it changed.
  find "$place".jobgen-*.tar* -maxdepth 0 -type f -mmin +1440 -delete 2> /dev/null || true
  echo "jobgen: packing $stage_from, once until it changes"
  write_archive
}

write_archive() {  # if the environment does not change meanwhile
  local part
  part=$(mktemp "$JOBGEN_STAGE.XXXXXX")
  if tar --mode=u+rwX -C "$stage_from" -cf - . | dd "of=$part" "obs=64M" status=none &&
    [[ $(identity) == "$JOBGEN_STAGE_ID" ]]; then
    mv -T "$part" "$JOBGEN_STAGE"
  else
    rm -f "$part"
    fail "$stage_from could not be packed as $JOBGEN_STAGE, see above, or has changed meanwhile:" \
      "submit again"
  fi
}
