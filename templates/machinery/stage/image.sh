mount_image() {  # runs a command with the image mounted; squashfuse ends with it, not at the TERM
  (trap "" TERM INT HUP; exec setpriv --pdeathsig KILL setsid squashfuse -f "$1" "$2") &
  until mountpoint -q "$2"; do kill -0 "$!" || exit 1; sleep 0.1; done
  exec unshare --user --map-user="$3" --map-group="$4" "${@:5}"
}

container() {  # runs a command where the image is mounted; nothing stays mounted after it
  local image=${JOBGEN_STAGED%/*}/image mount
  if [[ ! -e $image ]]; then exec "$@"; fi  # its files were unpacked
  if type squashfs-mount > /dev/null 2>&1; then  # the site's own
    exec squashfs-mount "$image:$JOBGEN_STAGED" -- "$@"
  fi
  mount="$(declare -f mount_image); mount_image \"\$@\""
  exec unshare --user --map-root-user --mount bash -c "$mount" bash \
    "$image" "$JOBGEN_STAGED" "$UID" "$(id -g)" "$@"
}

unpack() {  # the image as it is, if this node can mount it; else its files
  dd "if=$1" "of=$2/image" "bs=64M" status=none || return 1
  if ! (JOBGEN_STAGED=$2/files container true) 2> /dev/null; then
    unsquashfs -quiet -no-progress -force -dest "$2/files" "$2/image" > /dev/null && rm "$2/image"
  fi
}

pack_environment() {  # an image is packed already; its copies on nodes are used until it changes
  stage_values
  [[ -f $stage_from ]] || fail "there is no image $stage_from: see stage_values in the script"
  JOBGEN_STAGE=$(realpath -- "$stage_from")
  JOBGEN_STAGE_ID=$(stat -c '%n %i %s %.Y' "$JOBGEN_STAGE" | sha256sum | cut -c 1-16)
  export JOBGEN_STAGE JOBGEN_STAGE_ID
}
