mkdir -p "${program%/*}"
printf '%s\n' "$trainer" > "$program"
