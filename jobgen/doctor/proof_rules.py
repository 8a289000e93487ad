"""Whether a proof counts for its profile: the job ran as the profile says, and can have been so.

`read_proof` checks the form of a file alone, which one of an older profile keeps.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from jobgen.doctor.proof import Proof
from jobgen.errors import JobgenError, Mark, Problem
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS
from jobgen.profiles.model import Profile

# What a profile says of its machine. The user's own environment (venv, conda, modules) is none.
_OF_MACHINE = (
    *("node", "network", "launch", "software.container", "software.commands"),
    *("software.after_modules", "software.nccl_root", "software.aws_ofi_nccl_root"),
)
_OF_USER = ("software.container.environment",)  # of `ce`: a file that no site has for its users
# GB/s each way for one rank: NVLink between nodes has 900, a port of a network 100 or fewer.
MOST_RANK_RATE = 1000
_GLOO = "gloo over TCP"


def replaced_keys(options: Iterable[str], profile: Profile) -> Iterator[tuple[str, str]]:
    """Each option that replaces what the profile says of its machine, and the key.

    A key that the profile `needs` is the user's own.
    """
    for option in options:
        flag, _, path = option.partition(" ")
        path = path or OPTIONS[FIELD_OF_FLAG[flag]].path or ""
        path = "network.environment" if flag == "-e" else path
        if not _is_in(path, (*profile.needs, *_OF_USER)) and any(
            _is_in(path, [key]) or _is_in(key, [path]) for key in _OF_MACHINE
        ):
            yield option, path


def _is_in(path: str, keys: Iterable[str]) -> bool:
    """Whether a key is one of the keys, or in a group of them."""
    return any(f"{path}.".startswith(f"{key}.") for key in keys)


def check_counts(proof: Proof, file: Path, profile: Profile | None) -> None:
    """Raise JobgenError with all why a proof does not count; `profile`: if it has not changed."""
    mistakes = [*_mistakes_of_place(proof, file)]
    if proof.passed:
        mistakes += _mistakes_of_rate(proof)
        mistakes += _mistakes_of_profile(proof, profile) if profile else ()
    if mistakes:
        raise JobgenError(
            [Problem(Mark(str(file)), text, "proof", hint) for text, hint in mistakes]
        )


def _mistakes_of_place(proof: Proof, file: Path) -> Iterator[tuple[str, str]]:
    """The text and the hint for a wrong day, also in the name of a file that is published."""
    today = datetime.now(timezone.utc).date().isoformat()
    if proof.day > today:
        yield f"`day` is in the future: it is {today} in UTC", "keep the file as the job wrote it"
    path = Path(os.path.abspath(file))
    wanted = Path("profiles/proofs", proof.profile, f"{proof.day}.json")
    is_published = any(each.parts[-2:] == ("profiles", "proofs") for each in path.parents)
    if is_published and path.parts[-len(wanted.parts) :] != wanted.parts:
        yield "is not at the place of its profile and its day", f"move it to {wanted}"


def _mistakes_of_rate(proof: Proof) -> Iterator[tuple[str, str]]:
    nodes, ranks, rate = proof.nodes or 1, proof.ranks or 1, proof.bandwidth or 0
    if rate * nodes > MOST_RANK_RATE * ranks:
        text = f"`bandwidth` is {rate:g} GB/s, with {ranks} ranks on {nodes} nodes"
        yield text, f"no network has {MOST_RANK_RATE} GB/s for a rank: keep what the job wrote"


def _mistakes_of_profile(proof: Proof, profile: Profile) -> Iterator[tuple[str, str]]:
    """What shows that the job was not as the profile says."""
    for option, path in replaced_keys(proof.options, profile):
        text = f"`options` has {option}, so that the job did not run with the profile's `{path}`"
        yield text, "change the profile if its value is wrong, and prove it without the option"
    gpus, on_node = profile.gpus_per_node, profile.ranks_per_node
    if proof.ranks != on_node * (proof.nodes or 0):
        text = f"`ranks` is {proof.ranks} on {proof.nodes} nodes, and the profile has {on_node} "
        yield text + "on each", "prove it with whole nodes, and without an option for their GPUs"
    if gpus and profile.node.gpu != "none" and _GLOO in proof.networks:
        text = f"`networks` has {_GLOO}, which is for CPUs, and the profile has {gpus} GPUs a node"
        yield text, "prove it on the GPUs: torch has to find them"
