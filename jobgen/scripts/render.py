"""Plan to script, through a Jinja template in which every printed value is quoted.

A value that a template prints becomes one shell word; what a template writes itself (its text, its
blocks, `super()`, macros) stays as it is, and `| raw` marks the exception. The machinery is no
template: it is appended as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from jobgen import __version__
from jobgen.errors import OUT_OF_MEMORY, JobgenError, Mark, problem
from jobgen.keeper.beside import digits, keeper_paths
from jobgen.limits import SCRIPT_BYTES, TEMPLATE_KILL_SECONDS, TEMPLATE_MEMORY, TEMPLATE_SECONDS
from jobgen.paths import WORKING_FOLDER, bundled, is_outside, outside_error, to_path
from jobgen.planning.plan import Plan
from jobgen.profiles.search import report_replacement
from jobgen.scripts.environments import OwnEnvironment, SandboxedEnvironment, make_environment
from jobgen.scripts.filters import Raw
from jobgen.scripts.header import add_checksums
from jobgen.scripts.parts import Part, chosen_parts
from jobgen.scripts.starting import upper_part
from jobgen.scripts.template_files import find_templates, read_template, template_folders

if TYPE_CHECKING:
    from jobgen.isolation import ChildProcess


def render(plan: Plan, template: str | None = None) -> str:
    """The script for a plan, with the templates visible from here; see `Templates.render`."""
    return Templates().render(plan, template)


class Templates:
    """The templates visible from the folder `within`; each is read once.

    With `confined`, none may be a link out of that folder. With `environ`, its variables are read
    instead of those of the process, and nothing is reported.
    """

    def __init__(
        self,
        within: Path = WORKING_FOLDER,
        confined: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.within = within
        self.confined = confined
        self.environ = environ
        self._environments: dict[str | None, OwnEnvironment | SandboxedEnvironment] = {}
        self._fingerprints: dict[
            tuple[str | None, str], str
        ] = {}  # of the templates that were read
        self._replacements: list[Path] = []  # files of a project that replace jobgen's own
        self._child: ChildProcess | None = None

    def render(self, plan: Plan, template: str | None = None) -> str:
        """The script for a plan; see `render_bytes`."""
        return self.render_bytes(plan, template).decode("utf-8")

    def render_bytes(self, plan: Plan, template: str | None = None, manifest: str = "") -> bytes:
        """The script for a plan, from the plan's template or from a file, with its checksums.

        `manifest` is the path of the one that lists the script, from the script's folder; such a
        script carries no keeper, unless its job runs in another folder than it is submitted from.

        Raises JobgenError with the template's file and line for whatever goes wrong in it.
        """
        if isinstance(self._environment(template), OwnEnvironment):
            script, parts = self._rendered(plan, template, manifest)
        else:
            script, parts = self._rendered_in_child(plan, template, manifest)
        made_of = {"jobgen": __version__, "profile": plan.fingerprint, **parts}
        if plan.program.source:
            made_of["trainer"] = fingerprint(plan.program.source)
        return add_checksums(script, made_of, manifest)

    def _environment(self, template: str | None) -> OwnEnvironment | SandboxedEnvironment:
        if template not in self._environments:
            *others, bundled_folder = template_folders(self.within, self.environ)
            existing = [
                each for each in others if each.is_dir() and not each.samefile(bundled_folder)
            ]
            loader = jinja2.FunctionLoader(lambda name: self._load(name, template))
            is_own = template is None and not existing
            in_memory = self.environ is not None
            self._environments[template] = make_environment(loader, is_own, in_memory)
        return self._environments[template]

    def _files(self, name: str) -> list[Path]:
        return find_templates(name, self.within, self.environ)

    def _load(self, name: str, template: str | None) -> tuple[str, str, None] | None:
        """What Jinja asks of a loader: the text of a template, its path, and no way to reload."""
        is_option = name == template
        found = [self.within / to_path(name)] if is_option else self._files(name)
        if not found:
            return None
        path, *replaced = found
        if self.confined and is_option and is_outside(path, self.within):
            raise outside_error("--template", name, self.within)
        if self.confined and not path.is_file():  # opening a pipe would wait for its writer
            raise problem(str(path), "not a regular file", "template")
        *_, own_folder = folders = template_folders(self.within, self.environ)
        of_project = not any(path.is_relative_to(folder) for folder in folders[1:])
        if of_project and self.confined and is_outside(path, self.within):
            text = f"it is a link out of {self.within}"
            raise problem(str(path), text, "outside", "keep a copy")
        text = read_template(path)
        replaces_own = bool(replaced) and replaced[-1] == own_folder / name
        if of_project and replaces_own and text != read_template(replaced[-1]):
            self._replacements.append(path)
        self._fingerprints[template, name] = fingerprint(text)
        return text, str(path), None

    def _rendered_in_child(
        self, plan: Plan, template: str | None, manifest: str
    ) -> tuple[bytes, dict[str, str]]:
        from jobgen.isolation import ChildEnded, ChildProcess

        self._child = self._child or ChildProcess(
            self._answer, TEMPLATE_MEMORY, TEMPLATE_KILL_SECONDS
        )
        try:
            script, parts, replacements = self._child.call(plan, template, manifest)
        except ChildEnded as error:
            name = template or plan.template
            raise problem(name, str(error), "template", "a simpler template") from None
        finally:
            if not self.confined:  # it is one script, and with --wait jobgen stays for long
                self._child.stop()
        if self.environ is None:
            for path in replacements:
                report_replacement(path)
        return script, parts

    def _answer(
        self, plan: Plan, template: str | None, manifest: str
    ) -> tuple[bytes, dict[str, str], list[Path]]:
        """The script, its parts, and the templates that replaced jobgen's own."""
        from jobgen.isolation import cpu_seconds

        script, parts = self._rendered(plan, template, manifest, cpu_seconds(TEMPLATE_SECONDS))
        return script, parts, self._replacements

    def _rendered(
        self,
        plan: Plan,
        template: str | None,
        manifest: str,
        time_limit: AbstractContextManager[None] | None = None,
    ) -> tuple[bytes, dict[str, str]]:
        """The text of a script, and the fingerprints of its templates and of its machinery."""
        environment = self._environment(template)
        name = plan.template if template is None else template
        chosen, machinery_texts = chosen_parts(plan), list[str]()
        environment.used.clear()
        with _template_errors(name), time_limit or nullcontext():
            text = environment.get_template(name).render(
                plan=plan,
                **_upper_part(plan, chosen, manifest),
                machinery=_machinery_function(chosen, machinery_texts),
            )
            script = text.encode("utf-8")
        if len(script) > SCRIPT_BYTES:
            size = f"a script of {len(script)} bytes"
            raise problem(name, size, "template", f"at most {SCRIPT_BYTES}")
        used = dict.fromkeys(environment.used)
        parts = {"template": _combined(tuple(self._fingerprints[template, each] for each in used))}
        if machinery_texts:
            parts["machinery"] = fingerprint("".join(machinery_texts))
        return script, parts


