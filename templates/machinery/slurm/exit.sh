((status == 0)) || exit "$status"
