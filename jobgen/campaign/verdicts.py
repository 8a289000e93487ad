"""Why a job of a campaign failed: the verdict of `jobgen why` in one line."""

import os
import re
from collections.abc import Iterator
from glob import escape, glob
from itertools import chain

from jobgen.campaign.jobs import Job
from jobgen.campaign.states import Attempt
from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.files import is_job_folder, sources
from jobgen.diagnosis.job_files import find_job_files
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import as_line
from jobgen.errors import JobgenError

_PREFIX = "jobgen: "


def verdict_line(job: Job, attempt: Attempt) -> str:
    """The verdict on a job that failed; "" if there is none.

    The scheduler is asked only for a job that left no folder.
    """
    number = re.split(r"[.\[]", attempt.id)[0]
    try:
        folders = sorted(_folders(job, number), key=os.path.getmtime)
        if folders:
            verdict = diagnose_folder(folders[-1])
        else:
            verdict = diagnose(chain(sources(find_job_files(attempt.id).paths)))
    except (JobgenError, OSError):
        return ""
    return as_line(verdict).strip().removeprefix(_PREFIX) if verdict.code else ""


def _folders(job: Job, number: str) -> Iterator[str]:
    """The folders that the tries of a job, or the jobs of an array, have left."""
    for path in glob(f"{escape(str(job.logs))}/{number}*"):
        rest = os.path.basename(path).removeprefix(number)
        if re.fullmatch(r"(?:_\d+|\[\d+\])?(?:\.[\w.-]*)?", rest) and is_job_folder(path):
            yield path
