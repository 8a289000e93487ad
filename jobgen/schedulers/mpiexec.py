"""How an mpiexec binds its processes to cores: the options of each MPI for `launch.cpu_bind`.

PALS: its man page as docs.alcf.anl.gov shows it (`--cpu-bind`, `--depth`), read 2026-11. MPICH:
`mpiexec -bind-to -help` of hydra 4.0. OpenMPI: mpirun(1) of 4.1, "Mapping, Ranking, and Binding".
"""

import re

MPIEXEC = {"mpiexec-openmpi": "OpenMPI", "mpiexec-mpich": "MPICH", "mpiexec-pals": "PALS"}
_KINDS = {
    "mpiexec-openmpi": "none core hwthread numa socket depth".split(),
    "mpiexec-mpich": "none core hwthread numa socket depth list".split(),
    "mpiexec-pals": "none core thread numa socket depth list".split(),
}
_LIST = re.compile(r"\d{1,5}(-\d{1,5})?([,:]\d{1,5}(-\d{1,5})?)*", re.ASCII)


def binding_problem(starter: str, text: str, cores: int | None) -> tuple[str, str] | None:
    """Returns what is wrong with a value of launch.cpu_bind, and a hint; None if it is right.

    `cores` is the number of cores of a node, or None if the profile does not have it.
    """
    kind, has_value, value = text.removeprefix("verbose,").partition(":")
    kinds, name = _KINDS[starter], MPIEXEC[starter]
    if kind not in kinds or (text.startswith("verbose,") and starter != "mpiexec-pals"):
        hint = f"one of: {', '.join(kinds)}"
        return f"the mpiexec of {name} binds no rank by `{text:.40}`", hint
    if kind == "list" and not _LIST.fullmatch(value):
        hint = "list:0-7:8-15, one part for each rank of a node"
        return f"`{text:.40}` has no list of cores", hint
    if kind == "depth":
        if has_value and not re.fullmatch("[1-9][0-9]{0,4}", value):
            return f"`{text:.40}` has no number of cores", "depth:N, such as depth:8"
        if not has_value and cores is None:
            return "`depth` needs the cores of a rank", "depth:N, or set request.cpus_per_node"
    elif kind != "list" and has_value:
        return f"`{kind}` takes no value", kind
    return None


def depth_problem(text: str | None, ranks: int, cores: int | None) -> str:
    """Returns what is wrong if `ranks` need more than the `cores` of a node; else ""."""
    kind, _, value = (text or "").removeprefix("verbose,").partition(":")
    if kind == "depth" and value and cores and ranks * int(value) > cores:
        return f"{ranks} ranks of {value} cores are {ranks * int(value)}, and a node has {cores}"
    return ""


def binding_options(starter: str, text: str | None, ranks: int, cores: int | None) -> list[str]:
    """Returns the options of mpiexec for `ranks` on each node and `cores` of a rank."""
    text = text or "none"  # the default, which cannot put all threads of a rank on one core
    kind, _, value = text.removeprefix("verbose,").partition(":")
    depth = (value or str(cores)) if kind == "depth" else ""
    if starter == "mpiexec-pals":
        if depth:
            return ["--cpu-bind", text.removesuffix(f":{value}"), "--depth", depth]
        return ["--cpu-bind", text]
    if starter == "mpiexec-mpich":
        if kind == "list":
            return ["-bind-to", f"user:{','.join(map(_joined, value.split(':')))}"]
        return ["-bind-to", f"core:{depth}" if depth else kind]
    mapping = f"ppr:{ranks}:node" + (f":PE={depth}" if depth else "")
    # A node has mpiprocs slots, a number that the site may have set to one: hence --oversubscribe.
    return ["--map-by", mapping, "--bind-to", "core" if depth else kind, "--oversubscribe"]


def _joined(cores: str) -> str:
    """Returns the cores of one rank, such as 0-2,5, as hydra reads them: 0+1+2+5."""
    numbers: list[int] = []
    for part in cores.split(","):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return "+".join(map(str, numbers))
