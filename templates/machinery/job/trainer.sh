# The trainer is a file beside the job while it runs.
trap 'rm -rf "${program%/*}"' EXIT
mkdir -p "${program%/*}"
printf '%s\n' "$trainer" > "$program"
