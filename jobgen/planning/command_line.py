"""A job as a command line, and the values of the profile that its options override."""

import re
from collections.abc import Iterator

from jobgen.errors import problem
from jobgen.planning.job_options import OPTIONS, Job, job_options


def command_words(job: Job) -> list[str]:
    """The words of the command that makes this job's script, in one fixed spelling and order."""
    words = ["jobgen", job.command]
    for name, row in job_options(job.command):
        value = getattr(job, name)
        if value is None or value == ():
            continue
        if not row.metavar:
            words += [row.flags[0]] if value else []
            continue
        for text in value if row.repeatable else [value]:
            # A value that begins with - would be taken for an option.
            joined = text.startswith("-")
            words += [f"{row.flags[-1]}={text}"] if joined else [row.flags[0], text]
    return [*words, "--", *job.program] if job.program else words


def overrides(job: Job, host_count: int = 0) -> Iterator[tuple[str, str, str]]:
    """What the options change in the profile: (option, path, value), the strongest last.

    `host_count` is the number of hosts in --hosts, or 0 without it. Raises JobgenError for options
    that exclude each other.
    """
    for text in job.set_values:
        path, equals, value = text.partition("=")
        if not equals or not path:
            hint = "such as network.interface=hsn0"
            raise problem("--set", f"{text!r:.80} is not PATH=VALUE", "usage", hint)
        yield f"--set {path:.80}", path, value
    _check_conflicts(job)
    for name, row in job_options(job.command):
        value = getattr(job, name)
        if row.path == "request.nodes" and value is not None and ":" in value:
            least, _, value = value.partition(":")
            if not (least and value):
                raise problem(row.flags[0], "a number is missing at the :", "value", "as in 2:4")
            yield row.flags[0], "request.min_nodes", least
        elif row.path == "request.nodes" and value is not None and "+" in value:
            value, _, spares = value.partition("+")
            if not (value and spares):
                raise problem(row.flags[0], "a number is missing at the +", "value", "as in 16+2")
            yield row.flags[0], "request.spares", spares
        if row.path and value is not None:
            yield row.flags[0], row.path, value
    if host_count:
        yield "--hosts", "request.nodes", str(host_count)


def with_paths(hint: str) -> str:
    """A hint with --set in the place of each option of its own that sets one value of a profile."""
    rows = {flag: row for row in OPTIONS.values() if row.path for flag in row.flags}

    def set_of(found: re.Match[str]) -> str:
        row = rows.get(found[1])
        if row is None or bool(row.metavar) != bool(found[2]):
            return found[0]
        return f"--set {row.path}={found[2] or row.flag_value}"

    hint = re.sub(r"(?<=^use )(--?[A-Za-z][\w-]*) ([^\s,;]+)(?=$|[,;])", set_of, hint)
    return re.sub(r"(?<!\S)(--?[A-Za-z][\w-]*)(?: ([A-Z]+|\d+)(?![\w:+|]))?", set_of, hint)


def _check_conflicts(job: Job) -> None:
    if job.queue and job.reservation:
        hint = "a reservation of PBS is a queue: give one of the two"
        raise problem("--reservation", "-q names another queue", "conflict", hint)
    if job.exclusive and job.shared:
        raise problem("--shared", "--exclusive is given, too", "conflict", "give one of the two")
    if job.gpus_per_node and re.search("[,:]", job.gpus_per_node):
        text = f"{job.gpus_per_node!r:.40} is not a number of GPUs"
        hint = "one number, or one job for each kind of node"
        if found := re.fullmatch(r"(?:gpu:)?(?:([A-Za-z][\w.-]*):)?(\d+)", job.gpus_per_node):
            kind = found[1] if job.command != "qsub" else ""
            hint = f"-G {found[2]}" + (f" --set node.gpu_type={kind}" if kind else "")
        raise problem("-G", text, "value", hint)
