"""What each command of cli/tool_commands does: a plain function that returns an exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jobgen.cli.lookup.text import columns
from jobgen.errors import JobgenError, nearest_hint, printable, problem, report
from jobgen.paths import to_path
from jobgen.profiles.records import is_record
from jobgen.profiles.resolve import Resolved
from jobgen.scripts.write import write

if TYPE_CHECKING:
    from click import Command

MOST_VALUE_WIDTH = 60  # columns, before the origins in `profiles show`


def show_profile(name: str, set_values: Sequence[str]) -> int:
    """Write the resolved profile as YAML, each value with its origin in a comment."""
    from jobgen.generator import find_profiles
    from jobgen.planning.command_line import overrides
    from jobgen.planning.job_options import Job

    job = Job(command="", set_values=tuple(set_values))
    resolved = find_profiles().load(name, overrides(job))
    bases = ", ".join(resolved.profile.extends)
    title = f"# {resolved.name}, on top of {bases}" if bases else f"# {resolved.name}"
    write(f"{printable(title)}\n")
    lines = [tuple(map(printable, line)) for line in _profile_lines(resolved.profile, "", resolved)]
    width = min(max(len(text) for text, _ in lines), MOST_VALUE_WIDTH)
    rows = [f"{text:<{width}}  # {origin}" if origin else text for text, origin in lines]
    write("\n".join(rows) + "\n")
    return 0


def validate_profiles(files: Sequence[str]) -> int:
    """Write what is wrong with each file, and report how many are valid; 1 if any is not.

    A profile whose jobs are refused is not valid. What may not be meant is a warning on stderr.
    """
    from jobgen.cli.lookup.trial_jobs import refused_jobs
    from jobgen.generator import Generator
    from jobgen.planner.advice import profile_advice

    wrong = 0
    generator = Generator()
    for file in files:
        try:
            warnings = profile_advice(generator.profiles.load(file))
            refused, refused_for_some = refused_jobs(generator, file)
            if refused:
                raise JobgenError(refused)
            for warning in (*warnings, *refused_for_some):
                report(f"warning: {warning}")
        except JobgenError as error:
            write(f"{error}\n")
            wrong += 1
    report(f"{len(files) - wrong} of {len(files)} profiles are valid")
    return 1 if wrong else 0


def print_schema() -> int:
    """Write the JSON Schema of a profile's file."""
    from jobgen.profiles.schema.document import schema_document

    write(json.dumps(schema_document(), indent=2, ensure_ascii=False) + "\n")
    return 0


def list_trainers() -> int:
    """Write all packaged trainers, in columns."""
    from jobgen import trainers

    write(columns([(name, trainers.summary(name)) for name in trainers.names()]))
    return 0


def export_trainer(name: str, output: str) -> int:
    """Write a trainer's text to stdout ("-") or to a file that must not exist yet."""
    from jobgen import trainers

    text = trainers.source(name)
    if output != "-" and os.path.lexists(to_path(output)):  # also a link to nothing
        raise problem(f"-o {output}", "the file exists already", "output", "remove it first")
    write(text, output)
    return 0


def list_templates() -> int:
    """Write the names of all bundled templates."""
    from jobgen.scripts.template_files import template_names

    write("".join(f"{name}\n" for name in template_names()))
    return 0


def show_template(name: str) -> int:
    """Write the text of a template."""
    from jobgen.scripts.template_files import template_source

    write(template_source(name))
    return 0


def show_rules(code: str | None) -> int:
    """Write all rules in columns, or the page of one with its examples."""
    from jobgen.lint.rules import rules

    all_rules = rules()
    if code is None:
        note = "; off by default"
        write(
            columns([(each, rule.title + note * rule.optional) for each, rule in all_rules.items()])
        )
        return 0
    if not (rule := all_rules.get(code.upper())):
        hint = nearest_hint(code.upper(), all_rules)
        raise problem("rules", f"no rule `{code:.40}`", "usage", hint)
    page = f"{rule.code}: {rule.title}\n\n{rule.page}\n"
    if rule.optional:
        page += f"\nOff by default; turn it on with --also {rule.code}\n"
    for heading, text in (("Found in", rule.bad), ("Not in", rule.good)):
        lines = "".join(f"    {line}\n" for line in text.rstrip("\n").split("\n"))
        page += f"\n{heading}:\n\n{lines}"
    write(page)
    return 0


def print_completion(shell: str, commands: Command) -> int:
    """Write the script that makes a shell complete the words of these commands."""
    from jobgen.cli.completion import source_script

    write(source_script(shell, commands))
    return 0


def _profile_lines(
    value: Any, path: str, resolved: Resolved, depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Lines of YAML for a record or a map, each with the origin of its value."""
    indent = "  " * depth
    for name, child in _items(value):
        child_path = f"{path}.{name}" if path else name
        if is_record(child) or isinstance(child, dict):
            if list(_items(child)):
                yield f"{indent}{name}:", ""
                yield from _profile_lines(child, child_path, resolved, depth + 1)
                continue
            child = {}
        if child_path == "extends":  # the values of the bases are shown already
            continue
        yield f"{indent}{name}: {_as_yaml(child)}", resolved.origin(child_path)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return value.items()
    return [(name, getattr(value, name)) for name in value._fields]


def _as_yaml(value: Any) -> str:
    # JSON is YAML, and puts quotes around what YAML would read as something else.
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
