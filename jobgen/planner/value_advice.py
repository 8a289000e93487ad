"""Warnings about values and words of a job that jobgen accepts, but that nothing can use."""

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from jobgen.errors import Mark
from jobgen.other_words.search import doubts, value_hint
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS, Job
from jobgen.planning.plan import Plan
from jobgen.planning.program import Program
from jobgen.profiles.keys.software import ENGINES
from jobgen.profiles.resolve import Resolved
from jobgen.quoting import quote

_NETWORK = "NCCL_|RCCL_|FI_|UCX_|GLOO_"  # set to null, they silence the warning of a fabric
_SHELL = ("software.commands", "software.after_modules", "software.once_per_node")
_GROUPS = ("node", "network", "software", "request", "launch", "limits")
Found = Iterator[tuple[str, str, str, str]]  # path, text, code, hint
_VARIABLE = re.compile(r"\$(\{)?([A-Z][A-Z0-9_]+)(?(1)\})")
_OPERATORS = re.compile(r"&&|\|\|?|;|>>?|2>&1")
_INDEX = "SLURM_ARRAY_TASK_ID PBS_ARRAY_INDEX PBS_ARRAYID SGE_TASK_ID LSB_JOBINDEX".split()
# Options for the job's size and place that stand behind the program, which then gets them.
_OWN = re.compile(
    r"(?<!\S)(?:(-N|-G|--nodes|--gpus-per-node)[ =]?\d+|(-t|--time)[ =](?:\d+-)?\d+:[\d:]+"
    r"|(--partition|--account|--queue)[ =]\S+)(?!\S)"
)
# Slurm's letters in a file's name, such as %j, but not those of a date; and the variables with the
# same values, those of a job and those of a rank.
_PLACE = re.compile(r"(?<!%[YmdHMS])%([jANxt])(?![A-Za-z%])")
_LETTERS_OF_JOB = {
    "sbatch": {"j": "${SLURM_JOB_ID}", "A": "${SLURM_ARRAY_JOB_ID}", "x": "${SLURM_JOB_NAME}"},
    "qsub": {"j": "${PBS_JOBID}", "A": "${PBS_ARRAY_ID}", "x": "${PBS_JOBNAME}"},
}
_LETTERS_OF_RANK = {"N": "${HOSTNAME}", "t": "${RANK}"}
# The variables that each rank has with any launcher, by Slurm's names for the same values.
_OF_RANK = {"SLURM_PROCID": "RANK", "SLURM_LOCALID": "LOCAL_RANK", "SLURM_NTASKS": "WORLD_SIZE"}
_DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def unlikely_values(resolved: Resolved) -> Found:
    """The warnings about the values of a profile."""
    rows = (row for row in OPTIONS.values() if row.group == "Cluster" and row.metavar)
    names = [row.path for row in rows if row.path]  # keys whose values are names on a cluster
    for path in (*names, "request.mail"):
        value = attrgetter(path)(resolved.profile)
        if value in ("none", "None", "NONE"):
            yield path, f"`{value}` is taken for a name", "value", "null is the site's default"
    for path, mark in resolved.origins.items():
        for value in _texts(path, resolved):
            for text, hint in _doubts(path, value) or _doubts("any text", value):
                yield path, text, "value", _for_option(hint, path, mark)
    yield from _nothing(resolved)
    yield from _container(resolved)
    yield from _variables(resolved)
    yield from _places(resolved)


def _doubts(table: str, value: str) -> list[tuple[str, str]]:
    """Returns what a table of doubts says about a value, with a hint; [] if it says nothing."""
    text, _, hint = value_hint(table, value, doubts()).partition("; ")
    return [(text, hint)] if text else []


def _for_option(hint: str, path: str, mark: Mark) -> str:
    """Returns a hint that names the option, quoted for a shell, if an option set the value."""
    found = re.fullmatch(r"write (?:`\w+: )?([^`]+)`?", hint)
    if mark.line or not found or path in ("software.modules", "software.container.mounts"):
        return hint
    if mark.file.startswith("--set"):
        return f"write --set {quote(f'{path}={found[1]}')}"
    return f"write {mark} {quote(found[1])}"


