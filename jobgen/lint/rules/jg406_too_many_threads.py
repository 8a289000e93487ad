"""Each rank starts as many threads as the chunk has cores.

PBS sets OMP_NUM_THREADS to the chunk's ncpus. torchrun sets it to 1 only if it is not set. With
ncpus=288 and four ranks, 1,152 threads share 288 cores.

Evidence: pbs_resources(7B), ompthreads; seen on OpenPBS: OMP_NUM_THREADS=288 in the job.

Cure: `export OMP_NUM_THREADS=N`, cores divided by ranks; or `ompthreads=N` in the chunk.

Example:
  #PBS -l select=1:ncpus=64:ngpus=4
+ export OMP_NUM_THREADS=16
  torchrun --standalone --nproc-per-node=4 train.py
"""

from jobgen.lint.launchers import torchruns
from jobgen.lint.reader.directives import whole_number
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    if "OMP_NUM_THREADS" in script.text or not script.chunk_requests:
        return
    _, chunks = script.chunk_requests[-1]
    cores = max(whole_number(resources.get("ncpus", "")) or 1 for _, resources in chunks)
    if cores < 2 or any("ompthreads" in resources for _, resources in chunks):
        return
    for launcher in torchruns(script):
        ranks = launcher.number("nproc-per-node", "nproc") or 1
        if ranks > 1 and not launcher.starter:
            text = (
                f"each of {ranks} ranks starts {cores} threads: PBS sets OMP_NUM_THREADS to ncpus"
            )
            cure = f"export OMP_NUM_THREADS={max(cores // ranks, 1)}"
            yield finding_at(launcher.word, text, cure)
