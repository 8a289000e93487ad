"""Hints for keys and forms of other tools in a manifest, such as a list of jobs."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

from jobgen.errors import Problem, problem
from jobgen.other_words.search import answers
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.mistakes.lines import together
from jobgen.profiles.mistakes.readings import as_words
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, as_flow
from jobgen.quoting import quote
from jobgen.repository.matrix import manifest_words

JOBS_HINT = "such as `jobs: {bert: {program: [train.py]}}`"

# Hints for the keys of a GitHub Actions matrix that are no lists of values.
_CURES = {
    "include": "leave `include` out, and write a job for each of its combinations",
    "exclude": "leave `exclude` out, and write a job for each part that has all combinations",
}
_OF_JOB = {"program", "nodes", "file", "matrix", "script", "command", "run", "args", "profile"}


def of_other_tool(each: Problem, tree: Map) -> Problem:
    """The problem, with a hint in the terms of a manifest if the key or form is another tool's."""
    for name, node in tree.items.items() if "jobs" not in tree.items else ():
        is_job = isinstance(node, Map) and _OF_JOB & {*node.items}
        if tree.keys[name] == each.mark and is_job:
            return each._replace(hint=f"write `jobs: {{{name}: {as_flow(node)}}}`")
    for job in _jobs_of(tree):
        for name, node in job.items.items():
            if each.mark in (job.keys[name], node.mark):
                return _of_key(each, name, node, job)
            for key, one in node.items.items() if isinstance(node, Map) else ():
                marks = [item.mark for item in one.items] if isinstance(one, Seq) else []
                if each.mark in (one.mark, *marks):
                    return _of_map(each, name, key, node)
    return each


def refuse_profile(tree: Map, file: Path) -> None:
    """Raise JobgenError if the file is a profile instead of a manifest."""
    items = tree.items
    if "jobs" in items or _OF_JOB & {*items} or not {"node", "network", "extends"} & {*items}:
        return
    command = "qsub" if getattr(items.get("scheduler"), "text", "") == "pbs" else "sbatch"
    hint = f"write: jobgen {command} --profile {quote(str(file))} -- PROGRAM"
    hint += f"; or a manifest, {JOBS_HINT}, with `profile: {file}` in each job"
    raise problem(tree.mark, "a profile, and no manifest of jobs", "usage", hint)


def _of_key(each: Problem, name: str, node: Node, job: Map) -> Problem:
    """The problem of a key or its value, with a better hint if there is one."""
    text = " ".join(getattr(one, "text", "") for one in node.items) if isinstance(node, Seq) else ""
    if name == "command" and " " in (text := text or getattr(node, "text", "")):
        words = as_flow(Seq(each.mark, as_words(Scalar(each.mark, text, text))))
        return each._replace(code="unknown-key", hint=f"write `program: {words}`")
    if name == "script" and {"program", "file"} & {*job.items} == {"program"}:
        return each._replace(hint=f"write `file: {as_flow(node)}`")
    if name == "profile" and isinstance(node, Map):
        hint = "write these keys into a file of their own, profiles/NAME.yaml, and `profile: NAME`"
        return each._replace(hint=hint)
    if isinstance(node, Seq) and (name == "matrix" or "`matrix: …`" in each.hint):
        return each._replace(hint=_matrix_hint(node))
    if name == "env" and isinstance(node, Seq) and (values := _variables(node)):
        return each._replace(hint=f"write `env: {{{values}}}`")
    if each.text.startswith("expected a text or a number, got a list"):
        return each._replace(hint=f"write `matrix: {{{name}: {as_flow(node)}}}`")
    if each.code != "unknown-key" or re.match("write `program: |a job has", each.hint):
        return each
    if each.hint.startswith("write ") and not isinstance(node, Scalar):
        return each
    from jobgen.planning import key_words

    leaves = [(path, one) for path, one in _leaves(node, name) if path in key_words.KEYS]
    if isinstance(node, Map) and leaves:
        texts = [(path, getattr(one, "text", as_flow(one))) for path, one in leaves]
        pairs = ", ".join(
            f"{path}: {as_flow(Scalar(each.mark, text, text))}" for path, text in texts
        )
        return each._replace(hint=f"write `set: {{{pairs}}}`")

    hint = manifest_words(
        key_words.option_words(name, "sbatch", getattr(node, "text", as_flow(node)))
    )
    if not hint and isinstance(node, Seq) and re.match("it stands|leave", each.hint):
        hint = f"`matrix: {{{name}: {as_flow(node)}}}`"
    return each._replace(hint=f"write {hint}") if hint else each


def _variables(listed: Seq) -> str:
    """A list of NAME=VALUE as items of a map; NAME alone gets $NAME, its value at submission."""
    texts = [getattr(each, "text", "") for each in listed.items]
    if not all(re.fullmatch(r"\w+(=\S+)?", each) for each in texts):
        return ""
    parts = (text.partition("=") for text in texts)
    return ", ".join(f"{name}: {value if sign else f'${name}'}" for name, sign, value in parts)


