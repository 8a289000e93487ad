head=127.0.0.1
[[ ! $(ss -Hltn "sport = :$port") ]] || fail "port $port is in use: run it again, or --set network.port=N"
