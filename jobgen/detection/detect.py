"""`jobgen detect`: asks the scheduler, chooses the nodes, and writes a profile for them."""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count

from jobgen.detection import pbs, slurm, software
from jobgen.detection.cluster import Cluster, Findings, Partition, bundled_sites, chosen_partition
from jobgen.detection.commands import Answer, no_answer, run_together
from jobgen.detection.probe import ask_node
from jobgen.detection.profile_text import profile_text
from jobgen.errors import JobgenError, nearest_hint, problem, report
from jobgen.generator import find_profiles
from jobgen.paths import to_path
from jobgen.profiles.login_node import host_names, profiles_of
from jobgen.remote.place import login_of, reach
from jobgen.scripts.write import write
from jobgen.submission.machine import HERE, Machine, on_path


def detect(
    output: str | None,
    probe: bool = False,
    probe_limit: float = 300,
    directives: Sequence[str] = (),
    host: str | None = None,
    **chosen: str | None,
) -> int:
    """Write the profile; returns 1 if the probed node did not answer, else 0. Raises JobgenError.

    With `host`, the cluster of that login node is asked. `chosen` has the user's choices:
    `partition` or `queue`, and `account`.
    """
    for text in directives:
        try:
            shlex.split(text)
        except ValueError as error:
            wrong = f"`{text}` cannot be read: {error}"
            hint = "options as for sbatch or qsub, such as '-l filesystems=home'"
            raise problem("--directive", wrong, "value", hint) from None
    if host and probe:
        text = "the compute node answers in a folder there, which only a login node sees"
        raise problem("--probe", text, "usage", "leave out --host or --probe")
    machine = reach(login_of(host))[0] if host else HERE
    found = replace(_findings(machine, **chosen), directives=tuple(directives))
    exit_code = 0
    if probe:
        try:
            found = replace(found, hardware=ask_node(found, probe_limit))
        except JobgenError as error:
            report(str(error))
            report("the profile is without what a node would say")
            exit_code = error.exit_code
    text = profile_text(found)
    if output:
        _keep_other(output, text)
    write(text, output)
    return exit_code


def _keep_other(output: str, text: str) -> None:
    """Rename a file that the profile would replace, since it may be edited, unless it is equal."""
    path = to_path(output)
    with suppress(OSError):  # then the profile cannot be written either, and `write` reports that
        if not path.is_file() or path.read_bytes() in (b"", text.encode("utf-8")):
            return
        names = (f"{output}.old{number or ''}" for number in count())
        old = next(name for name in names if not os.path.lexists(to_path(name)))
        path.rename(to_path(old))
        report(f"{output} was another profile, or was edited: it is {old} now")


def _findings(
    machine: Machine,
    partition: str | None = None,
    queue: str | None = None,
    account: str | None = None,
) -> Findings:
    """The findings of the login node, for the named partition or queue, or for a chosen one."""
    cluster, answers = _read(_scheduler(machine, partition, queue), machine, not partition)
    found, why = _partition(cluster, partition or queue)
    if cluster.scheduler == "slurm":
        answer = run_together({"node": slurm.nodes_command(found.kinds)}, machine)["node"]
        found = replace(found, kinds=slurm.with_details(found.kinds, answer.text))
    return Findings(
        cluster=cluster,
        partition=found,
        why=why,
        account=account or (cluster.accounts[0] if len(cluster.accounts) == 1 else ""),
        site=_site_of(machine, cluster.scheduler),
        sites=tuple(bundled_sites(cluster.name, [each.name for each in cluster.partitions])),
        module_notes=tuple(software.module_notes(answers["modules"])),
        engines=(
            *software.parse_engines(answers["srun"].text),
            *on_path(software.ENGINES, machine),
        ),
    )


def _site_of(machine: Machine, scheduler: str) -> str:
    """The bundled profile whose login node this is; "" if none, or several, name such a host."""
    names, environ = host_names(), dict(os.environ)
    if machine.name:
        names, environ = machine.run(("hostname", "-f")).output.split(), {}
    profiles = find_profiles()
    found = [
        name
        for name in profiles_of(names, environ, profiles)
        if name.startswith("sites/") and profiles.load(name).profile.scheduler == scheduler
    ]
    return found[0] if len(found) == 1 else ""


def _read(scheduler: str, machine: Machine, may_be_pbs: bool) -> tuple[Cluster, dict[str, Answer]]:
    """The cluster and the answers. PBS is read if sinfo fails and pbsnodes is installed, too."""
    reader = slurm if scheduler == "slurm" else pbs
    user = machine.run(("id", "-un")).output.strip() if machine.name else ""
    answers = run_together({**reader.commands(user), **software.commands()}, machine)
    is_failure = scheduler == "slurm" and answers["nodes"].status and may_be_pbs
    if is_failure and on_path(["pbsnodes"], machine):
        return _read("pbs", machine, may_be_pbs)
    return reader.read_cluster(answers), answers


def _scheduler(machine: Machine, partition: str | None, queue: str | None) -> str:
    if partition and queue:
        text = "Slurm has partitions, and PBS has queues"
        raise problem("--queue", text, "usage", "give one of --partition and --queue")
    found = on_path(["sinfo", "pbsnodes"], machine)
    has_slurm, has_pbs = "sinfo" in found, "pbsnodes" in found
    if has_slurm and not queue:
        return "slurm"
    if has_pbs and not partition:
        return "pbs"
    wanted = "sinfo" if partition else "pbsnodes" if queue else "sinfo or pbsnodes"
    where = f"on {machine.name}" if machine.name else "here"
    text = f"there is no scheduler {where}: no {wanted} on PATH"
    raise problem("detect", text, "scheduler", "run it on a login node of the cluster")


def _partition(cluster: Cluster, name: str | None) -> tuple[Partition, str]:
    word = "partition" if cluster.scheduler == "slurm" else "queue"
    by_name = {each.name: each for each in cluster.partitions}
    if name is not None and name not in by_name:
        text = f"the cluster has no {word} `{name:.60}`"
        raise problem(f"--{word}", text, "value", nearest_hint(name, by_name))
    usable = [each for each in cluster.partitions if each.kinds]
    if not usable:
        raise no_answer("detect", f"no {word} has any nodes", "scheduler")
    if name is None:
        return chosen_partition(usable)
    if not by_name[name].kinds:
        raise problem(f"--{word}", f"`{name:.60}` has no nodes", "value", "choose another")
    return by_name[name], "as requested"
