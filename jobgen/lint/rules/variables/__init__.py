"""Rules about variables that no program sees, or that have no value or a wrong one."""

import re
from collections import Counter

from jobgen.lint.launchers import launchers, work_commands
from jobgen.lint.reader.commands import OUTER, Use, base_name, kinds_of
from jobgen.lint.rules import Assignment, Finding, Findings, Script, Word, finding_at, optional


# Off by default: so far, Slurm sets the old variable everywhere.
@optional
def jg301_old_nodelist(script: Script) -> Findings:
    uses = [use for use in script.variable_uses if use.name == "SLURM_NODELIST"]
    for use in uses[-1:]:
        column = script.lines[use.line - 1].find("SLURM_NODELIST")
        text = "SLURM_NODELIST exists for old scripts only"
        yield Finding(use.line, max(column, 0) + 1, text, "use $SLURM_JOB_NODELIST")


_FOR_PROGRAMS = re.compile(r"(NCCL|FI_|GLOO|TORCH_|TORCHELASTIC_|UCX_|MIOPEN_|OMP_NUM_THREADS$)")
# A script uses such names for its own variables; programs read only a few of them.
_FOR_SCRIPTS = re.compile(r".*_(PATH|HOME|DIR|ROOT|VERSION)$")
_READ_BY_PROGRAMS = frozenset(
    """
    FI_PROVIDER_PATH MIOPEN_CUSTOM_CACHE_DIR MIOPEN_SYSTEM_DB_PATH MIOPEN_USER_DB_PATH
    TORCH_EXTENSIONS_DIR TORCH_HOME UCX_MODULE_DIR
    """.split()
)
_EXPORTS_ALL = re.compile(r"set .*(-[a-z]*a|allexport)")


def jg502_not_exported(script: Script) -> Findings:
    if not script.scheduler or any(_EXPORTS_ALL.match(each.text) for each in script.commands):
        return
    known_names = script.exports | _used_names(script)
    found: list[Assignment] = []
    for assignment in script.assignments:
        name = assignment.name
        is_for_script = _FOR_SCRIPTS.match(name) and name not in _READ_BY_PROGRAMS
        if name in known_names or not _FOR_PROGRAMS.match(name) or is_for_script:
            continue
        if assignment.depth > 0 or assignment.is_for_command:
            continue
        if not re.search(rf"--(env|export)\b.*\b{re.escape(name)}\b", script.text):
            found.append(assignment)
    for first in found[:1]:
        more = f", and neither are {len(found) - 1} more below" if len(found) > 1 else ""
        text = f"{first.name} is not exported{more}: no program sees it"
        yield finding_at(first, text, f"export {first.name}={first.value.text or '…'}")


def _used_names(script: Script) -> set[str]:
    """The variables that are used for more than a message."""
    used = Counter(use.name for use in script.variable_uses)
    messages = [each for each in script.commands if each.name in ("echo", "printf")]
    used.subtract(name for each in messages for word in each.words for name in word.variables)
    return {name for name, count in used.items() if count > 0}


def jg504_expanded_too_early(script: Script) -> Findings:
    yield from _expanded_before_set(script)
    yield from _expanded_before_awk(script)


def _expanded_before_set(script: Script) -> Findings:
    """Findings on NAME=value command $NAME."""
    for command in script.commands if not script.parse_error else ():
        used = {name for word in command.words for name in word.variables}
        for assignment in command.assignments:
            name, value = assignment.name, assignment.value.text
            is_set_elsewhere = script.flow.held(name, command.place).assignments
            extends_itself = re.search(rf"\$\{{?{re.escape(name)}\b", value)
            if is_set_elsewhere or extends_itself:
                continue
            if name in used:
                text = f"${name} is expanded before it is set for this command"
                yield finding_at(assignment, text, f"export {name}={value} on a line before")


def _expanded_before_awk(script: Script) -> Findings:
    """Findings on a field in double quotes for another shell: ssh HOST "awk '{print $4}'"."""
    for command in script.commands if "awk" in script.text else ():
        field = re.search(rf"{OUTER}(\d)\b", command.text) if "awk" in command.name else None
        if field:
            text = f"${field[1]} is expanded before awk starts: it is an argument of this script"
            yield finding_at(command, text, f"write \\${field[1]}, or the string in single quotes")


_COMPARES_NUMBERS = re.compile(r"\s-(eq|ne|lt|le|gt|ge)\s")


def jg505_no_value(script: Script) -> Findings:
    if script.active_directives and not _may_be_given(script):
        yield from _written_in_other_case(script)
        yield from _set_later_or_in_comment(script)


def _written_in_other_case(script: Script) -> Findings:
    """Findings on $scale, if only SCALE is set."""
    seen = {name for each in script.comments for name in re.findall(r"\w+", each.text)}
    for use in script.variable_uses:
        if use.name not in seen and (other := _other_case(script, use)):
            seen.add(use.name)
            text = f"${use.name} has no value: the variable that is set is ${other}"
            yield Finding(use.line, use.column, text, f"write ${other}", f"${use.name}")


