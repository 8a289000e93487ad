"""The profile's text: what profile.yaml.j2 says of the findings, as YAML that jobgen takes."""

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
MANY = 20  # partitions or names in a comment
_WIDTH = 96  # of a comment's text
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*[A-Za-z0-9]")


def profile_text(found: Findings) -> str:
    """The whole profile."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(str(value)),  # so that no name begins a line
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
    """The lines of a block as one comment."""
    return f"{indent}# {' '.join(text.splitlines())}\n"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MANY]) + (" …" if len(names) > MANY else "")


def yaml_text(value: str, quoted: bool = False) -> str:
    """A text as YAML reads it again, in one line."""
    if not quoted and _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return yaml.safe_dump(value, default_style='"', width=math.inf).rstrip("\n")


def _section(text: str) -> str:
    """A part of the profile; without any key, its name is a comment, too. "" without a line."""
    head, *lines = text.strip("\n").split("\n")
    if not head.endswith(":"):  # the keys that stand alone
        return "\n".join(each for line in (head, *lines) for each in _finished(line))
    lines = [each for line in lines for each in _finished(line, head)]
    if lines and all(line.startswith("  #") for line in lines):
        head, lines = f"# {head}", [f"#   {line.removeprefix('  # ')}" for line in lines]
    return "\n".join((head, *lines)) if lines else ""


def _finished(line: str, head: str = "") -> list[str]:
    """A line with its comment wrapped; a key that jobgen would refuse is a comment that says so."""
    indent = "  " if head else ""
    text = line.removeprefix(indent)
    if not text.startswith("#"):
        whole = f"partitions: {{{text}}}" if text.startswith(" ") else text
        if _is_valid(f"{head} {{{whole} }}" if head else whole):
            return [line]
        text = f"# {text}  # jobgen takes no such value"
    text = text.removeprefix("#").removeprefix(" ")
    inner = text[: len(text) - len(text.lstrip(" "))]  # a list's items keep their indent
    wrapped = textwrap.wrap(text, _WIDTH, subsequent_indent=inner, break_on_hyphens=False)
    return [f"{indent}# {each}".rstrip() for each in wrapped or [""]]


def _is_valid(text: str) -> bool:
    """Whether the profile's model takes `SECTION: {KEY: VALUE}`, or `KEY: VALUE`."""
    problems = ProblemList()
    ROOT.read(parse(text.encode(), "detect"), problems)
    return not problems.found
