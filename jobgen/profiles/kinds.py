"""Kinds of single values: each checks a YAML node, and describes itself as JSON Schema.

Checker and schema stand side by side, so that a difference between them is noticed.
"""

import re
from collections.abc import Callable
from typing import Any

from jobgen.errors import Mark, Problem, nearest_hint
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, parse, unquoted, with_marks
from jobgen.quoting import variable_problem

Schema = dict[str, Any]

# Characters that could end a line or confuse a terminal, and bytes that are not UTF-8.
CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
ONE_LINE = f"[^{CONTROLS}]*"
# What `$NAME` in a text means (`Text.dollar`).
NODE = "node"  # the node's variable (`quoting.quote_path`)
REFUSED = "refused"  # an error: nothing would replace the variable
FREE = "free"  # no meaning: the text is for a reader
SHELL = "shell"  # the meaning that bash gives it
NODE_VARIABLE = "$NAME in it is the node's variable"
_DOLLAR_NAME = r"\$\{?[A-Za-z_]"


class ProblemList:
    """The problems that are found while a tree is read.

    `file` is the tree, if it is a map; `root` is the class of the tree's record.
    """

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.file: Node | None = None
        self.root: type | None = None

    def note(self, mark: Mark, text: str, code: str, hint: str = "") -> None:
        self.found.append(Problem(mark, text, code, hint))

    def wrong_type(self, node: Node, wanted: str, hint: str = "") -> None:
        self.note(node.mark, f"expected {wanted}, got {_described(node)}", "type", hint)


def _described(node: Node) -> str:
    """Returns the kind of a node, in words for a message."""
    if isinstance(node, Map):
        return "a map"
    if isinstance(node, Seq):
        return "a list"
    if isinstance(node.value, str):
        return f"the text `{node.text}`"
    kinds = {bool: "the truth value", int: "the number", float: "the number"}
    return f"{kinds[type(node.value)]} {node.text}" if node.value is not None else "nothing"


def pattern_schema(pattern: str) -> str:
    """Returns a pattern for a full match, in both Python and JavaScript (`$` differs)."""
    return rf"^(?:{pattern})(?![\s\S])"


class Kind:
    """A kind of value: checks a node, and describes itself."""

    literal = False  # whether the value of `--set` is text, not YAML

    def read(self, node: Node, problems: ProblemList) -> Any:
        raise NotImplementedError

    def schema(self) -> Schema:
        raise NotImplementedError

    def in_words(self) -> str:
        """Returns what a value of this kind may be, for the documentation."""
        raise NotImplementedError

    def parse_option(self, text: str, mark: Mark) -> Node:
        """Returns the node for `text` of `--set`. Raises JobgenError if the text is not YAML."""
        if self.literal or text in ("null", ""):
            return Scalar(mark, text, None if text == "null" else text)
        return _yaml(text, mark)


def _yaml(text: str, mark: Mark) -> Node:
    tree = parse(text.encode("utf-8", "surrogateescape"), str(mark))
    return with_marks(tree, lambda path: mark)


class Text(Kind):
    """Text in one line that matches `pattern` as a whole; `rule` says the pattern in words.

    It has at most `most` characters: by default as many as Linux's longest path. With `any_scalar`,
    a number or a truth value is taken, too, as it is written. `dollar` is the meaning of `$NAME`.
    """

    literal = True

    def __init__(
        self,
        pattern: str = ONE_LINE,
        rule: str = "text in one line",
        any_scalar: bool = False,
        most: int = 4096,
        dollar: str = REFUSED,
        unlike: tuple[str, Callable[[str], str]] | None = None,
    ) -> None:
        self.pattern = pattern
        self.rule = rule
        self.any_scalar = any_scalar
        self.most = most
        self.dollar = dollar
        self.unlike = unlike  # a frequent mistake: its pattern, and the function for its hint

    def read(self, node: Node, problems: ProblemList) -> str | None:
        if not isinstance(node, Scalar):
            problems.wrong_type(node, self.rule)
        elif self.unlike and re.fullmatch(self.unlike[0], node.text):
            text = f"expected {self.rule}, got {node.text}"
            problems.note(node.mark, text, "value", self.unlike[1](node.text))
        elif not self.any_scalar and not isinstance(node.value, str):
            hint = "" if isinstance(node.value, bool) else f'write "{node.text}", in quotes'
            problems.wrong_type(node, self.rule, hint)
        elif len(node.text) > self.most:
            text = f"{len(node.text)} characters, starting with {node.text[:40]!r}"
            problems.note(node.mark, text, "limit", f"at most {self.most}")
        elif not re.fullmatch(self.pattern, node.text):
            problems.note(node.mark, f"expected {self.rule}, got {node.text!r:.80}", "value")
        elif self.dollar == REFUSED and (problem := variable_problem(node.text)):
            problems.note(node.mark, *problem)
        else:
            return node.text
        return None

    def schema(self) -> Schema:
        types = ["string", "number", "boolean"] if self.any_scalar else "string"
        without = rf"(?!~/)(?![\s\S]*{_DOLLAR_NAME})" if self.dollar == REFUSED else ""
        pattern = pattern_schema(f"{without}(?:{self.pattern})" if without else self.pattern)
        more = "; $NAME is not replaced in it" if self.dollar == REFUSED else ""
        schema = {"type": types, "pattern": pattern, "maxLength": self.most}
        return {**schema, "errorMessage": f"expected {self.rule}{more}"}

    def in_words(self) -> str:
        return f"{self.rule}; {NODE_VARIABLE}" if self.dollar == NODE else self.rule


