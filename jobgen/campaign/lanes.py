"""--at-once: what each job waits for, so that the scheduler itself starts no more at once.

The jobs stand in as many lanes as may run at once; each waits for those before it in its lane.
"""

from collections.abc import Sequence

# So many jobs of its lane a job waits for: if one that waits is cancelled, the next one still does
# not begin beside those before.
BACK = 5


def predecessors(queued: Sequence[str], new: Sequence[str], at_once: int) -> list[str]:
    """The ids that the next job waits for, if `queued` jobs are there and `new` ones were added.

    Nothing is known of what the queued ones wait for, so that all of them may run together.
    """
    number = len(new)
    in_lane = list(new[number % at_once :: at_once][-BACK:])
    return in_lane if len(in_lane) == BACK else _of_queued(queued, number, at_once) + in_lane


def _of_queued(queued: Sequence[str], number: int, at_once: int) -> list[str]:
    """Those of the queued jobs that must have ended before a new job may take its lane."""
    lane, too_many = number % at_once, len(queued) - at_once
    last = too_many + lane  # in this lane, the last of the queued ones
    first = range(too_many + 1 if too_many > 0 else 0)
    return [queued[place] for place in sorted({*first, last}) if place >= 0]


def dependency_words(scheduler: str, own: str, jobs: Sequence[str]) -> list[str]:
    """The options of sbatch or qsub, with the script's `own` dependency, which they replace."""
    if not jobs:
        return []
    value = ",".join(filter(None, [own, f"afterany:{':'.join(jobs)}"]))
    return [f"--dependency={value}"] if scheduler == "slurm" else ["-W", f"depend={value}"]
