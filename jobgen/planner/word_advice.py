"""Warnings about words of a job that nobody replaces: `$NAME` and `%a` in quotes."""

import re

from jobgen.planner.value_advice import Found
from jobgen.planning.job_options import FIELD_OF_FLAG, Job
from jobgen.planning.plan import Plan
from jobgen.planning.program import Program
from jobgen.quoting import quote

_VARIABLE = re.compile(r"\$(\{)?([A-Z][A-Z0-9_]+)(?(1)\})")
_OPERATORS = re.compile(r"&&|\|\|?|;|>>?|2>&1")
_INDEX = "SLURM_ARRAY_TASK_ID PBS_ARRAY_INDEX PBS_ARRAYID SGE_TASK_ID LSB_JOBINDEX".split()
# Options of the job's size and place, behind the program.
_OWN = re.compile(
    r"(?<!\S)(?:(-N|-G|--nodes|--gpus-per-node)[ =]?\d+|(-t|--time)[ =](?:\d+-)?\d+:[\d:]+"
    r"|(--partition|--account|--queue)[ =]\S+)(?!\S)"
)
# Letters of a file's name in Slurm, none of a date's; and what has their values, of the job and of
# a rank.
_PLACE = re.compile(r"(?<!%[YmdHMS])%([jANxt])(?![A-Za-z%])")
_LETTERS_OF_JOB = {
    "sbatch": {"j": "${SLURM_JOB_ID}", "A": "${SLURM_ARRAY_JOB_ID}", "x": "${SLURM_JOB_NAME}"},
    "qsub": {"j": "${PBS_JOBID}", "A": "${PBS_ARRAY_ID}", "x": "${PBS_JOBNAME}"},
}
_LETTERS_OF_RANK = {"N": "${HOSTNAME}", "t": "${RANK}"}
# What each rank has, whatever starts it.
_OF_RANK = {"SLURM_PROCID": "RANK", "SLURM_LOCALID": "LOCAL_RANK", "SLURM_NTASKS": "WORLD_SIZE"}
_DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def word_advice(job: Job, plan: Plan) -> Found:
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
            hint = "write %a, the number of the job" + ", and --array FIRST-LAST" * (not job.array)
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
    index = next((word for word in arguments if re.search("%a(?![A-Za-z])", word)), None)
    if index and not job.array and job.command != "byhand":
        text = f"%a in {index!r:.60} is the number of a job in an array, and this is none"
        yield "--", text, "variable", "add --array FIRST-LAST"
    if home := next((word for word in arguments if re.search("(^|=)~/", word)), ""):
        text = f"the program gets {home!r:.60} as it is: no shell replaces the ~"
        hint = f"write {home.replace('~/', '$HOME/', 1)} without single quotes"
        yield "--", text, "variable", hint
    yield from _names(job, plan)
    yield from _variables(plan, letters)


def _names(job: Job, plan: Plan) -> Found:
    """Warnings about a % in the name of the job, or of its output, that nobody replaces."""
    if pattern := re.search("%[A-Za-z]", job.name or ""):
        text = f"{pattern[0]} stays in the job's name as it is"
        yield "-J", text, "variable", "the file of the output may have it"
    output = plan.request.output or ""
    if plan.scheduler == "slurm" and not job.array and re.search("%[aA](?![A-Za-z])", output):
        text = f"{output!r:.60} has the numbers of an array, and this is none"
        hint = f"write --set request.output={quote(re.sub('%A(_%a)?|%a', '%j', output))}"
        yield "request.output", text, "variable", hint


def _variables(plan: Plan, letters: dict[str, str]) -> Found:
    """Warnings about the values of variables; `letters` have what the node has instead of %."""
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
    """A text with the variables that have the values of its letters, such as %j."""
    return _PLACE.sub(lambda it: letters.get(it[1], it[0]), text)


def _in_shell(program: Program) -> str:
    """The program as a shell's command, which replaces the variables."""
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