def _matrix_hint(combinations: Seq) -> str:
    """The hint for a list of combinations: a matrix if the list is complete, else several jobs."""
    values: dict[str, dict[str, None]] = {}
    for each in combinations.items:
        for name, node in each.items.items() if isinstance(each, Map) else ():
            values.setdefault(name, {})[as_flow(node)] = None
    has_all = all(getattr(each, "items", {}).keys() == values.keys() for each in combinations.items)
    different = {as_flow(each) for each in combinations.items}
    if not has_all or math.prod(map(len, values.values())) != len(different):
        return "a matrix has the values by their names, and all combinations: write several jobs"
    lists = [f"{name}: [{', '.join(texts)}]" for name, texts in values.items()]
    return f"write `matrix: {{{', '.join(lists)}}}`"


def _of_map(each: Problem, name: str, key: str, node: Node) -> Problem:
    """The problem of a map or a list as a value in `set`, `env` or `matrix`, with a better hint."""
    if name in ("set", "env"):
        pairs = ", ".join(f"{path}: {as_flow(one)}" for path, one in _leaves(node))
        return each._replace(hint=f"write `{name}: {{{pairs}}}`")
    if name == "matrix" and each.text.endswith("got a map"):
        cure = _CURES.get(key, "leave it out, and write several jobs")
        return each._replace(hint=f"a matrix has all combinations: {cure}")
    return each


def _leaves(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """The leaves of a tree, each with its path."""
    if not isinstance(node, Map):
        yield path, node
        return
    for name, each in node.items.items():
        yield from _leaves(each, f"{path}.{name}".lstrip("."))


def _rename_jobs(tree: Map, problems: ProblemList) -> None:
    """Note a key that is another tool's word for `jobs`, and rename it, to read the jobs below."""
    for name, node in list(tree.items.items()):
        items = getattr(node, "items", ())
        inner = items.values() if isinstance(items, dict) else items
        has_jobs = any(isinstance(each, Map) for each in inner) and "jobs" not in tree.items
        if has_jobs and answers("manifest", name) == ["jobs"]:
            problems.note(tree.keys[name], f"unknown key `{name}`", "usage", "write `jobs:`")
            tree.items["jobs"], tree.keys["jobs"] = tree.items.pop(name), tree.keys.pop(name)


def by_name(tree: Map, problems: ProblemList) -> Map:
    """The manifest, with a map of jobs by name in the place of a list of jobs; notes the list."""
    _rename_jobs(tree, problems)
    jobs = tree.items.get("jobs")
    if not isinstance(jobs, Seq):
        return tree
    named: dict[str, Node] = {}
    for number, job in enumerate(jobs.items, 1):
        items = dict(job.items) if isinstance(job, Map) else {}
        name = getattr(items.pop("name", None), "text", f"job{number}")
        named[name] = Map(job.mark, items, getattr(job, "keys", {}))
    lines = [f"`{name}:`" for name in list(named)[:3]]
    hint = f"the name of each is its key, without `- name:`: {', '.join(lines)}"
    hint = hint if any(isinstance(job, Map) for job in jobs.items) else JOBS_HINT
    problems.note(jobs.mark, "expected a map, got a list", "type", hint)
    whole = Map(jobs.mark, named, {name: each.mark for name, each in named.items()})
    return Map(tree.mark, {**tree.items, "jobs": whole}, tree.keys)


def in_one(found: list[Problem], tree: Map) -> list[Problem]:
    """The problems; several hints to write the same key of a job are joined into the first one."""
    for job in [tree, *_jobs_of(tree)]:
        marks = {*job.keys.values(), *(node.mark for node in job.items.values())}
        for key in ("program", "set", "env", "jobs", "matrix"):
            line = f"write `{key}: "
            parts = [each for each in found if each.mark in marks and each.hint.startswith(line)]
            own = job.items.get(key)
            if (key == "matrix" and isinstance(own, Seq)) or (job is tree and key != "jobs"):
                own = None
            hints = [f"{line}{as_flow(own)}`"] if isinstance(own, (Seq, Map)) and parts else []
            whole = together([*hints, *(each.hint for each in parts)])
            for each in parts if len(parts) + len(hints) > 1 else ():
                hint = whole if each is parts[0] else f"leave it out: `{key}` has it then"
                found[found.index(each)] = each._replace(hint=hint)
    return found


def _jobs_of(tree: Map) -> list[Map]:
    """The trees of the defaults and of all jobs of a manifest."""
    jobs = tree.items.get("jobs")
    maps = [tree.items.get("defaults"), *(jobs.items.values() if isinstance(jobs, Map) else ())]
    return [each for each in maps if isinstance(each, Map)]
