"""Renders the script of a Plan by a Jinja template, in which every printed value is quoted.

A printed value becomes one shell word, unless `| raw` follows it. The text that a template writes
itself, also in blocks, `super()` and macros, stays as it is. The machinery is no template: its text
is appended unchanged.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import jinja2

from jobgen import __version__
from jobgen.bounds import SCRIPT_BYTES, TEMPLATE_BYTES
from jobgen.errors import JobgenError, Mark, problem
from jobgen.paths import (
    bundled,
    is_file,
    is_outside,
    is_plain_name,
    is_same_file,
    outside_error,
    settings_folder,
    to_path,
    trusted_folders,
)
from jobgen.planning.plan import Plan
from jobgen.profiles.search import ProfileSearch, report_replacement
from jobgen.scripts.features import features
from jobgen.scripts.header import add_checksums
from jobgen.scripts.jinja_environments import Environment, Raw, make_environment
from jobgen.scripts.parts import Part, chosen_parts
from jobgen.scripts.start_commands import upper_part

BUNDLED = "bundled/"  # before a name: jobgen's own template, even if the project or a user has one


class Templates:
    """The templates that are visible from the folder of a ProfileSearch; each is read once.

    A project's templates are code: with `confined`, or from a folder below the project's, they are
    rendered only if the project is `trusted`, and none may be a link out of the project.
    """

    def __init__(self, search: ProfileSearch, trusted: bool = False) -> None:
        self.search = search
        self.trusted = trusted
        self._environments: dict[str | None, Environment] = {}
        # The fingerprints of the templates that were read, by --template and by name.
        self._fingerprints: dict[tuple[str | None, str], str] = {}

    def render(self, plan: Plan, template: str | None = None, manifest: str = "") -> bytes:
        """Returns the script for a plan, by the plan's template or by a file, with its checksums.

        `manifest` is the path from the script's folder to the manifest that lists the script; this
        script carries no keeper, unless its job runs in another folder than it is submitted from.

        Raises JobgenError, with the template's file and line, for any error in the template.
        """
        environment = self._environment(template)
        name = plan.template if template is None else template
        found = features(plan)
        parts = chosen_parts(found)
        lower_part = machinery(parts).rstrip("\n")
        environment.used.clear()
        with _template_errors(name):
            values = upper_part(plan, found, parts, manifest)
            text = environment.get_template(name).render(
                plan=plan, machinery=lambda: Raw(lower_part), **values
            )
            script = text.encode("utf-8")
        if len(script) > SCRIPT_BYTES:
            size = f"a script of {len(script)} bytes"
            raise problem(name, size, "template", f"at most {SCRIPT_BYTES}")
        used = (self._fingerprints[template, each] for each in dict.fromkeys(environment.used))
        made_of = {"jobgen": __version__, "profile": plan.fingerprint}
        made_of["template"] = fingerprint(" ".join(used))
        if lower_part and lower_part in text:
            made_of["machinery"] = fingerprint(lower_part)
        if plan.program.source:
            made_of["trainer"] = fingerprint(plan.program.source)
        if (copy := plan.software.workspace) and not copy.url:
            made_of["code"] = str(copy.commit)[:8]
        if plan.software.lock:
            made_of["environment"] = plan.software.environment_name[:8]
        return add_checksums(script, made_of, manifest)

    def _environment(self, template: str | None) -> Environment:
        if template not in self._environments:
            *others, bundled_folder = template_folders(self.search)
            existing = [
                each for each in others if each.is_dir() and not each.samefile(bundled_folder)
            ]
            loader = jinja2.FunctionLoader(lambda name: self._load(name, template))
            is_own = template is None and not existing
            in_memory = self.search.environ is not None
            self._environments[template] = make_environment(loader, is_own, in_memory)
        return self._environments[template]

    def _load(self, name: str, template: str | None) -> tuple[str, str, None] | None:
        """Returns for Jinja a template's text, its path, and None: a template is never reloaded."""
        search, is_option = self.search, name == template
        found = [search.within / to_path(name)] if is_option else find_templates(name, search)
        if not found:
            return None
        path, *replaced = found
        _, *others = template_folders(search)
        # A path of --template may begin with one of these folders, and leave it by `..`.
        is_own = any(path.is_relative_to(folder) for folder in others)
        is_own |= is_same_file(path, found[-1]) and found[-1].is_relative_to(others[-1])  # a clone
        of_project = is_option or not is_own
        if search.confined:
            if is_option and is_outside(path, search.within):
                raise outside_error("--template", name, search.within)
            if not path.is_file():  # opening a pipe would wait for its writer
                raise problem(str(path), "not a regular file", "template")
        if of_project and (search.confined or (not is_option and search.project != search.within)):
            self._check_trust(path)
        text = read_template(path)
        replaces_own = of_project and replaced[-1:] == [others[-1] / name]
        if replaces_own and search.environ is None and text != read_template(replaced[-1]):
            report_replacement(path)
        self._fingerprints[template, name] = fingerprint(text)
        return text, str(path), None

    def _check_trust(self, path: Path) -> None:
        """Raise JobgenError for a repository's template that leads out of it, or is not trusted."""
        project, confined = self.search.project, self.search.confined
        if is_outside(path, project):
            text = f"it is a link out of {project}"
            raise problem(str(path), text, "outside", "keep a copy")
        trusted = () if confined else trusted_folders()
        if not self.trusted and all(is_outside(project, each) for each in trusted):
            text = "a template is code, and nobody has said that this one may run"
            file = settings_folder() / "trusted"
            how = "use --trust" if confined else f"run jobgen in {project}"
            hint = f"read it, then {how}, or add its repository to {file}"
            raise problem(str(path), text, "untrusted", hint)