def _set_later_or_in_comment(script: Script) -> Findings:
    """Findings on variables that are set below their use only, or only in a comment."""
    for use in _uses_of_unset(script):
        name = use.name
        if later := _set_later(script, use):
            text = f"${name} has no value yet: it is set on line {later.line}"
            yield Finding(use.line, use.column, text, f"set it before line {use.line}", f"${name}")
        elif comment := _only_comment(script, name):
            text = f"${name} is used, but set only in this comment"
            yield finding_at(comment, text, "remove the #")


_OF_SHELL = frozenset("PWD HOME USER HOSTNAME TMPDIR SCRATCH SECONDS RANDOM".split())


def _other_case(script: Script, use: Use) -> str:
    """The variable that is meant by one which nothing sets, in capitals or in small letters."""
    other = use.name.upper() if use.name.islower() else use.name.lower()
    own = script.assignments_of(other)
    is_given = script.flow.sets(use.name) or use.name.isupper()
    if (is_given and not (own and _gets_own_value(script, use, other))) or not use.is_plain:
        return ""
    if use.name.endswith("proxy") or use.name == other or use.place.starter:
        return ""
    is_given_by = any(use.name in each.value.variables for each in own)
    return other if (own and not is_given_by) or (not own and other in _OF_SHELL) else ""


def _gets_own_value(script: Script, use: Use, other: str) -> bool:
    """Whether nothing but NAME=$NAME sets a variable, and nothing uses one that is set for it."""
    is_used = other in {each.name for each in script.variable_uses}
    own = script.assignments_of(use.name)
    is_own = not is_used and {each.value.text.strip("${}") for each in own} == {use.name}
    return is_own and not script.flow.held(use.name, own[0].place).assignments


def _uses_of_unset(script: Script) -> list[Use]:
    """The first use of each variable that certainly has no value from the script there."""
    commands = {*work_commands(script), *(each.command for each in launchers(script))}
    words = [word for command in commands for word in command.words]
    needed = {(word.line, name) for word in words for name in word.variables}
    found: dict[str, Use] = {}
    for use in script.variable_uses:
        is_test = "test_command" in kinds_of(use.place.path)
        is_number = is_test and _COMPARES_NUMBERS.search(script.lines[use.line - 1])
        is_needed = use.is_plain and (is_number or (use.line, use.name) in needed)
        is_given = use.name in script.exports or use.name.startswith(("SLURM_", "PBS_"))
        if is_needed and not is_given and not script.flow.held(use.name, use.place).assignments:
            found.setdefault(use.name, use)
    return list(found.values())


def _set_later(script: Script, use: Use) -> Assignment | None:
    """The only assignment of a variable, if it always runs, but only after the use."""
    if use.place.path or script.runs_itself:
        return None
    later = [each for each in script.assignments_of(use.name) if each.is_certain]
    return next((each for each in later if use.name not in each.value.variables), None)


def _only_comment(script: Script, name: str) -> Word | None:
    """The comment that sets a variable, if no other comment names it and no command tests it."""
    if script.flow.sets(name) or re.search(rf"-[nvz]\s+\"?\$?\{{?{name}\b", script.text):
        return None
    # With a blank after the #, or text after the value, a comment is rather a note for people.
    setting = re.compile(rf"#(?:export\s+)?{name}=[^\s$`<]+")
    naming = [each for each in script.comments if re.search(rf"\b{name}\b", each.text)]
    return naming[0] if len(naming) == 1 and setting.fullmatch(naming[0].text) else None


def _may_be_given(script: Script) -> bool:
    """Whether a sourced file, or the person who submits the job, may set variables."""
    for command in script.commands:
        is_activate = base_name(command.arguments[0] if command.arguments else "") == "activate"
        if command.name in ("source", ".", "eval") and not is_activate:
            return True  # `source env/bin/activate` sets no variable of the script
    given = any(each.option in ("v", "V", "export") for each in script.active_directives)
    return given or any(re.search(r"sbatch|qsub|--export", each.text) for each in script.comments)


# Options for which Slurm sets the variable of the same name: SLURM_CPUS_PER_TASK.
_SETTING_OPTIONS = "cpus-per-task gpus gpus-per-node gpus-per-task ntasks-per-node".split()
# Further options for which Slurm sets, or may set, the same variable.
_OTHER_WAYS = {"cpus-per-task": "|cpus-per-gpu|tres-per-task", "ntasks-per-node": "|tasks-per-node"}
_SIZES = "nodes ntasks ntasks-per-node cpus-per-task gres gpus gpus-per-node mem".split()


def jg506_unset_by_slurm(script: Script) -> Findings:
    if script.scheduler != "slurm" or not script.directive(*_SIZES) or script.runs_itself:
        return
    for option in _SETTING_OPTIONS:
        name = f"SLURM_{option.upper().replace('-', '_')}"
        written = rf"--({option}{_OTHER_WAYS.get(option, '')})\b(?!-)"
        if script.directive(option) or re.search(written, script.text):
            continue
        if script.flow.sets(name):
            continue
        if word := _first_use(script, name):
            text = f"${name} is empty: Slurm sets it only if --{option} is given"
            cure = f"add #SBATCH --{option}=…, or a default at each use, ${{{name}:-…}}"
            yield finding_at(word, text, cure)


