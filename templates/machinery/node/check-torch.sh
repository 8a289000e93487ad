# check_torch: Python runs, and finds torch; its version without the seconds that an import takes.
check_torch() {
  torch=$(container python3 -c 'import importlib.util as u, sys; from importlib.metadata import distributions
print("torch", *[each.version for each in distributions(name="torch")][:1]) if u.find_spec("torch") else sys.exit(1)') ||
    fail "python3 does not run, or finds no torch: see software() in the script"
  torch=${torch##*$'\n'}
}
