"""The values that options of sbatch, salloc and srun take, from Slurm's sources.

Each option's reader is `arg_set_…` in src/common/slurm_opt.c; most call src/common/proc_args.c.
Options whose value may be any text, and those that ignore what they do not know, have no grammar.
"""

from __future__ import annotations

import re

from jobgen.lint.option_values.grammar import Grammar, number, pattern, words
from jobgen.lint.option_values.slurm_lists import (
    ARRAY,
    CPU_BIND,
    DEPENDENCY,
    DISTRIBUTION,
    GPU_BIND,
    MAIL,
    MEM_BIND,
    SIGNAL,
)
from jobgen.lint.option_values.times import DURATION, MOMENT

_COUNT = number(1)
_COUNT_OR_ZERO = number(0)
# str_to_mbytes
_SIZE = pattern(
    "a whole number with K, M, G or T after it, or megabytes", r"\s*(\+?\d+|-0+)([kmgt]b?)?"
)
_FLAG = pattern("0 or 1", r"\s*\+?0*[01]")
# verify_socket_core_thread_count
_RANGE = r"(\*[^:]*|\+?\d+[km]?(-\d+[km]?(-[^:]*)?)?)?"
_SHAPE = pattern(
    "SOCKETS[:CORES[:THREADS]], each a number, a range or *",
    rf"{_RANGE}(:{_RANGE}(:{_RANGE}(:.*)?)?)?",
)
_NODE_COUNT = r"(\s*\+?(\d{1,18})(k?)(m?)\s*)?"


def _refused_nodes(value: str) -> str:
    """verify_node_count; lists such as 1,2,4-8 are new in 23.02."""
    least, dash, most = value.partition("-")
    if re.fullmatch(r"\d+(-\d+(:\d+)?)?([,:]\d+(-\d+(:\d+)?)?)*", value, re.A) and "," in value:
        return ""
    first, last = _node_count(least), _node_count(most)
    if first is None or last is None or (not dash and first < 0):
        return value or "nothing"
    return "" if not dash or last == 0 or last >= max(first, 1) else value


def _node_count(text: str) -> int | None:
    """The number; -1 if there is none, and None if that is not a number."""
    found = re.fullmatch(_NODE_COUNT, text, re.IGNORECASE | re.ASCII)
    if not found:
        return None
    shift = (10 if found[3] else 0) + (20 if found[4] else 0)
    return int(found[2]) << shift if found[2] else -1


# ---- GPUs and other resources: src/common/slurm_protocol_defs.c, slurm_get_next_tres ----

_NUMBER = r"(\+?\d+|(?=[kmgtp]))([kmgtp](i?b)?)?"
_RESOURCE = rf"(gres[:/])?(?!\d+([:=]|$))[^\s:=]+(:[^:=]+([:=]{_NUMBER})?|={_NUMBER})?"
_GRES = words("NAME[:TYPE][:COUNT], with commas between several", rf"none|help|list|{_RESOURCE}")
_GPUS = words("[TYPE:]COUNT, with commas between several", rf"[^:=]+([:=]{_NUMBER})?")
_LICENSES = words("NAME[:COUNT], with commas between several", r"[^\s:=]+([:=]\+?\w*)?", ",;|")


# ---- words ----