class Int(Kind):
    """A whole number from `low` to `high`."""

    def __init__(self, low: int = 0, high: int | None = None) -> None:
        self.low = low
        self.high = high

    def read(self, node: Node, problems: ProblemList) -> int | None:
        value = node.value if isinstance(node, Scalar) else None
        span = f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"
        if isinstance(value, bool) or not isinstance(value, int):
            problems.wrong_type(node, "a whole number", _meant(node, int))
        elif value < self.low or (self.high is not None and value > self.high):
            problems.note(node.mark, f"{value} is out of range", "range", f"a whole number {span}")
        else:
            return value
        return None

    def schema(self) -> Schema:
        most = {} if self.high is None else {"maximum": self.high}
        message = f"expected a whole number, {self.in_words()}"
        return {"type": "integer", "minimum": self.low, **most, "errorMessage": message}

    def in_words(self) -> str:
        return f"{self.low} to {self.high}" if self.high else f"{self.low} or more"


def _meant(node: Node, wanted: type[int]) -> str:
    """Returns a hint for a number or a truth value that is written as something else."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, float) and value.is_integer() and wanted is int:
        return f"write {value:.0f}"
    if isinstance(value, str) and type(unquoted(value)) is wanted:
        return f"write {value}, without quotes"
    return ""


class Bool(Kind):
    """`true` or `false`."""

    def read(self, node: Node, problems: ProblemList) -> bool | None:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        problems.wrong_type(node, "true or false", _meant(node, bool))
        return None

    def schema(self) -> Schema:
        return {"type": "boolean", "errorMessage": "expected true or false"}

    def in_words(self) -> str:
        return "`true`, `false`"


class Choice(Kind):
    """One of a few words."""

    literal = True

    def __init__(self, *words: str) -> None:
        self.words = words

    def read(self, node: Node, problems: ProblemList) -> str | None:
        if not isinstance(node, Scalar):
            problems.wrong_type(node, f"one of: {', '.join(self.words)}")
        elif not isinstance(node.value, str) or node.text not in self.words:
            hint = nearest_hint(node.text, self.words)
            problems.note(node.mark, f"unknown value `{node.text}`", "value", hint)
        else:
            return node.text
        return None

    def schema(self) -> Schema:
        return {"enum": [*self.words], "errorMessage": f"expected one of: {', '.join(self.words)}"}

    def in_words(self) -> str:
        return ", ".join(f"`{word}`" for word in self.words)


class SomeOf(Choice):
    """Several of a few words: in a list, or in one text with commas."""

    def read(self, node: Node, problems: ProblemList) -> tuple[str, ...]:  # type: ignore[override]
        if isinstance(node, Scalar) and isinstance(node.value, str):
            node = Seq(node.mark, [Scalar(node.mark, word, word) for word in node.text.split(",")])
        if isinstance(node, Seq):
            found = [super(SomeOf, self).read(item, problems) for item in node.items]
            return tuple(word for word in found if word)
        problems.wrong_type(node, f"some of: {', '.join(self.words)}")
        return ()

    def schema(self) -> Schema:
        one = f"({'|'.join(self.words)})"
        return {
            "type": ["string", "array"],
            "pattern": pattern_schema(f"{one}(,{one})*"),
            "items": super().schema(),
            "errorMessage": f"expected some of: {', '.join(self.words)}",
        }

    def in_words(self) -> str:
        return f"some of {super().in_words()}, as a list or joined by `,`"

    def parse_option(self, text: str, mark: Mark) -> Node:
        return _yaml(text, mark) if text.startswith("[") else super().parse_option(text, mark)


RESOURCE = Text("[A-Za-z][A-Za-z0-9_]*", "the name of a resource: letters, digits and _")
WORD = Text(f"[^ {CONTROLS}-][^ {CONTROLS}]*", "text without blanks that does not begin with -")
LINE = Text()
NODE_LINE = Text(dollar=NODE)
SHELL_LINE = Text(rule="a line of shell", dollar=SHELL)
PATH = Text(f"[^{CONTROLS}]+", "a path", dollar=NODE)
LISTED_PATH = Text(f"[^{CONTROLS}:]+", "a path without `:`", dollar=NODE)
MOUNT = Text(
    "[^\\x00-\\x1f\\x7f:]+:[/$][^\\x00-\\x1f\\x7f:]*(:[a-zA-Z,]+)?|[/~$][^\\x00-\\x1f\\x7f:]*",
    "/FOLDER, HOST:/INSIDE or HOST:/INSIDE:ro",
    dollar=NODE,
)
VARIABLE = Text(
    "[A-Za-z_][A-Za-z0-9_]*",
    "the name of a variable: letters, digits and _",
    unlike=(
        r"(export )?[A-Za-z_]+([- ][A-Za-z0-9_]+)+",
        lambda name: f"write `{re.sub('[- ]', '_', name.removeprefix('export '))}`",
    ),
)
INTERFACE = Text("[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}", "a network interface, such as hsn0")
# Slurm keeps nodes in 32 bits, and cores in 16 bits, of which two values have a special meaning
# (slurm.h, NO_VAL16). It wraps greater numbers.
NODES = Int(1, 1 << 20)
CPUS = Int(1, (1 << 16) - 3)