def _texts(path: str, resolved: Resolved) -> tuple[str, ...]:
    """Returns the text or the list of texts at a path; () for descriptions, commands and others."""
    value: Any = resolved.profile
    for name in path.split("."):
        value = getattr(value, name, None)
    if path == "description" or path in _SHELL:
        return ()
    texts = value if type(value) is tuple else (value,)  # a record is a tuple, too
    return tuple(each for each in texts if type(each) is str)


def _nothing(resolved: Resolved) -> Found:
    """Warns of keys without a value in a file that extends no base: null removes nothing there."""
    for path, mark in resolved.origins.items() if not resolved.profile.extends else ():
        group, _, name = path.rpartition(".")
        if not mark.line:
            continue
        if path in _GROUPS and mark.column == len(path) + 2:  # the value begins behind the colon
            hint = "they stand in the lines below it, indented; or leave it out"
            yield path, f"`{path}` has no keys", "value", hint
        is_absent = name not in resolved.profile.network.environment
        if group == "network.environment" and is_absent and not re.match(_NETWORK, name):
            hint = f"for the value that it has where you submit, write -e {name} for each job"
            yield path, f"`{name}` has no value, and is not set", "value", hint


def _places(resolved: Resolved) -> Found:
    """Warns of braces in a log's name, as for Snakemake or Hydra, and of a % without effect."""
    for path in ("request.output", "request.error", "request.log_folder"):
        is_folder = path == "request.log_folder"
        pattern = r"\$?\{\w+\}|\$\([^)]*\)" + "|%[A-Za-z]" * is_folder
        if place := re.search(pattern, attrgetter(path)(resolved.profile) or ""):
            is_slurm = resolved.profile.scheduler == "slurm"
            hint = "%j is the job's id, %x its name" if is_slurm else "leave it out"
            hint = "leave it out: the job's id is the name of a folder in it" if is_folder else hint
            yield path, f"`{place[0]}` stays as it is, and no value takes its place", "value", hint


def _container(resolved: Resolved) -> Found:
    container = resolved.profile.software.container
    if container is None:
        return
    engine, image = container.engine, str(container.image)
    wrong = _doubts(f"image of {engine}", image)
    yield from (("software.container.image", text, "image", hint) for text, hint in wrong)
    if not wrong and "software.container.engine" not in resolved.origins:
        likely = value_hint("engine of an image", f"image {image}")
        others = ", ".join(each for each in ENGINES if each != likely)
        text = f"no `engine` is named, so {engine} runs the image"
        yield "software.container", text, "engine", f"`engine: {likely}`, or {others}"


def _variables(resolved: Resolved) -> Found:
    for name, variable in resolved.profile.network.environment.items():
        if name.startswith(("nccl_", "rccl_", "fi_", "ucx_", "omp_")):
            text = f"the name of this variable has capitals, and {name} is another one"
            yield f"network.environment.{name}", text, "value", f"write {name.upper()}"
        for text, hint in _doubts("variable", f"{name}={variable.value}"):
            yield f"network.environment.{name}", text, "value", hint


def unlikely_words(job: Job, plan: Plan) -> Found:
    """Warnings about the program's arguments, the job's name, and the GPUs that ranks may see."""
    arguments = plan.program.arguments
    has_own_shell = any(re.fullmatch("-[a-z]*c", word) for word in arguments)
    place = next(filter(None, map(_PLACE.search, arguments)), None)
    letters = _LETTERS_OF_JOB.get(job.command, {})
    if plan.launch.launcher != "node":
        letters = letters | _LETTERS_OF_RANK
    named = [_with_letters(word, letters) for word in arguments]
    found = next(filter(None, map(_VARIABLE.search, named)), None)
    if found and not has_own_shell:
        program = plan.program._replace(arguments=tuple(named))
        hint = f"for its value on the node: -- {_in_shell(program)}"
        if found[2] in _INDEX:
            more = "" if plan.request.array else ", and --array FIRST-LAST"
            hint = f"write %a, the number of the job{more}"
        text = f"the program gets {(place or found)[0]} as it is, and no value"
        yield "--", text, "variable", hint
    own = [*_OWN.finditer(" ".join(arguments))]
    if own and not any(getattr(job, FIELD_OF_FLAG[str(each[each.lastindex or 0])]) for each in own):
        line = " ".join(each[0] for each in own)
        text = f"`{line}` stands behind {plan.program.name!r:.60}, and goes to it"
        yield "--", text, "program", f"for the job, write it before: {line} --"
    operator = next(filter(_OPERATORS.fullmatch, arguments), "")
    if operator and not has_own_shell:
        hint = f"for a shell on the node: -- {_in_shell(plan.program)}"
        yield "--", f"the program gets {operator!r} as an argument", "shell", hint
    yield from _index_words(job, plan)
    if home := next((word for word in arguments if re.search("(^|=)~/", word)), ""):
        text = f"the program gets {home!r:.60} as it is: no shell replaces the ~"
        hint = f"write {home.replace('~/', '$HOME/', 1)} without single quotes"
        yield "--", text, "variable", hint
    yield from _name_letters(job, plan)
    yield from _variable_letters(plan, letters)


