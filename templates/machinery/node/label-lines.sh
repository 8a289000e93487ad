# label_lines: node and rank before each line. torchrun marks a rank's text by \036, and mixes halves of lines, which are joined.
label_lines() {
  trap "" TERM USR1 USR2  # it reads until the ranks have ended
  awk -W interactive -v name="$host${rank+ rank $rank}: " '{
    label = name; pieces = split($0, piece, "\036")
    for (i = 1; i <= pieces; i++) {
      if (i > 1 && (end = index(piece[i], ": "))) { label = substr(piece[i], 1, end + 1); piece[i] = substr(piece[i], end + 2) }
      half[label] = half[label] piece[i]
    }
    text = half[label]; delete half[label]; sub(/\r+$/, "", text); gsub(/\r/, "\n" label, text)
    printf "%s", (text ~ /^jobgen: / ? "" : label) text "\n"; fflush()  # one write a line, else those of nodes would mix
  } END { for (label in half) if (half[label] != "") print label half[label] }' 2> /dev/null |
    tee -a "$logs/$1.$host${rank+.$rank}" || true
}
