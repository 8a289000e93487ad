"""Options of sbatch, qsub and torchrun that jobgen does not have, and what says the same to jobgen.

Only a mistake imports this. The words for a scheduler's options are in schedulers/.
"""

from __future__ import annotations

from jobgen.cli.output_options import output_options
from jobgen.lint.reader.sbatch_options import OPTIONS, WITHOUT_VALUE
from jobgen.planning.job_options import job_options
from jobgen.schedulers import pbs_options, slurm_options
from jobgen.schedulers.local import LOOK
from jobgen.schedulers.pbs import FOREIGN_KEYS

_ADDRESS = "--set network.interface=NAME, which has the address"
_TORCHRUN = {
    "master-addr": _ADDRESS,
    "master-port": "--set network.port=PORT",
    "nnodes": "-N N",
    "nproc-per-node": slurm_options.OWN_WORDS["ntasks-per-node"],
    "rdzv-backend": "--rendezvous c10d",
    "rdzv-endpoint": _ADDRESS,
    "standalone": "-N 1",
}
_RESOURCES = {**pbs_options.JOB_RESOURCES, **pbs_options.CHUNK_OPTIONS}


def own_words(command: str, flag: str) -> str:
    """What to do instead of giving a command an option that it does not have; "" if unknown."""
    name = flag.lstrip("-")
    words = _answers(command).get(name if len(name) == 1 else name.replace("_", "-"), "")
    if not words.startswith("-"):
        return words
    rows = (*job_options(command), *output_options(command).items())
    flags = {"--", *(each for _, row in rows for each in row.flags)}
    return f"write {words}" if words.split(" ")[0].partition("=")[0] in flags else ""


def _answers(command: str) -> dict[str, str]:
    """The words for each option; those for the command's own scheduler count first."""
    if command == "sbatch":
        habits = {name: _RESOURCES[name] for name in ("walltime", "ncpus", "ngpus")}
        return {**_TORCHRUN, **habits, **_slurm_answers(), **_letters(_slurm_answers())}
    if command == "qsub":
        habits = {
            name: words
            for name, words in slurm_options.OWN_WORDS.items()
            if not any(key in words for key in FOREIGN_KEYS)
        }
        return {**_TORCHRUN, **habits, **_pbs_answers()}
    if command == "interactive":
        return {**_pbs_answers(), **_slurm_answers(), **_letters(_slurm_answers())}
    return {**_TORCHRUN, "stall": LOOK}


def _slurm_answers() -> dict[str, str]:
    directives = {
        name: f"--directive=--{name}{'' if name in WITHOUT_VALUE else '=VALUE'}" for name in OPTIONS
    }
    return {**directives, **slurm_options.ON_COMMAND_LINE, **slurm_options.OWN_WORDS}


def _letters(answers: dict[str, str]) -> dict[str, str]:
    return {letter: answers[name] for letter, name in slurm_options.LONG_NAMES.items()}


def _pbs_answers() -> dict[str, str]:
    directives = {
        **{letter: f"--directive='-{letter} VALUE'" for letter in pbs_options.WITH_VALUE},
        **{letter: f"--directive=-{letter}" for letter in pbs_options.WITHOUT_VALUE},
    }
    return {**directives, **pbs_options.ON_COMMAND_LINE, **pbs_options.OWN_WORDS, **_RESOURCES}
