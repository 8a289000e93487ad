# fetch_workspace: the program's repository at one commit, fetched once for all nodes and jobs. It appears as
# a whole; if another job was faster, its copy is the same.
fetch_workspace() {
  local copy=$workspace.$job
  rm -rf "$copy"
  mkdir -p "$copy"
  if git clone --quiet --no-checkout -- "$workspace_url" "$copy" &&
    git -C "$copy" checkout --quiet --detach "${workspace##*/}"; then
    mv --no-target-directory "$copy" "$workspace" 2> /dev/null || true
  fi
  rm -rf "$copy"
  [[ -d $workspace ]] || fail "the workspace cannot be fetched, as git says above: if this node has no way out," \
    "clone it where there is one, as $workspace"
}

[[ -d $workspace ]] || fetch_workspace
