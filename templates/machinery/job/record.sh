record() {  # [STATUS]: what jobgen runs reads of this job; mv puts the whole file in place
  local sum="" end="" copy file=${logs%/*}/${id-$job}.json
  if [[ -f $0 ]]; then  # a pipe can be read only once
    read -r sum _ < <(sha256sum "$0")
    copy=${logs%/*}/scripts/$sum.sh
    [[ -e $copy ]] || { install -D -m 600 "$0" "$copy.$job" && mv "$copy.$job" "$copy"; }
  fi
  [[ ! ${1-} ]] || end=", \"end\": $(date +%s), \"status\": $1, \"outside\": \"${outside-}\""
  cat > "$file.new" << JSON && mv "$file.new" "$file"
{"job": "${id-$job}", "script": "$sum", "nodes": "${hosts[*]-$host}", "logs": "${logs##*/}",
 "ready": "$(sed -n '/ is ready/ { s/[[:cntrl:]"\\]//g; p; q }' "$logs/roll-call" 2> /dev/null)",
 "begin": $(($(date +%s) - SECONDS))${code-}$end}
JSON
}
