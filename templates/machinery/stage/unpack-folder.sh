# unpack: the archive, read in few and large pieces. Scripts such as bin/accelerate name the original's Python: not the copy's.
unpack() {
  dd "if=$1" "bs=64M" status=none | tar -C "$2/files" -xf - || return 1
  { grep -rlIZ -e "^#!.*/bin/python" -e "^'''exec' " "$2/files/bin" 2> /dev/null || true; } | xargs -0r sed -i \
    -e '1s|^#!.*/bin/python.*|#!/usr/bin/env python3|' -e "2s|^'''exec' .*|'''exec' python3 \"\$0\" \"\$@\"|"
}
