# What `jobgen detect --probe` reads on one compute node: lines NAME=VALUE. It changes nothing there.
# shellcheck shell=sh
# shellcheck disable=SC2154 # `folder` and `environments`: jobgen writes them above
exec > "$folder/part" 2> /dev/null < /dev/null
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/rocm/bin
name_lines() { while read -r line; do echo "$1=$line"; done; }
echo "host=$(hostname)"
echo "arch=$(uname -m)"
hostname -i | tr ' ' '\n' | name_lines hostaddress
ip -o addr show up | name_lines address
for path in /sys/class/infiniband/*; do
  [ -e "$path" ] || continue
  driver=$(readlink "$path/device/driver")
  echo "adapter=${path##*/} ${driver##*/} $(cat "$path/ports/1/link_layer")"
done
for path in /sys/class/cxi/*; do [ ! -e "$path" ] || echo "adapter=${path##*/}"; done
for path in /dev/nvidia[0-9]*; do [ ! -e "$path" ] || echo "device=nvidia"; done
[ ! -e /dev/kfd ] || echo "device=amd"
for path in /sys/class/drm/renderD*/device/vendor; do name_lines pci < "$path"; done
if command -v nvidia-smi > /dev/null; then
  nvidia-smi -L | name_lines gpu
  nvidia-smi | sed -n 's/.*\(CUDA Version: [0-9.]*\).*/driver=\1/p'
fi
if command -v rocm-smi > /dev/null; then
  rocm-smi --showproductname | sed -n 's/.*Card [Ss]eries:[[:space:]]*/gpu=/p'
fi
if [ -r /opt/rocm/.info/version ]; then echo "driver=ROCm $(cat /opt/rocm/.info/version)"; fi
if command -v xpu-smi > /dev/null; then
  xpu-smi discovery | sed -n 's/.*Device Name: *\([^|]*[^| ]\).*/gpu=\1/p'
fi
for engine in podman docker apptainer singularity shifter enroot; do
  ! command -v "$engine" > /dev/null || echo "engine=$engine"
done
printf '%s\n' "$environments" | while read -r place; do  # which of them this node sees, too
  kind=venv  # for one without conda
  [ ! -x "${place%/envs/*}/condabin/conda" ] || kind=conda
  for file in "$place"/lib/python3*/site-packages/torch/version.py; do
    version=$(sed -n "s/^__version__ = '\([^' ]*\)'.*/\1/p" "$file")
    [ ! "$version" ] || echo "environment=$kind $version $place"
  done
done
# Under its last name only when it is whole.
mv "$folder/part" "$folder/answer"
