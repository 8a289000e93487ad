"""A directive repeats an option with another value."""

from collections.abc import Iterator

from jobgen.lint.reader.sbatch_options import OPTIONS
from jobgen.lint.rules import Directive, Findings, Script, finding_at


def check(script: Script) -> Findings:
    if script.is_in_document:  # it shows one below the other what may be given
        return
    seen: dict[tuple[str, str], tuple[int, str]] = {}
    for directive in script.active_directives:
        if directive.option == "hetjob":
            seen.clear()
        if directive.option in ("mail-type", "hint"):  # several of them add up
            continue
        if directive.scheduler == "slurm" and directive.option not in OPTIONS:
            continue  # a plug-in (SPANK) has added it, and may add them up
        for name, value in _values(directive, bool(script.chunk_requests)):
            key = directive.scheduler, name
            line, earlier = seen.get(key, (0, value))
            if earlier != value:
                is_whole = name == directive.option or directive.scheduler == "slurm"
                option = directive.raw if is_whole else name
                text = f"`{option}` overrides line {line}"
                yield finding_at(directive, text, "keep one of the two")
            seen[key] = directive.line, value


def _values(directive: Directive, has_select: bool) -> Iterator[tuple[str, str]]:
    """The values that a directive sets, by name; PBS's -l sets several."""
    letters = "NAqoejvmM" if has_select else "NAqoejmM"
    if directive.scheduler != "pbs" or directive.option in letters:
        yield directive.option, directive.value
    yield from (each for each in directive.resources if each[0] in ("walltime", "select", "place"))
