"""Each rank starts as many threads as the chunk has cores.

PBS sets OMP_NUM_THREADS to the chunk's ncpus. torchrun, which else sets 1, leaves what it
finds: with ncpus=288 and four ranks, 1,152 threads share 288 cores.

Evidence: pbs_resources(7B), ompthreads; seen on OpenPBS: OMP_NUM_THREADS=288 in the job.

Cure: `export OMP_NUM_THREADS=N`, cores over ranks; or `ompthreads=N` in the chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import whole
from jobgen.lint.launch import torchruns
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -l select=1:ncpus=64:ngpus=4
torchrun --standalone --nproc-per-node=4 train.py
"""
GOOD = """\
#!/bin/bash
#PBS -l select=1:ncpus=64:ngpus=4
export OMP_NUM_THREADS=16
torchrun --standalone --nproc-per-node=4 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if "OMP_NUM_THREADS" in script.text or not script.selects:
        return
    _, chunks = script.selects[-1]
    cores = max(whole(pairs.get("ncpus", "")) or 1 for _, pairs in chunks)
    if cores < 2 or any("ompthreads" in pairs for _, pairs in chunks):
        return
    for run in torchruns(script):
        ranks = run.number("nproc-per-node", "nproc") or 1
        if ranks > 1 and not run.starter:
            text = (
                f"each of {ranks} ranks starts {cores} threads: PBS sets OMP_NUM_THREADS to ncpus"
            )
            yield at(run.at, text, f"export OMP_NUM_THREADS={max(cores // ranks, 1)}")
