"""The resources that PBS is asked for: by `select`, or by the older options of some sites.

`select` has a chunk for each node (pbs_resources(7B)). On NCI's Gadi, ncpus, ngpus, mem and jobfs
are amounts of the whole job, and a job of several nodes gets whole nodes (opus.nci.org.au). Torque
has nodes=N:ppn=M:gpus=G, and mem is of the whole job (docs.adaptivecomputing.com, "Requesting
Resources"). OpenPBS 23 was tried, and makes chunks of both: one chunk of ncpus; with nodes=, it
divides mem among the nodes, and takes no GPUs.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from jobgen.errors import JobgenError, problem
from jobgen.planning.plan import Plan
from jobgen.schedulers import checked_visible
from jobgen.schedulers.pbs_user_options import CHUNK_OPTIONS

Option = tuple[str, str]
_SIZE = {"K": "kb", "M": "mb", "G": "gb", "T": "tb"}


def requested(plan: Plan) -> list[Option]:
    """The options for the queue, the account, the resources and the time."""
    request, time = plan.request, plan.request.time
    options = [("-q", request.reservation or request.queue)]  # a reservation is a queue of its own
    options += [_account(plan), *(("-l", text) for text in _resources(plan))]
    if time:
        options.append(("-l", f"walltime={time // 3600:02}:{time // 60 % 60:02}:{time % 60:02}"))
    return [(flag, checked_visible(value, flag)) for flag, value in options if value]


def _account(plan: Plan) -> tuple[str, str | None]:
    account, option = plan.request.account, plan.request.account_option or "A"
    if option != "group_list":
        return f"-{option}", account
    if account and not re.fullmatch(r"[\w.@+-]+", account):  # a comma begins another attribute
        raise problem("account", f"{account!r:.40} is no group", "value", "GROUP, or GROUP@HOST")
    return "-W", account and f"group_list={account}"


def _resources(plan: Plan) -> Iterator[str]:
    """Yields the values of -l in the form of request.resource_option, also for the spares."""
    option = plan.request.resource_option or "select"
    number, chunk = plan.request.nodes + plan.request.spares, _chunk(plan, option)
    if option == "select":
        yield ":".join((f"select={number}", *(f"{name}={text}" for name, text in chunk.items())))
        place = _place(plan)
        yield place and f"place={place}"
        return
    _check_older(plan, option, number)
    del chunk["mpiprocs"]  # the node file has a line for each core
    if option == "nodes":
        words = [f"{word}={chunk.pop(name)}" for word, name in _OF_NODES if name in chunk]
        words += [name for name, text in chunk.items() if not text]  # properties of Torque
        yield ":".join((f"nodes={number}", *words))
    for name, text in chunk.items():
        if text:
            yield f"{name}={_times(text, number) if name in CHUNK_OPTIONS else text}"


_OF_NODES = (("ppn", "ncpus"), ("gpus", "ngpus"))


def _times(amount: str, number: int) -> str:
    """Returns a number, or a size such as 440gb, multiplied by the number of nodes."""
    digits = "".join(filter(str.isdigit, amount))
    return f"{int(digits) * number}{amount.removeprefix(digits)}"


def _check_older(plan: Plan, option: str, number: int) -> None:
    """Raise JobgenError for requests that only `select` can express."""
    request, cores = plan.request, plan.request.cpus_per_task
    if request.place:
        text = f"`place` goes with `select`, and not with `{option}`"
        raise _conflict("request.place", text, "null, or request.resource_option: select")
    if name := next((name for name, _ in request.chunk if name.lower() == "mpiprocs"), None):
        text = f"`{option}` has a process for each core, and no mpiprocs"
        raise _conflict(f"request.chunk.{name}", text, "null removes it")
    several, whole = option == "ncpus" and number > 1, plan.node.cpus
    needs_all = several or request.exclusive
    if not (cores and (whole or not needs_all)) and (needs_all or option == "ncpus"):
        text = f"`{option}` needs the cores of a node, and `node.cpus` is not set"
        raise _conflict("request.resource_option", text, "--set node.cpus=N")
    if needs_all and cores != whole:
        kind = "several nodes" if several else "whole nodes"
        text = f"with `{option}`, {kind} come with all cores, and the job has {cores} of {whole}"
        hint = "all GPUs of a node (-G), or --exclusive" if several else "--shared"
        raise _conflict("request.resource_option", text, hint)


def _conflict(place: str, text: str, hint: str) -> JobgenError:
    return problem(place, text, "conflict", hint)


def _place(plan: Plan) -> str:
    """Returns the place of the chunks: one on each node, and whole nodes if these are exclusive."""
    request = plan.request
    place = request.place or ":".join(
        word for word in ("scatter" * (request.nodes > 1), "excl" * request.exclusive) if word
    )
    sharing = {"excl": True, "exclhost": True, "shared": False}
    word = next((word for word in place.split(":") if word in sharing), None)
    if word and sharing[word] != request.exclusive:
        text = f"`{place}`, but request.exclusive is {str(request.exclusive).lower()}"
        option = "--exclusive" if sharing[word] else "--shared"
        raise _conflict("request.place", text, f"{option}, or another place")
    if request.exclusive and not word:
        place += ":excl"
    if request.nodes > 1 and not place.startswith("scatter"):
        text = f"`{place}` may put two chunks on one node, and each node runs one torchrun"
        raise _conflict("request.place", text, "scatter, or scatter:excl")
    return place


def _chunk(plan: Plan, option: str) -> dict[str, str]:
    """Returns the resources of a node by their names in `select`; a property has no value."""
    request = plan.request
    gpu_option = "gpus" if option == "nodes" else "ngpus"
    if request.gpu_option not in (None, "none", gpu_option):
        text = f"PBS takes no `{request.gpu_option}` with `{option}`"
        raise _conflict("request.gpu_option", text, f"`{gpu_option}`, or `none`")
    own = {
        "ncpus": request.cpus_per_task,
        "mpiprocs": request.tasks_per_node,
        "ngpus": request.gpus_per_node if request.gpu_option == gpu_option else 0,
        "mem": _memory(plan),
    }
    chunk = {name: str(value) for name, value in own.items() if value}
    constraint = _constraint(request.constraint, option == "nodes")
    additions = [(f"request.chunk.{name}", name, value) for name, value in request.chunk]
    additions += [("request.constraint", name, value) for name, value in constraint]
    _check_once("request.chunk", request.chunk)
    _check_once("request.constraint", constraint)
    spelling = {name: name for name in own}  # PBS compares names without case
    for place, spelled, value in additions:
        name = spelling.setdefault(spelled.lower(), spelled)
        if name in CHUNK_OPTIONS and name != "mpiprocs":
            text = f"jobgen sets {name} itself"
            from jobgen.planning.key_words import resource_words  # only a mistake needs it

            lacks = name == "ngpus" and request.gpu_option != gpu_option  # and -G is no request
            more = f"--set request.gpu_option={gpu_option} " if lacks else ""
            raise _conflict(place, text, f"use {more}{resource_words(name, value)}")
        chunk[name] = value
    return chunk


def _constraint(text: str | None, has_properties: bool) -> list[tuple[str, str]]:
    """Returns the resources of a constraint; with `has_properties`, also names without values."""
    pairs = [part.partition("=") for part in text.split(":")] if text else []
    for name, equals, value in pairs:
        is_named = re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)
        is_property = has_properties and not equals
        if not is_named or not (is_property or re.fullmatch(r"[\w.-]+", value)):
            hint = "NAME=VALUE, several joined by `:`, such as mem_type=hbm"
            raise problem("request.constraint", f"PBS takes no {text!r:.40}", "value", hint)
    return [(name, value) for name, _, value in pairs]


def _check_once(place: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Raise JobgenError for a resource that is given twice; PBS compares names without case."""
    times = Counter(name.lower() for name, _ in pairs)
    if name := next((name for name, number in times.items() if number > 1), None):
        raise _conflict(place, f"{name} is given twice", "give one of the two")


def _memory(plan: Plan) -> str | None:
    size = plan.request.memory
    if size == "all":
        size = plan.node.memory
        if size is None:
            text = "PBS has no word for all of a node's memory, and `node.memory` is not set"
            raise _conflict("request.memory", text, "--set node.memory=SIZE, or null")
    return size and size[:-1] + _SIZE[size[-1]]
