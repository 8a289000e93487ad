"""The page itself: HTML from the form's fields and the profiles, without a script in it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2

from jobgen import __version__
from jobgen.page.archive import versions
from jobgen.page.browser.fields import OWN_PROFILE, sections
from jobgen.page.browser.form import DEFAULT_FILE
from jobgen.page.packages import PACKAGES
from jobgen.page.site import CLOUDS, Choice
from jobgen.profiles.search import OWN, SITES
from jobgen.schedulers import COMMANDS

ASSETS = Path(__file__).parent / "assets"
TEMPLATE = "index.html.j2"
TITLE = "Make a script for a PyTorch job"
# What the first script does not need.
_LATER = ("main.js", "parse.js", "service-worker.js")
# Nothing from elsewhere, and nothing in the page itself. A worker from a blob, unlike one from a
# file, is bound by this, too.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:;"
    " connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
)


def document(
    choices: Mapping[str, Sequence[Choice]],
    title: str | None,
    notes: str,
    docs: str,
    downloads: Mapping[str, int],
) -> str:
    """The page; `notes` is plain text, in which an empty line ends a paragraph.

    `docs` is the address of the documentation, "" if there is none; `downloads` are the files that
    Python needs before the first script, with their bytes.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    headings = {"This site" if name == OWN else name: rows for name, rows in choices.items()}
    return environment.get_template(TEMPLATE).render(
        version=__version__,
        policy=POLICY,
        title=title or TITLE,
        paragraphs=[text.strip() for text in re.split(r"\n\s*\n", notes) if text.strip()],
        choices=headings,
        commands=COMMANDS,
        docs=docs,
        documented=(SITES, CLOUDS),
        downloads=downloads,
        modules=sorted(file.name for file in ASSETS.glob("*.js") if file.name not in _LATER),
        sections=sections(),
        own_profile=OWN_PROFILE,
        default_file=DEFAULT_FILE,
        libraries={**versions(), **{each.name: each.version for each in PACKAGES}},
    )
