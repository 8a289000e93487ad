if [[ $failed ]]; then
  read -r status < "$folder/$failed"
  reason="${hosts[${failed##*.}]}: ended with exit status $status: see its own error above"
  exit "$status"
fi
