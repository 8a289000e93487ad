fetch_workspace() {  # the program's repository at one commit, once for all nodes and jobs
  local copy=$workspace.$job
  rm -rf "$copy"
  mkdir -p "$copy"
  if git clone --quiet --no-checkout -- "$workspace_url" "$copy" &&
    git -C "$copy" checkout --quiet --detach "${workspace##*/}"; then
    mv --no-target-directory "$copy" "$workspace" 2> /dev/null || true  # another job was faster
  fi
  rm -rf "$copy"
  [[ -d $workspace ]] || fail "the workspace cannot be fetched, as git says above: if this node" \
    "has no way out, clone it where there is one, as $workspace"
}

[[ -d $workspace ]] || fetch_workspace
