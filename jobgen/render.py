"""Plan to script, through a Jinja template in which every value is quoted.

A value that a template prints becomes one shell word; what a template itself writes (its text, its
blocks, `super()`, macros) stays as it is, and `| raw` marks the exception.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.sandbox import ImmutableSandboxedEnvironment

from jobgen import names, shell
from jobgen.bundled import bundled
from jobgen.bytecode import Compiled
from jobgen.environment import Setting
from jobgen.errors import TOO_MUCH, JobgenError, Mark, problem
from jobgen.header import LARGEST, sealed
from jobgen.paths import HERE, is_file, is_name, leads_out, native
from jobgen.plan import Plan
from jobgen.profile import Container, Workspace
from jobgen.program import Program, verbatim

if TYPE_CHECKING:
    from jobgen.limits import Apart

SECONDS = 10.0  # of CPU, for a script; it takes some milliseconds
LAST_SECONDS = 30.0  # where no step of it ends before
MEMORY = 1 << 30  # bytes, for a script
LARGEST_FILE = 1 << 20  # bytes of a template; the largest of jobgen's own has 30,000
BUNDLED = "bundled/"  # before a name: jobgen's own, whatever the project or the user has


class Raw(str):
    """Shell text that is not to be quoted again."""


class _Direct(CodeGenerator):
    """An attribute is Python's own; a template asks for some hundred, and Jinja calls for each."""

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        self.visit(node.node, frame)
        self.write(f".{node.attr}")


class _Own(jinja2.Environment):
    """For jobgen's own templates alone: asking a sandbox takes most of the time of a script."""

    # Jinja joins the pieces of a block, a macro or `super()` with this: what a template has made.
    concat = staticmethod(lambda pieces: Raw("".join(pieces)))
    code_generator_class = _Direct


