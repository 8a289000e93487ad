"""The reference: a page for each command and one for each group of keys, made from their rows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
import manual  # noqa: F401 - it imports all commands
from option_effects import SAMPLES, all_options, as_markdown, changes
from page_text import fence, inline, page, table
from rule_pages import Pages

from jobgen.cli.app import NAMES, RowOption, main
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.option_row import GROUPS, Option
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import Key, keys_of, rows_of
from jobgen.profiles.schema.document import example


def reference_pages() -> Pages:
    """The pages of all commands, of all options, and of the keys of a profile."""
    commands = {f"reference/{name}.md": _command_page(name) for name in NAMES}
    groups = {f"reference/keys-{name}.md": _key_page(name) for name in key_groups()}
    return {"reference/options.md": _options_page(), **commands, **groups}


def key_groups() -> list[str]:
    """The groups of keys in the order of a profile; `top` has those at the top."""
    return list(dict.fromkeys(_group_of(key) for key in keys_of(ROOT.cls)))


def _group_of(key: Key) -> str:
    return key.path.partition(".")[0] if "." in key.path else "top"


def _command_page(name: str) -> str:
    return page(
        f"jobgen {name}",
        *_command_parts(main.commands[name], f"jobgen {name}", 2),
        description=f"The command jobgen {name} and its options",
    )


def _command_parts(command: click.Command, name: str, level: int) -> Iterator[str]:
    """The usage, the help and the options of a command, or those of the commands of a group."""
    context = click.Context(command, info_name=name)
    yield fence(" ".join([name, *command.collect_usage_pieces(context)]))
    yield from _help(command.help or "")
    rows = [_option_row(each) for each in command.get_params(context) if _is_option(each)]
    if rows:
        yield table(["Option", "What it does"], rows)
    for word, each in sorted(getattr(command, "commands", {}).items()):
        yield f"{'#' * level} {name} {word}"
        yield from _command_parts(each, f"{name} {word}", level + 1)


def _is_option(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and not parameter.hidden


def _option_row(option: click.Parameter) -> tuple[str, str]:
    words = [f"`{flag}`" for flag in option.opts]
    if isinstance(option, click.Option) and option.metavar:
        words[-1] = f"`{option.opts[-1]} {option.metavar}`"
    text = inline(getattr(option, "help", "") or "")
    if isinstance(option, RowOption):  # what it changes is in the page of all options
        text += f" [More]({_anchor_of(option.opts[-1])})"
    return ", ".join(words), text


def _anchor_of(flag: str) -> str:
    return f"options.md#{flag.lstrip('-')}"


def _help(text: str) -> Iterator[str]:
    r"""The paragraphs of a help; as in click, one after \b, or an indented one, stays as it is."""
    for block in inspect.cleandoc(text).split("\n\n"):
        if block.startswith(("\b", " ")):
            yield fence(inspect.cleandoc(block.removeprefix("\b\n")))
        elif block:
            yield inline(re.sub(r"\s+", " ", block))


def _options_page() -> str:
    parts = [
        "The options of the commands that write a script, in the order of `--help`. "
        "Each shows, with a sample value, the directives that it adds or changes."
    ]
    for group in GROUPS:
        parts.append(f"## {group}")
        parts += [_option_entry(row) for row in all_options() if row.group == group]
    return page("All options", *parts, description="All options of jobgen sbatch, qsub and local")


def _option_entry(row: Option) -> str:
    last = row.flags[-1]
    words = ", ".join(f"`{flag}`" for flag in (*row.flags[:-1], f"{last} {row.metavar}".rstrip()))
    lines = [f"### {words} {{ #{last.lstrip('-')} }}", inline(row.help)]
    effects = {name: as_markdown(*changes(row, command)) for name, command in _SCHEDULERS.items()}
    lines += [f"- On {name}: {text}" for name, text in effects.items() if text]
    if path := getattr(row, "path", ""):
        lines.append(f"- Key of a profile: [`{path}`]({_page_of(path)})")
    commands = [f"[`{name}`]({name}.md)" for name in NAMES if name in row.commands]
    lines.append(f"- For {', '.join(commands)}")
    return "\n\n".join(lines[:2]) + "\n\n" + "\n".join(lines[2:])


_SCHEDULERS = {"Slurm": "sbatch", "PBS": "qsub"}
assert set(_SCHEDULERS.values()) == set(SAMPLES)


def _page_of(path: str) -> str:
    """The place of a key in these pages."""
    group = path.partition(".")[0] if "." in path else "top"
    return f"keys-{group}.md#{_anchor(path)}"


def _anchor(path: str) -> str:
    return re.sub(r"\W", "-", path)


def _key_page(group: str) -> str:
    keys = [key for key in keys_of(ROOT.cls) if _group_of(key) == group]
    title = "Keys at the top of a profile" if group == "top" else f"Keys of {group}"
    doc = "" if group == "top" else inline(dict(rows_of(ROOT.cls))[group].doc)
    return page(title, doc, *(_key_entry(key) for key in keys), description=title)


def _key_entry(key: Key) -> str:
    flags = [row for row in OPTIONS.values() if row.path == key.path]
    options = [f"[`{row.flags[-1]}`]({_anchor_of(row.flags[-1])})" for row in flags]
    rows = [
        ("Value", inline(key.row.kind.in_words())),
        ("Default", f"`{key.default}`" if key.default else "not set"),
        ("Example", f"`{key.path.rpartition('.')[2]}: {example(key)}`"),
        ("Option", ", ".join(options) or f"`--set {key.path}=VALUE`"),
    ]
    text = "\n".join(f"- {name}: {value}" for name, value in rows)
    return f"## `{key.path}` {{ #{_anchor(key.path)} }}\n\n{inline(key.row.doc)}\n\n{text}"
