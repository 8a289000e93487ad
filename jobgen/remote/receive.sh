# receive.sh begin|end NAME [TEMPORARY]: keeps a copy of code in the folder `code` of a store, which
# is the working folder. It appears under its name as a whole. `begin` prints the folder, and the
# copies that rsync may link files of, unless the copy is there and whole; `end` reads the note about
# it. `list_code` is that of scripts (templates/machinery/job/code.sh).
umask 077
name=$2 temporary=${3-}
export LC_ALL=C

refuse_others() {  # as code_store/store.py does: who could change a folder here
  local folder=$PWD others
  others=$(find "$PWD" "$PWD/.." -maxdepth 0 \( -perm -o=w -o ! -uid "$(id -u)" ! -uid 0 \))
  while [[ $folder != / ]]; do
    folder=$(dirname "$folder")
    others+=$(find "$folder" -maxdepth 0 -perm -o=w ! -perm -1000)
  done
  [[ ! $others ]] || { echo "another user can write in ${others%%$'\n'*}" >&2 && exit 1; }
}

is_whole() {  # nothing in the copy was changed, added or removed
  # shellcheck disable=SC2034 # list_code reads it
  local workspace=$PWD/$name
  [[ -d $name && $(list_code 2> /dev/null | sha256sum) == "$name"* ]]
}

begin() {  # the copy is there, or rsync has to send it
  refuse_others
  if is_whole; then
    touch -c "$name.json"
    echo there
    exit
  fi
  pwd -P
  find . -maxdepth 1 -type d \( -name ".$name.*" -o ! -name ".*" \) -printf '%T@ %f\n' |
    sort -rn | head -n 5 | cut -d " " -f 2
}

end() {  # the copy was sent; it takes the place of a damaged one
  [[ -e $name.json ]] || { cat > ".$name.json.$$" && mv ".$name.json.$$" "$name.json"; }
  # Another run was faster, and jobs may run its copy; or the answer of an earlier call was lost.
  if [[ -d $temporary ]] && ! is_whole; then
    [[ ! -d $name ]] || { chmod u+w "$name" && mv -T "$name" "$temporary.old"; }
    chmod u+w "$temporary" && mv -T "$temporary" "$name" && chmod a-w "$name" || exit
  fi
  # Only folders are made writable: the files may be those of other copies, too (--link-dest).
  local -a left
  mapfile -t left < <(find . -maxdepth 1 -name ".$name.*" \( -name "$temporary*" -o -mmin +1440 \))
  ((${#left[@]} == 0)) || { find "${left[@]}" -type d -exec chmod u+w {} + && rm -rf "${left[@]}"; }
}

"$1"
