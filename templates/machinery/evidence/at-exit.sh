trap 'host=${host-node0} end_job "$?" last_words; rm -rf "$PWD/.jobgen.${logs##*/}"' EXIT
