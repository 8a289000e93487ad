# The command by which mpiexec starts its daemon on a node: pbs_tmrsh has no PATH, and no shell.
[[ $logs != *[[:space:]]* ]] || fail "mpiexec takes no folder with a blank in its name: $logs"
cat > "$logs/agent" << 'AGENT'
#!/bin/bash
exec pbs_tmrsh "$1" env PATH="$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" bash -c "${*:2}"
AGENT
chmod +x "$logs/agent"
