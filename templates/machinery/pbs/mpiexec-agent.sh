# write_agent: writes the command by which mpiexec starts its daemon on a node. pbs_tmrsh starts no shell there,
# and has no PATH.
write_agent() {
  cat > "$folder/agent" << 'AGENT'
#!/bin/bash
exec pbs_tmrsh "$1" env PATH="$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" bash -c "${*:2}"
AGENT
  chmod +x "$folder/agent"
}
