"""What each command does: a plain function that returns an exit code."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jobgen import names
from jobgen.errors import USAGE, JobgenError, printable, problem, tell
from jobgen.job import Job, layers
from jobgen.paths import native
from jobgen.schedulers import scheduler
from jobgen.write import make_folder, write

if TYPE_CHECKING:
    from jobgen.plan import Plan


def generate(
    job: Job,
    output: str | None,
    mkdir: str | None = None,
    submit: str | None = None,
    wait: str | None = None,
) -> int:
    """Write the script for a job; or submit it, and write it too if there is an `output`.

    With `mkdir`, the folder of the job's output is made before; with `wait`, the exit code is the
    job's.
    """
    from jobgen.maker import Maker

    maker = Maker()
    planned = maker.plan(job)
    script = maker.render(planned, job.template)
    if submit or wait:
        from jobgen.submit import check

        check(planned.scheduler, output)
    _output_folder(planned, bool(mkdir), bool(submit or wait))
    if planned.array and planned.program.source and "%a" not in "".join(planned.program.arguments):
        tell("all jobs of the array do the same: %a in the arguments is a job's number")
    if planned.array and any("%a" in text for text in job.environment):
        tell(f"-e: %a stays as it is; every rank has {planned.array_index}")
    if not (submit or wait) or output:
        write(script, output)
    if not (submit or wait):
        return 0
    from jobgen.submit import submit as send

    return send(script, planned.scheduler, bool(wait))


def _output_folder(planned: Plan, make: bool, submitted: bool) -> None:
    there = scheduler(planned.scheduler)
    folder = there.output_folder(planned)
    if make and folder:
        make_folder(folder)
    elif make:
        tell("--mkdir: the job's output goes to no folder of its own")
    elif (lost := folder and there.lost_without(planned)) and not (
        submitted and native(folder).is_dir()  # a script alone may be meant for elsewhere
    ):
        tell(f"{lost}: make that folder first, or say --mkdir")


def by_hand(job: Job, output: str | None) -> int:
    """Write the lines that start a job host by host."""
    from jobgen.maker import Maker

    write(Maker().script(job), output)
    return 0


def ask(job: Job) -> int:
    """The command that asks for a job's nodes and a shell on the first."""
    from jobgen import interactive
    from jobgen.maker import Maker

    write(interactive.line(Maker().plan(job)))
    return 0


def list_profiles() -> int:
    """Every profile that names a scheduler, in columns: name, scheduler, description."""
    from jobgen import store

    rows, broken = [], []
    profiles = store.Profiles()
    for name in sorted(names.profiles()):
        try:
            profile = profiles.load(name).profile
        except JobgenError as error:
            broken.append(str(error))
            continue
        if profile.scheduler:
            rows.append((name, profile.scheduler, profile.description))
    write(_columns(rows))
    for text in broken:
        tell(text)
    return 1 if broken else 0


def show_profile(name: str, sets: Sequence[str]) -> int:
    """The resolved profile as YAML, each value with its origin in a comment."""
    from jobgen import store

    resolved = store.load(name, layers(Job(command="", sets=tuple(sets))))
    bases = ", ".join(resolved.profile.extends)
    title = f"# {resolved.name}, on top of {bases}" if bases else f"# {resolved.name}"
    write(f"{printable(title)}\n")
    lines = [tuple(map(printable, each)) for each in _shown(resolved.profile, "", resolved)]
    width = min(max(len(text) for text, _ in lines), 60)
    rows = [f"{text:<{width}}  # {origin}" if origin else text for text, origin in lines]
    write("\n".join(rows) + "\n")
    return 0


def validate_profiles(files: Sequence[str]) -> int:
    """Say what is wrong with each file, and how many are right; 1 if any is not."""
    from jobgen import store

    bad = 0
    profiles = store.Profiles()
    for file in files:
        try:
            profiles.load(file)
        except JobgenError as error:
            write(f"{error}\n")
            bad += 1
    tell(f"{len(files) - bad} of {len(files)} profiles are right")
    return 1 if bad else 0


