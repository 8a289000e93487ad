"""Warnings about words of a job that nobody replaces: `$NAME` and `%a` in quotes."""

import re
from collections.abc import Iterator

from jobgen.errors import Mark, Problem
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
# The id of a job in the name of Slurm's output, and none of the letters of a date; what has it.
_PLACE = re.compile(r"(?<!%[YmdHMS])%([jA])(?![A-Za-z%])")
_IDS = {
    "sbatch": ("${SLURM_JOB_ID}", "${SLURM_ARRAY_JOB_ID}"),
    "qsub": ("${PBS_JOBID}", "${PBS_ARRAY_ID}"),
}
# What each rank has, whatever starts it.
_OF_RANK = {"SLURM_PROCID": "RANK", "SLURM_LOCALID": "LOCAL_RANK", "SLURM_NTASKS": "WORLD_SIZE"}
_DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def word_advice(job: Job, plan: Plan) -> Iterator[Problem]:
    """Warnings about the program's arguments, the job's name, and the GPUs that ranks may see."""
    arguments = plan.program.arguments
    has_own_shell = any(re.fullmatch("-[a-z]*c", word) for word in arguments)
    place = next(filter(None, map(_PLACE.search, arguments)), None)
    job_id, array_id = _IDS.get(job.command, ("%j", "%A"))
    named = [_PLACE.sub(lambda it: job_id if it[1] == "j" else array_id, it) for it in arguments]
    found = next(filter(None, map(_VARIABLE.search, named)), None)
    if found and not has_own_shell:
        program = plan.program._replace(arguments=tuple(named))
        hint = f"for its value on the node: -- {_in_shell(program)}"
        if found[2] in _INDEX:
            hint = "write %a, the number of the job" + ", and --array FIRST-LAST" * (not job.array)
        text = f"the program gets {(place or found)[0]} as it is, and no value"
        yield Problem(Mark("--"), text, "variable", hint)
    own = [*_OWN.finditer(" ".join(arguments))]
    if own and not any(getattr(job, FIELD_OF_FLAG[str(each[each.lastindex or 0])]) for each in own):
        line = " ".join(each[0] for each in own)
        text = f"`{line}` stands behind {plan.program.name!r:.60}, and goes to it"
        yield Problem(Mark("--"), text, "program", f"for the job, write it before: {line} --")
    operator = next(filter(_OPERATORS.fullmatch, arguments), "")
    if operator and not has_own_shell:
        hint = f"for a shell on the node: -- {_in_shell(plan.program)}"
        yield Problem(Mark("--"), f"the program gets {operator!r} as an argument", "shell", hint)
    index = next((word for word in arguments if re.search("%a(?![A-Za-z])", word)), None)
    if index and not job.array and job.command != "byhand":
        text = f"%a in {index!r:.60} is the number of a job in an array, and this is none"
        yield Problem(Mark("--"), text, "variable", "add --array FIRST-LAST")
    if pattern := re.search("%[A-Za-z]", job.name or ""):
        text = f"{pattern[0]} stays in the job's name as it is"
        yield Problem(Mark("-J"), text, "variable", "the file of the output may have it")
    for name, value, _ in plan.software.environment:
        seen, ranks = len((value or "").split(",")), plan.launch.processes_per_node
        if name in _DEVICES and re.fullmatch(r"[\d,]+", value or "") and seen < ranks:
            text = f"{ranks} ranks on a node, which may see {seen} of its GPUs"
            yield Problem(Mark("-e"), text, "gpus", f"without {name}: -G {seen}")


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
