"""Where templates are found: of the project, of the user, and jobgen's own with the machinery."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jobgen.errors import problem
from jobgen.limits import TEMPLATE_BYTES
from jobgen.paths import WORKING_FOLDER, bundled, is_file, is_plain_name, settings_folder

BUNDLED = "bundled/"  # before a name: jobgen's own, whatever the project or the user has


def template_names() -> list[str]:
    """The bundled templates, sorted."""
    folder = bundled("templates")
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.j2"))


def template_folders(within: Path, environ: Mapping[str, str] | None = None) -> list[Path]:
    """Where templates are searched, in order; jobgen's own are the last."""
    return [within / "templates", settings_folder(environ) / "templates", bundled("templates")]


def find_templates(name: str, within: Path, environ: Mapping[str, str] | None = None) -> list[Path]:
    """The files of a template's name; only a plain name, so that no other file can be shown."""
    folders = template_folders(within, environ)
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
    for path in find_templates(name, WORKING_FOLDER):
        return read_template(path)
    hint = f"one of: {', '.join(template_names())}"
    raise problem("jobgen templates", f"no template `{name:.80}`", "no-template", hint)
