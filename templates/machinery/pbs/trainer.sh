printf '%s\n' "$trainer" > "$program"