_GRES_FLAGS = words(
    "disable-binding, enforce-binding, one-task-per-sharing, multiple-tasks-per-sharing or"
    " allow-task-sharing",
    "(dis|en)(able|force)-binding|(one-task|multiple-tasks)-per-sharing|allow-task-sharing",
)
_HINT = pattern(
    "compute_bound, memory_bound, multithread or nomultithread",
    "(compute_bound|memory_bound|(no)?multithread)([;,](compute_bound|memory_bound|(no)?multithread"
    "))*|(.*[;,])?help([;,].*)?",
    is_number=False,
)
_EXCLUSIVE = pattern(
    "nothing, or =user, =mcs, =topo",
    "exclusive|oversubscribe|user|mcs|topo|allocation",
    is_number=False,
)
_PROFILE = pattern(
    "all, none, energy, task, lustre or network",
    ".*(none|all|energy|task|lustre|network).*",
    is_number=False,
)
_ACCOUNTING = words(
    "SECONDS, or task=, energy=, network= or filesystem=SECONDS",
    r"\s*\+?\d.*|.*(task|energy|network|filesystem)=\s*\+?\d.*",
)
_FREQUENCY = r"(lo|hi|med)\w*|0*[1-9]\d*.*"
_GOVERNOR = r"(co|perf|pow|user|onde|sche)\w*"
_CPU_FREQUENCY = pattern(
    "low, medium, high, highm1, KILOHERTZ, or MIN-MAX[:GOVERNOR], or a governor",
    rf"({_GOVERNOR}|{_FREQUENCY})(-({_FREQUENCY})(:{_GOVERNOR})?)?",
    is_number=False,
)
_LEVEL = r"\d+|low|medium|high|highm1"
_GPU_FREQUENCY = words(
    "low, medium, high, highm1 or MEGAHERTZ, and memory= one of them",
    rf"(?-i:(memory=)?({_LEVEL})|verbose)",
)
_OPEN_MODE = pattern("append or truncate", "[at].*", is_number=False)
_YES_OR_NO = pattern("yes or no", "yes|no", is_number=False)
_NO_KILL = pattern("nothing, or =off", "set|off|no", is_number=False)
_SWITCHES = pattern("COUNT[@TIME]", r"\s*\+?0*[1-9]\d*(@.*)?")
_PRIORITY = pattern("a whole number, or TOP", r"(?!\s*-\s*0*[1-9]).*", is_number=False)

GRAMMARS: dict[str, Grammar] = {
    **dict.fromkeys(("time", "time-min", "delay-boot"), DURATION),
    **dict.fromkeys(("begin", "deadline"), MOMENT),
    **dict.fromkeys(("mem", "mem-per-cpu", "mem-per-gpu", "tmp"), _SIZE),
    **dict.fromkeys(
        """
        ntasks ntasks-per-node ntasks-per-core ntasks-per-socket ntasks-per-gpu cpus-per-task
        cpus-per-gpu mincpus cores-per-socket sockets-per-node threads-per-core thread-spec threads
        msg-timeout
        """.split(),
        _COUNT,
    ),
    **dict.fromkeys(
        ("core-spec", "kill-on-bad-exit", "relative", "segment", "wait"), _COUNT_OR_ZERO
    ),
    **dict.fromkeys(("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"), _GPUS),
    **dict.fromkeys(("cpu-bind", "cpu_bind"), CPU_BIND),
    **dict.fromkeys(("mem-bind", "mem_bind"), MEM_BIND),
    **dict.fromkeys(("oom-kill-step", "wait-all-nodes"), _FLAG),
    "acctg-freq": _ACCOUNTING,
    "array": ARRAY,
    "cpu-freq": _CPU_FREQUENCY,
    "dependency": DEPENDENCY,
    "distribution": DISTRIBUTION,
    "exclusive": _EXCLUSIVE,
    "extra-node-info": _SHAPE,
    "gpu-bind": GPU_BIND,
    "gpu-freq": _GPU_FREQUENCY,
    "gres": _GRES,
    "gres-flags": _GRES_FLAGS,
    "hint": _HINT,
    "kill-on-invalid-dep": _YES_OR_NO,
    "licenses": _LICENSES,
    "mail-type": MAIL,
    "no-kill": _NO_KILL,
    "nodes": Grammar("a number of nodes, or MIN-MAX", _refused_nodes),
    "open-mode": _OPEN_MODE,
    "priority": _PRIORITY,
    "profile": _PROFILE,
    "signal": SIGNAL,
    "switches": _SWITCHES,
}
