if [[ -e $folder/orders/warn ]]; then
  echo "jobgen: the walltime is near, and the ranks have ended: submit again to continue" >&2
fi
