# label_lines: node and rank before each line. srun --label numbers the tasks, and cuts lines at 1024 bytes; torchrun marks
# a rank's text by \036, and mixes halves of lines. Both are joined. A line that begins with \036\036 names a task; see observe.
label_lines() {
  trap "" TERM USR1 USR2  # it reads until srun has ended
  LC_ALL=C awk -W interactive '{
    number = match($0, /^ *[0-9]+: /) ? RLENGTH : 0; task = substr($0, 1, number)
    line[task] = line[task] substr($0, number + 1); if (length($0) - number == 1024) next
    if (line[task] ~ /^\036\036/) { name[task] = substr(line[task], 3); delete line[task]; next }
    label = name[task]; pieces = split(line[task], piece, "\036"); delete line[task]
    for (i = 1; i <= pieces; i++) {
      if (i > 1 && (end = index(piece[i], ": "))) { label = substr(piece[i], 1, end + 1); piece[i] = substr(piece[i], end + 2) }
      half[label] = half[label] piece[i]
    }
    text = half[label]; delete half[label]; sub(/\r+$/, "", text); gsub(/\r/, "\n" label, text)
    printf "%s", (text ~ /^jobgen: / ? "" : label) text "\n"; fflush()  # one write a line, else the two streams would mix
  } END { for (label in half) if (half[label] != "") print label half[label] }' 2> /dev/null | tee -a "$logs/$1" || true
}

# run_labelled: an srun whose lines are labelled. Slurm sends TERM also to the shells here, which wait for their last lines.
run_labelled() { { trap : TERM; "$1" --label "${@:2}" 2>&1 >&3 3>&- | label_lines stderr >&2 3>&-; } 3>&1 | label_lines stdout; }
