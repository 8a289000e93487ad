keep() {  # runs a function of this script below the keeper, which ends all that it leaves behind
  exec env -u LD_LIBRARY_PATH -u LD_PRELOAD \
    "$python" -I -S "$logs/keeper.py" keep "$stop_grace" "$logs" "$host" \
    env LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" LD_PRELOAD="${LD_PRELOAD-}" "$logs/job.sh" "$@"
}
