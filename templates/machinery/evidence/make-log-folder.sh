{ mkdir -p "$logs" && rm -f "$logs"/{std*,hung}; } || fail "cannot write to $logs: choose another --log-dir, or --no-labels"
