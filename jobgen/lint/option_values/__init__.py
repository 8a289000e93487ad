"""The values that options of Slurm's and PBS's commands take: a grammar for each option.

A grammar accepts each value that any release of Slurm (20.11 to 26.05), OpenPBS or Torque accepts.
It knows no cluster: it does not check whether a partition, a feature or a kind of GPU exists. Not
here: which options a script has (reader/), and which values are placeholders (JG217).

A line of a table (slurm.txt, pbs.txt) has a kind, options, and a description of their values. The
line below has the pattern of these values, in which upper and lower case are the same.

    NUMBER = a part of the patterns below, where <NUMBER> is
    list gres: NAME[:COUNT], with commas between several
        [a-z]+:<NUMBER>

The kind is `number` or `word`; for a list whose items match the pattern, `numbers` or `list`.
Where a number is required, a word may be a placeholder. If a pattern has groups
`first` and `last`, these are numbers, and the first must not be above the last. An option
X.NAME is the value after NAME= in the option X.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from jobgen.explanation import read_patterns

_TABLES = {"slurm": ("slurm",), "pbs": ("pbs",), "openpbs": ("pbs", "openpbs")}
# A comma ends a value only outside quotes, and only if NAME= follows the comma.
_PAIR = re.compile(r"""(?:'[^']*'|"[^"]*"|,(?!\s*\w+=)|[^'",])+""")


class Grammar(NamedTuple):
    """The values that an option takes; the text `takes` ends a message: "it takes …"."""

    takes: str
    pattern: str
    kind: str
    values: Mapping[str, "Grammar"] = MappingProxyType({})  # for VALUE in NAME=VALUE, by NAME

    def refused(self, value: str) -> str:
        """The part of a value that is wrong, perhaps all of it; "" if it is accepted."""
        if self.kind in ("list", "numbers"):  # empty items are skipped, as by strtok(3)
            return next((each for each in value.split(",") if each and not self._has(each)), "")
        if not self._has(value):
            return value or "nothing"
        for pair in _PAIR.findall(value) if self.values else ():
            name, _, amount = (text.strip() for text in pair.partition("="))
            if name in self.values and self.values[name].refused(amount.strip("'\"")):
                return str(pair.strip())
        return ""

    def _has(self, value: str) -> bool:
        # A pattern is compiled when an option needs it: compiling all would slow the start.
        found = re.fullmatch(self.pattern, value, re.IGNORECASE | re.ASCII)
        bounds = found.groupdict() if found else {}
        last = bounds.get("last")
        is_ascending = last is None or int(bounds["first"] or 0) <= int(last or 0)
        return bool(found) and is_ascending


def grammar_of(scheduler: str, option: str) -> Grammar | None:
    """The grammar of an option: a long name for `slurm`, a letter for `pbs` or `openpbs`."""
    return _grammars(scheduler).get(option)


@cache
def _grammars(scheduler: str) -> dict[str, Grammar]:
    grammars: dict[str, Grammar] = {}
    for table in _TABLES[scheduler]:
        file = os.path.join(os.path.dirname(__file__), f"{table}.txt")
        with open(file, encoding="utf-8") as stream:
            for line, pattern in read_patterns(stream.read(), {}):
                names, _, takes = line.partition(": ")
                kind, *options = names.split()
                grammars |= dict.fromkeys(options, Grammar(takes, pattern, kind))
    for name in grammars.keys() & {"l", "W"}:
        values = {key[2:]: each for key, each in grammars.items() if key.startswith(f"{name}.")}
        grammars[name] = grammars[name]._replace(values=values)
    return grammars