def _index_words(job: Job, plan: Plan) -> Found:
    """Warnings about %a, the number of a job in its array or chain."""
    found = (word for word in plan.program.arguments if re.search("%a(?![A-Za-z])", word))
    index = next(found, None)
    if index and plan.launch.chain:
        text = f"%a in {index!r:.60} is another number in each job of the chain"
        yield "--", text, "variable", "leave it out, if they go on with one training"
    elif index and not job.array and job.command != "byhand":
        text = f"%a in {index!r:.60} is the number of a job in an array, and this is none"
        yield "--", text, "variable", "add --array FIRST-LAST"


def _name_letters(job: Job, plan: Plan) -> Found:
    """Warns of a % in the name of the job, or of its output, that Slurm does not replace."""
    if pattern := re.search("%[A-Za-z]", job.name or ""):
        text = f"{pattern[0]} stays in the job's name as it is"
        yield "-J", text, "variable", "the file of the output may have it"
    output = plan.request.output or ""
    if plan.scheduler == "slurm" and not job.array and re.search("%[aA](?![A-Za-z])", output):
        text = f"{output!r:.60} has the numbers of an array, and this is none"
        hint = f"write --set request.output={quote(re.sub('%A(_%a)?|%a', '%j', output))}"
        yield "request.output", text, "variable", hint


def _variable_letters(plan: Plan, letters: dict[str, str]) -> Found:
    """Warns of doubtful values of variables; `letters` maps Slurm's letters to variables."""
    for name, value, _ in plan.software.environment:
        seen, ranks = len((value or "").split(",")), plan.launch.processes_per_node
        gpus, own = plan.request.gpus_per_node, _PLACE.search(value or "")
        if own and own[1] in letters:
            right = _with_letters(value or "", letters)
            text, hint = f"{name} gets {own[0]} as it is", f"write -e {quote(f'{name}={right}')}"
            yield "-e", text, "variable", hint
        if name in _DEVICES and re.fullmatch(r"[\d,]+", value or "") and not ranks <= seen <= gpus:
            text = f"{ranks} ranks on a node, which may see {seen} of its GPUs"
            if seen > gpus:
                text = f"{name} names {seen} GPUs, and the job has {gpus} of a node"
            yield "-e", text, "gpus", f"without {name}: -G {seen}"


def _with_letters(text: str, letters: dict[str, str]) -> str:
    """Replaces Slurm's letters in a text, such as %j, by the variables with the same values."""
    return _PLACE.sub(lambda it: letters.get(it[1], it[0]), text)


def _in_shell(program: Program) -> str:
    """Returns the program as a command of bash, which replaces the variables in it."""
    start = {"script": "python ", "module": "python -m "}.get(program.kind, "")
    words = [quote(program.name), *map(_with_variables, program.arguments)]
    is_list = re.search(" (&&|[|;]) ", " ".join(words))
    line = f"{'' if is_list else 'exec '}{start}{' '.join(words)}"
    return f"bash -c {quote(line)}" if "'" in line else f"bash -c '{line}'"


def _with_variables(word: str) -> str:
    if not _VARIABLE.search(word):
        return word if _OPERATORS.fullmatch(word) else quote(word)
    word = _VARIABLE.sub(lambda it: it[0].replace(it[2], _OF_RANK.get(it[2], it[2])), word)
    return '"' + re.sub(r'(["\\`])', r"\\\1", word) + '"'
