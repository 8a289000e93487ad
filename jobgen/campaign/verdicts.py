"""Why a job of a campaign failed: the verdict of `jobgen why` in one line."""

from collections.abc import Iterator
from itertools import islice

from jobgen.campaign.states import Attempt, State
from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import is_job_folder, sources
from jobgen.diagnosis.job_files import find_job_files
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import as_line
from jobgen.errors import JobgenError
from jobgen.remote.files import fetch_logs, left_by
from jobgen.submission.login import Login

MOST_READ = 5  # jobs of an array that have failed
_PREFIX = "jobgen: "


def verdict_line(state: State, may_ask: bool) -> str:
    """The verdict on a job that failed, or on one of an array; "" if no cause is found.

    The scheduler is asked, if it `may_ask`, only about a job of this machine that has left no
    folder. The folder of a job on a host is fetched.
    """
    job, attempt = state.job, state.attempts[-1]
    try:
        if isinstance(job.machine, Login):
            left, may_ask = left_by(attempt.id), False
            fetch_logs(job.machine, job.logs_there, left, here=job.logs)
        found = next((each for each in _verdicts(attempt, may_ask) if each.code), None)
    except (JobgenError, OSError):
        return ""
    return as_line(found).strip().removeprefix(_PREFIX) if found else ""


def _verdicts(attempt: Attempt, may_ask: bool) -> Iterator[Verdict]:
    failed = (each for each in attempt.records if each.status != 0)
    folders = (str(each.job_folder) for each in failed if each.job_folder)
    found = list(islice(filter(is_job_folder, folders), MOST_READ))
    yield from map(diagnose_folder, found)
    if may_ask and not found:
        yield diagnose(sources(find_job_files(attempt.id).paths))
