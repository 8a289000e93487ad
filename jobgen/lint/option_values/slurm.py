"""The values that options of sbatch, salloc and srun take, from Slurm's sources.

Each option's reader is `arg_set_…` in src/common/slurm_opt.c; most call src/common/proc_args.c.
Options whose value may be any text, and those that ignore what they do not know, have no grammar.
"""

import re

from jobgen.lint.option_values.grammar import Grammar, choices, pattern, words

_COUNT = pattern("a whole number", r"(\s*(\+?\d{1,18}|-0{1,18}))?")
_COUNT_ABOVE_0 = pattern("a whole number above 0", r"\s*\+?(?=\d{1,18}$)0*[1-9]\d*")


# ---- nodes: verify_node_count; lists such as 1,2,4-8 are new in 23.02 ----


def _refused_nodes(value: str) -> str:
    least, dash, most = value.partition("-")
    if re.fullmatch(r"\d+(-\d+(:\d+)?)?([,:]\d+(-\d+(:\d+)?)?)*", value, re.A) and "," in value:
        return ""
    first, last = _node_count(least), _node_count(most)
    if first is None or last is None or (not dash and first < 0):
        return value or "nothing"
    return "" if not dash or last == 0 or last >= max(first, 1) else value


def _node_count(text: str) -> int | None:
    """The number; -1 if there is none, and None if that is not a number."""
    found = re.fullmatch(r"(\s*\+?(\d{1,18})(k?)(m?)\s*)?", text, re.IGNORECASE | re.ASCII)
    if not found:
        return None
    shift = (10 if found[3] else 0) + (20 if found[4] else 0)
    return int(found[2]) << shift if found[2] else -1


# ---- arrays: src/common/slurm_protocol_defs.c, slurm_parse_array_tok ----

_ARRAY_ITEM = re.compile(
    r"(?!\[?-\s*\+?\d)\[?\s*\+?(\d{0,18})\]?(-\s*\+?(\d{0,18})\]?(:\s*\+?(\d{1,18})\]?)?)?(%.*)?",
    re.ASCII,
)


def _refused_array(value: str) -> str:
    for item in value.split(","):
        if not (found := _ARRAY_ITEM.fullmatch(item)):
            return item
        first, last, step = (int(found[group] or 0) for group in (1, 3, 5))
        if (found[2] and last < first) or (found[4] and step == 0):
            return item
    return ""


# ---- points in time: src/common/parse_time.c ----

# The longest first. After a unit, the rest is read as one more time.
_UNIT = "seconds?|minutes?|hours?|days?|weeks?"
_MINUTES = r":[0-5]\d(:[0-5]\d)?\s*"
_TIME = rf"(0?\d|1[0-2]){_MINUTES}[ap]m|([01]?\d|2[0-3]){_MINUTES}(?![ap]m)"
# A second digit belongs to the number, if there is one.
_MONTH, _DAY = r"(0[1-9]|1[0-2]|[1-9](?!\d))", r"(0[1-9]|[12]\d|3[01]|[1-9](?!\d))"
_DATE = rf"\d{{4}}-{_MONTH}-{_DAY}|{_MONTH}[./]?{_DAY}[./]?(\d\d)?"
_NAMES = "today|tomorrow|midnight|noon|elevenses|fika|teatime"
_POINT = rf"({_NAMES}|{_TIME}|{_DATE})(?!\d)[\sT-]*"
_DELTA = rf"now\s*[+-]\s*\d[\d\s]*(({_UNIT})[\sT-]*|$)"

# ---- dependencies: src/slurmctld/job_scheduler.c, update_job_dependency ----

_JOB = r"\s*\+?0*[1-9]\d*(_(\*|[+-]?\d+))?(\+0*[1-9]\d*)?(\([^)]*\))?"
_CONDITION = "after(any|ok|notok|corr|burstbuffer)?|expand"
_DEPENDENCY = rf"singleton(\([^)]*\))?|({_CONDITION}):{_JOB}(:{_JOB})*"
_JOBS = r"\d+(_(\*|\d*))?"

# ---- signals, and where tasks go: get_signal_opts and verify_dist_type ----

_SIGNALS = "HUP|INT|QUIT|ABRT|KILL|ALRM|TERM|USR1|USR2|URG|CONT|STOP|TSTP|TTIN|TTOU|XCPU|CHLD|PIPE"
_MOST = "0*([1-5]?\\d{1,4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])"  # 16 bits
_PLACE = r"(block|cyclic|fcyclic|\*)"

# ---- bindings: src/common/slurm_resource_info.c, src/common/tres_bind.c ----


def _binding(takes: str, kinds: str, mapped: str) -> Grammar:
    number, mask = r"(0x[0-9a-f]+|\d+)(\*\d+)?", r"(0x)?[0-9a-f]+(\*\d+)?"
    maps = rf"map_?({mapped})\w*[:=]{number}(,+{number})*,*"
    masks = rf"mask_?({mapped})\w*[:=]{mask}(,+{mask})*,*"
    one = f"(help|q|quiet|v|verbose|no|none|rank|{kinds}|{maps}|{masks})"
    return choices(takes, rf"{one}([,;]{one})*")