@contextmanager
def _template_errors(name: str) -> Iterator[None]:
    """Turn any exception of a template, which is a program, into a JobgenError."""
    try:
        yield
    except jinja2.TemplateSyntaxError as error:
        place = Mark(error.filename or error.name or name, error.lineno, 1)
        raise problem(place, str(error.message), "template") from None
    except jinja2.TemplateNotFound as error:
        text = f"it needs the template `{error.name}`, and there is none"
        raise problem(name, text, "template") from None
    except (JobgenError, MemoryError):
        raise
    except Exception as error:
        raise problem(_error_place(error, name), str(error), "template") from None


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
    return short_parts().get(part.name) or file.read_text(encoding="utf-8")


@cache
def short_parts() -> dict[str, str]:
    """The bash of the parts that are a few lines, by their names."""
    text = (bundled("templates") / "machinery" / "short.sh").read_text(encoding="utf-8")
    sections = (section.partition("\n") for section in text.split("\n## ")[1:])
    return {name: lines.rstrip("\n") + "\n" for name, _, lines in sections}


def fingerprint(text: str) -> str:
    """Eight digits that tell whether a text has changed."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _error_place(error: Exception, name: str) -> Mark:
    """Returns the place of an error in a template: that of the innermost frame of a template."""
    from traceback import walk_tb  # only a mistake needs it

    places = [
        Mark(frame.f_code.co_filename, line, 1)
        for frame, line in walk_tb(error.__traceback__)
        if "__jinja_exception__" in frame.f_globals
    ]
    return [Mark(name), *places][-1]


def template_names() -> list[str]:
    """The bundled templates, sorted."""
    folder = bundled("templates")
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.j2"))


def template_folders(search: ProfileSearch) -> list[Path]:
    """Returns the folders where templates are searched, in order; jobgen's own is the last."""
    own = settings_folder(search.environ)
    return [search.project / "templates", own / "templates", bundled("templates")]


def find_templates(name: str, search: ProfileSearch) -> list[Path]:
    """Returns the files with a template's name; only a plain name, so that no other is found."""
    folders = template_folders(search)
    if name.startswith(BUNDLED):
        folders, name = folders[-1:], name[len(BUNDLED) :]
    return [folder / name for folder in folders if is_plain_name(name) and is_file(folder / name)]


def read_template(path: Path) -> str:
    """The text of a template. Raises JobgenError if it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(TEMPLATE_BYTES + 1)
        if len(data) > TEMPLATE_BYTES:
            text = f"more than {TEMPLATE_BYTES} bytes"
            raise problem(str(path), text, "template", "is it a template?")
        return data.decode("utf-8")
    except OSError as error:
        raise problem(str(path), f"cannot be read: {error.strerror}", "template") from None
    except UnicodeDecodeError:
        raise problem(str(path), "not UTF-8 text", "template", "save it as UTF-8") from None


def template_source(name: str) -> str:
    """The text of a template that is visible from the working folder. Raises JobgenError."""
    for path in find_templates(name, ProfileSearch()):
        return read_template(path)
    hint = f"one of: {', '.join(template_names())}"
    raise problem("jobgen templates", f"no template `{name:.80}`", "no-template", hint)
