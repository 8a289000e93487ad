remove_container() {  # pyxis keeps it; in its scope "job", the name has the job first
  local name
  interface=${interface-}
  software
  for name in $(enroot list 2> /dev/null | grep -Ex "pyxis_([0-9]+_)?jobgen-$job-$host"); do
    enroot remove --force "$name" > /dev/null 2>&1 ||
      echo "jobgen: $host: enroot does not remove the container $name" >&2
  done
}
