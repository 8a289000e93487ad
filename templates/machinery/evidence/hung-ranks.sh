# hung_ranks: where the ranks were at SIGABRT, by the first line of each stack; the rarest place first.
hung_ranks() {
  [[ $(find "$logs" -name hung -mmin -10) ]] || return 0  # stacks of another failure, or ranks that have started again since
  awk '/ Current thread .*first\):$/ { top[$1 $3] }
    $4 == "File" && $1 $3 in top {
      delete top[$1 $3]; file = $5; gsub(/.*\/|",/, "", file); place = $5 ~ /\/torch\// ? $9 : file ":" $7 + 0 " " $9
      who[place] = who[place] (count[place]++ ? ", " : "") "rank " $3 + 0 " on " $1
    }
    END { for (place in who) print count[place], (count[place] > 3 ? count[place] " ranks" : who[place]) " in " place }' \
    "$logs"/stderr* | sort -n | sed 's/^[0-9]* //' | paste -sd ";" | sed '/^$/d; s/;/; /g; s/^/the ranks hung: /'
}