def _first_use(script: Script, name: str) -> Word | None:
    """Where a variable without a default is first used for more than a message."""
    words = [
        word
        for command in script.commands
        if not command.enclosing - {"pipeline"}
        and command.name not in ("echo", "printf", "test", "[")
        for word in command.words
    ]
    words += [assignment.value for assignment in script.assignments if assignment.is_certain]
    plain = re.compile(rf"\$({name}\b|\{{{name}\}})")
    used = [word for word in words if name in word.variables and plain.search(word.raw)]
    return min(used, key=lambda word: (word.line, word.column), default=None)


_INTERFACES = r"(?!\d+\.\d+\.)[^\s;]*", "names of interfaces, with commas"
# What NCCL and torch take; other values are an error, or mean the default.
_PART = (  # of NCCL, which writes messages
    "(?i:INIT|COLL|P2P|SHM|NET|GRAPH|TUNING|ENV|ALLOC|CALL|PROXY|NVLS|BOOTSTRAP|REG|PROFILE|RAS|ALL)"
)
_VALUES = {
    "NCCL_IB_TIMEOUT": (r"[0-2]?\d|3[01]", "0 to 31, for 4.096 µs times 2 to this power"),
    "NCCL_IB_RETRY_CNT": ("[0-7]", "0 to 7"),
    "NCCL_DEBUG": ("(?i:NONE|VERSION|WARN|INFO|ABORT|TRACE)", "VERSION, WARN, INFO or TRACE"),
    "NCCL_DEBUG_SUBSYS": (rf"\^?{_PART}(?:,{_PART})*", "INIT, NET, GRAPH, …, or ALL"),
    "NCCL_SOCKET_IFNAME": _INTERFACES,
    "GLOO_SOCKET_IFNAME": _INTERFACES,
    "TORCH_DISTRIBUTED_DEBUG": ("(?i:OFF|INFO|DETAIL)", "OFF, INFO or DETAIL"),
}


def jg510_invalid_value_of_nccl(script: Script) -> Findings:
    for assignment in script.assignments:
        pattern, values = _VALUES.get(assignment.name, ("", ""))
        value, is_array = assignment.value, assignment.items is not None
        if not pattern or not value.text or not value.is_literal or is_array:
            continue
        if not re.fullmatch(pattern, value.text):
            text = f"{assignment.name} does not take `{value.text}`"
            yield finding_at(assignment, text, f"it takes {values}")


_DEBUGGING = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL")
_REASON = re.compile(
    r"#.*(hang|workaround|work-around|do not remove|don't remove|deadlock|crash)", re.I
)


def jg507_launch_blocking(script: Script) -> Findings:
    job_name = script.directive("job-name", "N")
    if "debug" in f"{base_name(script.file)} {job_name.value if job_name else ''}".lower():
        return
    for name in _DEBUGGING if script.active_directives else ():
        assignments = script.assignments_of(name)
        if len(assignments) != 1 or not assignments[0].is_certain:
            continue
        assignment, line = assignments[0], assignments[0].line
        is_seen = name in script.exports or assignment.is_for_command
        beside = "\n".join(script.lines[max(0, line - 2) : line])
        if is_seen and assignment.value.text not in ("", "0") and not _REASON.search(beside):
            text = f"{name} makes the program wait for each kernel: it is for debugging"
            yield finding_at(assignment, text, "remove it")


# Off by default: a cluster may have no InfiniBand, or a broken one.
@optional
def jg509_network_disabled(script: Script) -> Findings:
    for assignment in script.assignments if (script.nodes or 1) > 1 else ():
        if assignment.name == "NCCL_IB_DISABLE" and assignment.value.text == "1":
            text = f"the {script.nodes} nodes use sockets, even if there is InfiniBand or RoCE"
            yield finding_at(assignment, text, "remove it, or say in a comment why it is there")


# A value behind a blank; `export A= B` exports an empty A, and B.
_BLANKS = re.compile(
    r"(?:^|[;&|]|\b(?:then|else|do)\s)\s*export\s+(?P<name>[A-Za-z_]\w*)"
    r"(?:\s+=|=\s+(?=[\d/.]))\s*(?P<value>[^\s;&|]*)"
)


def jg511_blanks_in_export(script: Script) -> Findings:
    for number, line in enumerate(script.lines if not script.is_other_language else (), 1):
        found = _BLANKS.search(line) if number not in script.quoted_lines else None
        if found and not line.lstrip().startswith("#"):
            name, value = found["name"], found["value"]
            text = f"{name} gets no value: in bash, no blanks are around ="
            cure = f"write export {name}={value}"
            yield Finding(number, found.start("name") + 1, text, cure, name)
