"""Each rank starts as many threads as the chunk has cores."""

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
