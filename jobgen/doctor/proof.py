"""Proofs that a job of a profile ran: their format, the checks of a file, and the newest of each.

A proof is one small JSON file, which the job of `jobgen profiles prove` writes. Every key is
checked: a proof is published, and may hold nothing that names a user, a host, a folder or a job.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.errors import JobgenError, Mark, Problem, nearest_hint, problem
from jobgen.paths import bundled, is_plain_name, registry_folder, to_path
from jobgen.planning.job_options import OPTIONS
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import is_record, keys_of
from jobgen.profiles.resolve import NO_VALUES, Profiles, Resolved
from jobgen.profiles.search import ProfileSearch, is_profile_path
from jobgen.trainers.checkup.proof_words import CHECKS, FORMAT, NETWORKS, PROGRAMS, VERSION

# What no script depends on; `state` follows from a proof. What a base sets counts, not its name.
_NO_VALUES = {*NO_VALUES, "extends", "limits"}
MOST_BYTES = 16_000
_CODE = "proof"
_HINT = "`jobgen profiles prove` writes such a file: keep it whole and unchanged"
_NAME = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")


class Proof(NamedTuple):
    """What a file says. `failed` names the checks that did not pass, in the order of the job."""

    format: int
    profile: str
    hash: str
    options: tuple[str, ...]
    day: str
    nodes: int | None
    ranks: int | None
    versions: Mapping[str, str]
    bandwidth: float | None
    networks: tuple[str, ...]
    passed: bool
    failed: tuple[str, ...]

    def age(self, today: date) -> int:
        """The days since it was made."""
        return max((today - date.fromisoformat(self.day)).days, 0)


def profile_hash(resolved: Resolved) -> str:
    """The SHA-256 of all values that a script depends on, of a profile and what it extends."""
    values = {
        key: value for key, value in _plain(resolved.profile).items() if key not in _NO_VALUES
    }
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A value without jobgen's defaults, so that a key that comes with a new jobgen is none."""
    if is_record(value):
        defaults = type(value)()._asdict()
        own = {key: each for key, each in value._asdict().items() if each != defaults[key]}
        return _plain(own)
    return {key: _plain(each) for key, each in value.items()} if type(value) is dict else value


def profile_name(search: ProfileSearch, name: str) -> str:
    """The name of a profile, also if it was given by the path of its file."""
    if not is_profile_path(name):
        return name
    file = (search.within / to_path(name)).resolve()
    same = (each for each, path in search.files().items() if path.resolve() == file)
    return next(same, Path(name).stem)


def option_words(flag: str, value: Any) -> list[str]:
    """An option as a proof has it: without its value, and without names of the user's own."""
    if flag != "--set":
        return [flag]
    return [f"--set {_known_part(text.partition('=')[0].strip())}" for text in value]


def _known_part(path: str) -> str:
    """The path of a value up to a key of the model: below a map are the names of variables."""
    parts = path.split(".")
    paths = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next(filter(_paths().__contains__, paths), "")


@cache
def _paths() -> frozenset[str]:
    """The paths of all keys of a profile, and of the groups that they are in."""
    parts = [key.path.split(".") for key in keys_of(ROOT.cls)]
    return frozenset(".".join(each[:count]) for each in parts for count in range(1, len(each) + 1))


def _is_option(text: str) -> bool:
    flag, _, path = text.partition(" ")
    flags = {row.flags[0] for row in OPTIONS.values()} - {"--set"}
    return path in _paths() if flag == "--set" else text in flags


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_text(matches: Callable[[str], Any]) -> Callable[[Any], bool]:
    return lambda value: type(value) is str and bool(matches(value))


def _is_list(matches: Callable[[str], Any]) -> Callable[[Any], bool]:
    is_item = _is_text(matches)
    return lambda value: type(value) is list and all(map(is_item, value))


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and 0 < value < 10**7)


def _is_rate(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 < value < 10**6)


def _are_versions(value: Any) -> bool:
    is_version = _is_text(VERSION.fullmatch)
    return type(value) is dict and {*value} <= {*PROGRAMS} and all(map(is_version, value.values()))


