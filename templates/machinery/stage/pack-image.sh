# pack_environment: an image is packed already. Its copies on the nodes are used until it changes.
pack_environment() {
  stage_values
  [[ -f $stage_from ]] || fail "there is no image $stage_from: see stage_values in the script"
  JOBGEN_STAGE=$(realpath -- "$stage_from")
  JOBGEN_STAGE_ID=$(stat -c '%n %i %s %.Y' "$JOBGEN_STAGE" | sha256sum | cut -c 1-16)
  export JOBGEN_STAGE JOBGEN_STAGE_ID
}
