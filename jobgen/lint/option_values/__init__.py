"""The values that options of Slurm's and PBS's commands take: a grammar for each option.

A grammar takes what any release from Slurm 20.11 to 26.05, or any of OpenPBS and Torque, takes. It
knows no cluster: whether a partition, a feature or a kind of GPU exists is not checked here. Not
here: which options a script has (reader/), and which values stand for others (JG217).
"""

from jobgen.lint.option_values import pbs, slurm
from jobgen.lint.option_values.grammar import Grammar


def grammar_of(scheduler: str, option: str) -> Grammar | None:
    """The grammar of an option: its long name for `slurm`, its letter for `pbs` or `openpbs`."""
    if scheduler == "slurm":
        return slurm.grammars().get(option)
    return pbs.grammars(is_openpbs=scheduler == "openpbs").get(option)
