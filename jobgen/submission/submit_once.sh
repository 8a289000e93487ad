# submit_once.sh TOKEN BYTES COMMAND...: submits the script on stdin, at most once for a token. The
# answer is kept in a file, so that one who lost the connection can ask again.
folder=.jobgen/submissions/$1 bytes=$2
shift 2
mkdir -p .jobgen/submissions || exit
find .jobgen/submissions -mindepth 1 -maxdepth 1 -mmin +1440 -exec rm -rf {} +
cat > "$folder.$$" || exit
if [[ ! -d $folder && $(wc -c < "$folder.$$") -eq $bytes ]]; then # else the connection was cut
  mkdir "$folder" 2> /dev/null && {
    "$@" < "$folder.$$" > "$folder/output" 2> "$folder/errors"
    echo $? > "$folder/status.new"
    mv "$folder/status.new" "$folder/status"
  }
fi
rm -f "$folder.$$"
[[ -d $folder ]] || { echo "$PWD/.jobgen/submissions cannot be written" >&2 && exit 1; }
for ((tries = 0; tries < 600; tries++)); do
  [[ -d $folder && ! -e $folder/status ]] || break
  sleep 0.1
done
[[ -e $folder/status ]] || exit 254
cat "$folder/output"
cat "$folder/errors" >&2
exit "$(< "$folder/status")"
