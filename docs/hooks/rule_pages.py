"""A page for each rule of lint and for each class of failure, made from their files."""

from __future__ import annotations

from collections.abc import Iterable

from page_text import fence, inline, page, prose, table

from jobgen.diagnosis.classes import FailureClass, classes
from jobgen.lint.rules import Rule, rules
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings

Pages = dict[str, str]  # the text of each page by its path
GROUPS = {
    "0": "The script as text",
    "1": "Nodes, ranks and the rendezvous",
    "2": "Directives",
    "3": "Steps of Slurm, exit status and signals",
    "4": "PBS",
    "5": "Variables",
    "6": "Files, containers and the shell",
    "7": "A script and its cluster",
}


def rule_pages() -> Pages:
    """The pages of all rules, and the page that lists them."""
    pages = {path_of_rule(rule): _rule_page(rule) for rule in rules().values()}
    return {"rules/index.md": _list_of_rules(), **pages}


def path_of_rule(rule: Rule) -> str:
    """The page of a rule, below docs/."""
    return f"rules/{rule.code.lower()}.md"


def rule_groups() -> dict[str, list[Rule]]:
    """The rules by the name of their group."""
    groups: dict[str, list[Rule]] = {}
    for rule in rules().values():
        groups.setdefault(GROUPS[rule.code[2]], []).append(rule)
    return groups


def _rule_page(rule: Rule) -> str:
    return page(
        f"{rule.code}: {rule.title}",
        prose(rule.page),
        _condition(rule),
        "## A script with this mistake",
        fence(rule.bad, "bash"),
        "`jobgen lint` writes:",
        fence(_findings(rule), "message"),
        "## The same script without it",
        fence(rule.good, "bash"),
        "## Turn it off",
        f"For one line, write this comment above it: `# jobgen: ignore={rule.code}`, and then the "
        f"reason. For all scripts: `--ignore {rule.code}`, or the settings of your repository "
        "([Linting](../linting.md#keep-the-settings-of-a-repository)).",
        description=rule.title,
    )


def _condition(rule: Rule) -> str:
    """When the rule is searched for, if that is not always."""
    if rule.optional:
        return f"This rule is off by default: `--also {rule.code}` turns it on."
    if rule.profile:
        return f"This rule needs a profile: here, `--profile {rule.profile}`."
    if rule.versions:
        return f"This rule needs a version: here, `--for {' '.join(rule.versions)}`."
    return ""


def _findings(rule: Rule) -> str:
    select = (rule.code,) if rule.optional else ()
    settings = Settings(select, (), rule.profile, (), rule.versions)
    found = problems_in(rule.bad, "job.sh", settings)
    return "\n".join(str(problem) for problem in found if problem.code == rule.code)


def _list_of_rules() -> str:
    parts = [
        f"The {len(rules())} rules of `jobgen lint` ([Linting job scripts](../linting.md)). Each "
        "page says why a job fails, and has the evidence, the cure, and a script with the mistake "
        "and without it.",
    ]
    for group, members in rule_groups().items():
        rows = [(_link(rule.code, path_of_rule(rule)), _line(rule)) for rule in members]
        parts += [f"## {group}", table(["Rule", "What it finds"], rows)]
    return page("All rules", *parts, description="All rules of jobgen lint")


def _line(rule: Rule) -> str:
    return inline(rule.title) + (" (off by default)" if rule.optional else "")


def _link(text: str, path: str) -> str:
    return f"[{text}]({path.rpartition('/')[2]})"


def class_pages() -> Pages:
    """The pages of all classes of failure, and the page that lists them."""
    pages = {path_of_class(each.code): _class_page(each) for each in classes().values()}
    rows = [(_link(f"`{each.code}`", path_of_class(each.code)), inline(each.title))
            for each in classes().values()]  # fmt: skip
    text = (
        f"The {len(rows)} classes of failure that `jobgen why` knows "
        "([When a job fails](../failures.md)). Each page says what happens, what one sees, what "
        "misleads, and what to do."
    )
    index = page("All classes of failure", text, table(["Class", "What fails"], rows),
                 description="All classes of failure that jobgen why knows")  # fmt: skip
    return {"failures/index.md": index, **pages}


def path_of_class(code: str) -> str:
    """The page of a class, below docs/."""
    return f"failures/{code}.md"


def _class_page(each: FailureClass) -> str:
    return page(
        f"{each.title}",
        f"`{each.code}` is the class of failure in the first line of `jobgen why` "
        "([When a job fails](../failures.md#ask-for-the-cause)).",
        f"**What to do:** {inline(each.cure_for_everybody)}.",
        "\n".join(f"- {case}: {inline(text)}" for case, text in each.special_cures),
        f"**Not the cause:** {inline(each.misleads)}.",
        "## What happens",
        prose(each.page),
        "## Other classes" if each.explains or _causes_of(each.code) else "",
        _related("It is often followed by", each.explains),
        _related("It often follows from", _causes_of(each.code)),
        description=each.title,
    )


def _causes_of(code: str) -> list[str]:
    return [each.code for each in classes().values() if code in each.explains]


def _related(words: str, codes: Iterable[str]) -> str:
    links = ", ".join(_link(f"`{code}`", path_of_class(code)) for code in sorted(codes))
    return f"**{words}:** {links}." if links else ""
