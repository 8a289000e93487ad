# mount_image: runs a command ($5…) with the image mounted. squashfuse must not end at the TERM for the ranks, but with them.
mount_image() {
  (trap "" TERM INT HUP; exec setpriv --pdeathsig KILL setsid squashfuse -f "$1" "$2") &
  until mountpoint -q "$2"; do kill -0 "$!" || exit 1; sleep 0.1; done
  exec unshare --user --map-user="$3" --map-group="$4" "${@:5}"
}

# container: runs a command where the image is mounted: by the site's squashfs-mount, or by squashfuse in namespaces that end
# with the command, so that nothing stays mounted.
container() {
  local image=${JOBGEN_STAGED%/*}/image
  if [[ ! -e $image ]]; then exec "$@"; fi  # its files were unpacked
  if type squashfs-mount > /dev/null 2>&1; then exec squashfs-mount "$image:$JOBGEN_STAGED" -- "$@"; fi
  exec unshare --user --map-root-user --mount bash -c "$(declare -f mount_image); mount_image \"\$@\"" bash \
    "$image" "$JOBGEN_STAGED" "$UID" "$(id -g)" "$@"
}

# unpack: the image as it is, if this node can mount it; else its files.
unpack() {
  dd "if=$1" "of=$2/image" "bs=64M" status=none || return 1
  if ! (JOBGEN_STAGED=$2/files container true) 2> /dev/null; then
    unsquashfs -quiet -no-progress -force -dest "$2/files" "$2/image" > /dev/null && rm "$2/image"
  fi
}