@contextmanager
def _template_errors(name: str) -> Iterator[None]:
    """Turn whatever goes wrong in a template, which is a program, into a JobgenError."""
    try:
        yield
    except jinja2.TemplateSyntaxError as error:
        place = Mark(error.filename or error.name or name, error.lineno, 1)
        raise problem(place, str(error.message), "template") from None
    except jinja2.TemplateNotFound as error:
        text = f"it needs the template `{error.name}`, and there is none"
        raise problem(name, text, "template") from None
    except JobgenError:
        raise
    except Exception as error:
        text = OUT_OF_MEMORY if isinstance(error, MemoryError) else str(error)
        raise problem(_error_place(error, name), text, "template") from None


def _upper_part(plan: Plan, chosen: tuple[Part, ...], manifest: str) -> dict[str, object]:
    values = upper_part(plan, chosen)
    text = str(values["carried"])
    if not text or not manifest or plan.request.chdir:
        return {**values, "keeper_paths": ()}
    beside = {"keeper_paths": keeper_paths(text, manifest), "keeper_digits": digits(text)}
    return {**values, **beside, "carried": ""}


def _machinery_function(chosen: tuple[Part, ...], texts: list[str]) -> Callable[[], Raw]:
    """The function `machinery()` of templates; the text that it gives is added to a list."""

    def machinery_of_plan() -> Raw:
        texts.append(machinery(chosen).rstrip("\n"))
        return Raw(texts[-1])

    return machinery_of_plan


@cache
def machinery(parts: tuple[Part, ...]) -> str:
    """The text of these parts, in their order; a blank line stands between functions."""
    text = ""
    for part in parts:
        lines = part_text(part)
        begins = lines.startswith("#") or ("() {" in lines.partition("\n")[0] and "\n}\n" in lines)
        text += "\n" if begins or text.endswith("\n}\n") else ""
        text += lines
    return text.lstrip("\n")


@cache
def part_text(part: Part) -> str:
    """The bash of one part."""
    file = bundled("templates") / "machinery" / f"{part.name}.sh"
    return part.text or file.read_text(encoding="utf-8")


@cache
def _combined(fingerprints: tuple[str, ...]) -> str:
    return fingerprint(" ".join(fingerprints))


def fingerprint(text: str) -> str:
    """Eight digits that tell whether a text has changed."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _error_place(error: Exception, name: str) -> Mark:
    """Where in a template an error occurred: the innermost frame that Jinja marks as one."""
    found = Mark(name)
    trace = error.__traceback__
    while trace:
        if "__jinja_exception__" in trace.tb_frame.f_globals:
            found = Mark(trace.tb_frame.f_code.co_filename, trace.tb_lineno, 1)
        trace = trace.tb_next
    return found
