"""The scripts of sites' jobs, and what tests compare in them.

The registry of profiles (packaging/registry) has this file, too: it imports no other helper of
these tests than the facts.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jobgen.generator import Generator
from jobgen.planning.parser import parse_command
from jobgen.scripts.render import fingerprint
from tests.site_facts import SiteFacts

ROOT = Path(__file__).parent.parent
MACHINERY = "\n# ==== machinery of jobgen "


@cache
def _generator() -> Generator:
    """What jobgen is where profiles/ is, whoever runs the tests."""
    return Generator(ROOT, environ={})


def script_of(site: SiteFacts) -> str:
    """The script of the site's job."""
    return _generator().script(parse_command([*map(str, site.words), "--", "train.py"]))


def code_of(script: str) -> str:
    """A script without quotes, and without the comments of the part above the machinery."""
    upper, mark, machinery = script.partition(MACHINERY)
    upper = re.sub(r"^ *#(?!SBATCH|PBS).*\n|  # .*", "", upper, flags=re.MULTILINE)
    return re.sub("[\"']", "", upper + mark + machinery)


def has(text: str, wanted: str) -> bool:
    """Whether a text has the words `wanted`, as words of their own; a list may go on below."""
    words = r"\s+".join(map(re.escape, wanted.split(" ")))
    return bool(re.search(rf"(?<![^\s(]){words}(?=$|[\s;)])", text, re.MULTILINE))


def unlike_its_facts(site: SiteFacts, script: str) -> list[str]:
    """What the site publishes and a script lacks, and what the site forbids and the script has."""
    text = code_of(script)
    upper = text.partition(MACHINERY)[0]
    found = [f"lacks: {wanted}" for wanted in site.upper if not has(upper, wanted)]
    found += [f"lacks: {wanted}" for wanted in site.ranks if not has(text, wanted)]
    return found + [f"has: {pattern}" for pattern in site.never if re.search(pattern, upper)]


def golden_part(script: str) -> str:
    """All above the machinery; what changes with each part of it, or is carried, in a few words."""
    upper = script.partition(MACHINERY)[0]
    upper = re.sub(r"(?m)^(# sha256 of the other lines|# made of).*", r"\1 …", upper)
    return re.sub(r"(?ms)(<< 'PYTHON'\n)(.*?)^PYTHON$", _carried_in_words, upper)


def _carried_in_words(found: re.Match[str]) -> str:
    size = found[2].count("\n")
    return f"{found[1]}({size} lines with the fingerprint {fingerprint(found[2])})\nPYTHON"
