"""The backends of a process group of GPUs whose ranks also exchange what is on CPUs."""

from jobgen.trainers.shared.rank import BACKENDS, GPU

WITH_GLOO = f"cpu:gloo,{GPU}:{BACKENDS[GPU]}" if GPU else "gloo"  # gloo waits for no GPU
