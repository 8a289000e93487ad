mkdir -p "$logs/orders"
# PBS signals no job before its walltime. The keeper of each node then warns its ranks.
(sleep "$warn_after"; : > "$logs/orders/warn") &
