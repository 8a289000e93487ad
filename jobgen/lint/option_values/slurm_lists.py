"""Lists of Slurm's options that are more than a pattern: dependencies, arrays, mail, bindings."""

import re

from jobgen.lint.option_values.grammar import Grammar, choices, words

MAIL_TYPES = (
    "NONE BEGIN END FAIL REQUEUE ALL INVALID_DEPEND STAGE_OUT TIME_LIMIT TIME_LIMIT_90"
    " TIME_LIMIT_80 TIME_LIMIT_50 ARRAY_TASKS"
).split()
MAIL = words(", ".join(MAIL_TYPES), "|".join(MAIL_TYPES))


# ---- arrays: src/common/slurm_protocol_defs.c, slurm_parse_array_tok ----


_ARRAY_ITEM = re.compile(
    r"(?!\[?-\s*\+?\d)\[?\s*\+?(\d{0,18})\]?(-\s*\+?(\d{0,18})\]?(:\s*\+?(\d{1,18})\]?)?)?(%.*)?",
    re.ASCII,
)


def _is_array_item(item: str) -> bool:
    found = _ARRAY_ITEM.fullmatch(item)
    if not found:
        return False
    first, last, step = (int(found[group] or 0) for group in (1, 3, 5))
    return (found[2] is None or last >= first) and (found[4] is None or step > 0)


ARRAY = Grammar(
    "numbers and ranges such as 0-15, 1,3,5 or 0-100:10, and %4 for at most 4 at a time",
    lambda value: next((item for item in value.split(",") if not _is_array_item(item)), ""),
)


# ---- dependencies: src/slurmctld/job_scheduler.c, update_job_dependency ----

_JOB = r"\s*\+?0*[1-9]\d*(_(\*|[+-]?\d+))?(\+0*[1-9]\d*)?(\([^)]*\))?"
_CONDITION = "after(any|ok|notok|corr|burstbuffer)?|expand"
_DEPENDENCY = rf"singleton(\([^)]*\))?|({_CONDITION}):{_JOB}(:{_JOB})*"
_JOBS = r"\d+(_(\*|\d*))?"
DEPENDENCY = choices(
    "after, afterany, afterok, afternotok or aftercorr, each with :JOBID, or singleton; a comma"
    " between them for all, a ? for any",
    rf"0?|({_DEPENDENCY})([,?]({_DEPENDENCY}))*([,?]{_JOBS})*|{_JOBS}(,{_JOBS})*",
)


# ---- signals: src/common/proc_args.c, get_signal_opts ----

_SIGNALS = "HUP|INT|QUIT|ABRT|KILL|ALRM|TERM|USR1|USR2|URG|CONT|STOP|TSTP|TTIN|TTOU|XCPU|CHLD|PIPE"
_MOST = "0*([1-5]?\\d{1,4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])"  # 16 bits
SIGNAL = choices(
    "[R][B]:SIGNAL[@SECONDS], with a number or one of " + _SIGNALS.replace("|", ", "),
    rf"R?B?R?:?(\s*\+?0*[1-9]\d*|\s*(SIG)?({_SIGNALS}))\s*(@(\s*\+?{_MOST})?)?",
)


# ---- where tasks go: src/common/proc_args.c, verify_dist_type ----

_LEVEL = r"(block|cyclic|fcyclic|\*)"
DISTRIBUTION = choices(
    "block, cyclic, plane=SIZE or arbitrary, with :block, :cyclic or :fcyclic for sockets and"
    " cores, and ,Pack or ,NoPack",
    rf"plane([^=]*=\s*\+?0*[1-9]\d*)?|:*((block|cyclic|\*)(:+{_LEVEL}){{0,2}}|arbitrary|hostfile"
    r"|pack|nopack):*(,((no)?pack)?)?",
)


# ---- bindings: src/common/slurm_resource_info.c, src/common/tres_bind.c ----

_NUMBER, _MASK = r"(0x[0-9a-f]+|\d+)(\*\d+)?", r"(0x)?[0-9a-f]+(\*\d+)?"


def _binding(takes: str, kinds: str, mapped: str) -> Grammar:
    maps = rf"map_?({mapped})\w*[:=]{_NUMBER}(,+{_NUMBER})*,*"
    masks = rf"mask_?({mapped})\w*[:=]{_MASK}(,+{_MASK})*,*"
    one = f"(help|q|quiet|v|verbose|no|none|rank|{kinds}|{maps}|{masks})"
    return choices(takes, rf"{one}([,;]{one})*")


CPU_BIND = _binding(
    "none, rank, map_cpu:LIST, mask_cpu:LIST, rank_ldom, map_ldom:LIST, mask_ldom:LIST, sockets,"
    " cores, threads or ldoms, with quiet or verbose before it",
    "off|one_thread|rank_ldom|boards?|sockets?|cores?|threads?|ldoms?",
    "cpu|ldom",
)
MEM_BIND = _binding(
    "none, rank, local, map_mem:LIST or mask_mem:LIST, with quiet, verbose, prefer, sort or nosort"
    " before it",
    "p|prefer|sort|nosort|local",
    "mem",
)
GPU_BIND = choices(
    "closest, none, single:COUNT, per_task:COUNT, map:LIST or mask:LIST, with verbose, before it",
    r"(verbose,)?([cn].*|map(_gpu)?:[\d*,]*|mask(_gpu)?:[0-9a-fx*,]*|(per_task|single):(?!\s*-).*)",
)
