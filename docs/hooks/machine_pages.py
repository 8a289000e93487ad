"""A page for each public site and each fabric: values with sources, a command and what it gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from make_page import PAGE
from page_text import bullets, fence, inline, page
from rule_pages import Pages

from jobgen.generator import Generator
from jobgen.page.browser.session import MACHINERY
from jobgen.planning.parser import parse_command

ROOT = Path(__file__).parent.parent.parent


def site_names() -> list[str]:
    """The names of the bundled public sites, sorted."""
    return sorted(file.stem for file in (ROOT / "profiles/sites").glob("*.yaml"))


def fabric_names() -> list[str]:
    """The names of the bundled fabrics, sorted."""
    return sorted(file.stem for file in (ROOT / "profiles/fabrics").glob("*.yaml"))


def machine_pages() -> Pages:
    """The pages of all sites and fabrics."""
    sites = {f"sites/{name}.md": _site_page(name) for name in site_names()}
    return sites | {f"fabrics/{name}.md": _fabric_page(name) for name in fabric_names()}


def machine_title(name: str) -> str:
    """What a site is called: the description of its profile up to what a node has."""
    return re.split(r", (?=\d)", _generator().profiles.load(f"sites/{name}").profile.description)[0]


def with_page_of_each(markdown: str) -> str:
    """The page on sites with links from its table: GitHub has no page of a site."""
    return re.sub(r"^\| `(sites/[\w-]+)`", r"| [`\1`](\1.md)", markdown, flags=re.MULTILINE)


def _generator() -> Generator:
    """What makes the scripts; profiles and variables of who builds the site do not count."""
    return Generator(Path(__file__).parent, environ={})


def _site_page(name: str) -> str:
    text = (ROOT / f"profiles/sites/{name}.yaml").read_text(encoding="utf-8")
    profile = _generator().profiles.load(f"sites/{name}").profile
    facts = _facts(name)
    base = yaml.safe_load(text).get("extends", "")
    fabric = f"It extends the base [{base}](../{base}.md)." if base.startswith("fabrics/") else ""
    return page(
        machine_title(name),
        f"{inline(profile.description)}. This profile was written from the "
        f"documentation of the site, which was read on {facts['read']}. No job was run there. "
        "[Public sites](../sites.md) says what was checked, and how you make the values yours.",
        f"[Make a script for this cluster](../{_form(name)}){{ .md-button .md-button--primary }} "
        "[All public sites](../sites.md){ .md-button }",
        "## Write a script",
        fence(f"jobgen {' '.join(_words(name))}", "bash"),
        "The options after `-N 2` are examples: the account, the time and the like are yours."
        if facts.get("options")
        else "",
        "The upper part of the script, above the machinery:",
        fence(_upper_part(name), "bash"),
        "## The values and their sources",
        f"Marks in brackets name the pages at the head of the file. {fabric}".rstrip(),
        fence(text, "yaml", f"profiles/sites/{name}.yaml"),
        "## The pages that were read",
        bullets(facts["source"]),
        description=f"A multi-node PyTorch job on {machine_title(name)}",
    )


def _facts(name: str) -> dict[str, Any]:
    """What a user has to give, and the pages that were read; tests compare the profile with it."""
    file = ROOT / f"tests/sites/{name}.yaml"
    facts: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return facts


def _words(name: str) -> list[str]:
    facts = _facts(name)
    command = "qsub" if facts.get("pbs") else "sbatch"
    options = [str(word) for word in facts.get("options", [])]
    return [command, "--profile", f"sites/{name}", "-N", "2", *options, "--", "train.py"]


def _form(name: str) -> str:
    """The page where a script is made, with the site chosen: the part after # fills its form."""
    return f"{PAGE}#{urlencode({'profile': f'sites/{name}'})}"


def _upper_part(name: str) -> str:
    """The script that the command gives, up to the machinery."""
    return _generator().script(parse_command(_words(name))).partition(MACHINERY)[0]


def _fabric_page(name: str) -> str:
    text = (ROOT / f"profiles/fabrics/{name}.yaml").read_text(encoding="utf-8")
    description = str(yaml.safe_load(text).get("description", name))
    return page(
        f"fabrics/{name}",
        f"{inline(description)}. A profile takes it with `extends: fabrics/{name}` "
        "([Profiles](../profiles.md)).",
        fence(text, "yaml", f"profiles/fabrics/{name}.yaml"),
        description=f"The base of profiles fabrics/{name}",
    )
