"""The directives of a job script, split into words as sbatch and qsub split them."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from jobgen.lint.options import known_options
from jobgen.lint.reader.commands import OUTER, Command, Word

# qsub(1B) allows blanks before #PBS, sbatch does not.
_PREFIX = re.compile(r"(#SBATCH)(?=\s|-)|\s*(#PBS)(?=\s)")
# Several names of one option of Slurm.
_SYNONYMS = {
    "tasks-per-node": "ntasks-per-node",
    "share": "oversubscribe",
    "workdir": "chdir",
    "cluster": "clusters",
}
# After one of these words, the directives are for the next part of a heterogeneous job.
_SEPARATORS = ("hetjob", "packjob")

# On a line with one of these placeholders, a stray word is no mistake: `<name>`, `...`, a variable
# of the shell that writes the script, or `option_name=argument`; no placeholder is `[4 A100]`.
_PLACEHOLDER = re.compile(
    rf"[{{}}<>…{OUTER}]|\[(?!\d)|\.\.\.|^\s*-*option(_?name)?\b", re.IGNORECASE
)

_WORD = re.compile(r"""#|(?:\\.?|"(?:\\.?|[^"\\])*"?|'(?:\\.?|[^'\\])*'?|[^\s"'#\\])+""")
# A character after a backslash, or a text in quotes.
_PIECE = re.compile(r"""\\(.)|"((?:\\.?|[^"\\])*)"?|'((?:\\.?|[^'\\])*)'?""")
_Words = deque[Word]


@dataclass(frozen=True)
class Directive:
    """One word of a directive line, with its value; `raw` is the word as written.

    `option` is its long name, or its letter for PBS; "" for a word that is no option.
    """

    scheduler: str
    option: str
    value: str
    line: int
    column: int
    raw: str
    is_late: bool = False  # after the first command, where no scheduler reads it

    @property
    def gpus(self) -> int | None:
        """How many GPUs Slurm's --gres, --gpus or --gpus-per-node asks for; None if invalid."""
        value = self.value if self.option == "gres" else f"gpu:{self.value}"
        found = re.fullmatch(r"(?:gres[/:])?gpu(?::[A-Za-z][\w.-]*)?(?::(\d{1,4}))?", value)
        return int(found[1] or 1) if found else None

    @property
    def resources(self) -> list[tuple[str, str]]:
        """The names and values in PBS's -l; an empty list for other options."""
        is_list = self.scheduler == "pbs" and self.option == "l"
        return re.findall(r"(?:^|,)(\w+)=?([^,]*)", self.value) if is_list else []


def read_directives(lines: Sequence[str], first_command: int) -> list[Directive]:
    """All directives of a script, whose first command is on the line `first_command`."""
    directives: list[Directive] = []
    for number, line in enumerate(lines, 1):
        if prefix := _PREFIX.match(line):
            scheduler = "slurm" if prefix[1] else "pbs"
            found = _directives(scheduler, line[prefix.end() :], number, prefix.end() + 1)
            directives += [replace(each, is_late=number > first_command) for each in found]
    return directives


def is_code(line: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def command_options(command: Command) -> Iterator[Directive]:
    """The options of srun, salloc, sbatch or PBS's qsub, up to the program or script."""
    words = deque(command.words[1:])
    return _pbs_options(words) if command.name == "qsub" else _slurm_options(words, command.name)


def program_of(command: Command) -> Word | None:
    """The program that an srun starts, which is its first word that is no option."""
    words = deque(command.words[1:])
    list(_slurm_options(words, command.name))
    return words[0] if words else None


def _directives(scheduler: str, text: str, line: int, start: int) -> Iterator[Directive]:
    """The options of a directive line, and then the first word that is not an option."""
    is_slurm = scheduler == "slurm"
    words = _split(text if is_slurm else text.replace("#", "\\#"), line, start)
    yield from _slurm_options(words) if is_slurm else _pbs_options(words)
    for word in [*words][:1]:
        is_separator = is_slurm and word.text.lower() in _SEPARATORS
        if is_separator or not is_slurm or not _PLACEHOLDER.search(text):
            option = "hetjob" if is_separator else ""
            yield Directive(scheduler, option, "", line, word.column, word.text)


def _slurm_options(words: _Words, command: str = "") -> Iterator[Directive]:
    """The options before the first word that is not an option; they are removed from `words`."""
    while words and re.match("-[A-Za-z]|--.", words[0].text):
        word = words.popleft()
        name, value = _slurm_option(word.text, words, command)
        yield Directive("slurm", name, value, word.line, word.column, word.text)


def _slurm_option(word: str, following: _Words, command: str = "") -> tuple[str, str]:
    """An option's full name and value; a value in a separate word is removed from `following`.

    The option is on the command line of `command`; if that is "", the option is in a directive.
    """
    options = known_options(command or "sbatch")
    if not word.startswith("--"):
        letter, value = word[1], word[2:]
        option = options.letters.get(letter)
        if not value and option and option.argument == "=":
            value = _take(following)
        return full_name(option.name) if option else letter, value
    name, equals, value = word[2:].partition("=")
    option = options.find(name)
    name = full_name(option.name if option else name)
    if equals:
        return name, value
    if option and option.argument == "=":
        return name, _take(following)
    is_of_site = not command and not option  # it may or may not take a value
    if is_of_site and following and not following[0].text.startswith("-"):
        following.popleft()
    return name, ""


def full_name(name: str) -> str:
    """The name that stands for all synonyms of an option of Slurm."""
    return _SYNONYMS.get(name, name)


def _pbs_options(words: _Words) -> Iterator[Directive]:
    """The options of qsub before the first other word; they are removed from `words`."""
    while words and re.match("-[A-Za-z]", words[0].text):
        word = words.popleft()
        letter, value = word.text[1], word.text[2:]
        option = known_options("qsub").by_name.get(letter)
        if not value and (not option or option.argument):
            value = _take(words)
        yield Directive("pbs", letter, value, word.line, word.column, word.text)


def _take(words: _Words) -> str:
    return words.popleft().text if words else ""


def _split(text: str, line: int, start: int) -> _Words:
    """The words of a directive with their columns; a # ends the line.

    Quotes and backslashes work as in src/sbatch/opt.c, `_get_argument`; a backslash at the end is
    ignored.
    """
    if text.endswith("\\") and not text.endswith("\\\\"):
        text = text[:-1]
    words = takewhile(lambda found: found[0] != "#", _WORD.finditer(text))
    return deque(
        Word(_PIECE.sub(_unquoted, found[0]), line, start + found.start()) for found in words
    )


def _unquoted(piece: re.Match[str]) -> str:
    escaped, *quoted = piece.groups()
    return escaped or re.sub(r"\\(.)", r"\1", quoted[0] or quoted[1] or "")


def chunks(select: str) -> list[tuple[int, Mapping[str, str]]]:
    """The chunks of PBS's `select=N:a=b:c=d+…`, each with its count (pbs_resources(7B))."""
    found: list[tuple[int, Mapping[str, str]]] = []
    for chunk in select.split("+"):
        count, *resources = chunk.split(":")
        if "=" in count:
            count, resources = "1", [count, *resources]
        values = dict(resource.partition("=")[::2] for resource in resources)
        found.append((whole_number(count) or 1, values))
    return found


def whole_number(text: str) -> int | None:
    """A text as a whole number; None if the text is anything else."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None
