"""A page for each public site and each fabric: values with sources, a command and what it gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from make_page import PAGE
from page_text import code, fence, inline, page, table
from rule_pages import Pages

from jobgen.doctor.proof import newest_proof, speed_in_words
from jobgen.generator import Generator
from jobgen.page.browser.session import MACHINERY
from jobgen.page.site import choice_of
from jobgen.planning.parser import parse_command
from jobgen.profiles.model import Profile
from jobgen.sources.check import sources_of
from jobgen.sources.table import sourced_values

ROOT = Path(__file__).parent.parent.parent


def site_names() -> list[str]:
    """The names of the bundled public sites, and of the machine types of clouds, sorted."""
    return [
        f"{kind}/{file.stem}"
        for kind in ("sites", "machines")
        for file in sorted((ROOT / f"profiles/{kind}").glob("*.yaml"))
    ]


def fabric_names() -> list[str]:
    """The names of the bundled fabrics, sorted."""
    return sorted(file.stem for file in (ROOT / "profiles/fabrics").glob("*.yaml"))


def machine_pages() -> Pages:
    """The pages of all sites, machine types and fabrics."""
    sites = {f"{name}.md": _site_page(name) for name in site_names()}
    return sites | {f"fabrics/{name}.md": _fabric_page(name) for name in fabric_names()}


def machine_title(name: str) -> str:
    """What a site is called: the description of its profile up to what a node has."""
    return choice_of(name, _generator().profiles.load(name).profile).title


def with_page_of_each(markdown: str) -> str:
    """The page on sites with links from its table: GitHub has no page of a site."""
    row = r"^\| `((?:sites|machines)/[\w-]+)`"
    return re.sub(row, r"| [`\1`](\1.md)", markdown, flags=re.MULTILINE)


def _generator() -> Generator:
    """What makes the scripts; profiles and variables of who builds the site do not count."""
    return Generator(Path(__file__).parent, environ={})


def _site_page(name: str) -> str:
    resolved = _generator().profiles.load(name)
    profile = resolved.profile
    is_retired = profile.state == "retired"
    return page(
        machine_title(name),
        f"{inline(profile.description)}. {_state(name, profile)}",
        "" if is_retired else _script_part(name),
        "## The values and their sources",
        "Each source leads to the line of the document that shows the value. The values of a base "
        "are from the base's file.",
        _source_table(name),
        _difference_part(name),
        "## The file",
        fence((ROOT / f"profiles/{name}.yaml").read_text(encoding="utf-8"), "yaml", f"{name}.yaml"),
        description=f"A multi-node PyTorch job on {machine_title(name)}",
    )


def _state(name: str, profile: Profile) -> str:
    """What is known of a profile, in sentences."""
    if profile.state == "retired":
        after = f" [`{profile.successor}`](../{profile.successor}.md) follows."
        when = f" on {profile.ends}" if profile.ends else ""
        return f"**The machine has ended{when}.**{after * bool(profile.successor)}"
    texts = {
        "documented": "This profile was written from documents of the site. No job was run there.",
        "submitted": "The site's scheduler has taken its script. No job was run there.",
        "ran": "A job of several nodes has run there with it.",
    }
    parts = [texts[profile.state or "documented"]]
    parts += _newest_run(name)
    parts += [f"The machine ends on {profile.ends}."] * bool(profile.ends)
    parts += [f"Help of the site: {inline(profile.contact or '')}."] * bool(profile.contact)
    return " ".join(parts)


def _newest_run(name: str) -> list[str]:
    """A sentence about the newest proof that a job of the profile ran on the machine."""
    proof = newest_proof(name)
    if proof is None:
        return []
    options = f", and the options `{' '.join(proof.options)}`" * bool(proof.options)
    link = "[newest proof](../sites.md#prove-one-on-your-machine)"
    text = f"The {link} is of {proof.nodes} nodes on {proof.day}, with {speed_in_words(proof)}"
    return [f"{text}{options}."]


def _script_part(name: str) -> str:
    return "\n\n".join(
        [
            f"[Make a script for this cluster](../{_form(name)})"
            "{ .md-button .md-button--primary } [All public sites](../sites.md){ .md-button }",
            "## Write a script",
            fence(f"jobgen {' '.join(_words(name))}", "bash"),
            "The options after `-N 2` are examples: the account, the time and the like are yours."
            if _facts(name).get("options")
            else "",
            "The upper part of the script, above the machinery:",
            fence(_upper_part(name), "bash"),
        ]
    )


def _source_table(name: str) -> str:
    profiles = _generator().profiles
    rows = []
    for each in sourced_values(profiles.load(name), profiles):
        if each.document and each.source:
            shown = f"[{code(each.source.words or '')}]({each.link}), read on {each.document.read}"
        else:
            ours = inline(f"ours: {each.source.ours}") if each.source else "no source"
            shown = ours.replace("|", "\\|")
        rows.append((f"`{each.path}`", code(each.value), shown))
    return table(("Value", "", "Source"), rows)


def _difference_part(name: str) -> str:
    facts = _facts(name)
    if not (mark := facts.get("script")):
        return ""
    document = sources_of(_generator().profiles.tree_of(name)).documents[mark]
    rows = [
        (
            f"[{each['line']}]({document.link}#L{each['line']})",
            code(str(each["theirs"])),
            *(inline(str(each[name])) for name in ("ours", "why")),
        )
        for each in facts.get("differs", [])
    ]
    lines = table(("Line", "There", "In ours", "Why"), rows)
    return "\n\n".join(
        [
            "## What differs from the site's own script",
            f"The site publishes [this script]({document.link}). In ours, these lines differ:",
            lines if rows else "None.",
        ]
    )


def _facts(name: str) -> dict[str, Any]:
    """What a user has to give, and the differences; tests compare the profile with it."""
    file = ROOT / f"tests/{name}.yaml"
    facts: dict[str, Any] = (
        yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    )
    return facts


def _words(name: str) -> list[str]:
    facts = _facts(name)
    command = "qsub" if facts.get("pbs") else "sbatch"
    options = [str(word) for word in facts.get("options", [])]
    return [command, "--profile", name, "-N", "2", *options, "--", "train.py"]


def _form(name: str) -> str:
    """The page where a script is made, with the site chosen: the part after # fills its form."""
    return f"{PAGE}#{urlencode({'profile': name})}"


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
