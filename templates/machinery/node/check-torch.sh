check_torch() {  # python3 finds torch, and its version; importing it would take seconds
  torch=$(container python3 -c 'import importlib.metadata as m, importlib.util as u, sys
u.find_spec("torch") or sys.exit("no module torch")
print("torch", *[each.version for each in m.distributions(name="torch")][:1])' 2>&1 | tail -n 1) ||
    fail "python3 has no torch: $torch: see software() in the script"
}
