# Ranks of so many nodes write on their node's own disk; after a failure, the files come here.
if [[ ${1-} == check_node ]]; then
  if ! { rm -rf "$rank_files" && mkdir -m 700 "$rank_files"; }; then
    (fail "$rank_files cannot be made, see above; or jobgen with --log-dir FOLDER") || exit 0
  fi
elif [[ ${1-} == evidence ]]; then
  rm "$logs/$host"
  mv -T "$rank_files" "$logs/$host" || mkdir -p "$logs/$host"
fi
