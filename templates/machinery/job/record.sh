record() {  # [STATUS]: the job's record, which jobgen runs reads: mv puts all of it in place
  local sum text file=${logs%/*}/${id-$job}.json
  read -r sum _ < <(sha256sum "$0")
  text=$(printf '"%s": "%s", ' job "${id-$job}" script "$sum" nodes "${hosts[*]-$host}" \
    logs "${logs##*/}" ready "$(grep -m 1 "jobgen: .* is ready" "$logs/roll-call" | tr -d '\\"')")
  text+="\"begin\": $(($(date +%s) - SECONDS))$(grep -o ', "submitted": [0-9]*' "$file")${code-}"
  text+=${1:+, \"end\": $(date +%s), \"status\": $1, \"outside\": \"${outside-}\"}
  echo "{$text}" > "$file.new" && mv -f "$file.new" "$file"
  file=${file%/*}/scripts/$sum.sh
  [[ -e $file ]] || { install -D -m 600 "$0" "$file.$job" && mv -f "$file.$job" "$file"; }
}