class _Sandbox(ImmutableSandboxedEnvironment):
    """For templates of a project, of a user, or of --template."""

    concat = staticmethod(lambda pieces: Raw("".join(pieces)))
    intercepted_binops = frozenset({"**"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A part of the plan, which has nothing to keep from a template, or what the sandbox says.

        Asking the sandbox takes most of the time of a script.
        """
        if type(obj) in _PLANNED and attribute[0] != "_":
            try:
                return getattr(obj, attribute)
            except AttributeError:  # the sandbox says what there is not
                pass
        return super().getattr(obj, attribute)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """A power; not one of thousands of digits, which no limit of time could break off."""
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > 4096:
            raise OverflowError("a power of more than 4096 bits")
        return super().call_binop(context, operator, left, right)


_PLANNED = frozenset({Plan, Program, Setting, Container, Workspace})  # no method that does anything


def render(plan: Plan, template: str | None = None) -> str:
    """The script for a plan, as a jobgen that runs here makes it; see `Templates.render`."""
    return Templates().render(plan, template)


class Templates:
    """The templates that a jobgen finds that runs in the folder `within`; each is read once."""

    def __init__(self, within: Path = HERE, confined: bool = False) -> None:
        self.within = within
        self.confined = confined  # as a Maker is
        self._environments: dict[str | None, jinja2.Environment] = {}
        self._hidden: list[Path] = []  # a project's files in the place of jobgen's own
        self._apart: Apart | None = None

    def render(self, plan: Plan, template: str | None = None, manifest: str = "") -> str:
        """The script for a plan, from the plan's template or from a file, with its checksum.

        `manifest` is the path of the one it is in, from the script's folder.

        Raises JobgenError with the template's file and line for whatever goes wrong in it.
        """
        name = plan.template if template is None else template
        if isinstance(environment := self._environment(template), _Own):
            return sealed(_rendered(environment, plan, name), manifest)
        return sealed(self._rendered_apart(plan, template, name), manifest)

    def _environment(self, template: str | None) -> jinja2.Environment:
        if template not in self._environments:
            self._environments[template] = _environment(
                template, self.within, self.confined, self._hidden.append
            )
        return self._environments[template]

    def _rendered_apart(self, plan: Plan, template: str | None, name: str) -> str:
        from jobgen.limits import Apart, Ended

        self._apart = self._apart or Apart(self._answer, MEMORY, LAST_SECONDS)
        try:
            script, hidden = self._apart.ask(plan, template, name)
        except Ended as error:
            raise problem(name, str(error), "template", "a simpler template") from None
        finally:
            if not self.confined:  # then it is one script; with --wait, jobgen stays for long
                self._apart.end()
        for path in hidden:
            names.say_hidden(path)
        return str(script)

    def _answer(self, plan: Plan, template: str | None, name: str) -> tuple[str, list[Path]]:
        """The script, and what is to be said of its templates."""
        from jobgen.limits import timed

        return _rendered(self._environment(template), plan, name, timed(SECONDS)), self._hidden


def _rendered(
    environment: jinja2.Environment,
    plan: Plan,
    name: str,
    limit: AbstractContextManager[None] | None = None,
) -> str:
    try:
        with limit or nullcontext():
            script: str = environment.get_template(name).render(plan=plan)
            size = len(script.encode("utf-8"))
    except jinja2.TemplateSyntaxError as error:
        where = Mark(error.filename or error.name or name, error.lineno, 1)
        raise problem(where, str(error.message), "template") from None
    except jinja2.TemplateNotFound as error:
        text = f"it needs the template `{error.name}`, and there is none"
        raise problem(name, text, "template") from None
    except JobgenError:
        raise
    except Exception as error:  # a template is a program of its own, and can fail in any way
        text = TOO_MUCH if isinstance(error, MemoryError) else str(error)
        raise problem(_line(error, name), text, "template") from None
    if size > LARGEST:
        raise problem(name, f"a script of {size} bytes", "template", f"at most {LARGEST}")
    return script


def source(name: str) -> str:
    """The text of a template as jobgen finds it. Raises JobgenError if there is none."""
    for path in _found(name, HERE):
        return _read(path)
    raise problem(
        "jobgen templates",
        f"no template `{name:.80}`",
        "no-template",
        f"one of: {', '.join(names.templates())}",
    )


def _environment(
    template: str | None, within: Path, confined: bool, hides: Callable[[Path], None]
) -> jinja2.Environment:
    *others, ours = _folders(within)
    there = [each for each in others if each.is_dir() and not each.samefile(ours)]
    only_ours = template is None and not there

    def load(name: str) -> tuple[str, str, None] | None:
        found = [within / native(name)] if name == template else _found(name, within)
        if not found:
            return None
        path, *hidden = found
        if confined and not path.is_file():  # of a pipe, it would wait for who writes
            raise problem(str(path), "no regular file", "template")
        own = not any(path.is_relative_to(folder) for folder in _folders(within)[1:])
        if own and confined and leads_out(path, within):
            raise problem(str(path), f"it is a link out of {within}", "outside", "keep a copy")
        if own and hidden and hidden[-1] == ours / name and not path.samefile(hidden[-1]):
            hides(path)
        return _read(path), str(path), None

    environment = (_Own if only_ours else _Sandbox)(
        loader=jinja2.FunctionLoader(load),
        undefined=jinja2.StrictUndefined,
        finalize=_word,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=Compiled("own" if only_ours else "bounded"),
    )
    filters: dict[str, Callable[..., str]] = {
        "raw": Raw,
        "verbatim": verbatim,
        "words": _words,
        "flags": lambda values, flag: _words(f"{flag}{value}" for value in values),
        "indexed": lambda values, variable: Raw(
            " ".join(shell.indexed(value, variable) for value in values)
        ),
        "path": lambda text: Raw(shell.path(text)),
        "comment": _comment,
        "dedent": lambda text: Raw(textwrap.dedent(text)),
    }
    environment.filters.update(filters)
    return environment


def _word(value: Any) -> str:
    if isinstance(value, Raw):
        return value
    if isinstance(value, str):
        return shell.quote(value)
    if isinstance(value, jinja2.Undefined):
        return str(value)  # which raises
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{type(value).__name__} is printed, not text or a number")


def _words(values: Iterable[Any]) -> Raw:
    return Raw(" ".join(_word(value) for value in values))


@lru_cache  # many scripts have the same ones
def _comment(text: str, indent: int = 0) -> Raw:
    """Comment lines of at most 100 columns."""
    first = " " * indent + "# "
    lines = [
        textwrap.fill(
            shell.visible(line),
            100,
            initial_indent=first,
            subsequent_indent=first,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    ]
    # Where a comment begins so, shellcheck takes it for its own.
    return Raw(re.sub(r"^( *#) (?=shellcheck)", r"\1 - ", "\n".join(lines), flags=re.MULTILINE))


def _found(name: str, within: Path) -> list[Path]:
    """The templates of a name; of a name only, since a template is not to show any other file."""
    folders = _folders(within)
    if name.startswith(BUNDLED):
        folders, name = folders[-1:], name[len(BUNDLED) :]
    return [folder / name for folder in folders if is_name(name) and is_file(folder / name)]


def _folders(within: Path) -> list[Path]:
    """Where templates are looked for, in order; jobgen's own are the last."""
    return [within / "templates", names.user_folder() / "templates", bundled("templates")]


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise problem(
                str(path), f"more than {LARGEST_FILE} bytes", "template", "is it a template?"
            )
        return data.decode("utf-8")
    except OSError as error:
        raise problem(str(path), f"cannot be read: {error.strerror}", "template") from None
    except UnicodeDecodeError:
        raise problem(str(path), "not UTF-8 text", "template", "save it as UTF-8") from None


def _line(error: Exception, name: str) -> Mark:
    """Where in a template an error came up: the innermost frame that Jinja says is one's."""
    found = Mark(name)
    trace = error.__traceback__
    while trace:
        if "__jinja_exception__" in trace.tb_frame.f_globals:
            found = Mark(trace.tb_frame.f_code.co_filename, trace.tb_lineno, 1)
        trace = trace.tb_next
    return found
