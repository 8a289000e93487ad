"""The directives of a job script, in words as sbatch and qsub read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

# What stands in for an expansion that the outer shell does, where a string is read as a script.
OUTER = "\ue000"
# The options of sbatch(1) by their letters; True: it takes a value.
_SHORT = {
    **dict.fromkeys("HIOQhksvVWu", False),
    **dict.fromkeys("AaBbCcDdeFGiJLMmNnoPpqStwxn", True),
}
_NAMED = """
    A:account a:array b:begin C:constraint c:cpus-per-task D:chdir d:dependency e:error G:gpus
    H:hold i:input J:job-name k:no-kill L:licenses M:clusters m:distribution N:nodes n:ntasks
    O:overcommit o:output p:partition q:qos s:oversubscribe t:time w:nodelist x:exclude
""".split()
LETTERS = {letter: name for letter, _, name in (each.partition(":") for each in _NAMED)}
# Options of sbatch that take no value, or one only after `=`.
_FLAGS = frozenset(
    """
    contiguous exclusive get-user-env help hold ignore-pbs immediate nice no-kill no-requeue
    overcommit oversubscribe parsable propagate quiet reboot requeue share spread-job test-only
    usage use-min-nodes verbose version wait
    """.split()
)
SBATCH = _FLAGS | frozenset(
    """
    account acctg-freq array batch bb bbf begin chdir cluster cluster-constraint clusters
    comment constraint consolidate-segments container container-id core-spec cores-per-socket
    cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution error
    exclude export export-file external-launcher extra extra-node-info gid gpu-bind gpu-freq
    gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint input job-name
    kill-on-invalid-dep licenses cpu_bind mem_bind mail-type mail-user mcs-label mem mem-bind
    mem-per-cpu mem-per-gpu mincpus network nodefile nodelist nodes ntasks ntasks-per-core
    ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode oom-kill-step output partition
    power prefer priority profile qos reservation resv-ports segment signal sockets-per-node
    spank stepmgr switches tasks tasks-per-node thread-spec threads-per-core time time-min tmp
    tres-bind tres-per-task uid umask wait-all-nodes wckey workdir wrap x11
    """.split()
)
_SAME = {"tasks": "ntasks", "tasks-per-node": "ntasks-per-node", "share": "oversubscribe",
         "workdir": "chdir", "cluster": "clusters"}  # fmt: skip
# The options of qsub that take no value; see qsub(1B).
_QSUB_FLAGS = "IVXfhz"


@dataclass(frozen=True)
class Directive:
    """One option of a directive line; `option` is its long name, or of PBS its letter."""

    scheduler: str
    option: str
    value: str
    line: int
    column: int
    raw: str
    late: bool = False  # behind the first command: nothing reads it
    quoted: bool = False


@dataclass(frozen=True)
class Stray:
    """A word in a directive that is no option."""

    scheduler: str
    text: str
    line: int
    column: int
    late: bool = False


def words(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The words of a directive with their columns: quotes and backslashes, and # ends the line.

    As src/sbatch/opt.c has it, `_get_argument`.
    """
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text) or text[at] == "#":
            return
        begin, word, quote = at, "", ""
        while at < len(text) and (quote or not text[at].isspace()):
            letter = text[at]
            if letter == "\\" and at + 1 < len(text):
                at += 1
                word += text[at]
            elif quote and letter == quote:
                quote = ""
            elif not quote and letter in "\"'":
                quote = letter
            elif not quote and letter == "#":
                break
            else:
                word += letter
            at += 1
        yield word, start + begin


def read(lines: list[str], first_command: int) -> tuple[list[Directive], list[Stray]]:
    """All directives of a script, whose first command is on the line `first_command`."""
    found: list[Directive] = []
    stray: list[Stray] = []
    for number, line in enumerate(lines, 1):
        # qsub(1B) allows blanks before #PBS, sbatch does not.
        told = re.match(r"(#SBATCH)(?=\s|-)|\s*(#PBS)(?=\s)", line)
        if not told:
            continue
        late = number > first_command
        read_line = _slurm if told[1] else _pbs
        for each in read_line(line[told.end() :], number, told.end() + 1, late):
            if isinstance(each, Stray):
                stray.append(each)
            else:
                found.append(each)
    return found, stray


def options(command: list[str], line: int, column: int) -> list[Directive]:
    """Those of a command line of sbatch or qsub, at the place of the command.

    What is in a variable there is not known.
    """
    name, *rest = command
    read_line = _slurm if name.endswith("sbatch") else _pbs
    text = re.sub(r"\$(\{.*?\}|\(.*?\)|\w+)", OUTER, " ".join(rest))
    found = read_line(text, line, column, False)
    return [replace(each, column=column) for each in found if isinstance(each, Directive)]


def _slurm(text: str, line: int, start: int, late: bool) -> Iterator[Directive | Stray]:
    listed: Iterator[tuple[str, int]] = words(text, start)
    while following := next(listed, None):
        word, column = following
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            name = _whole(name)
            if not equals and name in SBATCH and name not in _FLAGS:
                value = next(listed, ("", 0))[0]
            elif not equals and name not in SBATCH:  # an option of the site's: with a value?
                following = next(listed, None)
                if following and following[0].startswith("-"):
                    listed = chain([following], listed)
            yield Directive("slurm", name, value, line, column, word, late)
        elif re.match("-[A-Za-z]", word):
            letter, value = word[1], word[2:]
            if _SHORT.get(letter) and not value:
                value = next(listed, ("", 0))[0]
            yield Directive("slurm", LETTERS.get(letter, letter), value, line, column, word, late)
        elif word.lower() in ("hetjob", "packjob"):  # the next part of a heterogeneous job begins
            yield Directive("slurm", "hetjob", "", line, column, word, late)
            return
        else:
            if not re.search(r"[{}<>\[\]]", text):  # else a part of a placeholder
                yield Stray("slurm", word, line, column, late)
            return


def _whole(name: str) -> str:
    """A long option by its whole name: getopt_long(3) takes a beginning that only one has."""
    if name not in SBATCH:
        fit = [each for each in SBATCH if each.startswith(name)]
        name = fit[0] if len(fit) == 1 else name
    return _SAME.get(name, name)


def _pbs(text: str, line: int, start: int, late: bool) -> Iterator[Directive | Stray]:
    listed = iter(words(text.replace("#", "\\#"), start))
    for word, column in listed:
        if not re.match("-[A-Za-z]", word):
            yield Stray("pbs", word, line, column, late)
            return
        letter, value = word[1], word[2:]
        if letter not in _QSUB_FLAGS and not value:
            value = next(listed, ("", 0))[0]
        yield Directive("pbs", letter, value, line, column, word, late)


def chunk(select: str) -> list[tuple[int, Mapping[str, str]]]:
    """The chunks of PBS's `select=N:a=b:c=d+…`, each with its count (pbs_resources(7B))."""
    found: list[tuple[int, Mapping[str, str]]] = []
    for part in select.split("+"):
        count, *rest = part.split(":")
        if "=" in count:
            count, rest = "1", [count, *rest]
        pairs = dict(each.partition("=")[::2] for each in rest)
        found.append((whole(count) or 1, pairs))
    return found


def whole(text: str) -> int | None:
    """The number that a text is; None if it is something else."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None