def print_schema() -> int:
    """The JSON Schema of a profile's file."""
    from jobgen.profile import ROOT

    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "jobgen profile"}
    write(json.dumps({**head, **ROOT.schema()}, indent=2) + "\n")
    return 0


def list_trainers() -> int:
    """Every packaged trainer."""
    from jobgen import trainers

    write(_columns([(name, trainers.summary(name)) for name in names.trainers()]))
    return 0


def export_trainer(name: str, output: str) -> int:
    """A trainer's text to stdout ("-") or a file that must not be there yet."""
    from jobgen import trainers

    text = trainers.source(name)
    if output != "-" and os.path.lexists(native(output)):  # a link to nowhere is one, too
        raise problem(f"-o {output}", "there is such a file already", "output", "remove it first")
    write(text, output)
    return 0


def list_templates() -> int:
    """Every bundled template."""
    write("".join(f"{name}\n" for name in names.templates()))
    return 0


def show_template(name: str) -> int:
    """A template's text."""
    from jobgen import render

    write(render.source(name))
    return 0


def lint_files(
    files: Sequence[str],
    format: str,
    select: Sequence[str],
    ignore: Sequence[str],
    also: Sequence[str],
    jobs_only: bool,
    profile: str | None,
) -> int:
    """Write what is found in job scripts, and say how much.

    1 if there is anything, and 2 if something could not be read.
    """
    from jobgen.lint.output import FORMATS
    from jobgen.lint.run import Settings, lint

    settings = Settings(tuple(select), tuple(ignore), profile, tuple(also))
    outcome = lint(files, settings, jobs_only)
    write(FORMATS[format](outcome.problems))
    for each in outcome.unread:
        tell(str(each))
    for place in outcome.in_part:
        tell(f"{place}: the parser is at a loss here: what follows is read in part")
    with_any = len({problem.mark.file for problem in outcome.problems})
    more = f"; {outcome.passed_over} files are no job scripts" if outcome.passed_over else ""
    count = len(outcome.problems)
    tell(f"{count} finding{'s' * (count != 1)} in {with_any} of {outcome.files} scripts{more}")
    return USAGE if outcome.unread else 1 if outcome.problems else 0


def show_rules(code: str | None) -> int:
    """All rules in columns, or the page of one with its examples."""
    from jobgen.lint.rules import rules

    listed = rules()
    if code is None:
        only = "; only where it is named"
        rows = [(each, rule.title + only * rule.optional) for each, rule in listed.items()]
        write(_columns(rows))
        return 0
    if not (rule := listed.get(code.upper())):
        from jobgen.schema import nearest

        raise problem("rules", f"no rule `{code:.40}`", "usage", nearest(code.upper(), listed))
    page = f"{rule.code}: {rule.title}\n\n{rule.page}\n"
    if rule.optional:
        page += f"\nLooked for only where it is named: --also {rule.code}\n"
    for heading, text in (("Found in", rule.module.BAD), ("Not in", rule.module.GOOD)):
        lines = "".join(f"    {line}\n" for line in text.rstrip("\n").split("\n"))
        page += f"\n{heading}:\n\n{lines}"
    write(page)
    return 0


def print_completion(shell: str) -> int:
    """The script that makes a shell complete jobgen's command lines."""
    from jobgen.shells import script

    write(script(shell))
    return 0


def _columns(rows: Sequence[Sequence[str]]) -> str:
    rows = [[printable(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{text:<{w}}" for text, w in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _shown(value: Any, path: str, resolved: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Lines of YAML for a record or a map, each with the origin of its value."""
    pad = "  " * depth
    for name, child in _items(value):
        where = f"{path}.{name}" if path else name
        if dataclasses.is_dataclass(child) or isinstance(child, dict):
            if list(_items(child)):
                yield f"{pad}{name}:", ""
                yield from _shown(child, where, resolved, depth + 1)
                continue
            child = {}
        if where == "extends":  # what it brings is here already
            continue
        yield f"{pad}{name}: {_yaml(child)}", resolved.origin(where)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        return value.items()
    return [(item.name, getattr(value, item.name)) for item in dataclasses.fields(value)]


def _yaml(value: Any) -> str:
    # JSON is YAML, and quotes what YAML would read otherwise.
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
