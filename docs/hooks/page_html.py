"""What is changed in the HTML of a page: options stay whole, commands wrap, rules are links."""

from __future__ import annotations

import re

from rule_pages import path_of_rule

from jobgen.lint.rules import rules

_CODE = re.compile(r"(?<!<pre>)<code>[^<]*</code>")
_OPTION = re.compile(r"(?<=[ >])-[\w-]{1,24}")
_COMMAND = re.compile(r'<div class="highlight">(?=<pre><span></span><code>jobgen\b)')
_TAG = re.compile(r"(<[^>]+>)")
_RULE = re.compile(r"\bJG\d{3}\b")
# In these, a code is a heading, a link already, or what a program wrote.
_NOT_IN = {"a", "code", "h1", "h2", "h3", "pre"}


def with_whole_options(html: str) -> str:
    """The page with each option in code as one word: a line would break behind a hyphen."""
    return _CODE.sub(lambda code: _OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)


def with_wrapped_commands(html: str) -> str:
    """The page with a class for blocks that begin with `jobgen`: a command is seen whole."""
    return _COMMAND.sub('<div class="command highlight">', html)


def with_rule_links(html: str, root: str) -> str:
    """The page with a link for each code of a rule in its text; `root` leads to the start page."""
    inside, parts = 0, []
    for part in _TAG.split(html):
        if part.startswith("<"):
            name = re.sub(r"\W.*", "", part.lstrip("</"), flags=re.DOTALL)
            inside += (name in _NOT_IN) * (-1 if part.startswith("</") else 1)
        elif not inside:
            part = _RULE.sub(lambda code: _link(code[0], root), part)
        parts.append(part)
    return "".join(parts)


def _link(code: str, root: str) -> str:
    if code not in rules():
        return code
    page = path_of_rule(rules()[code]).replace(".md", ".html")
    return f'<a href="{root}{page}">{code}</a>'