# What each key must be, and how that is said.
_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "format": (lambda value: value == FORMAT and type(value) is int, f"{FORMAT}"),
    "profile": (_is_text(_NAME.fullmatch), "the name of a profile"),
    "hash": (_is_text(re.compile("[0-9a-f]{64}").fullmatch), "a SHA-256, 64 digits"),
    "options": (_is_list(_is_option), "a list of options without their values"),
    "day": (_is_text(_is_day), "a day, such as 2026-11-29"),
    "nodes": (_is_count, "a number of nodes, or null"),
    "ranks": (_is_count, "a number of ranks, or null"),
    "versions": (_are_versions, f"a map to versions such as 2.9.1; names: {', '.join(PROGRAMS)}"),
    "bandwidth": (_is_rate, "a number of GB/s, or null"),
    "networks": (_is_list(NETWORKS.__contains__), f"a list of: {', '.join(NETWORKS)}"),
    "passed": (lambda value: type(value) is bool, "true or false"),
    "failed": (_is_list(CHECKS.__contains__), f"a list of: {', '.join(CHECKS)}"),
}


def read_proof(file: Path) -> Proof:
    """The proof in a file. Raises JobgenError with all that is wrong with the file."""
    place = str(file)
    try:
        with file.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise problem(place, f"cannot be read: {error.strerror}", _CODE) from None
    if len(data) > MOST_BYTES:
        raise problem(place, f"more than {MOST_BYTES} bytes", _CODE, _HINT)
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise problem(place, "is no JSON", _CODE, _HINT) from None
    if not isinstance(values, dict):
        raise problem(place, "is no map", _CODE, _HINT)
    if found := list(_mistakes(values)):
        raise JobgenError([Problem(Mark(place), *texts) for texts in found])
    lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    return Proof(**{**values, **lists})


def _mistakes(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The text, the code and the hint for each mistake in the values of a file."""
    for key in values.keys() - _KEYS.keys():
        yield f"unknown key `{key:.80}`", _CODE, nearest_hint(key, _KEYS)
    for key, (is_right, kind) in _KEYS.items():
        if key not in values:
            yield f"has no `{key}`", _CODE, _HINT
        elif not is_right(values[key]):
            yield f"`{key}` is not {kind}", _CODE, _HINT
    measured = [values.get(key) for key in ("nodes", "ranks", "bandwidth")]
    if values.get("passed") is not (values.get("failed") == []):
        yield "`passed` is true with an empty list `failed` alone", _CODE, _HINT
    elif values["passed"] and (None in measured or measured[0] == 1):
        yield "it passed, with fewer than two nodes or without a bandwidth", _CODE, _HINT


def newest_proof(name: str) -> Proof | None:
    """The newest proof, of jobgen and its registry, that a job of a profile passed, or None."""
    if not is_plain_name(name):
        return None
    folders = [each / "proofs" for each in (registry_folder() / "profiles", bundled("profiles"))]
    found = [each for folder in folders for each in _readable(folder / name)]
    proofs = [proof for proof in found if proof.passed and proof.profile == name]
    return max(proofs, key=lambda proof: proof.day, default=None)


def _readable(folder: Path) -> Iterator[Proof]:
    """The proofs in a folder; one of an old release of the registry may have another format."""
    for file in sorted(folder.glob("*.json")):
        with suppress(JobgenError):
            yield read_proof(file)


def in_words(proof: Proof, is_same: bool, today: date) -> str:
    """How the job of a proof ended, and when; `is_same`: the profile has the same values still."""
    days = proof.age(today)
    age = f"{days} day{'s' * (days != 1)} ago" if days else "today"
    if not proof.passed:
        causes = "; ".join(CHECKS[check] for check in proof.failed)
        return f"did not pass on {proof.day} ({age}): {causes}"
    speed = speed_in_words(proof)
    text = f"ran on {proof.nodes} nodes on {proof.day} ({age}), {speed}"
    text += f", with {' '.join(proof.options)}" if proof.options else ""
    return text if is_same else f"{text}; its values have changed since"


def speed_in_words(proof: Proof) -> str:
    """What its nodes exchanged, and over which network."""
    networks = f", over {' and '.join(proof.networks)}" * bool(proof.networks)
    return f"{proof.bandwidth:g} GB/s between two of them{networks}"


def newest_in_words(profiles: Profiles, name: str, today: date) -> str:
    """The newest proof of a profile, by its name or its file; "" if there is none."""
    found = newest_proof(profile_name(profiles, name))
    is_same = found is not None and found.hash == profile_hash(profiles.load(name))
    return in_words(found, is_same, today) if found else ""
