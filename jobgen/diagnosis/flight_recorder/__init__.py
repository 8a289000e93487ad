"""Reads the dumps of torch's flight recorder, which show who a collective operation waits for.

pickled.py reads a pickle without executing it, dump.py one rank's file, groups.py what each process
group waits in, blame.py whom all wait for. Not here: what a log says about a collective (classes/).
"""

from jobgen.diagnosis.flight_recorder.blame import read_dumps
from jobgen.diagnosis.flight_recorder.dump import is_dump

__all__ = ["is_dump", "read_dumps"]
