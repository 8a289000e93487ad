check_torch() {  # python3 finds torch, and its version; importing it would take seconds
  # An error names the file that has it: a file of the program may have the name of a module.
  torch=$(container python3 -c 'import importlib.metadata as m, importlib.util as u, sys
it = u.find_spec("torch") or sys.exit("no module torch")
it.submodule_search_locations or sys.exit(f"{it.origin} has its name")
print("torch", *[each.version for each in m.distributions(name="torch")][:1])' 2>&1 |
    sed '/^  File "\//{s/.*"\(.*\)".*/, in \1/;h};$!d;G;s/\n//') ||
    fail "python3 has no torch: $torch: see software() in the script"
}
