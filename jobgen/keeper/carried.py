"""One text of the programs that a script carries."""

from __future__ import annotations

import functools
import re
from pathlib import Path

_KEEP = "sys.exit(keep(float(sys.argv[2]), sys.argv[4], sys.argv[5:], step))\n"
_LEAD = """is_lead = sys.argv[1] == "lead"
sys.exit(Lead(*sys.argv[2:]).run() if is_lead else agent(sys.argv[2], *sys.argv[4:6], step))
"""


@functools.cache
def keeper_text(with_lead: bool, with_orders: bool = True, hears_end: bool = False) -> str:
    """The program FILE: `FILE keep …`, or with the lead `FILE lead …` and `FILE agent …`.

    With orders, or with hears_end alone, it ends its node when FOLDER/orders/end is there.
    """
    names = ["keep", *["orders"] * with_orders, *["lead"] * with_lead]
    nothing = "bool  # nothing is due each second"
    ends = 'lambda: os.path.exists(sys.argv[3] + "/orders/end")' if hears_end else nothing
    step = "obey(sys.argv[3], sys.argv[4]).__next__" if with_orders else ends
    parts = [(Path(__file__).parent / f"{name}.py").read_text() for name in names]
    parts = [re.sub(r"(?m)^from (jobgen|collections)\..*\n", "", part).strip() for part in parts]
    text = "\n\n".join(parts)  # only quoted types are of collections.abc
    # An empty line less before each function, and none within a class.
    text = re.sub(r"\n(?=\n\n)|\n(?=\n    def |\nimport )", "", text)
    return f"{text}\n\nstep = {step}\n{_LEAD if with_lead else _KEEP}"
