"""The profile's text: profile.yaml.j2, filled with the findings, as YAML that jobgen accepts."""

import math
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import jinja2
import yaml

from jobgen.detection.cluster import Findings, own_feature
from jobgen.detection.hardware import FABRICS, gpu_vendor
from jobgen.errors import printable
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.schema.document import FILE
from jobgen.profiles.yaml_tree import parse

TEMPLATE = Path(__file__).with_name("profile.yaml.j2")
MANY = 20  # the most partitions or names in a comment
_WIDTH = 96  # columns of a comment's text
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*[A-Za-z0-9]")


def profile_text(found: Findings) -> str:
    """The text of the whole profile."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(str(value)),  # a name cannot start a new line
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(comment=_comment, listed=_listed, yaml=yaml_text)
    text = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        found=found,
        schema=FILE,
        fabrics=FABRICS,
        many=MANY,
        own_feature=own_feature,
        gpu_vendor=gpu_vendor,
    )
    sections = filter(None, map(_section, text.split("\n\n")))
    return "\n\n".join(sections) + "\n"


def _comment(text: str, indent: str = "") -> str:
    """The lines of a template block, joined into one comment line."""
    return f"{indent}# {' '.join(text.splitlines())}\n"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MANY]) + (" …" if len(names) > MANY else "")


def yaml_text(value: str, quoted: bool = False) -> str:
    """A text as a YAML value in one line."""
    if not quoted and _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return yaml.safe_dump(value, default_style='"', width=math.inf).rstrip("\n")


def _section(text: str) -> str:
    """A finished section; its name is a comment if all its keys are. "" if it has no lines."""
    head, *lines = text.strip("\n").split("\n")
    if not head.endswith(":"):  # keys at the top level, without a section
        return "\n".join(each for line in (head, *lines) for each in _finished(line))
    lines = [each for line in lines for each in _finished(line, head)]
    if lines and all(line.startswith("  #") for line in lines):
        head, lines = f"# {head}", [f"#   {line.removeprefix('  # ')}" for line in lines]
    return "\n".join((head, *lines)) if lines else ""


def _finished(line: str, head: str = "") -> list[str]:
    """A line, wrapped if it is a comment. A key that jobgen refuses becomes a comment."""
    indent = "  " if head else ""
    text = line.removeprefix(indent)
    if not text.startswith("#"):
        whole = f"partitions: {{{text}}}" if text.startswith(" ") else text
        if _is_valid(f"{head} {{{whole} }}" if head else whole):
            return [line]
        text = f"# {text}  # jobgen takes no such value"
    text = text.removeprefix("#").removeprefix(" ")
    inner = text[: len(text) - len(text.lstrip(" "))]  # items of a list keep their indent
    wrapped = textwrap.wrap(text, _WIDTH, subsequent_indent=inner, break_on_hyphens=False)
    return [f"{indent}# {each}".rstrip() for each in wrapped or [""]]


def _is_valid(text: str) -> bool:
    """Whether a text such as `SECTION: {KEY: VALUE}` or `KEY: VALUE` is valid in a profile."""
    problems = ProblemList()
    ROOT.read(parse(text.encode(), "detect"), problems)
    return not problems.found
