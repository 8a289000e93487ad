# Ranks of so many nodes write on their node's own disk; after a failure, the files come here.
if [[ ${1-} == check_node ]]; then
  # What jobs left that were ended from outside.
  find "${rank_files%/*}" -maxdepth 1 -name "jobgen-ranks-*" -uid "$UID" -mtime +30 \
    -exec rm -rf {} + || true
  if ! { rm -rf "$rank_files" && mkdir -m 700 "$rank_files"; }; then
    (fail "$rank_files cannot be made, see above; or jobgen with --log-dir FOLDER") || exit 0
  fi
elif [[ ${1-} == evidence ]]; then
  [[ ! -L $logs/$host ]] || rm "$logs/$host"
  mkdir -p "$logs/$host"
  evidence  # first, since the job does not wait for files that take long
  cp -rT --preserve=timestamps "$rank_files" "$logs/$host" && rm -r "$rank_files"
  exit
fi
