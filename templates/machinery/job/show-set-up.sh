show_set_up() {  # of a node without an answer: what its set-up wrote, and the reason in it
  local file=$logs/set-up.$1 cause
  [[ -e $file ]] || { echo "jobgen: $1: no answer, see above"; return; }
  cat "$file" >&2
  cause=$(grep -iE "error|not ?found|no such" "$file" | tail -n 1 || tail -n 1 "$file")
  echo "jobgen: $1: its set-up stopped at: ${cause:-no message}: see software() in the script"
}