# verify_socket_core_thread_count
_RANGE = r"(\*[^:]*|\+?\d+[km]?(-\d+[km]?(-[^:]*)?)?)?"
# src/common/slurm_protocol_defs.c, slurm_get_next_tres
_NUMBER = r"(\+?\d+|(?=[kmgtp]))([kmgtp](i?b)?)?"
_RESOURCE = rf"(gres[:/])?(?!\d+([:=]|$))[^\s:=]+(:[^:=]+([:=]{_NUMBER})?|={_NUMBER})?"
_HINT = "(compute_bound|memory_bound|(no)?multithread)"
_FREQUENCY = r"(lo|hi|med)\w*|0*[1-9]\d*.*"
_GOVERNOR = r"(co|perf|pow|user|onde|sche)\w*"
_LEVEL = r"\d+|low|medium|high|highm1"
_MAIL_TYPES = (
    "NONE BEGIN END FAIL REQUEUE ALL INVALID_DEPEND STAGE_OUT TIME_LIMIT TIME_LIMIT_90"
    " TIME_LIMIT_80 TIME_LIMIT_50 ARRAY_TASKS"
).split()

_GRAMMARS: dict[str, Grammar] = {
    "time time-min delay-boot": pattern(  # `_is_valid_timespec` of src/common/parse_time.c
        "minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or"
        " days-hours:minutes:seconds",
        r"infinite|unlimited|(\d+-)?\d+(:\d+){1,2}|\d+-?\d*|-\d+",
    ),
    "begin deadline": pattern(
        "HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], MM/DD/YY, now+COUNT with seconds, minutes, hours,"
        " days or weeks, or today, tomorrow, midnight, noon, teatime",
        rf"uts\d{{7,}}|now\s*|[\sT-]*({_DELTA}|{_POINT})({_POINT})*",
    ),
    "mem mem-per-cpu mem-per-gpu tmp": pattern(  # str_to_mbytes
        "a whole number with K, M, G or T after it, or megabytes", r"\s*(\+?\d+|-0+)([kmgt]b?)?"
    ),
    "ntasks ntasks-per-node ntasks-per-core ntasks-per-socket ntasks-per-gpu": _COUNT_ABOVE_0,
    "cpus-per-task cpus-per-gpu mincpus cores-per-socket sockets-per-node": _COUNT_ABOVE_0,
    "threads-per-core thread-spec threads msg-timeout": _COUNT_ABOVE_0,
    "core-spec kill-on-bad-exit relative segment wait": _COUNT,
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
    "cpu-bind cpu_bind": _binding(
        "none, rank, map_cpu:LIST, mask_cpu:LIST, rank_ldom, map_ldom:LIST, mask_ldom:LIST,"
        " sockets, cores, threads or ldoms, with quiet or verbose before it",
        "off|one_thread|rank_ldom|boards?|sockets?|cores?|threads?|ldoms?",
        "cpu|ldom",
    ),
    "mem-bind mem_bind": _binding(
        "none, rank, local, map_mem:LIST or mask_mem:LIST, with quiet, verbose, prefer, sort or"
        " nosort before it",
        "p|prefer|sort|nosort|local",
        "mem",
    ),
    "gpu-bind": choices(
        "closest, none, single:COUNT, per_task:COUNT, map:LIST or mask:LIST, with verbose, before"
        " it",
        r"(verbose,)?([cn].*|map(_gpu)?:[\d*,]*|mask(_gpu)?:[0-9a-fx*,]*"
        r"|(per_task|single):(?!\s*-).*)",
    ),
    "distribution": choices(
        "block, cyclic, plane=SIZE or arbitrary, with :block, :cyclic or :fcyclic for sockets and"
        " cores, and ,Pack or ,NoPack",
        rf"plane([^=]*=\s*\+?0*[1-9]\d*)?|:*((block|cyclic|\*)(:+{_PLACE}){{0,2}}|arbitrary"
        r"|hostfile|pack|nopack):*(,((no)?pack)?)?",
    ),
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
    "array": Grammar(
        "numbers and ranges such as 0-15, 1,3,5 or 0-100:10, and %4 for at most 4 at a time",
        _refused_array,
    ),
    "dependency": choices(
        "after, afterany, afterok, afternotok or aftercorr, each with :JOBID, or singleton; a"
        " comma between them for all, a ? for any",
        rf"0?|({_DEPENDENCY})([,?]({_DEPENDENCY}))*([,?]{_JOBS})*|{_JOBS}(,{_JOBS})*",
    ),
    "mail-type": words(", ".join(_MAIL_TYPES), "|".join(_MAIL_TYPES)),
    "signal": choices(
        "[R][B]:SIGNAL[@SECONDS], with a number or one of " + _SIGNALS.replace("|", ", "),
        rf"R?B?R?:?(\s*\+?0*[1-9]\d*|\s*(SIG)?({_SIGNALS}))\s*(@(\s*\+?{_MOST})?)?",
    ),
    "switches": pattern("COUNT[@TIME]", r"\s*\+?0*[1-9]\d*(@.*)?"),
    "priority": choices("a whole number, or TOP", r"(?!\s*-\s*0*[1-9]).*"),
    "kill-on-invalid-dep": choices("yes or no", "yes|no"),
    "no-kill": choices("nothing, or =off", "set|off|no"),
    "open-mode": choices("append or truncate", "[at].*"),
    "requeue": choices("nothing, or =expedite", "expedite"),
}
GRAMMARS = {name: grammar for options, grammar in _GRAMMARS.items() for name in options.split()}
