"""The values that options of sbatch, salloc and srun take, from Slurm's sources.

Each option's reader is `arg_set_…` in src/common/slurm_opt.c; most call src/common/proc_args.c.
Options whose value may be any text, and those that ignore what they do not know, have no grammar.
"""

import re

from jobgen.lint.option_values.grammar import Grammar, choices, number, pattern, words
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


# verify_socket_core_thread_count
_RANGE = r"(\*[^:]*|\+?\d+[km]?(-\d+[km]?(-[^:]*)?)?)?"
# src/common/slurm_protocol_defs.c, slurm_get_next_tres
_NUMBER = r"(\+?\d+|(?=[kmgtp]))([kmgtp](i?b)?)?"
_RESOURCE = rf"(gres[:/])?(?!\d+([:=]|$))[^\s:=]+(:[^:=]+([:=]{_NUMBER})?|={_NUMBER})?"
_HINT = "(compute_bound|memory_bound|(no)?multithread)"
_FREQUENCY = r"(lo|hi|med)\w*|0*[1-9]\d*.*"
_GOVERNOR = r"(co|perf|pow|user|onde|sche)\w*"
_LEVEL = r"\d+|low|medium|high|highm1"

_GRAMMARS: dict[str, Grammar] = {
    "time time-min delay-boot": DURATION,
    "begin deadline": MOMENT,
    "mem mem-per-cpu mem-per-gpu tmp": pattern(  # str_to_mbytes
        "a whole number with K, M, G or T after it, or megabytes", r"\s*(\+?\d+|-0+)([kmgt]b?)?"
    ),
    "ntasks ntasks-per-node ntasks-per-core ntasks-per-socket ntasks-per-gpu": number(1),
    "cpus-per-task cpus-per-gpu mincpus cores-per-socket sockets-per-node": number(1),
    "threads-per-core thread-spec threads msg-timeout": number(1),
    "core-spec kill-on-bad-exit relative segment wait": number(0),
    "oom-kill-step wait-all-nodes": pattern("0 or 1", r"\s*\+?0*[01]"),
    "nodes": Grammar("a number of nodes, or MIN-MAX", _refused_nodes),
    "extra-node-info": pattern(
        "SOCKETS[:CORES[:THREADS]], each a number, a range or *",
        rf"{_RANGE}(:{_RANGE}(:{_RANGE}(:.*)?)?)?",
    ),
    "gpus gpus-per-node gpus-per-socket gpus-per-task": words(
        "[TYPE:]COUNT, with commas between several", rf"[^:=]+([:=]{_NUMBER})?"
    ),
    "gres": words(
        "NAME[:TYPE][:COUNT], with commas between several", rf"none|help|list|{_RESOURCE}"
    ),
    "gres-flags": words(
        "disable-binding, enforce-binding, one-task-per-sharing, multiple-tasks-per-sharing or"
        " allow-task-sharing",
        "(dis|en)(able|force)-binding|(one-task|multiple-tasks)-per-sharing|allow-task-sharing",
    ),
    "licenses": words("NAME[:COUNT], with commas between several", r"[^\s:=]+([:=]\+?\w*)?", ",;|"),
    "cpu-bind cpu_bind": CPU_BIND,
    "mem-bind mem_bind": MEM_BIND,
    "gpu-bind": GPU_BIND,
    "distribution": DISTRIBUTION,
    "hint": choices(
        "compute_bound, memory_bound, multithread or nomultithread",
        rf"{_HINT}([;,]{_HINT})*|(.*[;,])?help([;,].*)?",
    ),
    "exclusive": choices(
        "nothing, or =user, =mcs, =topo", "exclusive|oversubscribe|user|mcs|topo|allocation"
    ),
    "cpu-freq": choices(
        "low, medium, high, highm1, KILOHERTZ, or MIN-MAX[:GOVERNOR], or a governor",
        rf"({_GOVERNOR}|{_FREQUENCY})(-({_FREQUENCY})(:{_GOVERNOR})?)?",
    ),
    "gpu-freq": words(
        "low, medium, high, highm1 or MEGAHERTZ, and memory= one of them",
        rf"(?-i:(memory=)?({_LEVEL})|verbose)",
    ),
    "acctg-freq": words(
        "SECONDS, or task=, energy=, network= or filesystem=SECONDS",
        r"\s*\+?\d.*|.*(task|energy|network|filesystem)=\s*\+?\d.*",
    ),
    "profile": choices(
        "all, none, energy, task, lustre or network",
        ".*(none|all|energy|task|lustre|network).*",
    ),
    "array": ARRAY,
    "dependency": DEPENDENCY,
    "mail-type": MAIL,
    "signal": SIGNAL,
    "switches": pattern("COUNT[@TIME]", r"\s*\+?0*[1-9]\d*(@.*)?"),
    "priority": choices("a whole number, or TOP", r"(?!\s*-\s*0*[1-9]).*"),
    "kill-on-invalid-dep": choices("yes or no", "yes|no"),
    "no-kill": choices("nothing, or =off", "set|off|no"),
    "open-mode": choices("append or truncate", "[at].*"),
    "requeue": choices("nothing, or =expedite", "expedite"),
}
GRAMMARS = {name: grammar for options, grammar in _GRAMMARS.items() for name in options.split()}
