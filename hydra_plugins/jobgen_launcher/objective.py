"""The objective of a job: what the function of `@hydra.main` returns, in a file for the sweeper."""

import os
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

FILE = "objective.txt"  # in the output folder of the job: a number, or several in lines


class WriteObjective(Callback):
    """Writes the file on rank 0; a program may also write it itself, and return nothing."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        if os.environ.get("RANK", "0") != "0" or job_return.status != JobStatus.COMPLETED:
            return
        value = job_return.return_value
        if value is not None:
            values = value if isinstance(value, (list, tuple)) else [value]
            text = "".join(f"{float(each)!r}\n" for each in values)
            Path(config.hydra.runtime.output_dir, FILE).write_text(text, encoding="utf-8")


def read_objective(folder: Path) -> float | list[float] | None:
    """The objective that a job wrote; None if it wrote none. Raises ValueError."""
    try:
        numbers = [float(word) for word in (folder / FILE).read_text(encoding="utf-8").split()]
    except FileNotFoundError:
        return None
    return numbers[0] if len(numbers) == 1 else numbers
