check_torch() {  # python3 finds torch, and the versions; importing it would take seconds
  torch=$(container python3 -c 'import importlib.metadata as m, importlib.util, pathlib, re, sys
found = importlib.util.find_spec("torch") or sys.exit("no module torch")
file = pathlib.Path(f"{found.origin}").with_name("version.py")
cuda = re.findall(r"(?m)^cuda\b.*?([\d.]+)", file.read_text()) if file.exists() else []
torch, *nccl = [
    [each.version for each in m.distributions(name=name)][:1]
    for name in ("torch", "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13")]
found = [f"CUDA {each}" for each in cuda] + [f"NCCL {each}" for each in sum(nccl, [])]
print(", ".join([" ".join(["torch", *torch]), *found]))' 2>&1 | tail -n 1) ||
    fail "python3 has no torch: $torch: see software() in the script"
}
